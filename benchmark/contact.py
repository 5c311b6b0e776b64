"""
Contact on recordings of real robots that nobody touched, and with pushes superposed on them.

    python benchmark/contact.py --data FOLDER [--bags FOLDER] [--logs FOLDER] [--per-hour 1]

The folders are those of accuracy.py.  A model is identified from one part; the momentum observer
then runs over it and over the other part.  A push adds J'f of a force on the last joint's origin
in a random direction: how many are seen within 50 ms, of all, of those whose torque is above what
the observer allows for errors at one joint within its range, and of those above the smallest that
it should see in nine of ten cases (``External.smallest_seen``, of which the median is printed per
joint).
"""

from accuracy import folders, pairs
import numpy as np
import pinocchio as pin

import ros_inertial_id as rid
from ros_inertial_id.errors import InertialIdError, RecordingError
from ros_inertial_id.identification.settings import robot_of_model
from ros_inertial_id.procedures.momentum_observer import observer_of

BANDWIDTH = 50.0  # [rad/s], the node's default
PUSHES, WITHIN = 30, 0.05  # of each force, [s]
FORCES = 5.0, 10.0, 20.0  # [N]


def stream(recording, joints):
    """Return (t, q, v, tau) of the samples that a node would be given, in the order of joints."""
    channel = next(iter(recording.channels.values()))
    if 'velocity' not in channel.fields:
        raise RecordingError('no velocities')
    columns = [list(channel.names).index(name) for name in joints]
    values = [channel.fields[k][:, columns] for k in ('position', 'velocity', 'effort')]
    t = (channel.stamp_ns - channel.stamp_ns[0]) * 1e-9
    good = np.isfinite(np.hstack(values)).all(1) & np.diff(t, prepend=-1.0).astype(bool)
    return t[good], *(x[good] for x in values)


def pushed(urdf, joints, q, force):
    """Return J'f (N, n) [N m] of a force (3,) [N] in the world at the last joint's origin."""
    model = pin.buildModelFromXML(urdf)
    data, last = model.createData(), model.getJointId(joints[-1])
    places = [model.joints[model.getJointId(name)] for name in joints]
    out = []
    for row in q:
        full = pin.neutral(model)
        full[[j.idx_q for j in places]] = row
        pin.computeJointJacobians(model, data, full)
        J = pin.getJointJacobian(model, data, last, pin.LOCAL_WORLD_ALIGNED)
        out.append((J[:3].T @ force)[[j.idx_v for j in places]])
    return np.array(out)


def observed(case, t, q, v, tau):
    """Return the External torques of samples by a new observer of a ``case``."""
    model, robot, per_hour = case
    return observer_of(model, robot, BANDWIDTH, per_hour).add(t, q, v, tau)


def found(case, urdf, samples, size, rng):
    """Return of PUSHES of a size [N]: whether each exceeds the limit, is large, is seen."""
    t, *rest = samples
    out = []
    for _ in range(PUSHES):
        begin, way = rng.uniform(1.0, t[-1] - 0.5), rng.standard_normal(3)
        part = (t > begin - 1.0) & (t < begin + 2.0 * WITHIN)
        after = (t[part] >= begin) & (t[part] <= begin + WITHIN)
        q, v, tau = (x[part] for x in rest)
        push = pushed(urdf, case[1].joint_names, q, size * way / np.linalg.norm(way))
        before = observed(case, t[part], q, v, tau)
        smallest = before.smallest_seen(WITHIN, float(np.median(np.diff(t))))
        known = before.outside[after].max(0) == 0.0
        larger, large = (
            known & (np.abs(push[after]) > x[after]).all(0) for x in (before.limit, smallest)
        )
        hit = observed(case, t[part], q, v, tau - push * (t[part] >= begin)[:, None])
        out.append((larger.any(), large.any(), hit.contact[after].any()))
    return np.array(out).T


def main():
    """Print false alarms, how many pushes are seen, and the smallest that is seen per joint."""
    parser = folders(__doc__.strip().split('\n')[0])
    parser.add_argument('--per-hour', type=float, default=1.0)
    options = parser.parse_args()
    alarms, whole = 0, 0.0
    for name, words, training, checked, urdf in pairs(options):
        model = rid.identify(training, urdf=urdf).model.identified
        case = (
            model,
            robot_of_model(model, np.array(model.mounting['gravity_base'][0])),
            options.per_hour,
        )
        cells = []
        try:
            for part in (*training, checked):
                samples = stream(part, case[1].joint_names)
                out = observed(case, *samples)
                begun = np.sum(np.diff(out.contact.any(1).astype(int), prepend=0) > 0)
                cells.append(f'{begun} in {samples[0][-1]:.0f} s')
                alarms, whole = alarms + begun, whole + samples[0][-1]
        except InertialIdError as error:
            print(f'{name} {words}: no observer: {error}', flush=True)
            continue
        print(f'{name} {words}: false alarms {", ".join(cells)}')
        period = float(np.median(np.diff(samples[0])))
        smallest = np.median(out.smallest_seen(WITHIN, period), axis=0)
        print('   smallest push seen [N m]:', ' '.join(f'{x:.2g}' for x in smallest), flush=True)
        rng = np.random.default_rng(0)
        for size in FORCES:
            larger, large, seen = found(case, urdf.read_text(), samples, size, rng)
            print(
                f'   {size:g} N: {seen.sum()} of {PUSHES} seen; {(seen & larger).sum()} of '
                f'{larger.sum()} above the limit, {(seen & large).sum()} of {large.sum()} '
                'above the smallest',
                flush=True,
            )
    print(f'{alarms} false alarms in {whole / 60.0:.1f} minutes')


if __name__ == '__main__':
    main()
