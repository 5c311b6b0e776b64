"""
USD overlay: a layer over the user's USD with the numbers of an identified robot.

The layer has the user's file as its sublayer, which stays as it is, and overrides of bodies and
joints by name: mass, centre of mass and principal moments as UsdPhysics has them, friction and
rotor inertia as PhysX 5 has them per axis (PhysxJointAxisAPI), gains of servos as drives.
``physxJoint:jointFriction`` of older files is no torque but a ratio: where it stands it becomes 0.

Units are those of the stage, angles degrees: N m s/rad is pi/180 N m s/deg; rotor inertias are
kg m^2 all the same.  USD keeps these numbers in single precision, 6e-8 of each.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as xml

import numpy as np

from .corrected_urdf import corrected_urdf
from .identified_description import (
    comment_words,
    consistent_parameters,
    joint_terms,
    SERVO_GAINS,
    servos,
    tree_of,
)
from .targets import ARMATURE, DAMPING, FRICTION
from ..identified_model import IdentifiedModel
from ...dynamics.description import has_quaternions, INERTIA, orientation
from ...dynamics.inertial_parameters import (
    about_center,
    about_origin,
    parameters_of,
    pseudo_inertia,
)
from ...dynamics.robot_model import link_placements, RobotModel
from ...errors import ConfigError, InertialIdError, RobotModelError

ELEMENTS = (0, 0, 0, 1, 1, 2), (0, 1, 2, 1, 2, 2)  # rows and columns of the attributes INERTIA
SAME_PLACE = 1e-4  # [m, rad] by which frames of the USD may differ from those of the description
AXES = {False: 'angular', True: 'linear'}  # of joints, if prismatic
OF_ONE_LAYER = 'subLayers', 'subLayerOffsets', 'comment', 'layerRelocates'
OLD_FRICTION = 'physxJoint:jointFriction'


@dataclass(frozen=True)
class _Units:
    """
    Units of a joint in a stage.

    effort : [N m], of a slider [N]; position : [rad] or [m]; armature : [kg m^2] or [kg]
    """

    effort: float
    position: float
    armature: float


class _Stage:
    """
    The stage that an overlay and the file below it make.

    bodies, joints : {name: Prim}; mass [kg], length [m] : its units
    """

    def __init__(self, pxr: Any, layer: Any) -> None:
        self._pxr = pxr
        self._stage = stage = pxr.Usd.Stage.Open(layer)  # prims live as long as it does
        self.bodies: dict[str, Any] = {}
        self.joints: dict[str, Any] = {}
        for prim in stage.Traverse():
            if prim.HasAPI(pxr.UsdPhysics.RigidBodyAPI):
                _check_scale(pxr, prim)
                _add(self.bodies, prim)
            elif prim.IsA(pxr.UsdPhysics.Joint):
                _add(self.joints, prim)
        self.mass = float(pxr.UsdPhysics.GetStageKilogramsPerUnit(stage))
        self.length = float(pxr.UsdGeom.GetStageMetersPerUnit(stage))

    def name(self, name: str) -> str:
        """Return the ``name`` of a description as a prim has it: letters, digits and _."""
        return str(self._pxr.Tf.MakeValidIdentifier(name))

    def has_body(self, link: str) -> bool:
        """Return whether a ``link`` of a description is a body of its own."""
        return self.name(link) in self.bodies

    def units(self, prismatic: bool) -> _Units:
        """Return the _Units of a joint, if ``prismatic`` of a slider."""
        if prismatic:
            return _Units(self.mass * self.length, self.length, self.mass)
        inertia = self.mass * self.length**2
        return _Units(inertia, float(np.pi / 180.0), inertia)

    def placement(self, joint: Any) -> np.ndarray:
        """Return where a ``joint`` at zero has its second body (4, 4) in the first one [m]."""
        first, second = (self._frame(joint, side) for side in '01')
        return first @ np.linalg.inv(second)

    def _frame(self, joint, side):
        """Return the frame (4, 4) of a joint in the body on one of its sides [m]."""
        from scipy.spatial.transform import Rotation  # takes long to import: when needed

        turn = joint.GetAttribute(f'physics:localRot{side}').Get()
        out = np.eye(4)
        quaternion = [*turn.GetImaginary(), turn.GetReal()]
        out[:3, :3] = Rotation.from_quat(quaternion).as_matrix()
        out[:3, 3] = self.length * np.array(joint.GetAttribute(f'physics:localPos{side}').Get())
        return out

    def set_body(self, link: str, parameters: np.ndarray) -> None:
        """Give the body of a ``link`` its ten ``parameters`` (10,), in the frame of the link."""
        from scipy.spatial.transform import Rotation  # takes long to import: when needed

        Gf = self._pxr.Gf
        mass, centre, central = about_center(parameters)
        moments, axes = np.linalg.eigh(central)
        axes *= np.sign(np.linalg.det(axes))  # right-handed
        x, y, z, w = Rotation.from_matrix(axes).as_quat().tolist()
        api = self._pxr.UsdPhysics.MassAPI.Apply(self.bodies[self.name(link)])
        api.CreateMassAttr(mass / self.mass)
        api.CreateCenterOfMassAttr(Gf.Vec3f(*(centre / self.length).tolist()))
        inertia = self.mass * self.length**2
        api.CreateDiagonalInertiaAttr(Gf.Vec3f(*(moments / inertia).tolist()))
        api.CreatePrincipalAxesAttr(Gf.Quatf(w, x, y, z))

    def set_joint(self, name: str, axis: str, numbers: dict[str, float]) -> None:
        """Give a joint ``numbers`` of PhysX for its ``axis``."""
        joint = self.joints[self.name(name)]
        joint.AddAppliedSchema(f'PhysxJointAxisAPI:{axis}')
        for attribute, value in numbers.items():
            path = f'physxJointAxis:{axis}:{attribute}'
            joint.CreateAttribute(path, self._pxr.Sdf.ValueTypeNames.Float, False).Set(value)
        old = joint.GetAttribute(OLD_FRICTION)
        if old:
            old.Set(0.0)

    def set_drive(self, name: str, axis: str, numbers: dict[str, float]) -> None:
        """Give a joint the drive of a servo with ``numbers`` of SERVO_GAINS."""
        joint = self.joints[self.name(name)]
        drive = self._pxr.UsdPhysics.DriveAPI.Apply(joint, axis)
        drive.CreateTypeAttr(self._pxr.UsdPhysics.Tokens.force)
        drive.CreateStiffnessAttr(numbers['stiffness'])
        drive.CreateDampingAttr(numbers['damping'])


def usd_of(
    model: IdentifiedModel,
    robot: Any,
    covariance: np.ndarray,
    lines: Sequence[str],
    usd: str | Path = '',
) -> str:
    """
    Return the text of a layer over the file ``usd`` with the numbers of a consistent ``model``.

    covariance : (p, p) of its parameters; lines : of what is not held, for a comment
    InertialIdError where usd-core is not installed; RobotModelError where the USD lacks bodies or
    joints of the tree ``robot`` by their names, or has them elsewhere.
    """
    tree = tree_of(robot)
    consistent_parameters(model)
    if not Path(usd).is_file():
        do = "--usd robot.usd; in Python export('usd', path, usd='robot.usd')"
        raise ConfigError('usd', expected='the USD file of the robot', found=repr(str(usd)), do=do)
    layer = _layer_over(Path(usd).resolve(), '\n'.join(comment_words(model, lines)))
    stage = _Stage(_pxr(), layer)
    _check_names(tree, stage)
    _check_placements(tree, stage)
    for link, parameters in _parameters(tree, model, stage).items():
        stage.set_body(link, parameters)
    terms, gains = joint_terms(model), servos(model, tree)
    for joint, prismatic in zip(tree.joint_names, map(bool, tree.prismatic)):
        units = stage.units(prismatic)
        damping = units.position / units.effort  # of the unit N m s/rad
        numbers = {
            'armature': terms[joint][ARMATURE] / units.armature,
            'staticFrictionEffort': terms[joint][FRICTION] / units.effort,
            'dynamicFrictionEffort': terms[joint][FRICTION] / units.effort,
            'viscousFrictionCoefficient': terms[joint][DAMPING] * damping,
        }
        stage.set_joint(joint, AXES[prismatic], numbers)
        if joint in gains:
            drive = {gain: gains[joint][gain] * damping for gain in SERVO_GAINS}
            stage.set_drive(joint, AXES[prismatic], drive)
    return str(layer.ExportToString())


def _pxr() -> Any:
    try:
        import pxr.Gf
        import pxr.Sdf
        import pxr.Tf
        import pxr.Usd
        import pxr.UsdGeom
        import pxr.UsdPhysics
    except ImportError as error:
        raise InertialIdError(
            'a layer over a USD needs usd-core, which is not installed',
            do='pip install "ros_inertial_id[usd]"',
        ) from error
    return pxr


def _layer_over(path: Path, comment: str) -> Any:
    """Return an empty layer over the file at a ``path``, with a ``comment``."""
    pxr = _pxr()
    try:
        given = pxr.Sdf.Layer.FindOrOpen(str(path))
    except pxr.Tf.ErrorException as error:
        found = ' '.join(str(error).split())
        raise RobotModelError(f'{path} cannot be read', expected='a USD', found=found) from None
    if given is None:
        raise RobotModelError(f'{path} cannot be read', expected='a USD')
    layer = pxr.Sdf.Layer.CreateAnonymous('.usda')
    layer.subLayerPaths.append(str(path))
    # A stage has its units, its up axis and its default prim from its first layer alone.
    for key in given.pseudoRoot.ListInfoKeys():
        if key not in OF_ONE_LAYER:
            layer.pseudoRoot.SetInfo(key, given.pseudoRoot.GetInfo(key))
    layer.comment = comment
    return layer


def _add(prims: dict[str, Any], prim: Any) -> None:
    """Add a ``prim`` by its name; RobotModelError where another one has it."""
    name = prim.GetName()
    if name in prims:
        paths = f'{prims[name].GetPath()} and {prim.GetPath()}'
        raise RobotModelError(f'two prims are {name}', expected='a USD of one robot', found=paths)
    prims[name] = prim


def _check_scale(pxr: Any, body: Any) -> None:
    """Raise RobotModelError where a ``body`` is scaled, as its centre of mass then is."""
    world = pxr.UsdGeom.Xformable(body).ComputeLocalToWorldTransform(pxr.Usd.TimeCode.Default())
    sizes = np.linalg.norm(np.array(world)[:3, :3], axis=1)
    if np.abs(sizes - 1.0).max() > SAME_PLACE:
        what = f'body {body.GetName()} of the USD is scaled'
        raise RobotModelError(what, expected='scale 1', found=np.round(sizes, 4).tolist())


def _check_names(robot: RobotModel, stage: _Stage) -> None:
    """Raise RobotModelError where a ``stage`` lacks a moving link or a joint."""
    for kind, names, there in (
        ('rigid body', robot.link_names, stage.bodies),
        ('joint', robot.joint_names, stage.joints),
    ):
        missing = [name for name in names if stage.name(name) not in there]
        if missing:
            what = f'the USD has no {kind} {", ".join(missing)}'
            raise RobotModelError(what, expected='the names of the description', exists=[*there])


def _check_placements(robot: RobotModel, stage: _Stage) -> None:
    """Raise RobotModelError where a joint has its bodies elsewhere than the description."""
    placements = {}
    for link, (body, G) in link_placements(robot).items():
        placements[stage.name(link)] = body, G
    for i, name in enumerate(robot.joint_names):
        joint = stage.joints[stage.name(name)]
        sides = [joint.GetRelationship(f'physics:body{side}').GetTargets() for side in '01']
        if not all(sides):
            continue  # the world is where the user put it
        first, second = (placements.get(side[0].name, (None, np.eye(4))) for side in sides)
        if (first[0], second[0]) != (robot.parents[i], i):
            found = ' and '.join(side[0].name for side in sides)
            raise RobotModelError(f'joint {name} of the USD joins other bodies', found=found)
        moved = np.eye(4)
        moved[:3, :3], moved[:3, 3] = robot.rotations[i], robot.translations[i]
        described = np.linalg.inv(first[1]) @ moved @ second[1]
        difference = float(np.abs(stage.placement(joint) - described).max())
        if difference > SAME_PLACE:
            raise RobotModelError(
                f'joint {name} of the USD has its bodies elsewhere than the description',
                found=f'{difference:.3g} m or rad',
                do='convert the description that the model was identified with',
            )


def _parameters(robot: RobotModel, model: IdentifiedModel, stage: _Stage) -> dict[str, np.ndarray]:
    """
    Return {link: ten parameters (10,) in its frame} of bodies of a ``stage``.

    A link that is fixed to another and no body of its own belongs to the moving link.
    """
    urdf = xml.fromstring(corrected_urdf(robot, model.parameters, model.values))
    placements = link_placements(robot)
    sums = {link: np.zeros((4, 4)) for link in robot.link_names}  # in the frame of the joint
    for link in urdf.iterfind('link'):
        name = link.get('name', '')
        body, G = placements[name]
        if body < 0:
            continue  # the base moves nowhere
        carrier = name if stage.has_body(name) else robot.link_names[body]
        P = G @ _pseudo_inertia(link, urdf.get('version')) @ G.T
        sums[carrier] = sums.get(carrier, 0.0) + P
    out = {}
    for name, P in sums.items():
        to_link = np.linalg.inv(placements[name][1])
        own = to_link @ P @ to_link.T
        if own[3, 3] > 0.0:
            out[name] = parameters_of((own + own.T) / 2.0)
    return out


def _pseudo_inertia(link: xml.Element, version: str | None) -> np.ndarray:
    """Return the pseudo-inertia (4, 4) of a ``link`` of a URDF in its frame, zeros of none."""
    mass, inertia = link.find('inertial/mass'), link.find('inertial/inertia')
    if mass is None or inertia is None:
        return np.zeros((4, 4))
    origin = link.find('inertial/origin')
    given = {} if origin is None else origin.attrib
    quaternion = given.get('quat_xyzw', '') if has_quaternions(version) else ''
    R = orientation(given.get('rpy', ''), quaternion)
    central = np.zeros((3, 3))
    central[ELEMENTS] = [float(inertia.get(name, 0.0)) for name in INERTIA]
    central.T[ELEMENTS] = central[ELEMENTS]
    centre = np.array(given.get('xyz', '0 0 0').split(), dtype=float)
    return pseudo_inertia(about_origin(float(mass.get('value', 0.0)), centre, R @ central @ R.T))
