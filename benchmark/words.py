"""
What the words guarantee: how models that are called good, usable, ... predict another motion.

    python benchmark/words.py 200        # recordings; prints the rows of doc/words.md

Simulated arms of four joints (torques by pinocchio, whose true bodies and friction no model knows)
with faults as real ones have, half of them with none: each is identified from 10 s at 100 Hz and
predicts 10 s of another motion, compared with its true torque without noise.
"""

import json
import sys
import xml.etree.ElementTree as ET

import numpy as np
import pinocchio as pin

import ros_inertial_id as rid

AXES = ('0 0 1', '0 1 0', '0 1 0', '1 0 0')
PLACES = ('0 0 0.2', '0 0.05 0.15', '0.4 0 0', '0.35 0 0')
MASSES = (4.2, 3.1, 1.9, 0.8)
CENTERS = ('0.01 -0.02 0.12', '0.18 0.01 0.03', '0.15 0.02 -0.01', '0.01 0.02 0.06')
VISCOUS, DRY = np.array([1.2, 1.5, 0.8, 0.3]), np.array([1.0, 1.4, 0.7, 0.25])
FAULTS = ('', '', '', '', 'late', 'small', 'drifts', 'tilted', 'load friction', 'ripple')


def urdf(factors):
    """Return the description of an arm, its masses and inertias times ``factors`` (4,)."""
    root = ET.Element('robot', name='arm')
    ET.SubElement(root, 'link', name='base')
    parent = 'base'
    for k, factor in enumerate(factors):
        link = ET.SubElement(root, 'link', name=f'link{k}')
        inertial = ET.SubElement(link, 'inertial')
        ET.SubElement(inertial, 'origin', xyz=CENTERS[k])
        mass = MASSES[k] * factor
        ET.SubElement(inertial, 'mass', value=str(mass))
        moments = dict.fromkeys(('ixy', 'ixz', 'iyz'), '0')
        moments.update(ixx=str(0.008 * mass), iyy=str(0.01 * mass), izz=str(0.006 * mass))
        ET.SubElement(inertial, 'inertia', moments)
        joint = ET.SubElement(root, 'joint', name=f'joint{k}', type='revolute')
        ET.SubElement(joint, 'parent', link=parent)
        ET.SubElement(joint, 'child', link=f'link{k}')
        ET.SubElement(joint, 'origin', xyz=PLACES[k])
        ET.SubElement(joint, 'axis', xyz=AXES[k])
        ET.SubElement(joint, 'limit', lower='-2.8', upper='2.8', velocity='4', effort='150')
        parent = f'link{k}'
    return ET.tostring(root, encoding='unicode')


def motion(rng, size):
    """Return t (N,), q, v, a (N, 4) of five harmonics of 10 s."""
    t = np.arange(1000) * 0.01
    q, v, a = np.zeros((3, len(t), 4))
    for harmonic in range(1, 6):
        w = 0.2 * np.pi * harmonic
        for j in range(4):
            c, s = size * rng.normal(size=2) / harmonic / 1.6
            q[:, j] += s * np.sin(w * t) + c * np.cos(w * t)
            v[:, j] += w * (s * np.cos(w * t) - c * np.sin(w * t))
            a[:, j] -= w * w * (s * np.sin(w * t) + c * np.cos(w * t))
    return t, q, v, a


def torque(model, moving, friction):
    """Return the true torques (N, 4) of an arm in pinocchio; friction : factor (N, 1)."""
    data, (_, q, v, a) = model.createData(), moving
    bodies = np.array([pin.rnea(model, data, *state).copy() for state in zip(q, v, a)])
    return bodies + friction * (VISCOUS * v + DRY * np.tanh(v / 0.02)), bodies


def run(seed):
    """Return {fault, verdict, error: share of the torque, joints, feedforward} of one arm."""
    rng = np.random.default_rng(seed)
    fault = FAULTS[seed % len(FAULTS)]
    true = pin.buildModelFromXML(urdf(rng.uniform(0.7, 1.4, 4)))
    if fault == 'tilted':
        true.gravity.linear = 9.81 * np.array([np.sin(0.03), 0.0, -np.cos(0.03)])
    first, other = (motion(rng, 0.2 if fault == 'small' else 0.8) for _ in range(2))
    friction = np.ones((1000, 1))
    if fault == 'drifts':
        friction = np.linspace(1.3, 1.0, 1000)[:, None]
    tau, bodies = torque(true, first, friction)
    expected, held = torque(true, other, np.ones((1000, 1)))
    if fault == 'load friction':
        tau = tau + 0.1 * np.abs(bodies) * np.tanh(first[2] / 0.02)
        expected = expected + 0.1 * np.abs(held) * np.tanh(other[2] / 0.02)
    if fault == 'ripple':
        tau, expected = tau + 0.8 * np.sin(12 * first[1]), expected + 0.8 * np.sin(12 * other[1])
    if fault == 'late':
        tau = np.roll(tau, 1, axis=0)
    table = {'t': first[0]}
    noise = 10.0 ** rng.uniform(-2.0, -0.3)
    for j in range(4):
        table[f'q_joint{j}'] = first[1][:, j] + 2e-5 * rng.normal(size=1000)
        table[f'v_joint{j}'] = first[2][:, j] + 2e-3 * rng.normal(size=1000)
        table[f'tau_joint{j}'] = tau[:, j] + noise * rng.normal(size=1000)
    result = rid.identify(table, urdf=urdf(np.ones(4)))
    error = result.model.torque(*other[1:]) - expected
    shares = np.linalg.norm(error, axis=0) / np.linalg.norm(expected, axis=0)
    return {
        'fault': fault,
        'verdict': result.verdict.word,
        'error': float(np.linalg.norm(error) / np.linalg.norm(expected)),
        'joints': shares.tolist(),
        'feedforward': [joint.uses.get('feedforward', '-') for joint in result.uses.joints],
    }


def main():
    """Print what was found as one JSON line each, then the frequencies."""
    runs = []
    for seed in range(int(sys.argv[1])):
        try:
            runs.append(run(seed))
        except rid.InertialIdError as error:
            runs.append({'fault': FAULTS[seed % len(FAULTS)], 'verdict': f'refused: {error}'})
        print(json.dumps(runs[-1]), flush=True)
    for word in ('good', 'usable', 'do not use'):
        errors = np.array([r['error'] for r in runs if r['verdict'] == word])
        shares = [np.mean(errors < limit) for limit in (0.02, 0.05, 0.1)] if len(errors) else []
        print(
            word,
            len(errors),
            np.round(100.0 * np.array(shares)),
            np.round(np.sort(errors)[-3:], 3),
        )
    for grade in ('good', 'with care', 'no'):
        of = [
            share
            for r in runs
            if 'joints' in r
            for share, its in zip(r['joints'], r['feedforward'])
            if its == grade
        ]
        below = (
            [round(100 * np.mean(np.array(of) < limit)) for limit in (0.1, 0.2, 0.5)] if of else []
        )
        print('feedforward', grade, len(of), below)


if __name__ == '__main__':
    main()
