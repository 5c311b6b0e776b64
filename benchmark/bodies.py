"""
Accuracy of what cameras, wrench sensors and springs show, against MuJoCo models written here.

    python benchmark/bodies.py [occluded astray still still-instrumental coils leg] [--seeds 10]

Nothing but Recordings and the verbs' functions is taken from the package; the models are MJCF text
below (the leg: simulation/platform.py).  Prints rank, error in standard errors and CPU time of
every seed, five to thirty seconds each.

occluded : a four-bar, two pins seen with 0.3 mm, each hidden in a fifth of the frames
astray : with a tag, 0.5 mm, a twentieth of the frames exchanged and of the readings anywhere, the
    camera somewhere and creeping by 1 mm
still : three bodies between two wrench sensors, of which the first never turns; by both estimators
coils : 52 kg on a platform that hangs on coil springs, calibrated empty and with 2, 5 or 52 kg
leg : three links on a platform
"""

import argparse
import os
import pathlib
import sys
import time

os.environ.setdefault('OPENBLAS_NUM_THREADS', '1')
ROOT = pathlib.Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / 'test' / 'oracles')]

import mujoco  # noqa: E402
import numpy as np  # noqa: E402
import platform_truth  # noqa: E402
from scipy.spatial.transform import Rotation  # noqa: E402
import yaml  # noqa: E402

from ros_inertial_id.errors import InertialIdError  # noqa: E402
from ros_inertial_id.identification.identify import identify  # noqa: E402
from ros_inertial_id.identification.settings import options_class  # noqa: E402
from ros_inertial_id.measurement.recording import Channel, Recording  # noqa: E402
from ros_inertial_id.procedures.calibration import calibrate_platform  # noqa: E402

SYMBOLS = ('m', 'mcx', 'mcy', 'mcz', 'Ixx', 'Ixy', 'Iyy', 'Ixz', 'Iyz', 'Izz')
BARS = {  # mass, centre, principal moments about it
    'crank': (0.30, (0.04, 0.0, 0.01), (1e-4, 4e-4, 4e-4)),
    'coupler': (0.45, (0.12, 0.0, 0.03), (4e-4, 4e-3, 4e-3)),
    'rocker': (0.50, (0.09, 0.0, -0.015), (3e-4, 3e-3, 3e-3))}
PLACES = {'crank': ('base_link', 0.0), 'coupler': ('crank_link', 0.10),
          'rocker': ('base_link', 0.30)}  # parent, x of the hinge in it [m]
POINTS = {'coupler_end': ('coupler_link', 0.28, 0.0), 'rocker_end': ('rocker_link', 0.22, 0.0),
          'tag': ('coupler_link', 0.15, 0.05)}  # link, x, z [m]


def ten(mass, centre, inertia):
    """Return the ten standard parameters about the frame's origin."""
    c, J = np.array(centre), np.array(inertia, dtype=float)
    J = (np.diag(J) if J.ndim == 1 else J) + mass * (c @ c * np.eye(3) - np.outer(c, c))
    return np.concatenate([[mass], mass * c, J[[0, 0, 1, 0, 1, 2], [0, 1, 1, 2, 2, 2]]])


def truth(bodies, first=1):
    """Return {symbol + number: value} of bodies, each (mass, centre, inertia)."""
    return {f'{s}{k}': x for k, body in enumerate(bodies, first)
            for s, x in zip(SYMBOLS, ten(*body))}


def channel(topic, kind, t, fields, names=()):
    """Return the Channel of samples at times t [s]."""
    stamps = np.round(np.asarray(t) * 1e9).astype(np.int64) + 10 ** 9
    return Channel(topic, kind, stamps, stamps.copy(), fields, names)


def judged(model, known):
    """Return (errors in standard errors of what is known, how many are determined, names)."""
    z, without = [], []
    for entry in model.base:
        if not entry['determined']:
            without.append(entry['name'])
        elif set(entry['grouping']) <= set(known):
            right = sum(c * known[n] for n, c in entry['grouping'].items())
            z.append((entry['value'] - right) / entry['standard_error'])
    return np.array(z), without


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
    """Yield (z, undetermined, model, CPU) of the four-bar seen by a camera."""
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
        yield _run([made], options, 'closed_loop', '', truth(BARS.values()))


def _run(recordings, options, method, urdf, known):
    begun = time.process_time()
    model = identify(recordings, options, method=method, urdf=urdf).model
    return *judged(model, known), model, time.process_time() - begun


CHAIN = {'a': (3.0, (0.02, -0.03, -0.2), (0.20, 0.37, 0.25)),
         'b': (1.5, (0.01, 0.02, -0.15), (0.02, 0.022, 0.006)),
         'c': (0.8, (0.0, 0.015, -0.12), (0.008, 0.007, 0.003))}
JOINTS = {'b': {'parent': 'a', 'joint': 'revolute', 'axis': [0, 1, 0], 'position': [.1, 0, -.4]},
          'c': {'parent': 'b', 'joint': 'spherical', 'position': [0, 0, -0.3]}}


def chain_mjcf():
    joints = {'a': ''.join(f'<joint name="{n}" type="slide" axis="{x}"/>' for n, x in (
        ('x', '1 0 0'), ('y', '0 1 0'), ('z', '0 0 1'))),
        'b': '<joint name="hinge" axis="0 1 0"/>',
        'c': '<joint name="ball" type="ball" damping="0.02"/>'}
    text = ''
    for name, (mass, centre, moments) in reversed(CHAIN.items()):
        at = JOINTS.get(name, {}).get('position', [0, 0, 0])
        words = ['{} {} {}'.format(*v) for v in (at, centre, moments)]
        text = (f'<body name="{name}" pos="{words[0]}">{joints[name]}<site name="{name}"/>'
                f'<inertial pos="{words[1]}" mass="{mass}" diaginertia="{words[2]}"/>'
                f'{text}</body>')
    sensors = ''.join(f'<{kind} name="{kind} {site}" site="{site}"/>' for site in 'ac'
                      for kind in ('force', 'torque'))
    return ('<mujoco><option timestep="0.001" integrator="RK4"/><worldbody>' + text
            + f'</worldbody><sensor>{sensors}</sensor></mujoco>')


def chain(duration=20.0):
    """Return t, {body: poses (N, 7)}, {sensor: wrench (N, 6)} at 250 Hz; the first only slides."""
    model = mujoco.MjModel.from_xml_string(chain_mjcf())
    data, out = mujoco.MjData(model), {n: [] for n in ('a', 'b', 'c', 'wa', 'wc')}
    w = np.array([[5.0, 11.0], [4.0, 9.0], [6.0, 13.0]])
    times = np.arange(0.0, duration, model.opt.timestep)
    for k, t in enumerate(times):
        goal = (0.05 * np.sin(w * t)).sum(1) - 0.05 * np.array([0, 0, 1]) * 0
        data.qfrc_applied[:3] = 4000.0 * (goal - data.qpos[:3]) - 150.0 * data.qvel[:3]
        data.qfrc_applied[2] += 5.3 * 9.81
        data.qfrc_applied[3] = 12.0 * (0.8 * np.sin(3.1 * t) - data.qpos[3]) - data.qvel[3]
        data.qfrc_applied[4:7] = 0.5 * np.sin([2.3 * t, 3.7 * t + 1.0, 2.9 * t + 2.0])
        mujoco.mj_forward(model, data)
        if k % 4 == 0:
            for name in CHAIN:
                body = data.body(name)
                out[name].append(np.append(body.xpos, body.xquat[[1, 2, 3, 0]]))
            for name in 'ac':
                out['w' + name].append(np.concatenate(
                    [data.sensor(f'{kind} {name}').data for kind in ('force', 'torque')]))
        mujoco.mj_step(model, data)
    return times[::4], {n: np.array(x) for n, x in out.items()}


def still(seeds, estimator):
    """Yield (z, undetermined, model, CPU) of the chain."""
    t, moved = chain()
    # MuJoCo's sensor may show the reaction: at the base it has to carry the weight.
    sign = np.sign(moved['wa'][:, 2].mean())
    text = yaml.safe_dump({
        'bodies': {n: {'pose': f'/{n}', **JOINTS.get(n, {})} for n in CHAIN},
        'wrenches': {'/base': {'acts_on': 'a'}, '/ankle': {'acts_on': 'c', 'from': 'b'}}},
        sort_keys=False)
    known = truth(CHAIN.values())
    known |= {f'bias_{x}{k}': 0.0 for x in ('fx', 'fy', 'fz', 'nx', 'ny', 'nz') for k in (1, 2)}
    for seed in range(seeds):
        rng, channels = np.random.default_rng(80 + seed), {}
        for name in CHAIN:
            noise = Rotation.from_rotvec(2e-3 * rng.standard_normal((len(t), 3)))
            channels['/' + name] = channel('/' + name, 'geometry_msgs/msg/PoseStamped', t, {
                'position': moved[name][:, :3] + 3e-4 * rng.standard_normal((len(t), 3)),
                'orientation_xyzw': (Rotation.from_quat(moved[name][:, 3:]) * noise).as_quat()})
        for topic, name in (('/base', 'wa'), ('/ankle', 'wc')):
            shown = sign * moved[name] + rng.standard_normal((len(t), 6)) * np.repeat(
                [0.2, 0.01], 3)
            channels[topic] = channel(topic, 'geometry_msgs/msg/WrenchStamped', t, {
                'force': shown[:, :3], 'torque': shown[:, 3:]})
        made = Recording(channels, text, 'upright', {'path': 'mujoco'})
        yield _run([made], options_class('rigid_body')(estimator=estimator), 'rigid_body', text,
                   known)


PLATFORM = (25.0, (0.01, -0.005, -0.02), (1.6, 1.5, 2.9))
TRUNK = (42.0, (0.0, -0.20, -0.08), (1.2, 1.0, 0.9))
LIMB = (10.0, (0.0, 0.02, -0.17), (0.06, 0.08, 0.04))
TRUNK_AT = (0.0, 0.18, 0.20)
SPOTS = {'p': [[.5, 0, 0], [.35, .35, .03], [0, .5, 0], [-.35, .35, .03], [-.5, 0, 0],
               [-.35, -.35, .03], [0, -.5, 0], [.35, -.35, .03], [.2, .1, .6], [-.25, -.1, .55]],
         'q': [[.1, .1, -.05], [-.1, .1, -.05], [.1, -.1, -.05], [-.1, -.1, -.05],
               [.1, .08, -.3], [-.1, .08, -.32]]}


def _inertial(body):
    mass, centre, moments = body
    return ('<inertial pos="{} {} {}" mass="{}" diaginertia="{} {} {}"/>'.format(
        *centre, mass, *moments))


def hung(on_it):
    """Return the MJCF of a platform on four coil springs, relaxed 0.55 m; ``on_it``: XML."""
    corners = [(0.4, 0.3), (-0.4, 0.3), (-0.4, -0.3), (0.4, -0.3)]
    hooks = ''.join(f'<site name="h{k}" pos="{1.1 * x} {1.1 * y} 0.6"/>'
                    for k, (x, y) in enumerate(corners))
    eyes = ''.join(f'<site name="e{k}" pos="{x} {y} 0"/>' for k, (x, y) in enumerate(corners))
    coils = ''.join(f'<spatial stiffness="{4000 + 100 * k}" damping="6" springlength="0.55">'
                    f'<site site="h{k}"/><site site="e{k}"/></spatial>' for k in range(4))
    return (f'<mujoco><option timestep="0.0013888888888888889" integrator="RK4"/><worldbody>'
            f'{hooks}<body name="p"><freejoint/>{_inertial(PLATFORM)}{eyes}{on_it}</body>'
            f'</worldbody><tendon>{coils}</tendon></mujoco>')


def swing(on_it, duration, seed, turn=None):
    """Return the Recording of markers at 120 Hz with 0.3 mm, 25 kg and a load let swing."""
    model = mujoco.MjModel.from_xml_string(hung(on_it))
    data, rng = mujoco.MjData(model), np.random.default_rng(seed)
    if model.njnt > 1:
        data.qpos[7:11] = turn
    damping, model.dof_damping[:] = model.dof_damping.copy(), 60.0
    model.dof_damping[6:] = 1e6  # the limb waits while the platform settles
    model.opt.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    for _ in range(12000):
        mujoco.mj_step(model, data)
    model.dof_damping[:], data.qvel[:] = damping, 0.0
    model.opt.integrator = mujoco.mjtIntegrator.mjINT_RK4
    push = rng.standard_normal((2, 3))
    push /= np.linalg.norm(push, axis=1, keepdims=True)
    mujoco.mj_integratePos(model, data.qpos, np.concatenate(
        [0.015 * push[0], 0.05 * push[1], np.zeros(model.nv - 6)]), 1.0)
    seen = []
    names = [n for n in ('p', 'q') if n == 'p' or 'name="q"' in on_it]
    for k in range(round(duration * 720)):
        if k % 6 == 0:
            mujoco.mj_kinematics(model, data)
            seen.append(np.concatenate([data.body(n).xpos + np.array(SPOTS[n])
                                        @ data.body(n).xmat.reshape(3, 3).T for n in names]))
        mujoco.mj_step(model, data)
    position = np.array(seen)
    position = position + 3e-4 * rng.standard_normal(position.shape)
    labels = tuple(f'{n}{k}' for n in names for k in range(len(SPOTS[n])))
    nothing = np.broadcast_to([0.0, 0.0, 0.0, 1.0], (*position.shape[:2], 4)).copy()
    made = channel('/markers', 'visualization_msgs/msg/MarkerArray', np.arange(len(seen)) / 120.0,
                   {'position': position, 'orientation_xyzw': nothing}, labels)
    return Recording({'/markers': made}, '', 'upright', {'path': 'mujoco'})


def object_xml(turn, held):
    """Return trunk and limb as XML, the limb held at a quaternion w x y z or on a ball joint."""
    quat = ' quat="{} {} {} {}"'.format(*turn) if held else ''
    ball = '' if held else '<joint type="ball"/>'
    at = '{} {} {}'.format(*TRUNK_AT)
    return (f'<body name="t" pos="{at}">{_inertial(TRUNK)}<body name="q"{quat}>{ball}'
            f'{_inertial(LIMB)}</body></body>')


def coils(seeds):
    """Yield (z, undetermined, model, CPU) of 52 kg on coil springs, where they are calibrated."""
    turns = [Rotation.from_euler('xyz', a, degrees=True).as_quat()[[3, 0, 1, 2]] for a in (
        (0, 0, 0), (-35, 0, 0), (0, -90, 0), (30, 0, 90), (50, 0, 0), (0, 50, 0))]

    def layout(name):
        return {f'{name}{k}': place for k, place in enumerate(SPOTS[name])}

    bare = yaml.safe_dump({'platform': {'markers': '/markers', 'layout': layout('p')}, 'links': {
        'trunk': {'parent': 'platform', 'joint': 'fixed', 'position': list(TRUNK_AT)},
        'limb': {'parent': 'trunk', 'joint': 'spherical', 'markers': '/markers',
                 'layout': layout('q')}}, 'mass': 52.0}, sort_keys=False)
    options = options_class('suspended_platform')()
    for seed in range(seeds):
        for mass in (2.0, 5.0, 52.0):
            text, words = _calibrated(bare, mass, seed, options)
            print(f'  with {mass:g} kg: {words}', flush=True)
            if text is None:
                continue
            recordings = [swing(object_xml(turn, k < 4), 10.0, 500 + 10 * seed + k, turn)
                          for k, turn in enumerate(turns)]
            try:
                yield _run(recordings, options, 'suspended_platform', text,
                           truth((TRUNK, LIMB), first=0))
            except InertialIdError as error:
                print(f'  {error}', flush=True)


def _calibrated(bare, mass, seed, options):
    """Return the calibrated description, or None, and what is said."""
    places = [(0.0, -0.02, 0.12), (0.2, 0.1, 0.05), (-0.1, -0.2, 0.05)]
    loads = [(mass, place, (0.3, 0.3, 0.5)) for place in places]
    made = [(swing('', 15.0, 900 + seed), np.zeros(10))]
    made += [(swing(f'<body>{_inertial(load)}</body>', 15.0, 910 + 10 * seed + k), ten(*load))
             for k, load in enumerate(loads)]
    try:
        found = calibrate_platform(bare, made, options)
        return found.text, found.verdict
    except InertialIdError as error:
        return None, str(error)


def leg(seeds):
    """Yield (z, undetermined, model, CPU) of three links on a platform."""
    def turned(x, y, z):
        return (platform_truth.turned('z', z) @ platform_truth.turned('y', y)
                @ platform_truth.turned('x', x))

    postures = [((0, 0, 0), 0, (0, 0, 0)), ((40, 0, 0), -60, (20, 0, 0)),
                ((0, -80, 0), -30, (0, 60, 0)), ((60, 30, 60), -90, (40, -40, 40)),
                ((-30, 40, -70), -100, (-80, 0, 90)), ((80, 0, 80), -20, (90, 40, 0)),
                ((50, 0, 0), -40, (30, 20, 0)), ((0, 50, 30), -70, (0, -40, 30)),
                ((40, -50, 30), -20, (40, 40, 30))]
    text, links = platform_truth.description(platform_truth.LEG), platform_truth.LEG
    known = {f'{s}{k}': x for k, link in enumerate(links[1:])
             for s, x in zip(SYMBOLS, platform_truth.ten(link))}
    for seed in range(seeds):
        recordings = [platform_truth.record(
            links, [turned(*hip), platform_truth.turned('x', knee), turned(*ankle)],
            10.0 if k < 6 else 5.0, 1000 * seed + 20 + k, held=k < 6)
            for k, (hip, knee, ankle) in enumerate(postures)]
        yield _run(recordings, options_class('suspended_platform')(), 'suspended_platform', text,
                   known)


ROWS = {
    'occluded': lambda seeds: markers(seeds, False), 'astray': lambda seeds: markers(seeds, True),
    'still': lambda seeds: still(seeds, 'weighted'),
    'still-instrumental': lambda seeds: still(seeds, 'instrumental'), 'coils': coils, 'leg': leg}


def main():
    parser = argparse.ArgumentParser(description=__doc__.strip().split('\n')[0])
    parser.add_argument('names', nargs='*', default=list(ROWS))
    parser.add_argument('--seeds', type=int, default=10)
    arguments = parser.parse_args()
    for name in arguments.names:
        each = []
        for z, without, model, spent in ROWS[name](arguments.seeds):
            each.append(z)
            print(f'{name}: rank {model.statistics["rank_in_data"]} of '
                  f'{model.statistics["rank"]}, without a number {" ".join(without) or "none"}, '
                  f'z rms {np.sqrt((z ** 2).mean()):.2f} largest {np.abs(z).max():.2f}, '
                  f'{spent:.1f} s of CPU', flush=True)
        whole = np.concatenate(each) if each else np.zeros(1)
        print(f'{name}, {len(each)} seeds: z rms {np.sqrt((whole ** 2).mean()):.2f}, '
              f'largest {np.abs(whole).max():.2f}', flush=True)


if __name__ == '__main__':
    main()
