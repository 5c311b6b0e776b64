"""
Contact on recordings of real robots that nobody touched, and with pushes superposed on them.

    python benchmark/contact.py --data FOLDER [--bags FOLDER] [--logs FOLDER] [--per-hour 1]

The folders are those of accuracy.py.  A model is identified from one part; the momentum observer
then runs over it and over the other part.  A push adds J'f of a force on the last joint's origin
in a random direction: how many begin to be seen within 50 ms, of those whose torque is larger than
what the observer allows for the model's error at one joint or more.
"""

from accuracy import folders, pairs
import numpy as np
import pinocchio as pin

import ros_inertial_id as rid
from ros_inertial_id.identification.judge.prediction import alarm_ratios, band_for
from ros_inertial_id.identification.settings import robot_of_model
from ros_inertial_id.procedures.momentum_observer import observer_of

BANDWIDTH = 50.0  # [rad/s], the node's default
PUSHES, WITHIN = 30, 0.05  # of each force, [s]
FORCES = 5.0, 10.0, 20.0  # [N]


def stream(recording, joints):
    """Return (t, q, v, tau) of the samples that a node would be given, in the order of joints."""
    channel = next(iter(recording.channels.values()))
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


def main():
    """Print false alarms and how many pushes are seen."""
    parser = folders(__doc__.strip().split('\n')[0])
    parser.add_argument('--per-hour', type=float, default=1.0)
    options = parser.parse_args()
    alarms, whole = 0, 0.0
    for name, words, training, checked, urdf in pairs(options):
        model = rid.identify(training, urdf=urdf).model.identified
        robot = robot_of_model(model, np.array(model.mounting['gravity_base'][0]))
        joints, cells = robot.joint_names, []
        for part in (*training, checked):
            t, *rest = stream(part, joints)
            found = observer_of(model, robot, BANDWIDTH, options.per_hour).add(t, *rest)
            begun = np.sum(np.diff(found.contact.any(1).astype(int), prepend=0) > 0)
            cells.append(f'{begun} in {t[-1]:.0f} s')
            alarms, whole = alarms + begun, whole + t[-1]
        rng = np.random.default_rng(0)
        for size in FORCES:
            seen, count = 0, 0
            for _ in range(PUSHES):
                begin, way = rng.uniform(1.0, t[-1] - 0.5), rng.standard_normal(3)
                part = (t > begin - 1.0) & (t < begin + 2.0 * WITHIN)
                after = t[part] >= begin
                q, v, tau = (x[part] for x in rest)
                push = pushed(urdf.read_text(), joints, q, size * way / np.linalg.norm(way))
                states = {joint: {'q': q[:, j], 'v': v[:, j]} for j, joint in enumerate(joints)}
                band = model.statistics['prediction_band']
                half, _ = band_for(model, joints).at(states)
                limit = half * alarm_ratios(band, joints, options.per_hour)
                if (np.abs(push) > limit)[after].any(1).mean() < 0.5:
                    continue
                out = observer_of(model, robot, BANDWIDTH, options.per_hour).add(
                    t[part], q, v, tau - push * after[:, None])
                count += 1
                seen += bool(out.contact[after & (t[part] <= begin + WITHIN)].any())
            cells.append(f'{size:g} N: {seen} of {count}')
        print(f'{name} {words}: false alarms {", ".join(cells)}', flush=True)
    print(f'{alarms} false alarms in {whole / 60.0:.1f} minutes')


if __name__ == '__main__':
    main()
