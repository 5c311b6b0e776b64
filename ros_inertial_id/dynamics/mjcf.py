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

from .description import attribute, joint_types, NumberKind, numbers_in, SIGNED
from .friction import JOINT_TERMS, law_of, LAWS
from .mjcf_compiled import compiled_mjcf
from .robot_model import joint_axis, joint_limits, load_robot_model, PRISMATIC, REVOLUTE
from .tree_description import FLOATING, TreeDescription
from ..errors import RobotModelError

WORLD = 'world'
# What pinocchio would read as another mechanism: where it stands, its name, what to do instead.
MISREAD = (
    ('.//include', 'include', 'put the text of that file there'),
    ('.//frame', 'frame', 'place its bodies themselves'),
    ('.//replicate', 'replicate', 'write its bodies out'),
    ('.//composite', 'composite', 'write its bodies out'),
    ('.//attach', 'attach', 'write its bodies out'),
    ('.//*[@axisangle]', 'axisangle', 'give a quat'),
    ('.//*[@eulerseq!="xyz"]', 'eulerseq', 'give quats'),
    ('.//*[@settotalmass]', 'settotalmass', 'give masses'),
    ('.//*[@balanceinertia]', 'balanceinertia', 'correct the inertias'),
    ('.//default/joint[@pos]', 'pos in a default', 'give it in each joint'),
    ('.//default/site[@pos]', 'pos in a default', 'give it in each site'),
    (
        'worldbody//body/joint[2]',
        'a second joint of one body',
        'give each a body of its own, one on the other',
    ),
)
# What names a joint: where it stands, its attribute.
NAMES_OF_JOINTS = (
    ('equality/joint', 'joint1'),
    ('equality/joint', 'joint2'),
    ('tendon/fixed/joint', 'joint'),
    ('actuator/*', 'joint'),
)
# Numbers of what couples joints.
NUMBERS = (
    ('equality/joint', 'polycoef', NumberKind('at most 5 numbers', range(6))),
    ('tendon/fixed/joint', 'coef', SIGNED),
)
BY_CLASS = {'mass', 'pos', 'quat', 'euler', 'xyaxes', 'zaxis'}  # of shapes, not read in a default
LEFT_OUT = {
    'equality/joint': 'locked_joints:, where it holds one joint',
    'equality/tendon': 'closures: coupling J K RATIO L RATIO, beside all others of the file',
    'actuator/*[@tendon]': 'a coupling of a motor that is not drawn',
    'tendon/*[@stiffness]': 'springs: between A B LENGTH',
    './/joint[@stiffness]': 'springs: joint J REST',
}  # elements, and options that say the same
SEVERAL_FREEDOMS = {3: 'ball', 6: FLOATING}  # degrees of freedom of a joint: its kind
SINGLE_JOINTS = {REVOLUTE: 'hinge', PRISMATIC: 'slide'}
REFERENCE = 'qpos0'  # pinocchio's name of the configuration in which joints are drawn
_logger = logging.getLogger(__name__)


def mjcf_description(path: str | Path) -> str:
    """
    Return the URDF text, with options of closed_loop, of an MJCF file.

    A free joint of the first body is a joint of type floating there.
    What pinocchio cannot read, or would read as another mechanism, is compiled by MuJoCo before;
    RobotModelError where that is not installed, or does not help.
    """
    text = _read(path)
    root, (model, points, welds) = text.root, text.parsed
    if model.njoints < 2:
        raise RobotModelError(f'{path} has no moving joint', expected='at least one')
    tree = TreeDescription(model.name or 'mjcf', WORLD, str(Path(path).resolve()))
    links = _add_bodies(model, tree)
    for constraint in points:
        _say_closure(tree, 'point', constraint, links)
    for constraint in welds:
        _say_closure(tree, 'weld', constraint, links)
    _say_couplings(model, tree, root)
    motors = [element.get('joint', '') for element in root.iterfind('actuator/*[@joint]')]
    motors += _say_tendon_motors(model, tree, root)
    if 'closures' in tree.options:
        tree.say('independent', *dict.fromkeys(motors))
        tree.say('actuated', *dict.fromkeys(motors))
        _say_friction(model, tree)
        _say_start(model, tree, root)
    else:
        tree.options.clear()  # a serial arm, which has a method and friction of its own
    return tree.urdf()


def _read(path):
    """Return the _MjcfText of an MJCF file, which pinocchio reads."""
    try:
        root = ElementTree.parse(path).getroot()
    except (OSError, ElementTree.ParseError) as error:
        raise RobotModelError(f'{path} cannot be read', expected='XML', found=error) from None
    try:
        return _MjcfText(path, root)
    except RobotModelError as refusal:
        compiled = compiled_mjcf(path)
        if compiled is None:
            raise refusal
        _logger.info('%s is read as MuJoCo compiles it: %s', path, refusal)
    return _MjcfText(path, compiled)


class _MjcfText:
    """
    An MJCF file, changed into what pinocchio reads as MuJoCo does.

    path : of the file; root : its element, which is changed
    parsed : pinocchio's model, its closures of points and of frames
    """

    def __init__(self, path: str | Path, root: ElementTree.Element) -> None:
        self.path = path
        self.root = root
        world = self.root.find('worldbody')
        if world is None or world.find('.//body') is None:
            raise RobotModelError(f'{path} has no bodies', expected='<worldbody><body ...>')
        self._world = world
        self._remove_inactive()
        self._allow_massless_base()
        self._name_all()
        self._refuse_misread()
        self._refuse_bodies()
        self._refuse_unknown_joints()
        self._refuse_words()
        self._refuse_loose_bodies()
        self._put_bodies_on_base()
        self._warn_of_left_out()
        self.parsed = self._parsed()

    def _parsed(self):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / 'robot.xml'
            file.write_text(ElementTree.tostring(self.root, encoding='unicode'), encoding='utf-8')
            try:
                return pin.buildModelAndConstraintsFromMJCF(str(file))
            except (ValueError, RuntimeError, IndexError) as error:
                raise RobotModelError(
                    f'pinocchio cannot read {self.path}',
                    do='check that MuJoCo reads it, and "pip install mujoco" has it compiled '
                    'first; or give a URDF',
                    found=_reason(error),
                ) from None

    def _remove_inactive(self):
        for equality in self.root.iterfind('equality'):
            for inactive in equality.findall('*[@active="false"]'):
                equality.remove(inactive)

    def _allow_massless_base(self):
        """Leave out what makes pinocchio ask for an inertia of the world, too."""
        for compiler in self.root.iterfind('compiler[@inertiafromgeom="false"]'):
            del compiler.attrib['inertiafromgeom']

    def _name_all(self):
        """Give bodies, joints and keyframes without a name one by their number."""
        for number, free in enumerate([*self._world.iter('freejoint')]):
            free.tag = 'joint'
            free.attrib = {'type': 'free', 'name': free.get('name', f'free{number}')}
        for tag, parent in (('body', self._world), ('joint', self._world), ('key', self.root)):
            for number, element in enumerate(parent.iter(tag)):
                element.set('name', element.get('name', f'{tag}{number}'))

    def _refuse_misread(self):
        for where, name, do in MISREAD:
            element = self.root.find(where)
            if element is not None:
                raise RobotModelError(
                    f'pinocchio does not read {name} in {self.path}',
                    found=_words(element),
                    do=f'{do}, or "pip install mujoco", which compiles it, or give a URDF',
                )

    def _refuse_unknown_joints(self):
        names = [joint.get('name') for joint in self._world.iter('joint')]
        for where, name in NAMES_OF_JOINTS:
            for element in self.root.iterfind(f'{where}[@{name}]'):
                if element.get(name) not in names:
                    raise RobotModelError(
                        f'{self.path} names a joint that is not there',
                        found=_words(element),
                        exists=names,
                    )

    def _refuse_words(self):
        """Raise RobotModelError for words where NUMBERS are expected."""
        for where, name, kind in NUMBERS:
            for element in self.root.iterfind(where):
                if not kind.allows(_numbers(element, name)):
                    raise RobotModelError(
                        f'{name} in {self.path}',
                        expected=kind.expected,
                        found=_words(element),
                    )

    def _refuse_bodies(self):
        for body in self.root.iterfind('worldbody//body[joint]'):
            for part in body.iter('body'):
                if self._is_weighed_by_shapes(part):
                    self._refuse_shapes(part)

    def _is_weighed_by_shapes(self, body):
        if body.find('geom') is None:
            return False
        shapes_rule = self.root.find('compiler[@inertiafromgeom="true"]')
        return shapes_rule is not None or body.find('inertial') is None

    def _refuse_shapes(self, body):
        """Raise RobotModelError where pinocchio would weigh the shapes unlike MuJoCo."""
        defaults = self.root.iterfind('.//default/geom')
        unlike = [
            *body.iterfind('geom[@mesh]'),
            *(geom for geom in defaults if BY_CLASS.intersection(geom.keys())),
            *self.root.iterfind('compiler[@inertiagrouprange]'),
        ]
        if unlike:
            raise RobotModelError(
                f'body {body.get("name")} in {self.path} has no <inertial>',
                expected='one, or shapes that pinocchio weighs as MuJoCo does: no '
                'meshes, no mass or place by class, no inertiagrouprange',
                found=_words(unlike[0]),
                do='give it an <inertial>, or "pip install mujoco", which compiles it',
            )

    def _refuse_loose_bodies(self):
        """Raise RobotModelError for a free joint that is not of the first body that moves."""
        free = self._world.findall('.//joint[@type="free"]/..')
        first_moving = self._world.findall('.//joint/..')[:1]
        if free not in ([], first_moving):
            raise RobotModelError(
                f'{self.path} has a free joint',
                found=[body.get('name') for body in free],
                expected='none, or one of its first body',
                do='draw a body that closures alone carry in a page of YAML, as joint: free',
            )

    def _put_bodies_on_base(self):
        """Make the world a body, as pinocchio takes the first one for the base."""
        bodies = self._world.findall('body')
        base = ElementTree.SubElement(self._world, 'body', name=WORLD)
        for body in bodies:
            self._world.remove(body)
            base.append(body)

    def _warn_of_left_out(self):
        for where, do in LEFT_OUT.items():
            for element in self.root.iterfind(where):
                if not _ratios(self.root, element):
                    _logger.warning(
                        '%s of the MJCF is left out; where it matters, say it by %s',
                        _words(element),
                        do,
                    )


def _reason(error):
    """Return in one line why pinocchio refuses a file; before it, it says where in its source."""
    _, _, message = str(error).rpartition('message:')
    return ' '.join(message.split())


def _numbers(element, name):
    """Return the numbers in attribute ``name`` of an element, none where it does not have it."""
    return numbers_in(element.get(name, ''))


def _words(element):
    """Return an element as it stands in its file, without what is in it."""
    return f'<{" ".join([element.tag, *(f"{k}={v!r}" for k, v in element.items())])}>'


def _add_bodies(model, tree):
    """Add links and joints of pinocchio's model; return the links of its joints, base first."""
    frames = [frame for frame in model.frames if frame.type == pin.FrameType.BODY]
    links = {frame.parentJoint: frame.name for frame in reversed(frames)}
    for j in range(1, model.njoints):
        joint, inertia = model.joints[j], model.inertias[j]
        tree.link(links[j], (inertia.mass, inertia.lever, inertia.inertia))
        kind, axes, limits = SEVERAL_FREEDOMS.get(joint.nv, ''), [], {}
        if joint.nv == 1:
            kind, axes = SINGLE_JOINTS[joint.shortname()[: len(REVOLUTE)]], [joint_axis(joint)]
            limits = _limits(model, joint)
        ends = links[model.parents[j]], links[j]
        tree.joint(model.names[j], kind, ends, _place(model, j), axes=axes, limits=limits)
    sites = [frame for frame in model.frames if frame.type == pin.FrameType.OP_FRAME]
    named = set(links.values())
    for frame in [*frames, *sites]:
        if frame.name and frame.name not in named:
            tree.point(frame.name, links[frame.parentJoint], frame.placement.homogeneous)
            named.add(frame.name)
    return links


def _place(model, number):
    """Return where the joint of a ``number`` is drawn in its parent, (4, 4)."""
    joint = model.joints[number]
    if SEVERAL_FREEDOMS.get(joint.nv) == FLOATING:  # whose positions are those in the world
        drawn = model.referenceConfigurations[REFERENCE]
        return pin.XYZQUATToSE3(drawn[joint.idx_q : joint.idx_q + joint.nq]).homogeneous
    return model.jointPlacements[number].homogeneous


def _limits(model, joint):
    """Return {lower, upper, velocity, effort: limit} of a hinge or slide, where it has them."""
    lower, upper, velocity, effort = joint_limits(model, joint)
    # Pinocchio's are counted from ref, its positions are not.
    reference = model.referenceConfigurations[REFERENCE][joint.idx_q]
    limits = {
        'lower': lower + reference,
        'upper': upper + reference,
        'velocity': velocity,
        'effort': effort,
    }
    return {name: limit for name, limit in limits.items() if np.isfinite(limit)}


def _say_closure(tree, kind, constraint, links):
    """Say a closure of a ``kind`` (point, weld) by frames on two of the ``links`` of joints."""
    number = len(tree.options.get('closures', ())) + 1
    link_a, link_b = links[constraint.joint1_id], links[constraint.joint2_id]
    a = tree.point(f'loop{number}_a', link_a, constraint.joint1_placement.homogeneous)
    b = tree.point(f'loop{number}_b', link_b, constraint.joint2_placement.homogeneous)
    tree.say('closures', f'{kind} {a} {b}')


def _ratios(root, element):
    """Return {joint: ratio} of a linear equality of joints or a motor on a fixed tendon, or {}."""
    if element.get('joint2'):
        _, ratio, *higher = _polynomial(element)
        if any(higher):
            return {}
        return {element.get('joint2'): ratio}
    pulled = root.iterfind(f'tendon/fixed[@name="{element.get("tendon")}"]/*')
    return {joint.get('joint'): _numbers(joint, 'coef')[0] for joint in pulled}


def _polynomial(element):
    """Return the coefficients (5,) of an equality of two joints, about their references."""
    given = _numbers(element, 'polycoef')
    return given + [0.0, 1.0, 0.0, 0.0, 0.0][len(given) :]


def _say_couplings(model, tree, root):
    """Say what couples joints to one another, about the positions in which they are drawn."""
    drawn = dict(zip(model.names, (0.0, *_references(model))))
    for element in root.iterfind('equality/joint'):
        ratios, joint = _ratios(root, element), element.get('joint1')
        if ratios:
            followed = sum(ratio * drawn[name] for name, ratio in ratios.items())
            offset = _polynomial(element)[0] + drawn[joint] - followed
            _say_coupling(tree, joint, ratios, offset)


def _say_tendon_motors(model, tree, root):
    """Say what couples motors on fixed tendons to joints; return the names of these motors."""
    actuators: dict[str, ElementTree.Element] = {}  # the first on each: its servos are one motor
    for element in root.iterfind('actuator/*[@tendon]'):
        actuators.setdefault(element.get('tendon', ''), element)
    motors = []
    for element in actuators.values():
        ratios = _ratios(root, element)
        if ratios:
            motors.append(_motor_name(element, model.names))
            _say_coupling(tree, motors[-1], ratios, 0.0)
    return motors


def _motor_name(element, joints):
    """Return the name of a motor or of its tendon, whichever no joint has."""
    tendon = element.get('tendon')
    names = (element.get('name'), tendon, f'{tendon}_motor')
    return next(name for name in names if name and name not in joints)


def _say_coupling(tree, name, ratios, offset):
    words = ['coupling', name, *(f'{joint} {ratio:.15g}' for joint, ratio in ratios.items())]
    if offset:
        words.append(f'{offset:.15g}')
    tree.say('closures', ' '.join(words))


def _say_friction(model, tree):
    """Say the friction of hinges and slides, its values as priors."""
    urdf = tree.urdf()
    floating = [joint for joint, kind in joint_types(urdf).items() if kind == FLOATING]
    held = load_robot_model(urdf, locked=dict.fromkeys(floating, 0.0))
    numbers = {name: k for k, name in enumerate(held.joint_names, 1)}
    for name, joint in _single_joints(model):
        laws = []
        for term in JOINT_TERMS:
            law, value = law_of(term), float(getattr(model, term)[joint.idx_v])
            if value > 0.0:
                laws.append(law)
                symbol = f'{LAWS[law].symbol}{numbers[name]}'
                tree.say('given', f'{symbol} {value:.15g} {value:.15g}')
        if laws:
            tree.say('friction', ' '.join([name, *laws]))


def _single_joints(model):
    """Yield name and joint of all of one degree of freedom."""
    for name, joint in zip(model.names[1:], model.joints[1:]):
        if joint.nv == 1:
            yield name, joint


def _references(model):
    """Return the (first) position of every joint in which it is drawn."""
    drawn = model.referenceConfigurations[REFERENCE]
    return [drawn[joint.idx_q] for joint in model.joints[1:]]


def _say_start(model, tree, root):
    """Say where hinges and slides are at the first keyframe, or the reference without one."""
    q = model.referenceConfigurations[attribute(root, 'keyframe/key[@qpos]', 'name') or REFERENCE]
    for name, joint in _single_joints(model):
        if joint.nq == 1 and q[joint.idx_q]:
            tree.say('start', f'{name} {q[joint.idx_q]:.6g}')
