"""What an MJCF says beside its tree: closures, springs and friction, coordinates."""

import logging

import numpy as np
import pinocchio as pin

from .friction import LAWS
from .mjcf_tree import BALL, equality_rows, fixed_tendon, FREE, MjcfTree, ties
from .robot_model import load_robot_model
from ..errors import RobotModelError

FULL_RANK = 1e-6  # relative singular values of a Jacobian above it count
_logger = logging.getLogger(__name__)


def closures(read: MjcfTree) -> None:
    """
    Say the closures of all equalities that are active.

    RobotModelError for those that are not linear, and of kinds that tie no bodies or joints.
    """
    for number, (kind, *ends) in enumerate(ties(read), 1):
        names = []
        for letter, (body, place) in zip('ab', ends):
            link, frame = read.at[body]
            names.append(read.tree.point(f'loop{number}_{letter}', link, frame @ place))
        read.tree.say('closures', ' '.join(['point' if kind == 'connect' else 'weld', *names]))
    model, kinds = read.model, read.mujoco.mjtEq
    for k in np.flatnonzero(model.eq_active0).tolist():
        sort = int(model.eq_type[k])
        if sort in (int(kinds.mjEQ_JOINT), int(kinds.mjEQ_TENDON)):
            read.tree.say('closures', _coupling(read, k, sort == int(kinds.mjEQ_TENDON)))
        elif sort not in (int(kinds.mjEQ_CONNECT), int(kinds.mjEQ_WELD)):
            raise RobotModelError(f"equality {read.name('equality', k)} of the MJCF", found=kinds(
                sort).name, exists=('connect', 'weld', 'joint', 'tendon of joints'),
                do='set its active="false"')


def _coupling(read, k, of_tendons):
    """Return the coupling of a joint or tendon equality: y - y0 = a0 + a1 (x - x0)."""
    model, polynomial = read.model, read.model.eq_data[k][:5]
    name = read.name('equality', k)
    if polynomial[2:].any():
        raise RobotModelError(f'equality {name} of the MJCF', expected='polycoef of a line',
                              found=polynomial.tolist(),
                              do='couplings of joints are linear: leave it out, or lock the joint')
    ends = [int(model.eq_obj1id[k]), int(model.eq_obj2id[k])]
    sides = [({} if end < 0 else fixed_tendon(read, end) if of_tendons else {end: 1.0})
             for end in ends]
    joints = [*sides[0], *sides[1]]
    if not sides[0] or (ends[1] >= 0 and not sides[1]) or set(joints) - set(read.scalar):
        raise RobotModelError(f'equality {name} of the MJCF', expected='hinges and slides, or '
                              'tendons of these', do='set its active="false"')
    terms: dict[int, float] = {}
    for factor, side in zip((1.0, -polynomial[1]), sides):
        for joint, coefficient in side.items():
            terms[joint] = terms.get(joint, 0.0) + factor * coefficient
    constant = float(polynomial[0]) + sum(
        c * float(model.qpos0[model.jnt_qposadr[j]]) for j, c in terms.items())
    first, *others = terms
    words = [f'{read.scalar[j]} {-terms[j] / terms[first] + 0.0:.15g}' for j in others]
    words = words or [f'{_another(read, first)} 0']
    return ' '.join(['coupling', read.scalar[first], *words, f'{constant / terms[first]:.15g}'])


def _another(read, joint):
    """Return the name of any hinge or slide but ``joint``, of which it is held independently."""
    names = [name for j, name in read.scalar.items() if j != joint]
    if not names:
        raise RobotModelError('the MJCF locks its only joint', found=read.scalar[joint],
                              do='set active="false" of that equality')
    return names[0]


def forces(read: MjcfTree) -> None:
    """Say springs and friction of all joints, with their values in the MJCF as priors."""
    model, springs, friction = read.model, [], []
    laws = {'viscous': model.dof_damping, 'coulomb': model.dof_frictionloss,
            'armature': model.dof_armature}
    numbers = {name: k for k, name in enumerate(
        load_robot_model(read.tree.urdf()).joint_names, 1)}
    for joint in [*read.scalar, *read.several]:
        names = [read.scalar[joint]] if joint in read.scalar else read.several[joint][1]
        dof, stiffness = int(model.jnt_dofadr[joint]), float(model.jnt_stiffness[joint])
        if stiffness and joint in read.scalar:
            rest = float(model.qpos_spring[model.jnt_qposadr[joint]])
            springs.append(f'joint {names[0]} {rest:.15g}')
            read.tree.say('given', f'k{len(springs)} {stiffness:.15g} {stiffness:.15g}')
        elif stiffness:
            _logger.warning('the spring of %s, a joint of several degrees of freedom, is left out',
                            read.name('joint', joint))
        for k, name in enumerate(names):
            there = {law: float(values[dof + k]) for law, values in laws.items()
                     if k < _freedoms(read, joint) and values[dof + k] > 0.0}
            if there:
                friction.append(' '.join([name, *there]))
                read.tree.say('given', *(f'{LAWS[law].symbol}{numbers[name]} {x:.15g} {x:.15g}'
                                         for law, x in there.items()))
    for tendon in range(model.ntendon):
        if model.tendon_stiffness[tendon] or model.tendon_damping[tendon]:
            _logger.warning('spring and damper of tendon %s are left out: describe them by '
                            'springs: and dampers:', read.name('tendon', tendon))
    read.tree.say('springs', *springs)
    read.tree.say('friction', *friction)


def _freedoms(read, joint):
    return {FREE: 6, BALL: 3}.get(read.kind(joint), 1)


def coordinates(read: MjcfTree, motors: list[str]) -> None:
    """
    Say the independent joints, those with a motor, and where the mechanism is assembled.

    Independent are motors first, then joints whose position a sensor of the MJCF measures, then
    those with a spring, which yield, then others, as long as closures leave the dependent ones
    determined.
    """
    model = read.model
    measured = [read.scalar[int(j)] for j, kind in zip(model.sensor_objid, model.sensor_type)
                if kind == int(read.mujoco.mjtSensor.mjSENS_JOINTPOS) and int(j) in read.scalar]
    sprung = [name for joint, name in read.scalar.items() if model.jnt_stiffness[joint]]
    joints = {name: joint for joint, name in read.scalar.items()}
    J = _jacobian(read)
    rank, chosen = _rank(J), list[str]()
    dofs = {name: int(model.jnt_dofadr[joint]) for name, joint in joints.items()}
    for name in dict.fromkeys([*motors, *measured, *sprung, *joints]):
        left = np.delete(J, [dofs[n] for n in (*chosen, name)], axis=1)
        if _rank(left) == rank:
            chosen.append(name)
    read.tree.say('independent', *chosen)
    read.tree.say('actuated', *(motors or ['none']))
    for joint, name in read.scalar.items():
        value = float(read.data.qpos[model.jnt_qposadr[joint]])
        if value:
            read.tree.say('start', f'{name} {value:.6g}')
    for joint, (axes, names) in read.several.items():
        angles = _angles(read, joint, axes)
        read.tree.say('start', *(f'{name} {x:.6g}' for name, x in zip(names, angles) if x))


def _jacobian(read):
    """Return the Jacobian (m, nv) of the equalities at the configuration of the start."""
    J, _ = equality_rows(read)
    held = [d for d in range(read.model.nv) if int(read.model.dof_jntid[d])
            not in (*read.scalar, *read.several)]
    J[:, held] = 0.0  # of what is taken to be mounted
    return J


def _rank(J):
    singular = np.linalg.svd(J, compute_uv=False) if J.size else np.zeros(1)
    return int((singular > FULL_RANK * max(singular[0], 1e-300)).sum())


def _angles(read, joint, axes):
    """Return the positions, at the start, of what a joint of several degrees became [m, rad]."""
    low, body = int(read.model.jnt_qposadr[joint]), int(read.model.jnt_bodyid[joint])
    qpos = np.array(read.data.qpos[low:low + 7])
    if read.kind(joint) == FREE:
        back = pin.Quaternion(*read.model.body_quat[body]).matrix().T
        turn = back @ pin.Quaternion(*qpos[3:]).normalized().matrix()
        return [*back @ (qpos[:3] - read.model.body_pos[body]), *pin.rpy.matrixToRpy(turn)[::-1]]
    turn = pin.Quaternion(*qpos[:4]).normalized().matrix()
    if not axes:
        return -pin.rpy.matrixToRpy(turn.T)
    u, v = axes
    along = turn @ np.cross(u, v)
    return [np.arctan2(-along @ v, along @ np.cross(u, v)), np.arcsin(np.clip(along @ u, -1, 1))]
