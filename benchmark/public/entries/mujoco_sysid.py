"""mujoco.sysid: armature, damping and friction loss of each joint, links as described, a delay."""

import logging

import mujoco
from mujoco import sysid
import numpy as np

from benchmark.public.replay import with_servos

STEP = 2e-3  # [s] of the rollouts
WINDOW_S = 2.0
DELAYS = (0.0, 0.004, 0.008)  # [s] of the commands; the one with the smallest residual is kept
BOUNDS = {'armature': (1e-4, 0.1), 'damping': (0.0, 2.0), 'frictionloss': (0.0, 2.0)}


def fit_simulator(train, mjcf):
    """Return the MJCF text after least squares over rollouts from measured states."""
    logging.disable(logging.WARNING)
    recording = train[0]
    spec = _spec(with_servos(mjcf, *recording.servo), recording.joints)
    model = spec.compile()
    found = []
    for delay in DELAYS:
        sequences = sysid.ModelSequences('robot', spec, *_windows(model, recording, delay))
        residual = sysid.build_residual_fn(models_sequences=[sequences])
        parameters = _parameters(recording.joints)
        best, result = sysid.optimize(
            initial_params=parameters, residual_fn=residual, optimizer='mujoco', verbose=False
        )
        left = np.concatenate([np.ravel(r) for r in residual(best.as_vector(), best)[0]])
        found.append((float(left @ left), delay, best))
    _, delay, best = min(found, key=lambda each: each[0])
    for parameter in best.values():
        parameter.apply_modifier(spec)
    return _delayed(spec.to_xml(), delay)


def _spec(mjcf, joints):
    """Return the MjSpec with a position sensor per joint, in their order."""
    spec = mujoco.MjSpec.from_string(mjcf)
    spec.option.timestep = STEP
    for name in joints:
        spec.add_sensor(
            name=f'{name}_position',
            type=mujoco.mjtSensor.mjSENS_JOINTPOS,
            objtype=mujoco.mjtObj.mjOBJ_JOINT,
            objname=name,
        )
    return spec


def _parameters(joints):
    parameters = sysid.ParameterDict()
    for joint in joints:
        for term, (low, high) in BOUNDS.items():
            start = 0.1 * high

            def put(spec, parameter, joint=joint, term=term):
                value = float(parameter.value[0])
                if term == 'damping':  # of a polynomial of the velocity
                    value = [value, 0.0, 0.0]
                setattr(spec.joint(joint), term, value)

            parameters.add(sysid.Parameter(f'{joint}_{term}', start, low, high, modifier=put))
    return parameters


def _windows(model, recording, delay):
    """Return names, initial states, controls and positions of windows of the recording."""
    clock = np.arange(recording.t[0], recording.t[-1], STEP)
    sent = np.searchsorted(recording.t + delay, clock + 1e-9, side='right') - 1
    order = [list(recording.joints).index(model.joint(i).name) for i in model.actuator_trnid[:, 0]]
    controls = recording.command[sent.clip(0)][:, order]
    speed = np.gradient(recording.q, recording.t, axis=0)
    q, v = (
        np.column_stack([np.interp(clock, recording.t, x) for x in signal.T])
        for signal in (recording.q, speed)
    )
    addresses = [model.joint(name).qposadr[0] for name in recording.joints]
    dofs = [model.joint(name).dofadr[0] for name in recording.joints]
    names, states, controlled, measured = [], [], [], []
    length = round(WINDOW_S / STEP)
    for begin in range(0, len(clock) - length, length):
        rows = slice(begin, begin + length)
        qpos, qvel = np.zeros(model.nq), np.zeros(model.nv)
        qpos[addresses], qvel[dofs] = q[begin], v[begin]
        t = STEP * np.arange(length)
        names.append(f'from {begin}')
        states.append(sysid.create_initial_state(model, qpos, qvel, np.zeros(model.na)))
        controlled.append(sysid.TimeSeries(t, controls[rows]))
        measured.append(sysid.TimeSeries.from_names(t[1:], q[rows][1:], model))
    return names, states, controlled, measured


def _delayed(mjcf, delay):
    """Return a MJCF whose servos get their commands late by ``delay`` [s]."""
    if not delay:
        return mjcf
    samples = round(delay / 5e-4) + 1
    history = f' delay="{delay}" nsample="{samples}" interp="linear" '
    return mjcf.replace('<general ', f'<general{history}').replace(
        '<position ', f'<position{history}'
    )
