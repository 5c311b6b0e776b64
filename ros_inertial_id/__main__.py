"""python -m ros_inertial_id: the command line."""

import os
import sys

# -m puts the current folder at the head of the path, where a json.py would hide Python's own.
if not getattr(sys.flags, 'safe_path', False) and sys.path[0] != os.path.dirname(
    os.path.dirname(os.path.abspath(__file__))
):
    del sys.path[0]
try:
    from .cli.main import main

    status = main()
except KeyboardInterrupt:  # before main could take it
    status = 130
sys.exit(status)
