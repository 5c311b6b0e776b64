"""Three bodies in MuJoCo between two wrench sensors; the first only slides and never turns."""

from body_recordings import channel, truth
import mujoco
import numpy as np
from scipy.spatial.transform import Rotation
import yaml

from ros_inertial_id.identification.settings import options_class
from ros_inertial_id.measurement.recording import Recording

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
    """Yield (recordings, options, method, description, truth) of the chain."""
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
        yield [made], options_class('rigid_body')(estimator=estimator), 'rigid_body', text, known
