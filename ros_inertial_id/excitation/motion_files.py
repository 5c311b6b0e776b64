"""Motions in files, of whatever kind."""

from pathlib import Path

import yaml

from .fourier import FourierMotion, motion_from_dict
from .friction_sweep import KIND, sweep_from_dict, SweepMotion
from ..errors import MotionError

Motion = FourierMotion | SweepMotion


def read_motion(path: str | Path) -> Motion:
    """Return the motion in a design's YAML file ``path``; MotionError if there is none."""
    try:
        with open(path, encoding='utf-8') as file:
            content = yaml.safe_load(file)
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise MotionError(f'{path} cannot be read', found=str(error).split('\n')[0]) from None
    content = content.get('motion', content) if isinstance(content, dict) else content
    if isinstance(content, dict) and content.get('kind') == KIND:
        return sweep_from_dict(content, str(path))
    return motion_from_dict(content, str(path))
