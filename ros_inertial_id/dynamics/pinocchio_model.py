"""A pinocchio model with identified parameters, for controllers and for other tools."""

from collections.abc import Callable
from pathlib import Path
import tempfile

import numpy as np
import pinocchio as pin

from .inertial_parameters import check_consistent
from .robot_model import RobotModel
from ..errors import RobotModelError
from ..given_files import given_text


def pinocchio_model(robot: RobotModel, bodies: np.ndarray, **joint_terms: np.ndarray) -> pin.Model:
    """
    Return a copy of the robot's pinocchio model with other inertias and joint terms.

    bodies : (n, 10) standard parameters of every body in its joint frame
    joint_terms : of JOINT_TERMS, damping [N m s/rad], friction [N m], armature [kg m^2], (n,)
    EstimationError when a body is not physically consistent.
    """
    model = robot.pin_model.copy()
    for i, (link, pi) in enumerate(zip(robot.link_names, np.asarray(bodies, dtype=float))):
        check_consistent(pi, link)
        model.inertias[i + 1] = pin.Inertia.FromDynamicParameters(pi)
    order = [joint.idx_v for joint in model.joints[1:]]
    for name, terms in joint_terms.items():
        values = np.zeros(model.nv)
        values[order] = terms
        setattr(model, name, values)
    return model


def pinocchio_text(model: pin.Model) -> str:
    """Return the XML of a pinocchio model, as ``loadFromXML`` reads it under the name model."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / 'model.xml'
        model.saveToXML(str(file), 'model')
        return given_text(file)


def momentum_terms(
    robot: RobotModel, bodies: np.ndarray, armature: np.ndarray
) -> Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]:
    """
    Return terms(q, v) -> mass matrix M (n, n) and C' v - g (n,), by which momentum M v changes.

    robot : RobotModel of n joints, its gravity included; bodies : (n, 10) of its bodies
    armature : (n,) rotor inertias [kg m^2]
    Raises EstimationError when a body is not physically consistent.
    """
    model = pinocchio_model(robot, bodies, armature=armature)
    data = model.createData()

    def terms(q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        pin_q = robot.pin_q(q)
        upper = np.triu(pin.crba(model, data, pin_q))
        coriolis = pin.computeCoriolisMatrix(model, data, pin_q, v)
        gravity = pin.computeGeneralizedGravity(model, data, pin_q)
        return upper + np.triu(upper, 1).T, coriolis.T @ v - gravity

    return terms


def link_jacobian(robot: RobotModel, link: str) -> Callable[[np.ndarray], np.ndarray]:
    """
    Return jacobian(q) -> (6, n): linear and angular velocity of a link by those of n joints.

    link : a name of the URDF, also of a fixed one; about its origin and in its axes
    Raises RobotModelError for a link that does not exist.
    """
    model, data = robot.pin_model, robot.pin_model.createData()
    if not model.existFrame(link, pin.BODY):
        raise RobotModelError(
            f'the robot has no link {link!r}',
            exists=[frame.name for frame in model.frames if frame.type == pin.BODY],
        )
    frame, order = model.getFrameId(link, pin.BODY), [j.idx_v for j in model.joints[1:]]

    def jacobian(q: np.ndarray) -> np.ndarray:
        return pin.computeFrameJacobian(model, data, robot.pin_q(q), frame, pin.LOCAL)[:, order]

    return jacobian


def inverse_dynamics(robot: RobotModel, bodies: np.ndarray) -> Callable[..., np.ndarray]:
    """
    Return torque(q, v, a) -> (n,) [N m] ([N] of sliders) of single states (n,) [rad, m, s].

    bodies : (10 n,) standard parameters, which need not be physically consistent
    """
    model, data = robot.pin_model, robot.pin_model.createData()
    bodies = np.array(bodies, dtype=float)
    turning = model.nq > model.nv  # continuous joints have two numbers each

    def torque(q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
        if turning:
            q = robot.pin_q(q)
        return pin.computeJointTorqueRegressor(model, data, q, v, a) @ bodies

    return torque


def moving_base_dynamics(robot: RobotModel, bodies: np.ndarray) -> Callable[..., np.ndarray]:
    """
    Return rows(base, q, v, a) -> (6 + n,): force and moment on a base that moves, then torques.

    robot : RobotModel of n joints; bodies : (10 (1 + n),) standard parameters, the base's first,
        which need not be physically consistent
    base : (9,) acceleration minus gravity, angular acceleration and velocity of the root link's
        frame, along its axes [m/s^2, rad/s^2, rad/s]; q, v, a : (n,) [rad, m, s]
    """
    root, bodies = pin.Model(), np.array(bodies, dtype=float)
    free = root.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), 'base')
    frame = root.addFrame(pin.Frame('base', free, 0, pin.SE3.Identity(), pin.FrameType.BODY))
    model = pin.appendModel(root, robot.pin_model, frame, pin.SE3.Identity())
    model.gravity.linear = np.zeros(3)  # it is in the acceleration of the base
    data, still, upright = model.createData(), np.zeros(3), pin.neutral(root)

    def rows(base: np.ndarray, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
        place = np.concatenate([upright, robot.pin_q(q)])
        velocity = np.concatenate([still, base[6:], v])
        acceleration = np.concatenate([base[:6], a])
        Y = pin.computeJointTorqueRegressor(model, data, place, velocity, acceleration)
        return Y @ bodies

    return rows
