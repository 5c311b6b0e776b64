"""A layer over a USD: usd-core reads back a robot with the torques of the model."""

from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest

import ros_inertial_id as rid
from ros_inertial_id.cli.main import main

pytest.importorskip('pxr', reason='usd-core is not installed: pip install usd-core')
from pxr import Gf, Sdf, Usd, UsdGeom, UsdPhysics  # noqa: E402

URDF = """<robot name="arm">
  <link name="base"/>
  <joint name="turn-1" type="revolute">
    <origin xyz="0 0 .4" rpy=".3 0 .2"/><parent link="base"/><child link="upper"/>
    <axis xyz="0 1 0"/><limit lower="-2" upper="2" effort="9" velocity="9"/>
    <dynamics damping=".3" friction=".2"/>
  </joint>
  <link name="upper"><inertial><origin xyz=".1 .02 0" rpy=".4 0 0"/><mass value="2"/>
    <inertia ixx=".02" ixy=".001" ixz="0" iyy=".03" iyz="-.002" izz=".025"/></inertial></link>
  <joint name="flange" type="fixed">
    <origin xyz=".1 0 .1" rpy="0 .5 0"/><parent link="upper"/><child link="tool"/>
  </joint>
  <link name="tool"><inertial><origin xyz="0 0 .05"/><mass value=".7"/>
    <inertia ixx=".004" ixy="0" ixz="0" iyy=".005" iyz="0" izz=".003"/></inertial></link>
  <joint name="slide" type="prismatic">
    <origin xyz="0 .1 .2" rpy="0 0 1"/><parent link="tool"/><child link="rod"/>
    <axis xyz="0 0 1"/><limit lower="-1" upper="1" effort="9" velocity="9"/>
    <dynamics damping=".5" friction=".4"/>
  </joint>
  <link name="rod"><inertial><origin xyz=".01 0 .2"/><mass value="1"/>
    <inertia ixx=".01" ixy="0" ixz="0" iyy=".012" iyz="0" izz=".004"/></inertial></link>
</robot>"""
# Of the URDF, as a converter writes it: joint, its kind and axis, bodies, placement of the second.
JOINTS = (
    ('turn_1', 'RevoluteJoint', 'Y', 'base', 'upper', (0, 0, 0.4), (0.3, 0, 0.2)),
    ('flange', 'FixedJoint', '', 'upper', 'tool', (0.1, 0, 0.1), (0, 0.5, 0)),
    ('slide', 'PrismaticJoint', 'Z', 'tool', 'rod', (0, 0.1, 0.2), (0, 0, 1)),
)
MERGED = (  # the same, the fixed joint converted into its parent
    JOINTS[0],
    ('slide', 'PrismaticJoint', 'Z', 'upper', 'rod', None, None),
)
GAINS = {'effort_kind': 'command', 'stiffness': (40.0, 70.0), 'damping': (2.0, 3.0)}


def a_usd(path, joints=JOINTS, length=1.0, mass=1.0):
    """Write the robot as a converter does, with other masses; units [m], [kg] of the stage."""
    stage = Usd.Stage.CreateNew(str(path))
    UsdGeom.SetStageMetersPerUnit(stage, length)
    UsdGeom.SetStageUpAxis(stage, UsdGeom.Tokens.z)
    UsdPhysics.SetStageKilogramsPerUnit(stage, mass)
    root = UsdGeom.Xform.Define(stage, '/arm').GetPrim()
    stage.SetDefaultPrim(root)
    for name in {'base', *(joint[4] for joint in joints)}:
        body = UsdGeom.Xform.Define(stage, f'/arm/{name}').GetPrim()
        UsdPhysics.RigidBodyAPI.Apply(body)
        UsdPhysics.MassAPI.Apply(body).CreateMassAttr(9.0)
    for name, kind, axis, first, second, xyz, rpy in joints:
        joint = getattr(UsdPhysics, kind).Define(stage, f'/arm/joints/{name}')
        joint.CreateBody0Rel().SetTargets([f'/arm/{first}'])
        joint.CreateBody1Rel().SetTargets([f'/arm/{second}'])
        if xyz is None:
            chain = placed(*JOINTS[1][5:]) * placed(*JOINTS[2][5:])
        else:
            chain = placed(xyz, rpy)
        quaternion = pin.Quaternion(chain.rotation)
        joint.CreateLocalPos0Attr(Gf.Vec3f(*(chain.translation / length).tolist()))
        joint.CreateLocalRot0Attr(Gf.Quatf(quaternion.w, *quaternion.coeffs()[:3].tolist()))
        joint.CreateLocalPos1Attr(Gf.Vec3f(0.0))
        joint.CreateLocalRot1Attr(Gf.Quatf(1.0))
        if axis:
            joint.CreateAxisAttr(axis)
    old = stage.GetPrimAtPath('/arm/joints/turn_1')
    old.CreateAttribute('physxJoint:jointFriction', Sdf.ValueTypeNames.Float).Set(0.05)
    stage.Save()
    return path


def placed(xyz, rpy):
    return pin.SE3(pin.rpy.rpyToMatrix(*map(float, rpy)), np.array(xyz, dtype=float))


def a_model():
    """Return a Model of the URDF with other numbers, rotors, and gains of servos."""
    described = rid.Model.from_description(URDF)
    identified, rng = described.identified, np.random.default_rng(2)
    values, parameters = identified.values * rng.uniform(1.1, 1.3), list(identified.parameters)
    for joint in described.joint_names:
        viscous = next(p for p in parameters if p.owner == joint)
        if not any(p.owner == joint and p.law == 'armature' for p in parameters):
            parameters.append(replace(viscous, name=f'Ia {joint}', law='armature', unit='kg m^2'))
            values = np.append(values, 0.0)
    links = {}
    for k, p in enumerate(parameters):
        if p.law:
            values[k] = rng.uniform(0.3, 0.6)
        elif p.name.startswith('m') and p.unit == 'kg':
            links[p.owner] = values[k : k + 10].tolist()
    model = replace(
        identified,
        parameters=tuple(parameters),
        values=values,
        options={**identified.options, **GAINS},
        statistics={'consistent': {'links': links}},
    )
    return rid.Model(model, described.gravity_base)


def read_back(path, joints):
    """Return pinocchio's model of a USD, with friction and rotors, and its drives in SI units."""
    stage = Usd.Stage.Open(str(path))
    length = UsdGeom.GetStageMetersPerUnit(stage)
    mass = UsdPhysics.GetStageKilogramsPerUnit(stage)
    out, bodies, drives = pin.Model(), {'base': (0, pin.SE3.Identity())}, {}
    for name, kind, axis, first, second, *_ in joints:
        joint = UsdPhysics.Joint.Get(stage, f'/arm/joints/{name}')
        turn = joint.GetLocalRot0Attr().Get()
        rotation = pin.Quaternion(turn.GetReal(), *turn.GetImaginary()).normalized().matrix()
        step = pin.SE3(rotation, length * np.array(joint.GetLocalPos0Attr().Get(), dtype=float))
        parent, placement = bodies[first]
        if axis:
            moves = {'Y': pin.JointModelRY, 'Z': pin.JointModelPZ}[axis]()
            number = out.addJoint(parent, moves, placement * step, name)
            bodies[second] = number, pin.SE3.Identity()
        else:
            bodies[second] = parent, placement * step
        body = UsdPhysics.MassAPI.Get(stage, f'/arm/{second}')
        axes = body.GetPrincipalAxesAttr().Get()
        R = pin.Quaternion(axes.GetReal(), *axes.GetImaginary()).normalized().matrix()
        moments = mass * length**2 * np.array(body.GetDiagonalInertiaAttr().Get(), dtype=float)
        centre = length * np.array(body.GetCenterOfMassAttr().Get(), dtype=float)
        inertia = pin.Inertia(mass * body.GetMassAttr().Get(), centre, R @ np.diag(moments) @ R.T)
        out.appendBodyToJoint(*(bodies[second][0], inertia, bodies[second][1]))
    for i, name in enumerate(out.names[1:]):
        joint, axis = stage.GetPrimAtPath(f'/arm/joints/{name}'), 'angular'
        torque, rotor, degree = mass * length**2, mass * length**2, np.pi / 180.0
        if name == 'slide':
            axis, torque, rotor, degree = 'linear', mass * length, mass, length
        assert f'PhysxJointAxisAPI:{axis}' in joint.GetPrimTypeInfo().GetAppliedAPISchemas()
        of = {
            each: joint.GetAttribute(f'physxJointAxis:{axis}:{each}').Get()
            for each in ('armature', 'staticFrictionEffort', 'dynamicFrictionEffort')
        }
        assert of['staticFrictionEffort'] == of['dynamicFrictionEffort']
        out.armature[i] = rotor * of['armature']
        out.upperDryFrictionLimit[i] = torque * of['dynamicFrictionEffort']
        viscous = joint.GetAttribute(f'physxJointAxis:{axis}:viscousFrictionCoefficient').Get()
        out.damping[i] = torque * viscous / degree
        drive = UsdPhysics.DriveAPI.Get(joint, axis)
        assert drive.GetTypeAttr().Get() == 'force'
        gains = np.array([drive.GetStiffnessAttr().Get(), drive.GetDampingAttr().Get()])
        drives[name] = torque * gains / degree
    assert (
        not stage.GetPrimAtPath('/arm/joints/turn_1')
        .GetAttribute('physxJoint:jointFriction')
        .Get()
    )
    assert stage.GetDefaultPrim().GetName() == 'arm' and UsdGeom.GetStageUpAxis(stage) == 'Z'
    return out, drives


@pytest.mark.parametrize('joints', [JOINTS, MERGED], ids=['as described', 'merged'])
@pytest.mark.parametrize('units', [(1.0, 1.0), (0.01, 0.001)], ids=['m kg', 'cm g'])
def test_a_layer_over_a_usd_has_the_torques_of_the_model(tmp_path, joints, units):
    given = a_usd(tmp_path / 'arm.usda', joints, *units)
    before, model, path = given.read_bytes(), a_model(), tmp_path / 'elsewhere.usda'
    written = model.export('usd', path, usd=given)
    assert given.read_bytes() == before and not written.not_held
    read, drives = read_back(path, joints)
    read.gravity.linear = model.gravity_base
    rng = np.random.default_rng(1)
    q, v, a = rng.uniform(-1.0, 1.0, (3, 1000, 2))
    data = read.createData()
    torques = np.array([pin.rnea(read, data, *state) for state in zip(q, v, a)])
    torques += read.damping * v + read.upperDryFrictionLimit * np.sign(v)
    expected = model.torque(q, v, a)
    # Numbers of USD are of single precision: 6e-8 of each.
    np.testing.assert_allclose(torques, expected, rtol=0.0, atol=5e-7 * np.abs(expected).max())
    gains = np.array([drives['turn_1'], drives['slide']]).T
    np.testing.assert_allclose(gains, [GAINS['stiffness'], GAINS['damping']], rtol=2e-7)


def test_a_usd_of_another_robot_is_refused(tmp_path):
    moved = (*JOINTS[:2], (*JOINTS[2][:5], (0, 0.1, 0.3), (0, 0, 1)))
    for joints, words in ((moved, 'joint slide .* elsewhere'), (JOINTS[:2], 'no rigid body rod')):
        path = tmp_path / f'{len(words)}.usda'
        with pytest.raises(rid.RobotModelError, match=words):
            a_model().export('usd', tmp_path / 'out.usda', usd=a_usd(path, joints))
    scaled = a_usd(tmp_path / 'scaled.usda')
    stage = Usd.Stage.Open(str(scaled))
    UsdGeom.Xformable(stage.GetPrimAtPath('/arm')).AddScaleOp().Set(Gf.Vec3f(0.01))
    stage.Save()
    with pytest.raises(rid.RobotModelError, match='is scaled; expected scale 1'):
        a_model().export('usd', tmp_path / 'out.usda', usd=scaled)
    (tmp_path / 'no.usda').write_text('no USD')
    with pytest.raises(rid.RobotModelError, match='expected a USD'):
        a_model().export('usd', tmp_path / 'out.usda', usd=tmp_path / 'no.usda')


def test_the_command_line_asks_for_the_usd(result, tmp_path, capsys):
    result.model.save(tmp_path / 'model.yaml')
    assert main(['export', str(tmp_path), '--for', 'usd', '--out', str(tmp_path / 'o.usda')]) == 2
    assert '--usd robot.usd' in capsys.readouterr().err
    assert main(['export', str(tmp_path), '--for', 'urdf', '--usd', 'robot.usd']) == 2
    assert 'expected --for usd' in capsys.readouterr().err
