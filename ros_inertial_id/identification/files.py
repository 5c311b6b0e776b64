"""Files: texts in, results out; a result is whole or not there, also on a full disk."""

import codecs
from contextlib import suppress
from pathlib import Path
import re
import shutil
import subprocess
from uuid import uuid4

from ..dynamics.mechanism_text import mechanism_description
from ..dynamics.mjcf import mjcf_description
from ..errors import ConfigError, file_errors, path_text
from ..given_files import given_text, kind_by_name

MODEL_FILE = 'model.yaml'  # in the folder of a result
# {kind of description: what is in it and in no other}, the first that fits
KINDS = {
    'xacro': '<xacro:',
    'MJCF': r'<mujoco[\s>]',
    'SDF': r'<sdf[\s>]',
    'mechanism': r'^mechanism:',
}
_DECLARATION = 500  # bytes of an XML that surely hold it
_DECLARED_ENCODING = re.compile(rb'\s*<\?xml[^>]*?encoding=["\']([\w.:-]+)')


def read_text(path: str | Path) -> str:
    """Return the UTF-8 text of a file, of a result's folder its model.yaml's; or ConfigError."""
    with file_errors(path):
        model = Path(path) / MODEL_FILE
        is_result = model.is_file()
    if is_result:
        return given_text(model)
    return given_text(path)


def read_model_text(path: str | Path) -> str:
    """Return the text of an identified model, see ``read_text``; or ConfigError."""
    kind = kind_by_name(path)
    if kind:
        raise ConfigError(
            f'{path_text(path)} is no identified model',
            expected='the folder of a result, or its model.yaml',
            found=kind,
            do='identify one: inertial-id identify BAG --out result',
        )
    return read_text(path)


def read_description(path: str | Path) -> str:
    """
    Return the text of a robot description: of any other kind than URDF, turned into one.

    A xacro file is expanded by the tool ``xacro``, an MJCF read by pinocchio.
    path : of a URDF, a xacro file, an MJCF, the YAML of a mechanism or of a rig
    ConfigError where it cannot be read, is empty, or is xacro and cannot be expanded.
    """
    kind, text = description_kind(path)
    if kind == 'xacro':
        return _expanded(path)
    if kind == 'MJCF':
        return mjcf_description(path)
    if kind == 'SDF':
        raise ConfigError(
            f'{path} is an SDF, of which "inertial-id audit" alone reads something',
            expected='a URDF, an MJCF, or the YAML of a mechanism',
            do='convert it: "gz sdf -p" and sdformat_mjcf make an MJCF, whose '
            'equalities close its loops; see doc/describing_mechanisms.md',
        )
    if kind == 'mechanism':
        return mechanism_description(text)
    return text


def description_kind(path: str | Path) -> tuple[str, str]:
    """
    Return what kind of description is in a file (xacro, MJCF, SDF, mechanism, URDF), and its text.

    ConfigError where it cannot be read, is empty or no description.
    """
    text = _text_as_declared(path)
    if not text.strip():
        raise ConfigError(f'the robot description {path} is empty', expected='a URDF')
    if '<' not in text and '\n' not in text:  # else its content would be taken for a path
        raise ConfigError(
            f'{path} is no robot description',
            expected='a URDF, an MJCF or a YAML',
            found=repr(text[:40]),
        )
    plain = re.sub(r'<!--.*?-->', '', text, flags=re.S)
    for kind, pattern in KINDS.items():
        if re.search(pattern, plain, re.M):
            return kind, text
    return 'URDF', text


def _text_as_declared(path: str | Path) -> str:
    """Return the text of a file in the encoding that its XML declares, else in UTF-8."""
    begin = b''
    with file_errors(path):
        if Path(path).is_file():
            with open(path, 'rb') as file:
                begin = file.read(_DECLARATION)
    declared = _DECLARED_ENCODING.match(begin)
    if declared:
        with suppress(LookupError):
            return given_text(path, encoding=codecs.lookup(declared[1].decode()).name)
    return read_text(path)


def _expanded(path: str | Path) -> str:
    """Return the URDF text of the xacro file ``path``."""
    tool = shutil.which('xacro')
    if tool is None:
        raise ConfigError(
            f'{path} is a xacro file and there is no xacro to expand it',
            do=f'run "xacro {path} > robot.urdf" where ROS is, and give robot.urdf',
        )
    done = subprocess.run([tool, str(path)], capture_output=True, text=True, check=False)
    if done.returncode:
        message = done.stderr.strip() or 'no message'
        raise ConfigError(
            f'xacro cannot expand {path}',
            found=message.splitlines()[-1],
            do=f'run "xacro {path}" with the arguments it needs',
        )
    return done.stdout


def write_text(path: str | Path, text: str) -> None:
    """
    Write a text in UTF-8 beside its place and move it there: a failure leaves what was there.

    path : of the file, replaced where it exists; a pipe or device is written to as it is
    ConfigError where it cannot be written.
    """
    with file_errors(path, 'written'):
        goal = Path(path).resolve()  # a link stays a link
        content = path_text(text).encode()
        if goal.exists() and not goal.is_file():
            goal.write_bytes(content)
        else:
            replace_file(goal, content)


def replace_file(path: Path, content: bytes) -> None:
    """Make ``content`` that of the file ``path``: who reads sees all of it or what was there."""
    beside = path.with_name(f'.{uuid4().hex}')
    try:
        beside.write_bytes(content)
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


def make_folder(path: str | Path) -> None:
    """Make the folder ``path`` and those above it; ConfigError where it cannot be made."""
    with file_errors(f'folder {path}', 'made'):
        Path(path).mkdir(parents=True, exist_ok=True)
