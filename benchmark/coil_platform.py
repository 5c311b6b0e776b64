"""A platform on coil springs in MuJoCo, calibrated and then with 52 kg of two links on it."""

from body_recordings import channel, ten, truth
import mujoco
import numpy as np
from scipy.spatial.transform import Rotation
import yaml

from ros_inertial_id.errors import InertialIdError
from ros_inertial_id.identification.settings import options_class
from ros_inertial_id.measurement.recording import Recording
from ros_inertial_id.rigs.calibration.calibrate import calibrate_platform

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
    """Yield (recordings, options, method, description, truth) where it could be calibrated."""
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
            yield (recordings, options, 'suspended_platform', text,
                   truth((TRUNK, LIMB), first=0))


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
