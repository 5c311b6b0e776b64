"""Identification of the inertial parameters of live robots (ROS 2)."""

__version__ = '0.1.0'
