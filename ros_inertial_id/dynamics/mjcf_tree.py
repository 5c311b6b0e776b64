"""The tree of an MJCF: bodies on the joints that carry them, and what actuators pull at."""

from collections.abc import Iterator
import logging
from typing import Any

import numpy as np
import pinocchio as pin

from .tree_description import placement, TreeDescription

FREE, BALL, SLIDE, HINGE = 'free', 'ball', 'slide', 'hinge'
CLOSING, CLOSED = 50, 1e-10  # steps of Newton, [m, rad]
LARGEST_STEP = 0.2  # [rad, m]
KINDS = (FREE, BALL, SLIDE, HINGE)  # in MuJoCo's order
_logger = logging.getLogger(__name__)


class MjcfTree:
    """
    A compiled model of MuJoCo, ``model``, on its way into a description, ``tree``.

    data : at the first keyframe, or the reference configuration where there is none
    at : body -> (its link, (4, 4) of the body's frame in it)
    scalar : hinge or slide -> its joint's name
    several : another joint -> (its two axes (3,) or none, names of what it became)
    """

    def __init__(self, mujoco: Any, model: Any) -> None:
        self.mujoco, self.model, self.data = mujoco, model, mujoco.MjData(model)
        if model.nkey:
            self.data.qpos[:] = model.key_qpos[0]
        self._close()
        name = bytes(model.names).split(b'\0', 1)[0].decode()
        self.tree = TreeDescription(name or 'mjcf', self.name('body', 0))
        self.at = {0: (self.name('body', 0), np.eye(4))}
        self.scalar: dict[int, str] = {}
        self.several: dict[int, tuple[tuple[np.ndarray, ...], tuple[str, ...]]] = {}

    def _close(self):
        """Assemble the mechanism next to where it is: keyframes close loops about."""
        for _ in range(CLOSING):
            self.mujoco.mj_forward(self.model, self.data)
            J, gap = equality_rows(self)
            if np.abs(gap).max(initial=0.0) < CLOSED:
                return
            step = np.linalg.lstsq(J, -gap, rcond=1e-6)[0]
            step *= min(1.0, LARGEST_STEP / max(np.abs(step).max(), 1e-300))
            self.mujoco.mj_integratePos(self.model, self.data.qpos, step, 1.0)

    def name(self, kind: str, index: int) -> str:
        """Return the name of a ``kind`` (body, joint, ...), its number where it has none."""
        of = getattr(self.mujoco.mjtObj, f'mjOBJ_{kind.upper()}')
        return self.mujoco.mj_id2name(self.model, of, int(index)) or f'{kind}{int(index)}'

    def kind(self, joint: int) -> str:
        """Return the kind of a joint: free, ball, slide or hinge."""
        return KINDS[int(self.model.jnt_type[joint])]

    def anchor(self, joint: int) -> np.ndarray:
        """Return where a joint is in the frame of its body (3,) [m]; a slide is anywhere."""
        return self.model.jnt_pos[joint] * (self.kind(joint) in (BALL, HINGE))

    def body(self, body: int) -> None:
        """Add one body: links and joints that carry it, its own last."""
        model = self.model
        link, place = self.at[int(model.body_parentid[body])]
        place = place @ pose(model.body_pos[body], model.body_quat[body])
        name, first = self.name('body', body), int(model.body_jntadr[body])
        joints = list(range(first, first + int(model.body_jntnum[body])))
        if joints and self.kind(joints[0]) == FREE and not self._tied(body):
            _logger.warning('%s is free in the MJCF; it is taken to be mounted as it is there, '
                            'and its free joint is left out', name)
            joints = []
        last = placement(-self.anchor(joints[-1])) if joints else np.eye(4)
        inertial = last @ pose(model.body_ipos[body], model.body_iquat[body])
        turn = inertial[:3, :3]
        weighed = (model.body_mass[body], inertial[:3, 3],
                   turn @ np.diag(model.body_inertia[body]) @ turn.T)
        for joint in joints[:-1]:
            child = f'{self.name("joint", joint)}_link'
            self.tree.link(child)
            self.tree.say('known', child)
            self._joint(joint, (link, child), place)
            link, place = child, placement(-self.anchor(joint))
        self.tree.link(name, weighed)
        if joints:
            self._joint(joints[-1], (link, name), place)
        else:
            self.tree.joint(f'{name}_fixed', 'fixed', (link, name), place)
        self.at[body] = name, last

    def _joint(self, joint, ends, place):
        """Add one joint of a body whose frame, before it moves, is at ``place`` (4, 4)."""
        model, name, kind = self.model, self.name('joint', joint), self.kind(joint)
        place = place @ placement(self.anchor(joint))
        if kind in (SLIDE, HINGE):
            axis, zero = model.jnt_axis[joint], float(model.qpos0[model.jnt_qposadr[joint]])
            place = place @ (placement(-zero * axis) if kind == SLIDE else placement(
                rotation=pin.AngleAxis(-zero, axis).matrix()))
            self.scalar[joint], = self.tree.joint(name, kind, ends, place, axes=(axis,),
                                                  limits=self._limits(joint))
            return
        axes, along = (), self._rod(joint) if kind == BALL else None
        if along is not None:
            _logger.warning('%s is the ball joint of a rod that may spin about itself; it is '
                            'taken as a universal joint, right for a rod that is the same all '
                            'around its axis', name)
            axes, kind = _across(along), 'universal'
        self.several[joint] = axes, self.tree.joint(name, kind, ends, place, axes=axes)

    def _tied(self, body):
        """Return whether an equality ties a body, or one that it carries, to any other."""
        moved = [b for b in range(self.model.nbody) if self.model.body_rootid[b] == body]
        return any((first in moved) != (second in moved)
                   for _, (first, _), (second, _) in ties(self))

    def _rod(self, joint):
        """Return from a ball joint to the only other joint (3,) of its body, if there is one."""
        body = int(self.model.jnt_bodyid[joint])
        ends = [(kind, place) for kind, *both in ties(self) for at, place in both if at == body]
        if (body in self.model.body_parentid or len(ends) != 1 or ends[0][0] != 'connect'
                or self.model.body_jntnum[body] != 1):
            return None
        return ends[0][1][:3, 3] - self.anchor(joint)

    def _limits(self, joint):
        """Return range and largest effort of a hinge or slide [rad, m, N m, N]."""
        model, out = self.model, {}
        if model.jnt_limited[joint]:
            out['lower'], out['upper'] = (float(x) for x in model.jnt_range[joint])
        efforts = [_effort(model, actuator, joints[joint])
                   for actuator, joints in transmissions(self) if joint in joints]
        return {**out, 'effort': sum(efforts)}


def equality_rows(read: MjcfTree) -> tuple[np.ndarray, np.ndarray]:
    """Return (J (m, nv), gap (m,)) of the active equalities at the configuration of ``data``."""
    data, equality = read.data, int(read.mujoco.mjtConstraint.mjCNSTR_EQUALITY)
    rows = np.asarray(data.efc_type[:data.nefc]) == equality
    J = np.reshape(data.efc_J[:data.nefc * read.model.nv], (data.nefc, read.model.nv))
    return J[rows].copy(), np.array(data.efc_pos[:data.nefc][rows])


def pose(position: np.ndarray, quaternion: np.ndarray) -> np.ndarray:
    """Return (4, 4) of a position (3,) [m] and a quaternion (4,), w first."""
    w, x, y, z = (float(q) for q in quaternion)
    return placement(position, pin.Quaternion(w, x, y, z).normalized().matrix())


def _across(along):
    """Return two unit vectors (3,) perpendicular to ``along`` (3,) and to each other."""
    along = along / np.linalg.norm(along)
    first = np.cross(along, np.eye(3)[np.argmin(np.abs(along))])
    first /= np.linalg.norm(first)
    return first, np.cross(along, first)


def _effort(model, actuator, gear):
    """Return the largest effort of an actuator at a joint, 0 where the MJCF gives none."""
    if model.actuator_forcelimited[actuator]:
        return abs(gear) * float(np.abs(model.actuator_forcerange[actuator]).max())
    if model.actuator_ctrllimited[actuator] and not model.actuator_biastype[actuator]:
        return abs(gear) * float(np.abs(model.actuator_gainprm[actuator][0]
                                        * model.actuator_ctrlrange[actuator]).max())
    return 0.0


def transmissions(read: MjcfTree) -> Iterator[tuple[int, dict[int, float]]]:
    """Yield (actuator, {joint: effort per force}) of actuators on joints and fixed tendons."""
    model, kinds = read.model, read.mujoco.mjtTrn
    for actuator in range(model.nu):
        kind, target = (int(x) for x in (model.actuator_trntype[actuator],
                                         model.actuator_trnid[actuator][0]))
        gear, pulled = float(model.actuator_gear[actuator][0]), {}
        if kind in (int(kinds.mjTRN_JOINT), int(kinds.mjTRN_JOINTINPARENT)):
            pulled = {target: gear}
        elif kind == int(kinds.mjTRN_TENDON):
            pulled = {j: gear * c for j, c in fixed_tendon(read, target).items()}
        yield actuator, pulled


def fixed_tendon(read: MjcfTree, tendon: int) -> dict[int, float]:
    """Return {joint: coefficient} of a fixed tendon, {} of one through sites."""
    model, low = read.model, int(read.model.tendon_adr[tendon])
    part = slice(low, low + int(model.tendon_num[tendon]))
    if any(model.wrap_type[part] != int(read.mujoco.mjtWrap.mjWRAP_JOINT)):
        return {}
    return {int(j): float(c) for j, c in zip(model.wrap_objid[part], model.wrap_prm[part])}


def driven(read: MjcfTree) -> list[str]:
    """Return the names of the joints that actuators move, in the order of the actuators."""
    out: dict[str, None] = {}
    for actuator, joints in transmissions(read):
        if not joints:
            _logger.warning('actuator %s pulls at no joint: its force is in no effort of a joint',
                            read.name('actuator', actuator))
        out.update(dict.fromkeys(read.scalar[j] for j in joints if j in read.scalar))
    return list(out)


Tie = tuple[str, tuple[int, np.ndarray], tuple[int, np.ndarray]]


def ties(read: MjcfTree) -> Iterator[Tie]:
    """Yield (connect or weld, (body, place (4, 4) in it), (another, place)) of equalities."""
    model, kinds = read.model, read.mujoco.mjtEq
    for k in range(model.neq):
        kind = {int(kinds.mjEQ_CONNECT): 'connect', int(kinds.mjEQ_WELD): 'weld'}.get(
            int(model.eq_type[k]))
        if kind is None or not model.eq_active0[k]:
            continue
        ends, data = (int(model.eq_obj1id[k]), int(model.eq_obj2id[k])), model.eq_data[k]
        if int(model.eq_objtype[k]) == read.mujoco.mjtObj.mjOBJ_SITE:
            first, second = ((int(model.site_bodyid[s]), pose(
                model.site_pos[s], model.site_quat[s])) for s in ends)
        elif kind == 'connect':
            first, second = (ends[0], placement(data[:3])), (ends[1], placement(data[3:6]))
        else:  # the point and the orientation of the second body that are met in the first
            first, second = (ends[0], pose(data[3:6], data[6:10])), (ends[1], placement(data[:3]))
        yield kind, first, second
