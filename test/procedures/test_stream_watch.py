"""Faults of live topics are named, and only those that are there."""

from concurrent.futures import wait

import mujoco_arm
import numpy as np
import pytest

from ros_inertial_id.procedures.stream_watch import StreamWatch

BEGIN = 10**18  # [ns] no message is stamped zero


@pytest.fixture(scope='module')
def signals():
    """Return names, t, q, v, tau of 12 s of the 3R arm at 250 Hz with noise."""
    urdf = mujoco_arm.description('arm3')
    t, q, v, a = mujoco_arm.motion(3, 12.0, 250.0, seed=2)
    rng = np.random.default_rng(0)
    tau = mujoco_arm.torque(urdf, q, v, a) + mujoco_arm.friction(v)
    return (
        mujoco_arm.joints_of(urdf),
        t,
        q + 1e-5 * rng.normal(size=q.shape),
        v + 1e-3 * rng.normal(size=q.shape),
        tau + 0.05 * rng.normal(size=q.shape),
    )


def watched(names, t, q, v, tau, batch=5):
    """Return (StreamWatch after all samples, {finding name: joints} of all the while)."""
    watch, seen = StreamWatch(), {}
    channel = mujoco_arm.recording(names, t + BEGIN * 1e-9, q, v, tau).channels['/joint_states']
    for rows in np.array_split(np.arange(len(t)), len(t) // batch):
        watch.add(channel.rows(rows))
        wait([watch._look] if watch._look else [])
        seen.update({f.name: f.joints for f in watch.findings()})
    return watch, seen


def test_clean_signals_are_not_complained_of(signals):
    assert watched(*signals)[1] == {}


def test_a_stuck_effort_a_spike_and_a_frozen_robot_are_named(signals):
    names, t, q, v, tau = signals
    stuck, spike, frozen = tau.copy(), tau.copy(), q.copy()
    stuck[1000:1500, 1] = stuck[1000, 1]
    spike[1200, 2] += 60.0
    frozen[800:1100, 1] = frozen[800, 1]
    for fault, name, joint in (
        ((q, v, stuck), 'effort stuck', 1),
        ((q, v, spike), 'effort spikes', 2),
        ((frozen, v, tau), 'position stuck', 1),
    ):
        assert watched(names, t, *fault)[1].get(name) == (names[joint],), name


def test_samples_that_come_one_by_one_are_watched_too_and_in_a_thread(signals):
    names, t, q, v, tau = signals
    stuck = tau.copy()
    stuck[1000:1500, 1] = stuck[1000, 1]
    assert watched(names, t, q, v, stuck, batch=1)[1] == {'effort stuck': (names[1],)}


def test_what_has_gone_is_said_no_longer_and_nothing_heaps_up(signals):
    names, t, q, v, tau = signals
    tau = tau.copy()
    tau[100, 0] += 60.0
    repeats = [np.concatenate([x] * 2) for x in (q, v, tau)]
    repeats[2][3100:, 0] = np.concatenate([tau, tau])[3100:, 0] - 60.0 * (
        np.arange(3100, 6000) == 3100
    )
    watch, seen = watched(names, np.arange(6000) * 4e-3, *repeats)
    assert 'effort spikes' in seen and not watch.findings()
    assert sum(len(c) for topic in watch._topics.values() for c in topic.parts) < 4.5 * 250
