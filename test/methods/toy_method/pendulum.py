"""
A pendulum with a motor: I a + mc g sin(q) + fv v = tau, and nothing else.

Its description is a text of one line: the name of its joint.
"""

from dataclasses import dataclass
import hashlib

import numpy as np

from ros_inertial_id.dynamics.inertial_parameters import Parameter
from ros_inertial_id.dynamics.regressor import RegressorBlock, RowGroup
from ros_inertial_id.measurement.summary import Summary
from ros_inertial_id.methods.contract import Method
from ros_inertial_id.options import option

EDGE = 10  # samples at both ends whose derivatives are poor


@dataclass(frozen=True)
class PendulumOptions:
    """What general code asks of every method's options."""

    mounting: str = option('', 'upright')
    gravity_magnitude: float = option(9.81, 'of gravity', unit='m/s^2')
    cutoff: float = option(0.0, 'unused', unit='Hz')
    velocity: str = option('measured', 'unused')
    estimator: str = option('weighted', 'estimator', choices=('weighted', 'ordinary'))


@dataclass(frozen=True)
class PendulumRobot:
    """One joint and one link; see the protocol Robot."""

    urdf: str
    gravity_base: np.ndarray
    name: str = 'pendulum'
    base_link: str = 'ceiling'
    link_names: tuple[str, ...] = ('bob',)
    inertias = np.zeros((1, 10))

    @property
    def joint_names(self):
        """Return the only joint."""
        return (self.urdf.strip(),)

    def kinematics_sha256(self):
        """Return a hash of the joint's name."""
        return hashlib.sha256(self.urdf.encode()).hexdigest()


@dataclass(frozen=True)
class Swing:
    """t, q, v, a, tau (N,); see the protocol State."""

    t: np.ndarray
    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    tau: np.ndarray
    segment: int = 0

    def rows(self, chosen):
        """Return the samples of a slice."""
        return Swing(*(x[chosen] for x in (self.t, self.q, self.v, self.a, self.tau)))


@dataclass(frozen=True)
class Swings:
    """The motion of a recording in one piece; see the protocol Observation."""

    swing: Swing

    @property
    def summary(self):
        """Return what the spine asks for."""
        t = self.swing.t
        return Summary(
            cutoff=100.0,
            velocity='measured',
            rate=float(1.0 / np.diff(t).mean()),
            gaps=0,
            duration=float(t[-1] - t[0]),
            samples=len(t),
        )

    def samples(self, training=False):
        """Return how many samples there are."""
        return len(self.swing.t)

    def states(self, training=False):
        """Yield the whole swing."""
        yield self.swing


class Pendulum(Method[PendulumRobot, Swing, Swings, PendulumOptions]):
    """The method: three columns, one row a sample."""

    name = 'pendulum'
    Options = PendulumOptions

    def build(self, urdf, options, gravity_base):
        """Return the robot of a text with the name of its joint."""
        return PendulumRobot(urdf, gravity_base)

    def parameters(self, robot, options):
        """Return inertia about the joint, mass times distance, viscous friction."""
        (joint,) = robot.joint_names
        return (
            Parameter('I', 'kg m^2', 1.0, owner='bob'),
            Parameter('mc', 'kg m', 1.0, owner='bob'),
            Parameter('fv', 'N m s/rad', 1.0, owner=joint, law='viscous'),
        )

    def observe(self, recording, robot, options):
        """Return the swings in the joint states."""
        channel = recording.channels['/joint_states']
        t = (channel.stamp_ns - channel.stamp_ns[0]) * 1e-9
        q, v, tau = (channel.fields[name][:, 0] for name in ('position', 'velocity', 'effort'))
        inside = slice(EDGE, len(t) - EDGE)
        return Swings(Swing(*(x[inside] for x in (t, q, v, np.gradient(v, t), tau))))

    def regress(self, state, robot, parameters, wanted=None):
        """Yield one block of all samples."""
        g = np.linalg.norm(robot.gravity_base)
        W = np.stack([state.a, g * np.sin(state.q), state.v], axis=1)
        yield RegressorBlock(
            state.t,
            0,
            (RowGroup(robot.joint_names[0], 'N m', np.arange(3), W, state.tau, state.tau),),
        )

    def random_state(self, robot, samples, rng):
        """Return random samples."""
        return Swing(np.arange(float(samples)), *rng.normal(size=(3, samples)), np.zeros(samples))

    def validity_range(self, state, robot):
        """Return what bounds the model."""
        return {robot.joint_names[0]: {name: getattr(state, name) for name in 'qva'}}
