"""
MJCF: the description of a mechanism for MuJoCo, read by pinocchio.

Pinocchio's model becomes a tree, ``<connect>``, ``<weld>`` and linear equalities of joints its
closures, joints of actuators those with a measured torque.  A motor on a fixed tendon is a
coupling of the tendon's coefficients: it is as long and pulls as the tendon.  Damping, friction
loss and armature become friction laws, each with the value that stands there as its prior, as
uncertain as it is large.

Pinocchio takes the first body of the world for the base, and passes over what it does not know.
So it is given a text in which that body is the world and everything has a name; what it would read
as another mechanism is refused, and what it leaves out is said.
"""

import logging
from pathlib import Path
import tempfile
from xml.etree import ElementTree

import numpy as np
import pinocchio as pin

from .friction import JOINT_TERMS, law_of, LAWS
from .robot_model import joint_axis, joint_limits, load_robot_model
from .tree_description import TreeDescription
from ..errors import RobotModelError

WORLD = 'world'
UNREAD = {
    'include': 'put the text of that file there',
    'frame': 'place its bodies themselves',
    'replicate': 'write its bodies out',
    'composite': 'write its bodies out',
    'attach': 'write its bodies out',
}  # elements, and what to do instead
MISREAD = {
    'axisangle': 'give a quat',
    'eulerseq': 'give quats',
    'settotalmass': 'give masses',
    'balanceinertia': 'correct the inertias',
}  # attributes
BY_CLASS = {'mass', 'pos', 'quat', 'euler', 'xyaxes', 'zaxis'}  # of shapes, not read in a default
LEFT_OUT = {
    'equality/joint': 'locked_joints:, where it holds one joint',
    'equality/tendon': 'closures: coupling J K RATIO L RATIO, beside all others of the file',
    'actuator/*[@tendon]': 'a coupling of a motor that is not drawn',
    'tendon/*[@stiffness]': 'springs: between A B LENGTH',
    './/joint[@stiffness]': 'springs: joint J REST',
}  # elements, and options that say the same
_logger = logging.getLogger(__name__)


def mjcf_description(path: str | Path) -> str:
    """
    Return the URDF text, with options of closed_loop, of an MJCF file.

    A first body with a free joint is taken to be mounted where it is.
    RobotModelError for what pinocchio cannot read, or would read as another mechanism.
    """
    root = _readable(path)
    model, *closures = _parsed(path, root)
    if model.njoints < 2:
        raise RobotModelError(f'{path} has no moving joint', expected='at least one')
    tree = TreeDescription(model.name or 'mjcf', WORLD)
    links = _add_bodies(model, tree)
    for kind, constraints in zip(('point', 'weld'), closures):
        for constraint in constraints:
            _say_closure(tree, kind, constraint, links)
    motors = dict.fromkeys(a.get('joint') for a in root.iterfind('actuator/*[@joint]'))
    motors.update(dict.fromkeys(_say_couplings(model, tree, root)))
    if 'closures' in tree.options:
        tree.say('independent', *motors)
        tree.say('actuated', *motors)
        _say_friction(model, tree)
        _say_start(model, tree, root)
    else:
        tree.options.clear()  # a serial arm, which has a method and friction of its own
    return tree.urdf()


def _readable(path):
    """Return the root of an MJCF file, changed into what pinocchio reads as MuJoCo does."""
    try:
        root = ElementTree.parse(path).getroot()
    except (OSError, ElementTree.ParseError) as error:
        raise RobotModelError(f'{path} cannot be read', expected='XML', found=error) from None
    world = root.find('worldbody')
    if world is None or world.find('.//body') is None:
        raise RobotModelError(f'{path} has no bodies', expected='<worldbody><body ...>')
    for equality in root.iterfind('equality'):
        for inactive in equality.findall('*[@active="false"]'):
            equality.remove(inactive)
    for tag, place in (('body', world), ('joint', world), ('key', root)):
        for number, element in enumerate(place.iter(tag)):
            element.set('name', element.get('name', f'{tag}{number}'))
    _refuse(path, root)
    _mount(path, root)
    base = ElementTree.SubElement(world, 'body', name=WORLD)
    for body in world.findall('body')[:-1]:
        world.remove(body)
        base.append(body)
    for what, do in LEFT_OUT.items():
        for element in root.iterfind(what):
            if _ratios(root, element):
                continue
            _logger.warning(
                '%s of the MJCF is left out; where it matters, say it by %s', _words(element), do
            )
    return root


def _words(element):
    """Return an element as it stands in its file, without what is in it."""
    return f'<{" ".join([element.tag, *(f"{k}={v!r}" for k, v in element.items())])}>'


def _refuse(path, root):
    """Raise RobotModelError for what pinocchio would read as another mechanism."""
    for element in root.iter():
        wrong = [x for x in UNREAD if x == element.tag]
        wrong += [x for x in MISREAD if x in element.keys() and element.get(x) != 'xyz']
        if wrong:
            do = {**UNREAD, **MISREAD}[wrong[0]]
            raise RobotModelError(
                f'pinocchio does not read {wrong[0]} in {path}',
                found=_words(element),
                do=f'{do}, or give a URDF',
            )
    for tag in ('joint', 'site'):
        for element in root.iterfind(f'.//default/{tag}[@pos]'):
            raise RobotModelError(
                f'pinocchio does not read pos in a default of {path}',
                found=_words(element),
                do=f'give it in each {tag}',
            )
    for body in root.iterfind('worldbody//body[joint]'):
        joints = body.findall('joint')
        if len(joints) > 1:
            raise RobotModelError(
                f'body {body.get("name")} in {path} has several joints',
                found=[joint.get('name') for joint in joints],
                do='give each a body of its own, one on the other',
            )
        for part in body.iter('body'):
            _refuse_shapes(path, root, part)


def _refuse_shapes(path, root, body):
    """Raise RobotModelError where pinocchio would weigh a body by its shapes, unlike MuJoCo."""
    compiler = root.find('compiler')
    compiler = {} if compiler is None else compiler
    if (
        body.find('geom') is None
        or compiler.get('inertiafromgeom') != 'true'
        and (body.find('inertial') is not None)
    ):
        return
    by_class = [
        _words(geom) for geom in root.iterfind('.//default/geom') if BY_CLASS & set(geom.keys())
    ]
    wrong = [_words(mesh) for mesh in body.iterfind('geom[@mesh]')] or by_class
    if wrong or compiler.get('inertiagrouprange'):
        raise RobotModelError(
            f'body {body.get("name")} in {path} has no <inertial>',
            expected='one, or shapes that pinocchio weighs as MuJoCo does: no '
            'meshes, no mass or place by class, no inertiagrouprange',
            found=(wrong or [_words(compiler)])[0],
            do='give it an <inertial>, as MuJoCo compiles it',
        )


def _mount(path, root):
    """Take out the free joint of the first body, and its seven positions in keyframes."""
    parents = {child: parent for parent in root.iterfind('worldbody//body') for child in parent}
    joints = [e for e in root.find('worldbody').iter() if e.tag in ('joint', 'freejoint')]
    free = [j for j in joints if j.tag == 'freejoint' or j.get('type') == 'free']
    if free and free != joints[:1]:
        raise RobotModelError(
            f'{path} has a free joint',
            found=[parents[joint].get('name') for joint in free],
            expected='none, or one of its first body',
            do='draw a body that closures alone carry in a page of YAML, as joint: free',
        )
    for joint in free:
        _logger.warning(
            '%s is free in the MJCF; it is taken to be mounted as it is there, and '
            'its free joint is left out',
            parents[joint].get('name'),
        )
        parents[joint].remove(joint)
        for key in root.iterfind('keyframe/key[@qpos]'):
            key.set('qpos', ' '.join(key.get('qpos').split()[7:]))


def _parsed(path, root):
    """Return pinocchio's model of the MJCF, its closures of points and of frames."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / 'robot.xml'
        file.write_text(ElementTree.tostring(root, encoding='unicode'), encoding='utf-8')
        try:
            return pin.buildModelAndConstraintsFromMJCF(str(file))
        except (ValueError, RuntimeError, IndexError) as error:
            raise RobotModelError(
                f'pinocchio cannot read {path}',
                do='check that MuJoCo reads it, or give a URDF',
                found=str(error).split('\n')[0],
            ) from None


def _add_bodies(model, tree):
    """Add links and joints of pinocchio's model; return the links of its joints, base first."""
    bodies = [frame for frame in model.frames if frame.type == pin.FrameType.BODY]
    links = {frame.parentJoint: frame.name for frame in reversed(bodies)}
    references = _configurations(model)['qpos0']
    for j in range(1, model.njoints):
        joint, inertia = model.joints[j], model.inertias[j]
        kind = {'JointModelR': 'hinge', 'JointModelP': 'slide'}.get(joint.shortname()[:11], 'ball')
        tree.link(links[j], (inertia.mass, inertia.lever, inertia.inertia))
        single = joint.nv == 1
        limits = dict(zip(('lower', 'upper', 'velocity', 'effort'), joint_limits(model, joint)))
        for end in ('lower', 'upper'):  # pinocchio's are counted from ref, its positions are not
            limits[end] += references[joint.idx_q]
        tree.joint(
            model.names[j],
            kind,
            (links[model.parents[j]], links[j]),
            model.jointPlacements[j].homogeneous,
            axes=[joint_axis(joint)] if single else [],
            limits={k: x for k, x in limits.items() if np.isfinite(x)} if single else {},
        )
    for frame in bodies:
        if frame.name not in links.values():
            tree.point(frame.name, links[frame.parentJoint], frame.placement.homogeneous)
    return links


def _say_closure(tree, kind, constraint, links):
    number = len(tree.options.get('closures', ())) + 1
    tree.say(
        'closures',
        ' '.join(
            [
                kind,
                *(
                    tree.point(f'loop{number}_{letter}', links[joint], place.homogeneous)
                    for letter, joint, place in (
                        ('a', constraint.joint1_id, constraint.joint1_placement),
                        ('b', constraint.joint2_id, constraint.joint2_placement),
                    )
                ),
            ]
        ),
    )


def _ratios(root, element):
    """Return {joint: ratio} of a linear equality of joints, or of a motor on a fixed tendon."""
    if element.get('joint2'):
        _, ratio, *others = _polynomial(element)
        return {} if any(others) else {element.get('joint2'): ratio}
    tendon = root.find(f'tendon/fixed[@name="{element.get("tendon")}"]')
    return {part.get('joint'): float(part.get('coef')) for part in tendon or ()}


def _polynomial(element):
    """Return the coefficients (5,) of an equality of two joints, about their references."""
    given = [float(x) for x in element.get('polycoef', '').split()]
    return given + [0.0, 1.0, 0.0, 0.0, 0.0][len(given) :]


def _say_couplings(model, tree, root):
    """Say what couples joints to one another and to motors; return the names of these."""
    places = {name: joint.idx_q for name, joint in zip(model.names[1:], model.joints[1:])}
    zero, motors = _configurations(model)['qpos0'], []
    for element in (*root.iterfind('equality/joint'), *root.iterfind('actuator/*[@tendon]')):
        ratios, offset, name = _ratios(root, element), 0.0, element.get('joint1')
        if not ratios:
            continue
        if name:
            offset = (
                _polynomial(element)[0]
                + zero[places[name]]
                - sum(ratio * zero[places[joint]] for joint, ratio in ratios.items())
            )
        else:  # a motor of its own name, unless a joint has it
            name = next(
                n
                for n in (
                    element.get('name'),
                    element.get('tendon'),
                    f'{element.get("tendon")}_motor',
                )
                if n and n not in places
            )
            motors.append(name)
        words = [f'{joint} {ratio:.15g}' for joint, ratio in ratios.items()]
        words += [f'{offset:.15g}'] if offset else []
        tree.say('closures', ' '.join(['coupling', name, *words]))
    return motors


def _say_friction(model, tree):
    """Say the friction of hinges and slides, its values as priors."""
    laws = {law_of(name): getattr(model, name) for name in JOINT_TERMS}
    numbers = {name: k for k, name in enumerate(load_robot_model(tree.urdf()).joint_names, 1)}
    for name, joint in zip(model.names[1:], model.joints[1:]):
        there = {
            law: float(values[joint.idx_v])
            for law, values in laws.items()
            if joint.nv == 1 and values[joint.idx_v] > 0.0
        }
        if there:
            tree.say('friction', ' '.join([name, *there]))
            tree.say(
                'given',
                *(
                    f'{LAWS[law].symbol}{numbers[name]} {x:.15g} {x:.15g}'
                    for law, x in there.items()
                ),
            )


def _configurations(model):
    """Return {name: configuration (nq,)}: qpos0, where joints are drawn, and the keyframes."""
    return {pair.key(): pair.data() for pair in model.referenceConfigurations}


def _say_start(model, tree, root):
    """Say where hinges and slides are at the first keyframe, or the reference without one."""
    key = root.find('keyframe/key[@qpos]')
    q = _configurations(model)['qpos0' if key is None else key.get('name')]
    for name, joint in zip(model.names[1:], model.joints[1:]):
        if joint.nq == 1 and q[joint.idx_q]:
            tree.say('start', f'{name} {q[joint.idx_q]:.6g}')
