"""python -m ros_inertial_id: the command line."""

import sys

try:
    from .cli.main import main
    status = main()
except KeyboardInterrupt:  # before main could take it
    status = 130
sys.exit(status)
