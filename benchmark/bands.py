"""
Coverage of the 95 % band of predicted torques on motion that the model has not seen.

    python benchmark/bands.py --data FOLDER [--bags FOLDER] [--logs FOLDER] [--simulated]

The folders are those of accuracy.py, which says which recording is predicted from which.  A line
has for each joint the share of samples inside the band [%], the least of all windows of 10 s, and
the band's mean width over the rms of the residual (a normal residual that is known: 3.9); share of
the samples beyond the validity range, where the band is wider by rule and not by data.

--simulated: arms of MuJoCo, each with one effect that no column of the model has: elastic joints,
backlash, friction that grows with the load, friction that falls as the arm warms up (within the
training, and on after it), torque ripple, an elastic cable from the base to the last link.  60 s
of one motion identify, another motion two minutes later is predicted.
"""

from pathlib import Path
import sys

from accuracy import folders, pairs
import numpy as np
import pinocchio as pin

import ros_inertial_id as rid

ROOT = Path(__file__).resolve().parents[1]
sys.path.append(str(ROOT / 'test' / 'oracles'))

import mujoco_arm  # noqa: E402
import sampled_arm  # noqa: E402

WINDOW = 10.0  # [s]
RATE, SECONDS, LATER = 200.0, 60.0, 120.0  # [Hz], [s] of a simulated recording, and between two
SHARE = 0.05  # of an effect in the torque of a joint (RMS), about


def line(words, prediction):
    """Print the coverage of a Prediction, and return it of all joints together."""
    p, held = prediction, np.abs(prediction.residual) <= prediction.upper - prediction.torque
    windows = max(1, int((p.t[-1] - p.t[0]) / WINDOW))
    window = np.minimum((windows * (p.t - p.t[0]) / (p.t[-1] - p.t[0])).astype(int), windows - 1)
    least = np.min([held[window == k].mean(0) for k in range(windows)], axis=0)
    width = (p.upper - p.lower).mean(0) / np.sqrt((p.residual**2).mean(0))
    print(
        f'| {words} | {100 * held.mean():.1f} | {_row(100 * held.mean(0), 0)} | '
        f'{_row(100 * least, 0)} | {_row(width, 1)} | {100 * (p.outside > 0).mean():.0f} |',
        flush=True,
    )
    return held.mean()


def _row(values, digits):
    return ' '.join(f'{x:.{digits}f}' for x in values)


def ripple(q, v, tau, t, sizes):
    """Return a torque (N, n) that the position of a motor modulates, 30 times a turn."""
    return np.sqrt(2.0) * sizes * np.sin(30.0 * q)


def loaded_friction(q, v, tau, t, sizes):
    """Return friction in proportion to the load that a gear carries."""
    rms = np.sqrt((tau**2).mean(0))
    return 2.0 * sizes * np.abs(tau) / rms * np.tanh(v / 0.01)


def warming(q, v, tau, t, sizes, constant=15.0):
    """Return viscous friction that falls with a time constant [s]."""
    return 2.0 * sizes * v / v.std(0) * np.exp(-t[:, None] / constant)


def warming_on(q, v, tau, t, sizes):
    """Return viscous friction that falls within the training and after it."""
    return warming(q, v, tau, t, sizes, 60.0)


def cable(q, v, tau, t, sizes, urdf):
    """Return the pull of an elastic cable between a point of the base and the last link."""
    model = pin.buildModelFromXML(urdf)
    data, out = model.createData(), np.empty_like(q)
    for row, here in zip(out, q):
        pin.computeJointJacobians(model, data, here)
        J = pin.getJointJacobian(model, data, model.njoints - 1, pin.LOCAL_WORLD_ALIGNED)[:3]
        row[:] = J.T @ (data.oMi[model.njoints - 1].translation - np.array([0.0, 0.3, 0.8]))
    return out * (sizes.max() / np.sqrt((out**2).mean(0)).max())


def simulated(urdf, effect, seed, begin):
    """Return the Recording of another motion for every seed, with an effect by name."""
    joints = mujoco_arm.joints_of(urdf)
    rng = np.random.default_rng(seed)
    motion = sampled_arm.Motion(len(joints), 0.5, rng, speed=1.0)
    t = np.arange(int(RATE * SECONDS)) / RATE
    q, v, a = motion(t)
    tau = sampled_arm.torque(urdf, q, v, a)
    sizes = SHARE * np.sqrt((tau**2).mean(0))
    if effect in ('elastic', 'backlash'):  # the encoder is at the motor
        twist = (
            tau / np.sqrt((tau**2).mean(0)) * 5e-3
            if effect == 'elastic'
            else 5e-3 * np.tanh(tau / sizes)
        )
        q, v = q + twist, v + np.gradient(twist, t, axis=0)
    elif effect == 'cable':
        tau = tau + cable(q, v, tau, t, sizes, urdf)
    elif effect:
        added = {
            'ripple': ripple,
            'loaded friction': loaded_friction,
            'warming': warming,
            'warming on': warming_on,
        }[effect]
        tau = tau + added(q, v, tau, t + begin, sizes)
    noise = [
        s * rng.standard_normal(q.shape)
        for s in (sampled_arm.ENCODER, sampled_arm.SPEED, sampled_arm.TORQUE)
    ]
    q, v, tau = (values + own for values, own in zip((q, v, tau), noise))
    return mujoco_arm.recording(joints, t + 1.0, q, v, tau, 'upright', urdf)


def simulated_arms():
    """Yield (words, Prediction) of arms with effects that the model does not have."""
    for name in ('arm3', 'franka'):
        nominal = mujoco_arm.description(name)
        urdf = mujoco_arm.true_urdf(nominal, 1)
        for effect in (
            '',
            'elastic',
            'backlash',
            'loaded friction',
            'warming',
            'warming on',
            'ripple',
            'cable',
        ):
            model = rid.identify(simulated(urdf, effect, 1, 0.0), urdf=nominal).model
            yield (
                f'{name}, {effect or "nothing unmodelled"}',
                model.predict(simulated(urdf, effect, 2, LATER)),
            )


def main():
    """Print the tables."""
    parser = folders(__doc__.strip().split('\n')[0])
    parser.add_argument('--simulated', action='store_true')
    options = parser.parse_args()
    print(
        '| recording | all [%] | each joint [%] | least window [%] | width / rms residual | '
        'outside [%] |\n|---|---|---|---|---|---|'
    )
    covered = (
        [line(*case) for case in simulated_arms()]
        if options.simulated
        else [
            line(f'{robot} {words}', rid.identify(training, urdf=urdf).model.predict(checked))
            for robot, words, training, checked, urdf in pairs(options)
        ]
    )
    print(
        f'{np.sum((np.array(covered) >= 0.9) & (np.array(covered) <= 0.99))} of {len(covered)} '
        'between 90 and 99 %'
    )


if __name__ == '__main__':
    main()
