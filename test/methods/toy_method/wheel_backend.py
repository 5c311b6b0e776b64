"""Builds the wheel of the toy without setuptools, of which an old one needs a further package."""

from pathlib import Path
import zipfile

NAME = 'toy_method-1.0'
METADATA = {
    'METADATA': 'Metadata-Version: 2.1\nName: toy-method\nVersion: 1.0\n',
    'WHEEL': 'Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n',
    'entry_points.txt': '[ros_inertial_id.methods]\npendulum = pendulum:Pendulum\n\n'
    '[ros_inertial_id.verbs]\npendulum = pendulum_verbs:VERBS\n',
    'RECORD': '',
}


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    """Write the wheel into a folder; return its name, as PEP 517 asks."""
    wheel = f'{NAME}-py3-none-any.whl'
    with zipfile.ZipFile(Path(wheel_directory) / wheel, 'w') as out:
        for module in ('pendulum.py', 'pendulum_verbs.py'):
            out.write(module)
        for file, text in METADATA.items():
            out.writestr(f'{NAME}.dist-info/{file}', text)
    return wheel
