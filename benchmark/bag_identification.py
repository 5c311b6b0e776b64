"""Recordings written as bags and identified by ``inertial-id identify``, for the benchmarks."""

import contextlib
import io
import json
import pathlib
import tempfile

import yaml

from ros_inertial_id.cli.main import main as inertial_id
from ros_inertial_id.measurement.bags.writing import write_recording


def identified_bags(recordings, description, options):
    """
    Return (content of model.yaml or None, verdict {word, reasons}) of the command line.

    recordings : each written as a bag; description : text of the URDF or of the rig's YAML
    options : {method: {option: value}}, written as --config
    """
    with tempfile.TemporaryDirectory() as name:
        folder, (method,) = pathlib.Path(name), options
        bags = [folder / f'bag{k}' for k in range(len(recordings))]
        for bag, recording in zip(bags, recordings):
            write_recording(bag, recording)
        (folder / 'description').write_text(description)
        (folder / 'options.yaml').write_text(yaml.safe_dump(options))
        said, error = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(error):
            status = inertial_id(
                [
                    'identify',
                    *map(str, bags),
                    '--method',
                    method,
                    '--urdf',
                    str(folder / 'description'),
                    '--config',
                    str(folder / 'options.yaml'),
                    '--out',
                    str(folder / 'out'),
                    '--no-report',
                    '--json',
                ]
            )
        if status:
            return None, {'word': 'refused', 'reasons': [error.getvalue().strip()]}
        model = yaml.safe_load((folder / 'out' / 'model.yaml').read_text())
        return model, json.loads(said.getvalue())['verdict']
