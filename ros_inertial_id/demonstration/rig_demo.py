"""
The chain on a simulated rig: record, identify, predict another motion, live or not, compare.

The rig stands still between recordings, so what it published and what is in the bags can be
counted to the last message.
"""

from dataclasses import dataclass
from pathlib import Path
import sys
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray
import numpy as np
import yaml

from .chain import Chain, evaluate, MOTION_TAKES, say
from ..errors import ConfigError, RecordingError
from ..measurement.bags.bag import read_bag
from ..nodes.conversions import STATE
from ..nodes.prediction_health import NO_MODEL
from ..plugins import SIMULATED_RIGS
from ..report import summary
from ..share import shared_file

PREDICTED = 'torque_prediction/predicted'
RESIDUAL, MEASURED = 'torque_prediction/residual', 'torque_prediction/measured'
DRAIN = 120.0  # [s] of wall time that a late recorder is waited for
RIG_PREDICTION_PERIOD = 0.05  # [s]
READERS_KNOWN = 1.0  # [s] until a writer knows a reader that knows it


@dataclass(frozen=True)
class Plan:
    """
    How a rig is demonstrated.

    method : of identification, whose configuration has the rig's name
    seconds, predicted_seconds : of the recording to learn from, and of the one to predict
    true : topic of the wrench that is predicted live, without noise; empty: there is none
    live : topics of predictions that are recorded
    """

    method: str
    seconds: float
    predicted_seconds: float
    true: str = ''
    live: tuple[str, ...] = ()


PLANS = {
    'slider_crank': Plan('closed_loop', 8.0, 6.0),
    'quadruped': Plan('floating_base', 20.0, 8.0, live=(RESIDUAL, MEASURED)),
    'wrist_sensor': Plan('rigid_body', 15.0, 6.0, 'simulated_rig/true_wrench', live=(PREDICTED,)),
}


def demonstrate_rig(out: Path, rig: str, seconds: float | None = None) -> dict[str, Any]:
    """
    Run the chain on one of PLANS; return its numbers.

    seconds : of the recordings, default as planned
    """
    if rig not in PLANS:
        raise ConfigError('rig', found=repr(rig), exists=tuple(PLANS))
    plan = PLANS[rig]
    chain = _RigChain(out, rig, plan)
    try:
        chain.begin()
        say(f'recording the {rig}')
        first = chain.record('recording', seconds or plan.seconds)
        say('identifying')
        print(summary(chain.identify(recording=out / 'recording')), file=sys.stderr)
        say('predicting')
        chain.wait_for_predictions()
        second = chain.record('second_recording', seconds or plan.predicted_seconds)
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
    if plan.true:
        result['prediction_relative_percent'] = _prediction_error(
            read_bag(out / 'second_recording'), plan.true
        )
    elif plan.live:
        result['live_residual_percent'] = _live_residual(read_bag(out / 'second_recording'))
    return dict(result, model=str(out / 'model.yaml'), report=str(out / 'report.html'))


class _RigChain(Chain):
    """A Chain around a simulated rig that is demonstrated as a Plan says."""

    def __init__(self, out, rig, plan):
        super().__init__(out)
        self._rig, self._plan = rig, plan
        self._written: dict[str, int] = {}  # by topic, as the recorder says
        self._paused: dict[str, int] = {}  # published by topic, once the rig stands still
        self._counted: dict[str, int] = {}  # published by topic before the recording at hand
        self._time, self._prediction = 0.0, NO_MODEL
        self._awaited: set[str] = set()  # predictions that the recorder has to have
        self._readers = {
            f'simulated_rig{STATE}': self._note_rig,
            f'torque_prediction{STATE}': self._note_prediction,
            f'recorder{STATE}': self._note_recorder,
        }
        self.node.create_subscription(DiagnosticArray, '/diagnostics', self._diagnose, 100)

    def _diagnose(self, message):
        for status in message.status:
            if status.name in self._readers:
                self._readers[status.name](status)

    def _note_rig(self, status):
        self._time = next(float(pair.value) for pair in status.values if pair.key == 'time_s')
        self._paused = {}
        if status.message == 'paused':
            self._paused = _counts(status)

    def _note_prediction(self, status):
        self._prediction = status.message

    def _note_recorder(self, status):
        self._written = _counts(status)

    def wait_for_predictions(self):
        """Wait until torque_prediction has taken a model, where the rig is predicted live."""
        if self._plan.live:
            self.wait(lambda: self._prediction != NO_MODEL, 'the model in torque_prediction')
            self._awaited = {f'/{topic}' for topic in self._plan.live}

    def begin(self):
        """Start all nodes and wait until the recorder reads every topic."""
        out, rig, live = self.out, self._rig, self._plan.live
        self._topics = list(map(_public, SIMULATED_RIGS[rig].topics))
        names = [*(topic.lstrip('/') for topic in self._topics), *live]
        self.start('simulated_rig', rig=rig, running=False, truth_file=out / 'truth.yaml')
        self.start('recorder', use_sim_time=True, out=out, topics=f'[{", ".join(names)}]')
        self.start(
            'identification',
            use_sim_time=True,
            out=out,
            method=self._plan.method,
            config=shared_file('config', f'{rig}.yaml'),
        )
        if live:
            period = RIG_PREDICTION_PERIOD
            self.start('torque_prediction', use_sim_time=True, period=period, lag=4.0 * period)
            self.wait(lambda: all(map(self.node.count_publishers, live)), 'the prediction')
        self.wait(lambda: all(map(self.node.count_subscribers, self._topics)), 'the recorder')

    def record(self, name, seconds):
        """Let the rig run with the recorder on; return ({topic: published}, {topic: recorded})."""
        self.set('recorder', 'name', name)
        self.call_when_ready('recorder/start')
        self.pass_time(READERS_KNOWN)
        self.set('simulated_rig', 'running', True)
        end = self._time + seconds  # by its own clock: a loaded computer slows it down
        self.wait(lambda: self._time >= end, f'{seconds:g} s of the rig', MOTION_TAKES)
        self.set('simulated_rig', 'running', False)
        self.wait(lambda: self._paused, 'word of what was published')
        before, self._counted = self._counted, self._paused
        published = {topic: self._counted[topic] - before.get(topic, 0) for topic in self._topics}
        self._drain({**published, **dict.fromkeys(self._awaited, 1)})
        self.call('recorder/stop')
        channels = read_bag(self.out / name).channels
        recorded = dict.fromkeys(self._topics, 0)
        for topic in channels.keys() & recorded.keys():
            recorded[topic] = len(channels[topic])
        return published, recorded

    def _drain(self, published):
        """Give a recorder that is behind on a loaded computer the time to write what waits."""
        self._comes(
            lambda: all(
                self._written.get(topic, 0) >= count for topic, count in published.items()
            ),
            DRAIN,
        )


def _public(topic):
    """Return the full name of a rig's topic: what nobody measures is below the node's."""
    if topic.startswith('/true_'):
        return f'/simulated_rig{topic}'
    return topic


def _counts(status):
    """Return {topic: count} of the values of a DiagnosticStatus that count."""
    return {
        pair.key.removesuffix(' count'): int(pair.value)
        for pair in status.values
        if pair.key.endswith(' count')
    }


def _prediction_error(recording, true_topic):
    """Return |predicted - true| / |true| [%] of a wrench at the stamps of live predictions."""
    predicted, true = (recording.channels[f'/{topic}'] for topic in (PREDICTED, true_topic))
    t = (predicted.stamp_ns - true.stamp_ns[0]) * 1e-9
    at = (true.stamp_ns - true.stamp_ns[0]) * 1e-9
    inside = (t >= at[0]) & (t <= at[-1])
    if not inside.any():
        raise RecordingError('nothing was predicted live')
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


def _live_residual(recording):
    """Return |residual| / |measured| [%] of the joints' rows, as published while they moved."""
    residual, measured = (recording.channels[f'/{topic}'] for topic in (RESIDUAL, MEASURED))
    _, rows, others = np.intersect1d(residual.stamp_ns, measured.stamp_ns, return_indices=True)
    if not len(rows):
        raise RecordingError('nothing was predicted live')
    joints = np.isin(residual.names, recording.channels['/joint_states'].names)  # N m alone
    left = residual.fields['effort'][rows][:, joints]
    torque = measured.fields['effort'][others][:, joints]
    return float(100 * np.linalg.norm(left) / np.linalg.norm(torque))
