"""
The messages of ros2_control, for which there are no wheels: ros2_control_interfaces.py FOLDER.

Python packages control_msgs and controller_manager_msgs, of the definitions in interfaces/ that
the player uses, made by the wheels' own rosidl generators and gcc in about 10 s.  FOLDER then
belongs on sys.path.  As in a distribution, a package is a Python module and two type supports:
the one of Fast DDS, and the introspection by which it describes the types to others; here the
first holds all C code and the second refers to it.
"""

import logging
import os
from pathlib import Path
import subprocess
import sys
import sysconfig

import numpy as np

DEFINITIONS = Path(__file__).parent / 'interfaces'
NEEDED = {
    'control_msgs': (
        'builtin_interfaces',
        'std_msgs',
        'trajectory_msgs',
        'geometry_msgs',
        'unique_identifier_msgs',
        'action_msgs',
        'service_msgs',
    ),
    'controller_manager_msgs': ('builtin_interfaces', 'service_msgs'),
}
SUPPORTS = ('rosidl_typesupport_fastrtps_c', 'rosidl_typesupport_introspection_c')
PREFIX = Path(sys.prefix)


def generate(package, folder):
    """Write the sources of a package below ``folder``; return the folders of headers."""
    os.environ['AMENT_PREFIX_PATH'] = str(PREFIX)
    logging.getLogger('rosidl').setLevel(logging.CRITICAL)
    from rosidl_generator_c.cli import GenerateC
    from rosidl_generator_py.cli import GeneratePython
    from rosidl_typesupport_c.cli import GenerateCTypesupport
    from rosidl_typesupport_fastrtps_c.cli import GenerateFastRTPSCTypesupport
    from rosidl_typesupport_introspection_c.cli import GenerateIntrospectionCTypesupport

    source = DEFINITIONS / package
    files = [f'{source}:{path.relative_to(source)}' for path in sorted(source.rglob('*.idl'))]
    roots = folder, folder / 'introspection'  # both have a file msg/detail/*__type_support.c
    for generator, root in (
        (GenerateC('c'), 0),
        (GenerateFastRTPSCTypesupport('fastrtps_c'), 0),
        (GenerateCTypesupport('c', typesupport_implementations=SUPPORTS), 0),
        (GeneratePython('py', typesupport_implementations=['rosidl_typesupport_c']), 0),
        (GenerateIntrospectionCTypesupport('introspection_c'), 1),
    ):
        target = roots[root] / package
        target.mkdir(parents=True, exist_ok=True)
        generator.generate(package, files, [str(PREFIX / 'share')], target)
    (folder / package / '__init__.py').touch()
    return roots


def build(package, folder):
    """Make the Python package of ``package`` in ``folder``."""
    roots = generate(package, folder)
    headers = [
        *roots,
        PREFIX / 'include',
        *sorted((PREFIX / 'include').iterdir()),
        sysconfig.get_paths()['include'],
        np.get_include(),
    ]
    sources = sorted(path for root in roots for path in (root / package).rglob('*.c'))
    python = [path for path in sources if path.name.endswith('_s.c') or '.ep.' in path.name]
    everything = folder / f'{package}.cpp'  # one file: its headers are read once
    everything.write_text(
        ''.join(
            f'#include "{path}"\n'
            for root in roots
            for path in sorted((root / package).rglob('*.cpp'))
        )
    )
    objects = {path: _compiled(path, headers) for path in (*sources, everything)}
    whole, referring = (f'lib{package}__{support}.so' for support in SUPPORTS)
    module = f'{package}_s__rosidl_typesupport_c{sysconfig.get_config_var("EXT_SUFFIX")}'
    needed = [
        f'-l{name}__{part}'
        for name in NEEDED[package]
        for part in ('rosidl_generator_c', 'rosidl_generator_py', *SUPPORTS)
    ]
    needed += [
        '-lrosidl_typesupport_c',
        '-lrosidl_typesupport_fastrtps_cpp',
        '-lrosidl_runtime_c',
        '-lfastcdr',
        '-lrcutils',
        *(f'-l{s}' for s in SUPPORTS),
    ]
    for name, parts in (
        (whole, [*(objects[p] for p in objects if p not in python), *needed]),
        (referring, [f'-l:{whole}']),
        (module, [*(objects[p] for p in python), f'-l:{whole}', f'-l:{referring}', *needed]),
    ):
        at = folder / package
        _run(
            'g++',
            '-shared',
            '-o',
            at / name,
            f'-Wl,-soname,{name}',
            '-Wl,-rpath,$ORIGIN',
            f'-L{PREFIX}/lib',
            f'-L{at}',
            '-Wl,--no-as-needed',
            *parts,
        )


def _compiled(source, headers):
    target = source.with_name(f'{source.name}.o')
    _run(
        'g++' if source.suffix == '.cpp' else 'gcc',
        '-O0',
        '-fPIC',
        '-w',
        '-c',
        source,
        '-o',
        target,
        *(f'-I{path}' for path in headers),
    )
    return target


def _run(*command):
    subprocess.run([str(part) for part in command], check=True)


if __name__ == '__main__':
    for name in NEEDED:
        build(name, Path(sys.argv[1]))
