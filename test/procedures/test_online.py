"""Online estimation: the numbers of a recording, while it is still being made."""

from dataclasses import replace
import gc
import tracemalloc

import mujoco_arm
import numpy as np
import pytest
import slider_crank_lagrangian as crank

from ros_inertial_id.dynamics import friction
from ros_inertial_id.errors import ConfigError
from ros_inertial_id.identification.identify import identify
from ros_inertial_id.identification.settings import options_class
from ros_inertial_id.procedures.online import OnlineIdentification

OPTIONS = options_class('serial_arm')(cutoff=8.0)
BY_NAME = [name for name in friction.laws_by_default() if not friction.LAWS[name].harmonic]
LAWS = replace(OPTIONS, friction=tuple(BY_NAME))
RATE = 250.0
BEGIN = 10**18  # [ns] no message is stamped zero


@pytest.fixture(scope='module')
def arm(arm3):
    """Return (URDF, true URDF, Recording of 40 s with noise and friction, mounted on a wall)."""
    urdf, truth = arm3
    names = mujoco_arm.joints_of(urdf)
    t, q, v, a = mujoco_arm.motion(3, 40.0, RATE, seed=2)
    tau = mujoco_arm.torque(truth, q, v, a) + mujoco_arm.friction(v, width=0.02)
    rng = np.random.default_rng(0)
    tau += 0.05 * rng.normal(size=tau.shape)
    return urdf, truth, mujoco_arm.measured(rng, names, t, q, v, tau)


@pytest.fixture(scope='module')
def offline(arm):
    """Return the model of the same recording, with laws that are given."""
    return identify([arm[2]], LAWS, urdf=arm[0]).model


def pieces(recording, seconds=1.0):
    """Yield the Channels of a Recording as they come, so many seconds of them at a time."""
    end = max(c.stamp_ns.max() for c in recording.channels.values())
    for low in np.arange(recording.origin_ns(), end + 1, int(seconds * 1e9)):
        for channel in recording.channels.values():
            fresh = (channel.stamp_ns >= low) & (channel.stamp_ns < low + int(seconds * 1e9))
            if fresh.any():
                part = channel.rows(fresh)
                yield replace(part, stamp_ns=part.stamp_ns + BEGIN)


def followed(urdf, recording, options=OPTIONS, method='serial_arm', **about):
    """Return the estimates of an OnlineIdentification while a Recording is made."""
    online, out = OnlineIdentification(urdf, options, method, **about), []
    for channel in pieces(recording):
        online.add(channel)
        out.append(online.estimate())
    return [estimate for estimate in out if estimate is not None]


def values(base, field='value'):
    return {b['name']: b[field] for b in base if b['determined']}


@pytest.fixture(scope='module')
def estimates(arm):
    """Return the estimates of the recording, with laws that are given."""
    return followed(arm[0], arm[2], LAWS)


def test_estimate_at_the_end_is_that_of_the_recording(estimates, offline):
    found, expected = values(estimates[-1].base), values(offline.base)
    errors = [values(base, 'standard_error') for base in (estimates[-1].base, offline.base)]
    assert found.keys() == expected.keys()
    # The last LAG seconds and the ends are not learnt from, other samples are thinned out: a
    # tenth of the data differs, so the estimates differ by a third of their error; of 34, among
    # them three friction coefficients per joint that hardly differ, some may by four thirds.
    assert all(
        abs(found[n] - expected[n]) < 4 / 3 * np.hypot(*(e[n] for e in errors)) for n in found
    )
    assert estimates[-1].seconds == pytest.approx(37.0, abs=1.5)
    assert estimates[0].unseen_percent is None  # nothing was predicted yet
    promised = offline.statistics['training']['filtered']['relative_percent']
    assert estimates[-1].unseen_percent == pytest.approx(promised, rel=0.25)


def test_samples_are_thinned_out_alike_in_large_and_small_pieces(arm):
    urdf, _, recording = arm
    short = replace(
        recording,
        channels={
            topic: c.rows(c.stamp_ns < recording.origin_ns() + 16 * 10**9)
            for topic, c in recording.channels.items()
        },
    )
    learnt = []
    for size in (1.0, 0.3):
        online = OnlineIdentification(urdf, OPTIONS)
        for channel in pieces(short, size):
            online.add(channel)
            estimate = online.estimate()
        learnt.append(estimate.seconds)
        assert online.summary.decimate > 1
    assert learnt[1] == pytest.approx(learnt[0], abs=0.05)


def test_errors_shrink_with_every_second_and_cover_the_truth(arm, estimates):
    urdf, truth, recording = arm
    spread = [
        np.nanmedian(
            [b['standard_error'] / (abs(b['nominal']) + 0.1) for b in e.base if b['determined']]
        )
        for e in estimates
    ]
    assert spread[-1] < 0.6 * spread[2]
    exact = identify(
        [mujoco_arm.recording(*_noise_free(truth, recording))],
        replace(LAWS, cutoff=20.0),
        urdf=urdf,
    ).model
    true, last = values(exact.base), estimates[-1].base
    z = [
        (b['value'] - true[b['name']]) / b['standard_error']
        for b in last
        if b['determined'] and b['name'] in true
    ]
    # 24 numbers: rms beyond 1.6 has a chance of 1e-4.
    assert np.sqrt(np.mean(np.square(z))) < 1.6


def _noise_free(truth, recording):
    names = recording.channels['/joint_states'].names
    t, q, v, a = mujoco_arm.motion(3, 40.0, RATE, seed=2)
    tau = mujoco_arm.torque(truth, q, v, a) + mujoco_arm.friction(v, width=0.02)
    return names, t, q, v, tau


def test_memory_does_not_grow_with_time(arm):
    urdf, _, recording = arm
    recording = recording.window(0.0, 8.0)
    online, sizes = OnlineIdentification(urdf, OPTIONS), []
    tracemalloc.start()
    for turn in range(3):
        for number, channel in enumerate(pieces(recording)):
            online.add(replace(channel, stamp_ns=channel.stamp_ns + turn * 8 * 10**9))
            if number % 4 == 0:  # under tracemalloc they take four times as long
                online.estimate()
        gc.collect()
        sizes.append(tracemalloc.get_traced_memory()[0])
    tracemalloc.stop()
    assert sizes[2] < 1.2 * sizes[0]  # from one look to the next a few seconds more are kept


def test_a_motion_of_higher_bandwidth_is_learnt_anew(arm):
    """A slow way to the start must not decide how the motion itself is filtered."""
    urdf, truth, recording = arm
    names = mujoco_arm.joints_of(urdf)
    t, q, v, a = mujoco_arm.motion(3, 10.0, RATE, seed=4, period=20.0, harmonics=2, speed=0.3)
    tau = mujoco_arm.torque(truth, q, v, a) + mujoco_arm.friction(v, width=0.02)
    rng = np.random.default_rng(1)
    v = v + 1e-3 * rng.normal(size=v.shape)
    tau += 0.05 * rng.normal(size=tau.shape)
    options, cutoffs = replace(OPTIONS, cutoff=0.0), []
    online = OnlineIdentification(urdf, options)
    slow = mujoco_arm.recording(names, t, q, v, tau).channels['/joint_states']
    fast = recording.channels['/joint_states']
    for channel in (slow, replace(fast, stamp_ns=fast.stamp_ns + 12 * 10**9)):  # after a pause
        for part in pieces(replace(recording, channels={channel.topic: channel})):
            online.add(part)
            found = online.estimate()
            cutoffs.append(online.summary.cutoff or np.nan)
    offline = identify([recording], options, urdf=urdf).model
    assert cutoffs[9] < 0.7 * offline.preprocessing[0]['cutoff'] < 1.2 * cutoffs[-1]
    error = values(offline.base, 'standard_error')
    ratio = [b['standard_error'] / error[b['name']] for b in found.base if b['name'] in error]
    # Of three quarters of the samples, by 16 stretches that know each error to a fifth.
    assert np.median(ratio) < 2.0


def test_a_robot_at_rest_is_waited_for(arm):
    urdf, _, recording = arm
    channel = recording.channels['/joint_states']
    still = replace(
        channel,
        stamp_ns=channel.stamp_ns - 40 * 10**9,
        fields={k: np.repeat(x[:1], len(x), axis=0) for k, x in channel.fields.items()},
    )
    online = OnlineIdentification(urdf, OPTIONS)
    rest = replace(recording, channels={channel.topic: still}).window(25.0)
    for part in pieces(rest):
        online.add(part)
        assert online.estimate() is None
    assert 'excites nothing' in online.waiting
    for part in pieces(recording.window(0.0, 15.0)):
        online.add(part)
        found = online.estimate()
    assert found is not None and not online.waiting
    assert found.seconds > 12.0


def test_efforts_that_stay_away_for_a_while_are_no_data(arm):
    urdf, _, recording = arm
    channel = recording.channels['/joint_states']
    t = (channel.stamp_ns - channel.stamp_ns[0]) * 1e-9
    effort = channel.fields['effort'].copy()
    effort[(t > 20.0) & (t < 25.0)] = np.nan
    holed = replace(channel, fields={**channel.fields, 'effort': effort})
    online, found = OnlineIdentification(urdf, OPTIONS), None
    for part in pieces(replace(recording, channels={channel.topic: holed})):
        try:
            online.add(part)
        except Exception as error:
            assert 'no effort' in str(error)
        found = online.estimate() or found
    # 37 s less the hole, and what the filter at its edges and samples not yet ripe cost.
    assert 26.0 < found.seconds < 32.0
    assert all(np.isfinite(b['value']) for b in found.base if b['determined'])


def test_a_turning_crank_is_learnt_online():
    t = np.arange(0.0, 20.0, 2e-3)
    z, rate, second = crank.lively(t)
    rng = np.random.default_rng(0)
    urdf = mujoco_arm.description('slider_crank')
    recording = crank.encoder_recording(
        t,
        z + 1e-4 * rng.normal(size=t.size),
        crank.torque(z, rate, second) + 1e-2 * rng.normal(size=t.size),
        urdf,
    )
    options = options_class('closed_loop')(
        closures=crank.CLOSURES,
        independent=('crank',),
        start=crank.START,
        cutoff=12.0,
        estimator='weighted',
    )
    estimates = followed(urdf, recording, options, 'closed_loop')
    found = values(estimates[-1].base)
    for name in crank.FOUR:
        assert found[name] == pytest.approx(crank.BASE[name], rel=0.01)


def test_a_method_without_live_motion_is_refused():
    with pytest.raises(ConfigError, match='suspended_platform'):
        OnlineIdentification('', options_class('suspended_platform')(), 'suspended_platform')


def test_an_estimate_that_forgets_follows_friction_that_changes(arm):
    """Viscous friction grows by half after 20 s; by a time constant of 4 s the old is gone."""
    urdf, _, recording = arm
    channel = recording.channels['/joint_states']
    t = (channel.stamp_ns - channel.stamp_ns[0]) * 1e-9
    more = 0.4 * channel.fields['velocity'] * (t > 20.0)[:, None]
    fields = {**channel.fields, 'effort': channel.fields['effort'] + more}
    changed = replace(recording, channels={channel.topic: replace(channel, fields=fields)})
    found = {}
    for forget in (0.0, 4.0):
        online, estimates = OnlineIdentification(urdf, OPTIONS, forget=forget), []
        for part in pieces(changed):
            online.add(part)
            estimates.append(online.estimate())
        found[forget] = estimates[-1]
    old, new = ({b['name']: b for b in found[f].base} for f in (0.0, 4.0))
    # At 38 s learnt until: exp(-18 / 4) = 1 % of the weight is older than the change.
    for name in ('fv1', 'fv2', 'fv3'):
        assert abs(new[name]['value'] - 1.2) < 3.0 * new[name]['standard_error'] + 0.02
        assert old[name]['value'] < 1.12
    assert found[4.0].seconds < 6.0 < found[0.0].seconds
