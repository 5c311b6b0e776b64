"""
Designs for robots as their makers describe them, judged by a checker that shares no code with us.

    python benchmark/makers_motions.py ROBOT.urdf [SEEDS [SECONDS]]

ROBOT.urdf : fr3 of franka_description or a UR of ur_description (xacro), whose meshes are found
through AMENT_PREFIX_PATH.  Four surroundings: upright on its floor, on a wall, tilted, a box of
the end effector above a table.  Every design is looked at 10 000 times a second: limits as their
makers publish them, written down here again; torques by MuJoCo; distances between links, and to
floor, wall and table, by MuJoCo on the meshes.  One line of JSON each.  With 5 seeds and 40 s
about 15 minutes per robot.
"""

from dataclasses import replace
import json
import os
from pathlib import Path
import sys
import time
import xml.etree.ElementTree as ET

import mujoco
import numpy as np
from threadpoolctl import threadpool_limits

from ros_inertial_id.dynamics.robot_model import gravity_from_mounting, load_robot_model
from ros_inertial_id.errors import MotionError
from ros_inertial_id.excitation.design import design, DesignOptions

RATE = 10_000  # [Hz]
POSTURES = 2000  # per period at which distances are taken
REACH = 0.05  # [m] up to which MuJoCo looks for distances
CASES = {
    'upright': ({}, 0.0),
    'wall': ({'mounting': 'rpy 0 1.5708 0', 'obstacles': ('box 0 0 -0.5 4 4 1',)}, 0.0),
    'tilted': ({'mounting': 'rpy 0.4 0.3 0'}, None),
    'box above table': ({'box': (-0.9, -0.9, 0.1, 0.9, 0.9, 1.4),
                         'obstacles': ('box 0 0 -0.025 2 2 0.05',), 'floor_height': -0.7}, 0.0)}
# https://frankaemika.github.io/docs/control_parameters.html, limits of the Franka Research 3
FR3_ENDS = ((2.75010, 0.30, 12.0), (1.79180, 0.20, 5.17), (2.90650, 0.20, 7.00),
            (-0.1458, 0.30, 8.0), (2.81010, 0.35, 34.0), (4.52050, 0.35, 11.0),
            (3.01960, 0.35, 34.0))
FR3_STARTS = ((2.75010, 0.30, 12.0), (1.79180, 0.20, 5.17), (2.90650, 0.20, 7.00),
              (3.04810, 0.30, 8.0), (2.81010, 0.35, 34.0), (-0.54092, 0.35, 11.0),
              (3.01960, 0.35, 34.0))


def mujoco_model(text, gravity):
    """Return the MuJoCo model of a URDF with the meshes of its collision shapes."""
    root = ET.fromstring(text)
    for link in root.iter('link'):
        for visual in link.findall('visual'):
            link.remove(visual)
    for mesh in root.iter('mesh'):
        package, _, rest = mesh.get('filename').removeprefix('package://').partition('/')
        mesh.set('filename', next(
            str(path) for prefix in os.environ['AMENT_PREFIX_PATH'].split(os.pathsep)
            if (path := Path(prefix) / 'share' / package / rest).exists()))
    compiler = ET.SubElement(ET.SubElement(root, 'mujoco'), 'compiler')
    compiler.attrib.update(strippath='false', fusestatic='false', discardvisual='false')
    model = mujoco.MjModel.from_xml_string(ET.tostring(root, encoding='unicode'))
    model.opt.gravity[:] = gravity
    model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONSTRAINT)  # of stops and shapes
    return model


class Judge:
    """MuJoCo's opinion on a motion of a robot."""

    def __init__(self, text, names, gravity):
        self.model = mujoco_model(text, gravity)
        self.data = mujoco.MjData(self.model)
        joints = [mujoco.mj_name2id(self.model, mujoco.mjtObj.mjOBJ_JOINT, n) for n in names]
        self.places = self.model.jnt_qposadr[joints]
        self.geoms = [g for g in range(self.model.ngeom)
                      if self.model.geom_type[g] == mujoco.mjtGeom.mjGEOM_MESH]
        self.pairs = [(a, b) for k, a in enumerate(self.geoms) for b in self.geoms[k + 1:]
                      if not self._built_together(a, b)]

    def _moved_by(self, geom):
        """Return the nearest body of a shape that has a joint, 0 for what does not move."""
        body = self.model.geom_bodyid[geom]
        while body and not self.model.body_jntnum[body]:
            body = self.model.body_parentid[body]
        return body

    def _built_together(self, a, b):
        first, second = self._moved_by(a), self._moved_by(b)
        parents = [self.model.body_parentid[body] for body in (first, second)]
        while parents[0] and not self.model.body_jntnum[parents[0]]:
            parents[0] = self.model.body_parentid[parents[0]]
        while parents[1] and not self.model.body_jntnum[parents[1]]:
            parents[1] = self.model.body_parentid[parents[1]]
        return first == second or first == parents[1] or second == parents[0]

    def torques(self, q, v, a):
        """Return the torques (N, n) [N m]."""
        out = []
        for x in zip(q, v, a):
            self.data.qpos[self.places], self.data.qvel[self.places] = x[0], x[1]
            self.data.qacc[self.places] = x[2]
            mujoco.mj_inverse(self.model, self.data)
            out.append(self.data.qfrc_inverse[self.places].copy())
        return np.array(out)

    def distances(self, postures, height):
        """Return the least distance of links [m] by pair, and of moving ones above height."""
        closest, lowest, fromto = np.full(len(self.pairs), np.inf), np.inf, np.zeros(6)
        for q in postures:
            self.data.qpos[self.places] = q
            mujoco.mj_kinematics(self.model, self.data)
            mujoco.mj_comPos(self.model, self.data)
            closest = np.minimum(closest, [mujoco.mj_geomDistance(
                self.model, self.data, a, b, REACH, fromto) for a, b in self.pairs])
            for g in self.geoms:
                if self._moved_by(g) and height is not None:
                    start = self.model.mesh_vertadr[self.model.geom_dataid[g]]
                    count = self.model.mesh_vertnum[self.model.geom_dataid[g]]
                    z = self.model.mesh_vert[start:start + count] @ self.data.geom_xmat[
                        g].reshape(3, 3)[2] + self.data.geom_xpos[g, 2]
                    lowest = min(lowest, float(z.min()) - height)
        return closest, lowest

    def names(self, pair):
        """Return the names of two shapes' bodies."""
        return ' and '.join(mujoco.mj_id2name(
            self.model, mujoco.mjtObj.mjOBJ_BODY, self.model.geom_bodyid[g]) for g in pair)


def uses(robot, motion, judge):
    """Return the largest share of every limit, {kind: share}, looked at RATE times a second."""
    t = np.arange(0.0, motion.period, 1.0 / RATE)
    q, v, a = motion.at(t)
    tau = judge.torques(*(x[::10] for x in (q, v, a)))
    out = {'lower': float((robot.lower - q.min(0)).max()),
           'upper': float((q.max(0) - robot.upper).max()),
           'velocity': float((np.abs(v).max(0) / robot.velocity).max()),
           'effort': float((np.abs(tau).max(0) / robot.effort).max()),
           'acceleration': float(np.abs(a).max())}
    if robot.joint_names[0].startswith('fr3'):
        shares = []
        for j, ((end, offset, gain), (start, low, slope)) in enumerate(zip(FR3_ENDS, FR3_STARTS)):
            up = np.sqrt(np.maximum(gain * (end - q[:, j]), 0.0)) - offset
            down = np.sqrt(np.maximum(slope * (start + q[:, j]), 0.0)) - low
            moving = np.abs(v[:, j]) > 1e-9
            limit = np.where(v[:, j] > 0, up, down)[moving]
            shares.append((np.abs(v[moving, j]) / np.maximum(limit, 1e-9)).max())
        out['velocity at the position'] = float(max(shares))
        out['acceleration'] /= 10.0
    return out


def run(path, seeds, seconds):
    """Print one line per design."""
    text = Path(path).read_text()
    for case, (settings, height) in CASES.items():
        options = DesignOptions(seconds=seconds, **settings)
        gravity = gravity_from_mounting(options.mounting or 'upright')
        robot = load_robot_model(text, gravity_base=gravity)
        judge = Judge(text, robot.joint_names, gravity)
        for seed in range(seeds):
            began = time.monotonic()
            line = {'robot': robot.name, 'case': case, 'seed': seed}
            try:
                result = design(robot, replace(options, seed=seed))
            except MotionError as error:
                print(json.dumps({**line, 'refused': str(error)}), flush=True)
                continue
            line['wall_s'] = round(time.monotonic() - began, 1)
            postures = result.motion.at(np.linspace(0, result.motion.period, POSTURES))[0]
            closest, lowest = judge.distances(postures, height)
            order = np.argsort(closest)[:2]
            shares = uses(robot, result.motion, judge)
            print(json.dumps({
                **line, 'uses': {k: round(x, 4) for k, x in shares.items()},
                'closest_m': {judge.names(judge.pairs[k]): round(float(closest[k]), 4)
                              for k in order},
                'above_m': round(lowest, 4) if height is not None else None,
                'torque_errors': [round(float(x), 5) for x in result.torque_errors],
                'load': round(os.getloadavg()[0], 1)}), flush=True)


if __name__ == '__main__':
    with threadpool_limits(1, user_api='blas'):
        run(sys.argv[1], int((sys.argv[2:3] or ['5'])[0]), float((sys.argv[3:4] or ['40'])[0]))
