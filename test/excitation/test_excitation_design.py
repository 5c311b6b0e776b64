"""Designed motions: as good as promised, within every limit, and clear words where impossible."""

import base64
import csv
from dataclasses import replace
import html
import json
import pathlib
import re

import coal
import numpy as np
import pinocchio as pin
import pytest
import yaml

from ros_inertial_id.dynamics.mechanism_text import mechanism_description
from ros_inertial_id.dynamics.robot_model import load_robot_model
from ros_inertial_id.errors import ConfigError, InertialIdError, MotionError
from ros_inertial_id.excitation import design as design_module
from ros_inertial_id.excitation import problem as problem_module
from ros_inertial_id.excitation import search as search_module
from ros_inertial_id.excitation.design import design, DesignOptions, load_design, SEARCH_SAMPLES
from ros_inertial_id.excitation.fourier import random_motion
from ros_inertial_id.excitation.limits import find_limits
from ros_inertial_id.excitation.motion_files import read_motion
from ros_inertial_id.excitation.problem import motion_problem
from ros_inertial_id.excitation.search import Candidate, restart, search
from ros_inertial_id.report.design_files import write_design

URDF = pathlib.Path(__file__).parents[2] / 'urdf'
WALL = 9.81, 0.0, 0.0
# Troebinger et al., of a Panda: lower, upper, velocity, effort
PANDA = (
    (-2.8973, 2.8973, 2.175, 87.0),
    (-1.7628, 1.7628, 2.175, 87.0),
    (-2.8973, 2.8973, 2.175, 87.0),
    (-3.0718, -0.0698, 2.175, 87.0),
    (-2.8973, 2.8973, 2.61, 12.0),
    (-0.0175, 3.7525, 2.61, 12.0),
    (-2.8973, 2.8973, 2.61, 12.0),
)
ACCELERATION = (15.0, 7.5, 10.0, 12.5, 15.0, 20.0, 20.0)
# One restart in this process: the search is not cut short by a clock, so results are repeatable.
# Without margins: the figures that results are compared with had none.
QUICK = DesignOptions(
    restarts=1,
    seconds=3600.0,
    acceleration=ACCELERATION,
    position_margin=0.0,
    velocity_margin=0.0,
    acceleration_margin=0.0,
    effort_margin=0.0,
    distance=0.0,
    floor=False,
    criterion='condition_number',
    friction=(),
    sigma=(1.0,),
)
SMALL = replace(QUICK, acceleration=(100.0,))
START = (0.3, -0.5, 0.2, -2.0, 0.1, 1.8, 0.4)  # [rad]
BRIEF = (4.0, 100.0, 30), (400.0, 1e4, 60)  # runs of a search whose limits matter, not its value
SYMBOLS = ('m', 'mcx', 'mcy', 'mcz', 'Ixx', 'Ixy', 'Iyy', 'Ixz', 'Iyz', 'Izz')


def bare(name):
    """Return a URDF without shapes, of which no collisions are known."""
    return re.sub(
        r'<(visual|collision)>.*?</\1>', '', (URDF / f'{name}.urdf').read_text(), flags=re.S
    )


def franka(text=None):
    """Return the paper's robot: the Franka with the limits of a Panda, on a wall."""
    text = (text or (URDF / 'franka.urdf').read_text()).replace('fr3_', 'fer_')
    for k, (low, high, speed, effort) in enumerate(PANDA, 1):
        text = re.sub(
            rf'(name="fer_joint{k}".*?)<limit [^>]*/>',
            rf'\1<limit lower="{low}" '
            rf'upper="{high}" velocity="{speed}" effort="{effort}"/>',
            text,
            count=1,
            flags=re.S,
        )
    return load_robot_model(text, gravity_base=WALL)


def arm3():
    return load_robot_model(bare('arm3'))


@pytest.fixture(scope='module')
def small():
    """Return a Design for arm3, of numbers of numpy, shared by the tests that only look at it."""
    return design(arm3(), replace(SMALL, sigma=tuple(np.ones(1)), seed=np.int64(0)))


@pytest.fixture
def brief(monkeypatch):
    """Search briefly."""
    monkeypatch.setattr(search_module, 'RUNS', BRIEF)


@pytest.fixture(scope='module')
def fr3():
    """Return a Design for an FR3 above the floor, of defaults but for a start."""
    robot = load_robot_model((URDF / 'franka.urdf').read_text())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(search_module, 'RUNS', BRIEF)
        return design(
            robot,
            DesignOptions(
                restarts=1, seconds=3600.0, start=START, effort=(60.0,) * 4 + (10.0,) * 3
            ),
        )


def pinocchio_rows(robot, motion, samples):
    """Return the stacked regressor (n samples, 10 n) and torques (samples, n) by pinocchio."""
    q, v, a = motion.at(np.arange(samples) * (motion.period / samples))
    model = pin.buildModelFromXML(robot.urdf)
    model.gravity.linear = np.array(robot.gravity_base)
    data = model.createData()
    W = [pin.computeJointTorqueRegressor(model, data, *x) for x in zip(q, v, a)]
    return np.vstack(W), np.array([pin.rnea(model, data, *x) for x in zip(q, v, a)])


def base_columns(names):
    """Return the columns of pinocchio's regressor that base parameters stand for."""
    parts = [re.fullmatch(r'([A-Za-z]+?)R?(\d+)', name).groups() for name in names]
    return [10 * (int(number) - 1) + SYMBOLS.index(symbol) for symbol, number in parts]


MECHANISM = """mechanism: lever
bodies:
  a: {joint: hinge, mass: 1, inertia: [0.1, 0.1, 0.1], limits: [-1, 1, 20]}
  b: {joint: hinge, at: [0.5, 0, 0], mass: 1, inertia: [0.1, 0.1, 0.1], limits: [-1, 1, 20]}
closures: [coupling b a -1.0]
"""


def test_motions_of_a_mechanism_with_loops_are_refused_by_name(tmp_path):
    """By its description, as MJCF and pages of YAML become, and by the configuration of a URDF."""
    robot = load_robot_model(mechanism_description(MECHANISM))
    with pytest.raises(MotionError, match='with loops .* found coupling b a -1.0; .*sines'):
        design(robot, SMALL)
    for name in ('four_bar', 'parallelogram_arm'):
        with pytest.raises(MotionError, match='with loops .* found point .*closed_loop.md'):
            load_design(str(URDF.parent / 'config' / f'{name}.yaml'))
    assert load_design(str(URDF.parent / 'config' / 'franka.yaml')).friction


def test_condition_number_on_the_published_columns(monkeypatch):
    """
    Published: 43.0 of 59 columns, friction among them; pinocchio's own regressor judges ours.

    The columns of the published figure: Coulomb friction with tanh(100 v), Sigma = I.

    The condition number at 1000 samples differs from that at the 10000 of the report by the error
    of a rectangle rule on a periodic integrand, and where Coulomb friction changes sign.
    """
    robot = franka(bare('franka'))
    monkeypatch.setattr(problem_module, 'COULOMB_WIDTH', 0.01)
    result = design(robot, replace(QUICK, friction=('viscous', 'coulomb')))
    W, tau = pinocchio_rows(robot, result.motion, 1000)
    assert len(result.base_names) == 59
    v = result.motion.at(np.arange(1000) * 0.01)[1]
    friction = np.zeros((7000, 14))
    for j in range(7):
        friction[j::7, 2 * j], friction[j::7, 2 * j + 1] = v[:, j], np.tanh(100.0 * v[:, j])
    inertial = [name for name in result.base_names if not name.startswith('f')]
    assert len(inertial) == 59 - 14
    whole = np.hstack([W[:, base_columns(inertial)], friction])
    assert np.linalg.cond(whole) == pytest.approx(result.condition_number, rel=0.01)
    assert result.condition_number <= 43.0
    assert (np.abs(tau).max(0) <= robot.effort).all()
    assert_limits_kept(robot, result.motion, ACCELERATION)


def errors_over_the_workspace(robot, motion, sigma, count=1500):
    """
    Return the standard errors (n,) of predicted torques [N m], from pinocchio alone.

    Inertial, viscous and Coulomb columns, and slopes by the logarithms of Coulomb widths of 0.02,
    of friction of 2 sigma, known to 1 beforehand and shown beyond 0.2 s from rest alone, through a
    filter of 10 Hz; states drawn here anew, slow ones more often.
    """

    def rows(q, v, a):
        data = robot.pin_model.createData()
        W = np.array(
            [pin.computeJointTorqueRegressor(robot.pin_model, data, *x) for x in zip(q, v, a)]
        )
        own = np.zeros((*v.shape, 3 * len(robot)))
        for j in range(len(robot)):
            slope = 2.0 * sigma[j] * v[:, j] / 0.02 / np.cosh(v[:, j] / 0.02) ** 2
            own[:, j, 3 * j : 3 * j + 3] = np.column_stack(
                [v[:, j], np.tanh(v[:, j] / 0.05), slope]
            )
        return np.concatenate([W, own], axis=2)

    times = np.arange(2000) * (motion.period / 2000)
    W = rows(*motion.at(times)) / np.sqrt(2.0)  # for 1000 samples
    slopes = np.arange(10 * len(robot) + 2, W.shape[2], 3)
    W[
        np.ix_(
            np.abs(times - motion.period / 2) >= motion.period / 2 - 0.2, range(len(robot)), slopes
        )
    ] = 0.0
    kernel = np.exp(-0.5 * (np.arange(-20, 21) * (motion.period / 2000) / 0.016) ** 2)
    for j, k in enumerate(slopes):
        W[:, j, k] = np.convolve(W[:, j, k], kernel / kernel.sum(), 'same')
    G = np.einsum('kjp,kjq,j->pq', W, W, sigma**-2.0)
    G[slopes, slopes] += 1.0
    values, vectors = np.linalg.eigh(G)
    kept = values > 1e-9 * values[-1]
    scaled = vectors[:, kept] / np.sqrt(values[kept])
    rng = np.random.default_rng(7)
    u = rng.uniform(-1, 1, (3, count, len(robot)))
    q = 0.5 * (robot.lower + robot.upper) + 0.5 * (robot.upper - robot.lower) * u[0]
    states = rows(q, robot.velocity * u[1] ** 3, 25.0 * u[2])
    return np.sqrt(((states @ scaled) ** 2).sum(2).mean(0))


def test_torque_errors_are_those_of_pinocchio_and_smaller_by_v_optimality(brief):
    """The random states differ from the package's: 400 of them give a mean within a tenth."""
    robot, sigma = arm3(), np.array([0.4, 0.4, 0.2])
    by = {}
    for criterion in ('v_optimality', 'condition_number'):
        options = replace(
            SMALL,
            criterion=criterion,
            friction=('viscous', 'coulomb'),
            acceleration=(50.0,),
            sigma=tuple(sigma),
        )
        result = design(robot, options)
        by[criterion] = errors_over_the_workspace(robot, result.motion, sigma)
        assert result.torque_errors == pytest.approx(by[criterion], rel=0.15)
    assert (by['v_optimality'] / by['condition_number']).mean() < 0.9
    rng = np.random.default_rng(5)
    bounds = robot.lower, robot.upper, robot.velocity, np.full(3, 50.0)
    for _ in range(5):
        other = errors_over_the_workspace(
            robot, random_motion(robot.joint_names, bounds, rng), sigma
        )
        assert (by['v_optimality'] < other).all()


def assert_limits_kept(robot, motion, acceleration=np.inf):
    """Look ten times closer than the check at 1 kHz did."""
    q, v, a = motion.at(np.linspace(0.0, motion.period, 100001))
    assert (q >= robot.lower).all() and (q <= robot.upper).all()
    assert (np.abs(v) <= robot.velocity).all() and (np.abs(a) <= acceleration).all()
    assert np.abs(v[[0, -1]]).max() < 1e-9 and np.abs(a[[0, -1]]).max() < 1e-9


def tool_path(robot, motion, name):
    """Return positions (N, 3) of a link by pinocchio [m]."""
    q = motion.at(np.linspace(0.0, motion.period, 2001))[0]
    data, frame = robot.pin_model.createData(), robot.pin_model.getFrameId(name)
    out = []
    for x in q:
        pin.framesForwardKinematics(robot.pin_model, data, x)
        out.append(data.oMf[frame].translation.copy())
    return np.array(out)


def test_box_and_sphere_hold_the_end_effector(brief):
    box = -0.6, -0.6, 0.2, 0.6, 0.6, 0.7
    result = design(arm3(), replace(SMALL, box=box, sphere=0.45))
    path = tool_path(arm3(), result.motion, 'tool')
    assert (path >= box[:3]).all() and (path <= box[3:]).all()
    assert (np.linalg.norm(path, axis=1) >= 0.45).all()
    assert result.summary()['feasible'] is True


def touches(robot, motion, first, wall=None):
    """Return whether coal sees shapes of links ``first`` apart touch, or the wall (SE3, shape)."""
    model = robot.pin_model
    shapes = pin.buildGeomFromUrdfString(model, robot.urdf, pin.COLLISION)
    links = list(enumerate(shapes.geometryObjects))
    pairs = [
        (i, k)
        for i, one in links
        for k, other in links
        if other.parentJoint - one.parentJoint >= first
    ]
    if wall:
        number = shapes.addGeometryObject(pin.GeometryObject('wall', 0, 0, *wall))
        pairs = [(k, number) for k, link in links if link.parentJoint > 0]
    for pair in pairs:
        shapes.addCollisionPair(pin.CollisionPair(*pair))
    data, geometry = model.createData(), shapes.createData()
    q = motion.at(np.linspace(0.0, motion.period, 1501))[0]
    return any(pin.computeCollisions(model, data, shapes, geometry, x, True) for x in q)


def test_links_stay_apart(fr3, brief):
    """Without the check the same search drives the arm into itself; with it, coal agrees."""
    assert touches(franka(), design(franka(bare('franka')), QUICK).motion, 2)
    assert not touches(fr3.robot, fr3.motion, 2)


def test_motion_keeps_away_from_obstacles(small, brief):
    """Without them a search drives the arm through the wall; coal judges the wall whole."""
    robot = load_robot_model((URDF / 'arm3.urdf').read_text())
    wall = pin.SE3(np.eye(3), np.array([0.5, 0.0, 0.5])), coal.Box(0.04, 1.0, 1.0)
    assert touches(robot, small.motion, 1, wall)
    result = design(robot, replace(SMALL, obstacles=('box 0.5 0 0.5 0.04 1 1',)))
    assert not touches(robot, result.motion, 1, wall)


def test_torque_limits_bind_where_they_are_tight(brief):
    robot = arm3()
    held = design(robot, replace(SMALL, effort=(4.0, 14.0, 2.0)))
    tau = pinocchio_rows(robot, held.motion, 2000)[1]
    assert (np.abs(tau).max(0) <= (4.0, 14.0, 2.0)).all()
    assert held.use.joints['effort'].max() > 0.9


def test_search_in_processes_finds_what_one_process_finds():
    problem = motion_problem(arm3(), replace(SMALL, harmonics=2))[0]
    alone, spread = (
        min(c.value for c in search(problem, SEARCH_SAMPLES // 4, 2, 0, 3600.0, count) if c)
        for count in (1, 2)
    )
    assert spread == pytest.approx(alone, rel=1e-9)


def test_processes_that_all_fail_say_why():
    with pytest.raises(MotionError, match='AttributeError.*restarts: 1'):
        list(search(None, 100, 1, 0, 600.0, 2))


def test_ctrl_c_keeps_the_best_motion_so_far():
    def interrupt(progress):
        if progress.found:
            raise KeyboardInterrupt

    result = design(arm3(), replace(SMALL, restarts=3), interrupt)
    assert result.found == 1 and result.summary()['feasible']


@pytest.mark.parametrize(
    'change, joint, words',
    [
        (('velocity="3.0"', 'velocity="0.0"'), 'joint1, joint2', 'no velocity limit above zero'),
        (('effort="40.0"', 'effort="0"'), 'joint3', 'no effort limit above zero'),
        (
            (
                'type="revolute">\n    <parent link="base_link"',
                'type="continuous">\n    <parent link="base_link"',
            ),
            'joint1',
            'no position limits',
        ),
        (('lower="-2.9" upper="2.9"', 'lower="1" upper="1"'), 'joint1', 'empty position range'),
    ],
)
def test_missing_limit_names_joint_and_remedy(change, joint, words):
    text = (URDF / 'arm3.urdf').read_text()
    assert change[0] in text
    robot = load_robot_model(text.replace(*change))
    with pytest.raises(MotionError, match=words) as caught:
        design(robot, SMALL)
    assert joint in str(caught.value) and 'give ' in str(caught.value)


def test_given_limits_go_before_the_urdf():
    text = bare('arm3').replace('velocity="3.0"', 'velocity="0.0"')
    robot = load_robot_model(text)
    assert find_limits(robot, replace(SMALL, velocity=(0.5,))).velocity.tolist() == [0.5] * 3


@pytest.mark.parametrize(
    'settings, words',
    [
        ({'start': (9.0, 0.0, 0.0)}, 'start is outside the position limits.*joint1 at 9'),
        ({'start': (0.0,)}, 'expected 3 positions'),
        ({'box': (5.0, 5.0, 5.0, 6.0, 6.0, 6.0)}, 'none of .* postures .* is allowed'),
        ({'box': (1.0, 0.0, 0.0, -1.0, 1.0, 1.0)}, 'each min below its max'),
        ({'start': (0.0, 0.0, 0.0), 'sphere': 0.9}, 'start is outside the box or sphere'),
        ({'acceleration': (1.0, 2.0)}, 'nothing, 1 or 3 values'),
        ({'sigma': (0.0,)}, 'option sigma'),
        ({'effort': (0.5,), 'start': (0.0, 0.0, 0.0)}, 'no motion that keeps.*effort of joint2'),
    ],
)
def test_impossible_wish_is_refused_with_words(settings, words):
    with pytest.raises(MotionError, match=words):
        design(arm3(), replace(SMALL, **settings))


@pytest.mark.parametrize(
    'settings', [{'criterion': 'beauty'}, {'period': -1.0}, {'friction': ('glue',)}]
)
def test_option_out_of_range_is_refused(settings):
    with pytest.raises(ConfigError):
        design(arm3(), replace(SMALL, **settings))


def test_files_hold_the_motion(small, tmp_path):
    paths = {p.name: p for p in write_design(small, tmp_path / 'new' / 'folder')}
    again = read_motion(paths['motion.yaml'])
    times = np.linspace(0.0, 10.0, 101)
    assert np.abs(again.at(times)[0] - small.motion.at(times)[0]).max() < 1e-12
    content = yaml.safe_load(paths['motion.yaml'].read_text())
    assert content['result']['feasible'] is True
    assert content['result']['use_of_limits_percent']['velocity'] <= 100.0
    spent = content['result']['cpu_parts']
    assert len(spent) == 3 and min(spent.values()) > 0.0
    with open(paths['motion.csv'], newline='') as file:
        rows = list(csv.reader(file))
    assert rows[0][:5] == ['time', 'q_joint1', 'q_joint2', 'q_joint3', 'v_joint1']
    table = np.array(rows[1:], dtype=float)
    assert table.shape == (1001, 10)
    assert np.abs(table[:, 1:4] - small.motion.at(table[:, 0])[0]).max() < 1e-7  # 9 digits


def test_page_needs_nothing_from_outside(small, tmp_path):
    text = write_design(small, tmp_path)[2].read_text()
    name = "const NS = 'http://www.w3.org/2000/svg'"  # nothing is fetched from there
    assert not re.search(
        r'\bsrc\s*=|\bhref\s*=\s*"?[^"#]|https?:|@import|url\((?!#)', text.replace(name, '')
    )
    data = json.loads(re.search(r'id="data">(.*?)</script>', text, re.S)[1])
    view = json.loads(html.unescape(re.search(r"data-view='(.*?)'", text, re.S)[1]))

    def numbers(name):
        low, step, codes = data['arrays'][name]
        return low + step * np.frombuffer(base64.b64decode(codes), dtype='<u2')

    tau = pinocchio_rows(small.robot, small.motion, 400)[1]
    (torque,) = (c for c in data['charts'].values() if c['title'].startswith('torque'))
    shown = np.array(
        [numbers(s['y']) for s in torque['panes'][0]['series'] if s['kind'] == 'line']
    ).T[:-1]
    assert np.abs(shown - tau).max() < 2e-5 * np.ptp(tau)  # sixteen bits
    moved = np.stack([numbers(f['q']) for f in view['frames'] if 'q' in f], axis=1)
    assert np.abs(moved - small.motion.at(numbers(view['t']))[0]).max() < 1e-3  # of rounded times


def test_folder_that_cannot_be_made_is_refused(small, tmp_path):
    (tmp_path / 'file').write_text('')
    with pytest.raises(ConfigError, match='cannot be written'):
        write_design(small, tmp_path / 'file' / 'folder')


def fr3_speeds(q):
    """Return the lowest and highest velocity (N, 7) that libfranka's rate_limiting.h allows."""
    offset = np.array([0.30, 0.20, 0.20, 0.30, 0.35, 0.35, 0.35])
    gain = np.array([12.0, 5.17, 7.00, 8.00, 34.0, 11.0, 34.0])
    most = np.array([2.62, 2.62, 2.62, 2.62, 5.26, 4.18, 5.26])
    up = np.array([2.75010, 1.79180, 2.90650, -0.1458, 2.81010, 4.52050, 3.01960])
    down = np.array([2.750100, 1.791800, 2.906500, 3.048100, 2.810100, -0.54092, 3.019600])
    high = np.minimum(most, np.maximum(0, np.sqrt(np.maximum(0, gain * (up - q))) - offset))
    low = np.maximum(-most, np.minimum(0, offset - np.sqrt(np.maximum(0, gain * (down + q)))))
    return low, high


def test_fr3_keeps_its_own_limits_with_margins_above_the_floor(fr3):
    """Limits written down here anew, ten times finer than the check."""
    robot = fr3.robot
    q, v, a = fr3.motion.at(np.linspace(0.0, 10.0, 100001))
    assert np.abs(q[[0, -1]] - START).max() < 1e-9
    half = 0.5 * (robot.upper - robot.lower)
    assert (np.abs(q - 0.5 * (robot.upper + robot.lower)) <= 0.95 * half).all()
    low, high = fr3_speeds(q)
    assert (v <= 0.9 * high).all() and (v >= 0.9 * low).all()
    assert np.abs(a).max() <= 9.0  # 10 rad/s^2 less a tenth
    shapes = pin.buildGeomFromUrdfString(robot.pin_model, robot.urdf, pin.COLLISION)
    data, places = robot.pin_model.createData(), shapes.createData()
    for posture in q[::100]:
        pin.updateGeometryPlacements(robot.pin_model, data, shapes, places, posture)
        for item, M in zip(shapes.geometryObjects, places.oMg):
            if item.parentJoint > 1:  # the lowest point of a cylinder
                z = M.rotation[2, 2]
                reach = item.geometry.halfLength * abs(z) + item.geometry.radius * np.sqrt(
                    max(1 - z * z, 0.0)
                )
                assert M.translation[2] - reach > 0.02 - 1e-6
    used = fr3.summary()['use_of_limits_percent']
    assert 50.0 < used['velocity'] <= 90.0 and used['position'] <= 95.0
    assert any('Franka Research 3' in notice for notice in fr3.notices)


def test_a_slow_computer_goes_on_until_it_has_a_motion():
    problem, _ = motion_problem(arm3(), replace(SMALL, box=(0.3, -0.3, -1.0, 0.8, 0.3, 1.0)))
    cut = list(restart(problem, SEARCH_SAMPLES, 0, 0, (0.0, 0.0)))
    longer = list(restart(problem, SEARCH_SAMPLES, 0, 0, (np.inf, 0.0)))
    assert [c.value for c in cut] == [np.inf]
    assert np.isfinite([c.value for c in longer]).all()


def test_criterion_that_is_not_a_number_is_no_motion():
    running = design_module._Search(arm3(), SMALL, None)
    running._look_at(Candidate(np.nan, 0, np.zeros(3)))
    assert running.best is None and not running.found


def test_unknown_acceleration_limits_are_gentle_and_said():
    limits = find_limits(arm3(), replace(SMALL, acceleration=()))
    assert (limits.acceleration <= 2.0 * arm3().velocity).all()
    assert any('no acceleration limits are known' in notice for notice in limits.notices)


def test_masses_that_are_no_numbers_are_refused():
    text = re.sub(r'<mass value="[^"]*"', '<mass value="nan"', (URDF / 'arm3.urdf').read_text())
    with pytest.raises(InertialIdError, match='mass; expected a number from 0'):
        design(load_robot_model(text), SMALL)
