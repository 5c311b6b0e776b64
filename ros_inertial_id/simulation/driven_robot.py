"""
A robot of an MJCF text in MuJoCo, as whoever simulates it has it: driven, and looked at.

Nothing here knows what was identified.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import InertialIdError


class Simulator:
    """
    A robot in MuJoCo that is driven from one posture after the other.

    mjcf : text of its model, in a ``folder``; joints : (n,) names in the order of all arrays
    step : [s]; delay : (n,) [s] of commands, that of its actuators, by which to send them later
    InertialIdError where MuJoCo is not installed or cannot read the text.
    """

    def __init__(self, mjcf: str, folder: Path, joints: Sequence[str], step: float) -> None:
        self._mujoco, self._joints, self._step = _mujoco(), list(joints), step
        try:
            spec = self._mujoco.MjSpec.from_string(mjcf)
        except ValueError as error:
            raise _unreadable(error) from error
        spec.modelfiledir = str(folder)
        delays = dict.fromkeys(joints, 0.0)
        for actuator in spec.actuators:
            if actuator.target in delays:
                delays[actuator.target] = actuator.delay
            actuator.delay, actuator.nsample = 0.0, 0  # a restart has no history
        for joint in list(spec.joints):
            if joint.type == self._mujoco.mjtJoint.mjJNT_FREE:  # the base was held
                spec.delete(joint)
        for key in list(spec.keys):  # of positions with that of the base
            spec.delete(key)
        self._spec, self.delay = spec, np.array([delays[joint] for joint in joints])
        self._compile()

    def driven_by(self, stiffness: np.ndarray, damping: np.ndarray) -> 'Simulator':
        """
        Return this robot with servos for actuators, without delay.

        stiffness, damping : (n,) [N m/rad], [N m s/rad] (N/m, N s/m)
        """
        for actuator in list(self._spec.actuators):
            self._spec.delete(actuator)
        kind = self._mujoco.mjtTrn.mjTRN_JOINT
        for joint, kp, kv in zip(self._joints, stiffness, damping):
            actuator = self._spec.add_actuator(name=joint, target=joint, trntype=kind)
            actuator.set_to_position(kp=kp, kv=kv)
        self.delay = np.zeros(len(self._joints))
        self._compile()
        return self

    def _compile(self) -> None:
        try:
            self._model = model = self._spec.compile()
        except ValueError as error:
            raise _unreadable(error) from error
        model.opt.timestep = self._step
        disable = self._mujoco.mjtDisableBit
        # What moved touched nothing, and was where it was, whatever the description allows.
        model.opt.disableflags |= int(disable.mjDSBL_CONTACT | disable.mjDSBL_LIMIT)
        self._places = np.array([int(model.joint(name).qposadr[0]) for name in self._joints])
        self._dofs = np.array([int(model.joint(name).dofadr[0]) for name in self._joints])
        actuators = {int(model.actuator_trnid[k, 0]): k for k in range(model.nu)}
        numbers = [int(model.joint(name).id) for name in self._joints]
        self._controls = [actuators[number] for number in numbers if number in actuators]

    def inertia(self, q: np.ndarray) -> np.ndarray:
        """Return the diagonal (n,) of the mass matrix at q (n,), rotors included."""
        data, full = self._mujoco.MjData(self._model), np.zeros((self._model.nv,) * 2)
        data.qpos[self._places] = q
        self._mujoco.mj_forward(self._model, data)
        self._mujoco.mj_fullM(self._model, data, full)
        return np.diag(full)[self._dofs]

    def moved(
        self, q: np.ndarray, v: np.ndarray, gravity: np.ndarray, controls: np.ndarray
    ) -> np.ndarray:
        """
        Return the positions (steps, n) after each step.

        q, v : (n,) at the start; gravity : (3,) in the base frame [m/s^2]
        controls : (steps, n) positions that the servos are commanded
        """
        from mujoco import rollout

        model, full = self._model, self._mujoco.mjtState.mjSTATE_FULLPHYSICS
        model.opt.gravity[:] = gravity
        data = self._mujoco.MjData(model)
        data.qpos[self._places], data.qvel[self._dofs] = q, v
        start = np.empty(self._mujoco.mj_stateSize(model, full))
        self._mujoco.mj_getState(model, data, start, full)
        every = np.zeros((1, len(controls), model.nu))
        every[0][:, self._controls] = controls
        states, _ = rollout.rollout(model, data, start[None], every)
        return np.asarray(states[0][:, 1 + self._places])  # behind the time


def _unreadable(error: ValueError) -> InertialIdError:
    return InertialIdError('MuJoCo cannot read the model', found=' '.join(str(error).split()))


def _mujoco() -> Any:
    try:
        import mujoco
    except ImportError as error:
        raise InertialIdError(
            'a replay needs MuJoCo, which is not installed',
            do='pip install "ros_inertial_id[sim]"',
        ) from error
    return mujoco


def check_mujoco() -> None:
    """Raise InertialIdError, which says what to install, where MuJoCo is not."""
    _mujoco()
