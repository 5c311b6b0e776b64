"""python -m ros_inertial_id: the command line."""

import sys

from .cli.main import main

sys.exit(main())
