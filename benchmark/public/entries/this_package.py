"""ros_inertial_id, no option given."""

from pathlib import Path
import tempfile

import numpy as np

import ros_inertial_id as rid

HALF_WIDTHS = 1.96  # of a band that holds 95 %, in standard deviations


def fit(train, urdf):
    """Return predict(t, q, v, a) -> (tau, sd) of the identified model."""
    with tempfile.TemporaryDirectory() as folder:
        logs = [
            rid.read_log(_written(recording, Path(folder) / f'{k}.npz'), urdf=urdf)
            for k, recording in enumerate(train)
        ]
        model = rid.identify(logs, urdf=urdf).model

    def predict(t, q, v, a):
        prediction = model.predict((t, q, v, a))
        return prediction.torque, (prediction.upper - prediction.torque) / HALF_WIDTHS

    return predict


def fit_simulator(train, mjcf):
    """Return the MJCF text of the model identified for MuJoCo from commands."""
    stiffness, damping = train[0].servo
    with tempfile.TemporaryDirectory() as folder:
        description = Path(folder) / 'described.xml'
        description.write_text(mjcf, encoding='utf-8')
        logs = [
            _table_written(recording, Path(folder) / f'{k}.csv')
            for k, recording in enumerate(train)
        ]
        options = {
            'effort_kind': 'command',
            'stiffness': [stiffness],
            'damping': [damping],
        }
        model = rid.identify(logs, urdf=description, **options).model
        model.export('mujoco', Path(folder) / 'identified.xml')
        return (Path(folder) / 'identified.xml').read_text(encoding='utf-8')


def _written(recording, path):
    """Return the path of a log with the arrays of a Recording."""
    arrays = {'stamp_s': recording.t, 'q': recording.q, 'tau': recording.tau}
    if recording.v is not None:
        arrays['v'] = recording.v
    np.savez(path, joint_names=np.array(recording.joints), **arrays)
    return path


def _table_written(recording, path):
    """Return the path of a .csv with positions and commands."""
    names = [f'{kind}_{joint}' for kind in ('q', 'cmd') for joint in recording.joints]
    table = np.column_stack([recording.t, recording.q, recording.command])
    np.savetxt(path, table, delimiter=',', header=','.join(['time', *names]), comments='')
    return path
