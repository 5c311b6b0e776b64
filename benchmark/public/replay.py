"""Replay of recorded commands in MuJoCo: how far a simulated robot drifts from the real one."""

from dataclasses import dataclass
import xml.etree.ElementTree as ElementTree

import mujoco
import numpy as np

from .signals import Recording

STEP = 1e-3  # [s] of the simulation
AFTER = (0.1, 0.5, 2.0)  # [s] since a start from where the robot was


@dataclass(frozen=True)
class Drift:
    """RMS over all joints [mrad]: of one replay of the whole test, and ``AFTER`` each start."""

    whole: float
    after: tuple[float, ...]


def bare(mjcf: str) -> str:
    """Return a MJCF whose base is fixed, without what is only seen, touched or sensed."""
    root = ElementTree.fromstring(mjcf)
    for tag in ('keyframe', 'sensor', 'asset'):
        for element in root.findall(tag):
            root.remove(element)
    for parent in list(root.iter()):
        for child in list(parent):
            seen = child.tag == 'geom' and (child.get('mesh') or child.get('class') == 'visual')
            if seen or child.tag == 'freejoint':
                parent.remove(child)
        parent.attrib.pop('material', None)
    ElementTree.SubElement(ElementTree.SubElement(root, 'option'), 'flag', contact='disable')
    return ElementTree.tostring(root, encoding='unicode')


def with_servos(mjcf: str, stiffness: float, damping: float) -> str:
    """Return a MJCF with a position servo in each joint in place of its actuators."""
    spec = mujoco.MjSpec.from_string(mjcf)
    for actuator in list(spec.actuators):
        spec.delete(actuator)
    for joint in spec.joints:
        servo = spec.add_actuator(
            name=f'{joint.name}_servo', target=joint.name, trntype=mujoco.mjtTrn.mjTRN_JOINT
        )
        servo.set_to_position(kp=stiffness, kv=damping)
    return spec.to_xml()


def drift(mjcf: str, test: Recording) -> Drift:
    """Return the Drift of a model with position servos under the commands of a test."""
    model = mujoco.MjModel.from_xml_string(mjcf)
    model.opt.timestep = STEP
    simulated = _Simulated(model, test)
    whole = simulated.run(0, len(test.t)) - test.q
    begun = np.arange(0, len(test.t), np.searchsorted(test.t - test.t[0], max(AFTER)))[:-1]
    ends = [begun + np.searchsorted(test.t - test.t[0], seconds) - 1 for seconds in AFTER]
    runs = [simulated.run(begin, stop + 1) for begin, stop in zip(begun, ends[-1])]
    after = [
        _milliradians([run[k - begin] - test.q[k] for run, begin, k in zip(runs, begun, end)])
        for end in ends
    ]
    return Drift(_milliradians(whole), tuple(after))


class _Simulated:
    """A model in the state and under the commands of a Recording."""

    def __init__(self, model: mujoco.MjModel, test: Recording) -> None:
        self._model, self._test = model, test
        ids = [model.joint(name).id for name in test.joints]
        self._q, self._v = model.jnt_qposadr[ids], model.jnt_dofadr[ids]
        driven = model.actuator_trnid[:, 0]
        self._servo = [int(np.flatnonzero(driven == i)[0]) for i in ids]
        self._speed = np.gradient(test.q, test.t, axis=0)

    def run(self, begin: int, end: int) -> np.ndarray:
        """Return the positions (end - begin, n) from the recorded state of sample ``begin``."""
        test, data = self._test, mujoco.MjData(self._model)
        data.time = test.t[begin]
        data.qpos[self._q], data.qvel[self._v] = test.q[begin], self._speed[begin]
        data.ctrl[self._servo] = test.command[begin]
        self._remember(data, begin)
        out = np.empty((end - begin, len(test.joints)))
        for k in range(begin, end):
            while data.time < test.t[k] - 0.5 * STEP:
                sent = np.searchsorted(test.t, data.time + 1e-9, side='right') - 1
                data.ctrl[self._servo] = test.command[max(sent, 0)]
                mujoco.mj_step(self._model, data)
            out[k - begin] = data.qpos[self._q]
        return out

    def _remember(self, data: mujoco.MjData, begin: int) -> None:
        """Put the commands before sample ``begin`` into the history of delayed servos."""
        test, model = self._test, self._model
        for i, servo in enumerate(self._servo):
            length = int(model.actuator_history[servo, 0])
            if model.actuator_delay[servo] == 0.0:
                continue
            times = test.t[begin] + STEP * np.arange(1 - length, 1)
            sent = np.searchsorted(test.t, times + 1e-9, side='right') - 1
            values = test.command[sent.clip(0), i : i + 1].copy()
            mujoco.mj_initCtrlHistory(model, data, servo, times[:, None].copy(), values)


def _milliradians(error) -> float:
    return float(1e3 * np.sqrt(np.mean(np.square(error))))
