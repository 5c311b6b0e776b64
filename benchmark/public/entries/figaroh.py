"""figaroh 1.0.2: its class BaseIdentification, weighted least squares, filter at 8 Hz."""

from pathlib import Path
import tempfile

from figaroh.identification.base_identification import BaseIdentification
from figaroh.tools.load_robot import load_robot
from figaroh.tools.regressor import build_regressor_basic, build_regressor_reduced
import numpy as np
import yaml

from benchmark.public.signals import motion

CUTOFF_HZ = 8.0


class Identification(BaseIdentification):
    """figaroh's class with the samples of Recordings, one after the other on a uniform clock."""

    def __init__(self, robot, config_file, motions):
        self._motions = motions
        super().__init__(robot, config_file)
        moved = list(range(robot.model.nv))
        self.identif_config.update(act_idxq=moved, act_idxv=moved)

    def load_trajectory_data(self, data_source=None):
        """Return the samples as figaroh wants them; torques are filtered as the motion is."""
        parts = {
            'positions': [m.q for m in self._motions],
            'velocities': [m.v for m in self._motions],
            'accelerations': [m.a for m in self._motions],
            'torques': [m.tau for m in self._motions],
        }
        data = {name: np.concatenate(arrays) for name, arrays in parts.items()}
        step = self._motions[0].t[1]
        return {'timestamps': step * np.arange(len(data['positions'])), **data}


def fit(train, urdf):
    """Return predict(t, q, v, a) -> (tau, sd) of figaroh's base parameters."""
    rate = 1.0 / np.median(np.diff(train[0].t))
    cutoff = min(CUTOFF_HZ, 0.2 * rate)
    motions = [motion(recording, cutoff) for recording in train]
    with tempfile.TemporaryDirectory() as folder:
        description, config = Path(folder) / 'robot.urdf', Path(folder) / 'robot.yaml'
        description.write_text(urdf, encoding='utf-8')
        config.write_text(yaml.safe_dump(_config(train[0].joints, rate, cutoff)), encoding='utf-8')
        identification = Identification(load_robot(str(description)), str(config), motions)
        identification.initialize()
        identification.solve(plotting=False, wls=True)
    residual = identification.tau_noised - identification.tau_identif
    sd = np.sqrt(np.mean(residual.reshape(len(train[0].joints), -1) ** 2, axis=1))

    def predict(t, q, v, a):
        full = build_regressor_basic(identification.robot, q, v, a, identification.identif_config)
        reduced = build_regressor_reduced(full, identification._idx_eliminated)
        tau = reduced[:, list(identification._base_indices)] @ identification.phi_base
        return tau.reshape(q.shape[1], -1).T, np.tile(sd, (len(t), 1))

    return predict


def _config(joints, rate, cutoff):
    """Return figaroh's configuration: viscous and Coulomb friction, rotors, offsets."""
    parts = {'friction': True, 'actuator_inertia': True, 'joint_offset': True}
    zeros = [0.0] * len(joints)
    return {
        'meta': {'schema_version': '2.0'},
        'robot': {'name': 'robot'},
        'tasks': {
            'identification': {
                'type': 'identification',
                'joints': {'active_joints': list(joints)},
                'mechanics': {
                    'friction_coefficients': {'viscous': zeros, 'static': zeros},
                    'actuator_inertias': zeros,
                    'joint_offsets': zeros,
                    'reduction_ratios': [1.0] * len(joints),
                },
                'problem': {'model_components': parts},
                'coupling': {'has_coupled_wrist': False},
                'signal_processing': {
                    'sampling_frequency': float(rate),
                    'cutoff_frequency': float(cutoff),
                },
            }
        },
    }
