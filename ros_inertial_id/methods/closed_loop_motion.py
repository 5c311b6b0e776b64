"""stub"""
from dataclasses import dataclass
from ..options import option


@dataclass(frozen=True)
class MotionOptions:
    largest_clock_offset: float = option(0.05, 'x', unit='s', at_least=0.0)


def reconstruct(recording, robot, options):
    return recording, {'motion': '', 'torque': ''}
