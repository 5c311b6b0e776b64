"""A four-bar in MuJoCo, whose crank is driven and whose pins and tag a camera sees."""

from body_recordings import channel, truth
import mujoco
import numpy as np
from scipy.spatial.transform import Rotation

from ros_inertial_id.identification.settings import options_class
from ros_inertial_id.measurement.recording import Recording

BARS = {  # mass, centre, principal moments about it
    'crank': (0.30, (0.04, 0.0, 0.01), (1e-4, 4e-4, 4e-4)),
    'coupler': (0.45, (0.12, 0.0, 0.03), (4e-4, 4e-3, 4e-3)),
    'rocker': (0.50, (0.09, 0.0, -0.015), (3e-4, 3e-3, 3e-3))}
PLACES = {'crank': ('base_link', 0.0), 'coupler': ('crank_link', 0.10),
          'rocker': ('base_link', 0.30)}  # parent, x of the hinge in it [m]
POINTS = {'coupler_end': ('coupler_link', 0.28, 0.0), 'rocker_end': ('rocker_link', 0.22, 0.0),
          'tag': ('coupler_link', 0.15, 0.05)}  # link, x, z [m]


def four_bar_urdf():
    out = ['<robot name="four_bar"><link name="base_link"/>']
    for name, (mass, (x, y, z), (a, b, c)) in BARS.items():
        parent, at = PLACES[name]
        out.append(
            f'<link name="{name}_link"><inertial><origin xyz="{x} {y} {z}"/><mass value="{mass}"/>'
            f'<inertia ixx="{a}" iyy="{b}" izz="{c}" ixy="0" ixz="0" iyz="0"/></inertial></link>'
            f'<joint name="{name}" type="continuous"><parent link="{parent}"/>'
            f'<child link="{name}_link"/><origin xyz="{at} 0 0"/><axis xyz="0 1 0"/></joint>')
    for name, (link, x, z) in POINTS.items():
        out.append(f'<link name="{name}"/><joint name="{name}_fixed" type="fixed"><parent '
                   f'link="{link}"/><child link="{name}"/><origin xyz="{x} 0 {z}"/></joint>')
    return ''.join(out) + '</robot>'


def four_bar_mjcf():
    def bar(name, children=''):
        mass, centre, moments = BARS[name]
        at = PLACES[name][1]
        sites = ''.join(f'<site name="{n}" pos="{x} 0 {z}"/>'
                        for n, (link, x, z) in POINTS.items() if link == f'{name}_link')
        words = ('{} {} {}'.format(*v) for v in (centre, moments))
        centre, moments = words
        return (f'<body name="{name}" pos="{at} 0 0"><joint name="{name}" axis="0 1 0"/>'
                f'<inertial pos="{centre}" mass="{mass}" diaginertia="{moments}"/>'
                f'<site name="{name}_link"/>{sites}{children}</body>')
    return ('<mujoco><option timestep="0.00010416666666666667" gravity="0 0 -9.81" '
            'tolerance="1e-14"/><worldbody>' + bar('crank', bar('coupler')) + bar('rocker')
            + '</worldbody><equality><connect site1="coupler_end" site2="rocker_end" '
            'solref="-1e7 -4e3" solimp="0.9999 0.9999 0.001 0.5 2"/></equality></mujoco>')


def four_bar(duration=10.0):
    """Return t and {site: (positions, rotations)} at 240 Hz, t and crank torque at 960 Hz."""
    model = mujoco.MjModel.from_xml_string(four_bar_mjcf())
    data, h = mujoco.MjData(model), model.opt.timestep
    data.qpos[:] = START
    seen, torques, times = {n: ([], []) for n in SEEN}, [], []
    for k in range(round(duration / h)):
        t = k * h
        pace = 1.0 - np.exp(-t / 0.2)
        path = START[0] + pace * (5.0 * t + 0.9 * np.sin(9.0 * t) + 0.4 * np.sin(16.0 * t))
        rate = 5.0 + 8.1 * np.cos(9.0 * t) + 6.4 * np.cos(16.0 * t)
        torque = 60.0 * (path - data.qpos[0]) + 1.5 * (rate - data.qvel[0])
        data.qfrc_applied[0] = torque
        mujoco.mj_step1(model, data)
        if k % 10 == 0:
            torques.append((t, torque))
        if k % 40 == 0:
            times.append(t)
            for name, (position, rotation) in seen.items():
                site = data.site(name)
                position.append(site.xpos.copy())
                rotation.append(site.xmat.reshape(3, 3).copy())
        mujoco.mj_step2(model, data)
    return np.array(times), {n: tuple(map(np.array, x)) for n, x in seen.items()}, torques


SEEN = ('coupler_link', 'rocker_end', 'tag')
_CRANK = 0.5


def _start():
    """Return crank, coupler and rocker angles where the loop closes, by the law of cosines."""
    pin = 0.10 * np.array([np.cos(_CRANK), -np.sin(_CRANK)])  # a turn about y takes x to -z
    away = np.array([0.30, 0.0]) - pin
    far = np.linalg.norm(away)
    at = np.arctan2(-away[1], away[0])
    inner = np.arccos((0.28 ** 2 + far ** 2 - 0.22 ** 2) / (2 * 0.28 * far))
    coupler = at - inner
    end = pin + 0.28 * np.array([np.cos(coupler), -np.sin(coupler)]) - [0.30, 0.0]
    return np.array([_CRANK, coupler - _CRANK, np.arctan2(-end[1], end[0])])


START = _start()


def markers(seeds, astray):
    """Yield (recordings, options, method, description, truth) of the four-bar seen by a camera."""
    t, seen, torques = four_bar()
    noise, lines = (5e-4, 5e-3) if astray else (3e-4, 5e-3), []
    for name in SEEN[:3 if astray else 2]:
        lines.append(f'/seen/{name} {name}' + (' pose' if name == 'tag' else ''))
    options = options_class('closed_loop')(
        closures=('point coupler_end rocker_end',), independent=('crank',), markers=tuple(lines),
        start=tuple(f'{n} {x:.2f}' for n, x in zip(PLACES, START)), marker_noise=noise[0],
        tag_noise=noise[1], torques=('crank /torque',), estimator='ordinary', find_camera=astray)
    for seed in range(seeds):
        rng = np.random.default_rng(50 + seed)
        channels = {}
        points = {n: seen[n][0] + noise[0] * rng.standard_normal((len(t), 3)) for n in SEEN}
        if astray:
            swapped = rng.random(len(t)) < 0.05
            points[SEEN[0]][swapped], points[SEEN[1]][swapped] = (
                points[SEEN[1]][swapped].copy(), points[SEEN[0]][swapped].copy())
        view = Rotation.from_rotvec(rng.uniform(-2.0, 2.0, 3)) if astray else Rotation.identity()
        stand = rng.uniform(-1.0, 1.0, 3) if astray else np.zeros(3)
        creep = np.outer(t / t[-1], 1e-3 * np.array([0.6, 0.64, 0.48])) if astray else 0.0
        for name in SEEN[:len(lines)]:
            at = points[name] + creep
            if astray:
                far = rng.random(len(t)) < 0.05
                at[far] += rng.uniform(-0.2, 0.2, (int(far.sum()), 3))
            kept = rng.random(len(t)) > 0.2
            fields = {'position': view.inv().apply(at - stand)[kept]}
            if name == 'tag':
                turned = (view.inv() * Rotation.from_matrix(seen[name][1])
                          * Rotation.from_rotvec(noise[1] * rng.standard_normal((len(t), 3))))
                fields['orientation_xyzw'] = turned.as_quat()[kept]
            kind = 'PoseStamped' if name == 'tag' else 'PointStamped'
            channels[f'/seen/{name}'] = channel(f'/seen/{name}', f'geometry_msgs/msg/{kind}',
                                                t[kept], fields)
        when, torque = np.array(torques).T
        channels['/torque'] = channel(
            '/torque', 'sensor_msgs/msg/JointState', when,
            {'effort': (torque + 0.01 * rng.standard_normal(len(torque)))[:, None]}, ('crank',))
        made = Recording(channels, four_bar_urdf(), 'upright', {'path': 'mujoco'})
        yield [made], options, 'closed_loop', '', truth(BARS.values())
