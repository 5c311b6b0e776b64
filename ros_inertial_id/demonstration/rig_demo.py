"""
The chain on a simulated rig: record, identify, predict another motion, live or not, compare.

The rig stands still between recordings, so what it published and what is in the bags can be
counted to the last message.
"""

from dataclasses import dataclass
from pathlib import Path
import sys
import time
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray
import numpy as np
import yaml

from .chain import Chain, evaluate, say
from ..errors import ConfigError, RecordingError
from ..measurement.bags.bag import read_bag
from ..nodes.conversions import STATE
from ..plugins import SIMULATED_RIGS
from ..report import summary
from ..share import shared_file

PREDICTED = 'torque_prediction/predicted'
NO_MODEL = 'no model yet'  # says torque_prediction until it has one
DRAIN = 120.0  # [s] of wall time that a late recorder is waited for
LONGEST = 3600.0  # [s] of wall time for a motion of some seconds
PERIOD = 0.05  # [s] of prediction


@dataclass(frozen=True)
class Plan:
    """
    How a rig is demonstrated.

    method : of identification, whose configuration has the rig's name
    seconds, predicted_seconds : of the recording to learn from, and of the one to predict
    true : topic of the wrench that is predicted live; empty: nothing is
    """

    method: str
    seconds: float
    predicted_seconds: float
    true: str = ''


PLANS = {
    'slider_crank': Plan('closed_loop', 8.0, 6.0),
    'wrist_sensor': Plan('rigid_body', 15.0, 6.0, 'simulated_rig/true_wrench'),
}


def demonstrate_rig(out: Path, rig: str, seconds: float | None = None) -> dict[str, Any]:
    """
    Run the chain on one of PLANS; return its numbers.

    seconds : of the recordings, default as planned
    """
    if rig not in PLANS:
        raise ConfigError('rig', found=repr(rig), exists=tuple(PLANS))
    plan = PLANS[rig]
    live = bool(plan.true)
    chain = _RigChain(out, rig)
    try:
        chain.begin(plan, live)
        say(f'recording the {rig}')
        first = chain.record('recording', seconds or plan.seconds)
        say('identifying')
        model = chain.identify(recording=out / 'recording')
        print(summary(model), file=sys.stderr)
        say('predicting')
        if live:
            chain.wait(chain.has_model, 'the model in torque_prediction')
        second = chain.record(
            'second_recording', seconds or plan.predicted_seconds, predicted=live
        )
        say('validating with the second')
        model = chain.identify(validation=out / 'second_recording')
    finally:
        chain.stop()
    within, worst = evaluate(model, yaml.safe_load((out / 'truth.yaml').read_text())['parameters'])
    result = {
        'seconds': chain.seconds,
        'published': first[0],
        'recorded': first[1],
        'base_parameters': sum(b['determined'] for b in model.base),
        'within_3_standard_errors': within,
        'worst_error_percent': worst,
        'published_second': second[0],
        'recorded_second': second[1],
        'validation_relative_percent': model.statistics['validation']['filtered'][
            'relative_percent'
        ],
    }
    if live:
        result['prediction_relative_percent'] = _prediction_error(
            read_bag(out / 'second_recording'), plan.true
        )
    return dict(result, model=str(out / 'model.yaml'), report=str(out / 'report.html'))


class _RigChain(Chain):
    """A Chain around a simulated rig."""

    def __init__(self, out, rig):
        super().__init__(out)
        self._rig, self._counts, self._written, self._published = rig, {}, {}, {}
        self._time, self._prediction = 0.0, NO_MODEL
        self.node.create_subscription(DiagnosticArray, '/diagnostics', self._count, 100)

    def _count(self, message):
        """Note how much rig and recorder say that they published and wrote, and its time."""
        for status in message.status:
            counts = {
                v.key.removesuffix(' count'): int(v.value)
                for v in status.values
                if v.key.endswith(' count')
            }
            if status.name == f'simulated_rig{STATE}':
                self._time = next(float(v.value) for v in status.values if v.key == 'time_s')
                self._published = counts if status.message == 'paused' else {}
            if status.name == f'torque_prediction{STATE}':
                self._prediction = status.message
            if status.name == f'recorder{STATE}':
                self._written = counts

    def has_model(self):
        """Return whether torque_prediction has taken a model."""
        return self._prediction != NO_MODEL

    def begin(self, plan, live):
        """Start all nodes and wait until the recorder reads every topic."""
        topics = [
            f'simulated_rig{t}' if t.startswith('/true_') else t.lstrip('/')
            for t in SIMULATED_RIGS[self._rig].topics
        ]
        self._topics = [f'/{t}' for t in topics]
        self.start(
            'simulated_rig', rig=self._rig, running=False, truth_file=self.out / 'truth.yaml'
        )
        self.start(
            'recorder',
            use_sim_time=True,
            out=self.out,
            topics=f'[{", ".join(topics + [PREDICTED] * live)}]',
        )
        self.start(
            'identification',
            use_sim_time=True,
            out=self.out,
            method=plan.method,
            config=shared_file('config', f'{self._rig}.yaml'),
        )
        if live:
            self.start('torque_prediction', use_sim_time=True, period=PERIOD, lag=4.0 * PERIOD)
        self.wait(
            lambda: (
                all(self.node.count_subscribers(t) for t in self._topics)
                and (not live or self.node.count_publishers(PREDICTED))
            ),
            'the recorder',
        )

    def record(self, name, seconds, predicted=False):
        """
        Let the rig run with the recorder on; return ({topic: published}, {topic: recorded}).

        predicted : whether a prediction must come, which is late on a loaded computer
        """
        self.set('recorder', 'name', name)
        self.call_when_ready('recorder/start')
        self.pass_time(1.0)  # the readers are known; now the writers know them, too
        self.set('simulated_rig', 'running', True)
        end = self._time + seconds  # by its own clock: a loaded computer slows it down
        self.wait(lambda: self._time >= end, f'{seconds:g} s of the rig', LONGEST)
        self.set('simulated_rig', 'running', False)
        self.wait(lambda: self._published, 'word of what was published')
        before, self._counts = self._counts, self._published
        published = {t: self._counts[t] - before.get(t, 0) for t in self._topics}
        self._drain({**published, **({f'/{PREDICTED}': 1} if predicted else {})})
        self.call('recorder/stop')
        channels = read_bag(self.out / name).channels
        return published, {t: len(channels[t]) if t in channels else 0 for t in self._topics}

    def _drain(self, published):
        """Give a recorder that is behind on a loaded computer the time to write what waits."""
        deadline = time.monotonic() + DRAIN
        while time.monotonic() < deadline and any(
            self._written.get(t, 0) < n for t, n in published.items()
        ):
            self.spin()


def _prediction_error(recording, true_topic):
    """Return |predicted - true| / |true| [%] of a wrench at the stamps of live predictions."""
    predicted, true = (recording.channels[f'/{t}'] for t in (PREDICTED, true_topic))
    if not len(predicted):
        raise RecordingError('nothing was predicted live')
    t = (predicted.stamp_ns - true.stamp_ns[0]) * 1e-9
    at = (true.stamp_ns - true.stamp_ns[0]) * 1e-9
    inside = (t >= at[0]) & (t <= at[-1])
    errors = []
    # Newton and newton metre are never added: the worst of the two.
    for values, part in (
        (true.fields['force'], slice(0, 3)),
        (true.fields['torque'], slice(3, 6)),
    ):
        tau = np.stack([np.interp(t[inside], at, x) for x in values.T], axis=1)
        guess = predicted.fields['effort'][inside][:, part]
        errors.append(100 * np.linalg.norm(guess - tau) / np.linalg.norm(tau))
    return float(max(errors))
