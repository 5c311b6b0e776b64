"""
demo: the whole chain on a simulated arm or rig, over DDS, in separate processes.

In a ROS domain of its own on this computer, whatever the environment says: see nodes/isolation.py.

Simulated time, which waits where the computer has none: a slow one takes longer.

Design two motions, play and record the first, identify from the bag, then predict live during
the second and compare: identified with true base parameters, predicted with true torque.  At last
identify once more with the second bag as validation.  All
processes end with this one, also after Ctrl-C.
"""

import argparse
from collections.abc import Mapping, Sequence
import json
import pathlib
import signal
import sys
from typing import Any

import numpy as np
import rclpy
from rclpy.signals import SignalHandlerOptions
import rclpy.utilities
from std_msgs.msg import String
import yaml

from .chain import Chain, evaluate, MOTION_TAKES, say
from .rig_demo import demonstrate_rig, PLANS
from ..dynamics.friction import LAWS
from ..dynamics.inertial_parameters import SYMBOLS
from ..dynamics.robot_model import load_robot_model
from ..errors import ConfigError, InertialIdError, RecordingError
from ..excitation.design import design, DesignOptions
from ..identification.files import make_folder
from ..identification.identified_model import plain
from ..measurement.bags.bag import read_bag
from ..nodes.conversions import latched
from ..nodes.isolation import isolate, NAMESPACE
from ..nodes.player import FINISHED
from ..nodes.running import SIGNALS, without_type_lookup
from ..report import summary
from ..report.design_files import write_design
from ..share import shared_file

ARM_RATE = 500.0  # [Hz]
READERS = 3  # of the joint states: recorder, player, prediction
TORQUE_SHARE = 0.6  # of the torque limits the nominal model may use: the true arm may be heavier
TRUTH, PREDICTED = 'simulated_robot/true_joint_states', 'torque_prediction/predicted'
RECORDED = 'joint_states', TRUTH, 'excitation/periods', PREDICTED
SCHEMA = 'ros_inertial_id/demo/1'  # of --json


class Demo(Chain):
    """The Chain with a player of motions."""

    def __init__(self, out: pathlib.Path) -> None:
        super().__init__(out, NAMESPACE)
        self._statuses: list[str] = []
        self.node.create_subscription(String, 'excitation/status', self._note, latched())

    def _note(self, message):
        self._statuses.append(message.data)

    def begin(self, urdf_file: pathlib.Path) -> None:
        """Start the arm of a URDF and all nodes around it."""
        self.start(
            'simulated_robot',
            urdf_file=urdf_file,
            rate=ARM_RATE,
            truth_file=self.out / 'truth.yaml',
        )
        topics = f'[{", ".join(RECORDED)}]'
        self.start('recorder', use_sim_time=True, out=self.out, topics=topics)
        self.start('excitation', use_sim_time=True)
        self.start('identification', use_sim_time=True, out=self.out)
        self.start('torque_prediction', use_sim_time=True)

    def play(self, motion: pathlib.Path, name: str) -> pathlib.Path:
        """
        Play the YAML of a ``motion`` with the recorder on; return the path of the bag ``name``.

        RecordingError where the player stopped.
        """
        self.set('excitation', 'motion_file', motion)
        self.set('recorder', 'name', name)
        self.wait(self._all_read, 'all readers')
        self.call_when_ready('excitation/check')
        self._statuses.clear()
        bag = self.out / name

        def over():
            return self._statuses and f'; {bag}: ' in self._statuses[-1]

        self.call('excitation/play', over, MOTION_TAKES)
        self.wait(over, f'bag {name}')
        last = self._statuses[-1]
        if not last.startswith(FINISHED):
            raise RecordingError(f'{name}: {last}')
        say(last)
        return bag

    def _all_read(self):
        """Return whether every topic is received by whoever is to receive it."""
        count = self.node.count_subscribers
        if count(in_bag('joint_states')) < READERS:
            return False
        return all(count(in_bag(topic)) for topic in RECORDED)


def demonstrate(out: pathlib.Path, robot_name: str) -> dict[str, Any]:
    """Run the chain on the robot of a shipped URDF; return its numbers."""
    urdf_file = shared_file('urdf', f'{robot_name}.urdf')
    demo = Demo(out)
    try:
        say('designing two motions')
        robot = load_robot_model(urdf_file.read_text())
        motions = _design(robot, out / 'motion', 0), _design(robot, out / 'second_motion', 1)
        return demonstrate_motions(demo, urdf_file, motions)
    finally:
        demo.stop()


def demonstrate_motions(
    demo: Demo, urdf_file: pathlib.Path, motions: tuple[pathlib.Path, pathlib.Path]
) -> dict[str, Any]:
    """
    Identify the arm of a URDF from the first motion, predict and validate with the second.

    motions : the YAML of each
    Return {what: number} of what was published, recorded, identified and predicted.
    """
    out = demo.out
    demo.begin(urdf_file)
    say('playing and recording the first')
    first = demo.play(motions[0], 'recording')
    say('identifying')
    print(summary(demo.identify(recording=first)), file=sys.stderr)
    say('predicting during the second')
    second = demo.play(motions[1], 'second_recording')
    say('validating with the second')
    model = demo.identify(validation=second)
    published, recorded = _counted(read_bag(first))
    truth = yaml.safe_load((out / 'truth.yaml').read_text())
    within, _ = evaluate(model, _true_parameters(truth, model))
    validation = model.statistics['validation']['filtered']
    return {
        'seconds': demo.seconds,
        'published': published,
        'recorded': recorded,
        'base_parameters': sum(b['determined'] for b in model.base),
        'within_3_standard_errors': within,
        'torque_relative_percent': _torque_error(read_bag(second)),
        'validation_relative_percent': validation['relative_percent'],
        'condition_number': model.statistics['condition_number'],
        'model': str(out / 'model.yaml'),
        'report': str(out / 'report.html'),
    }


def _design(robot, folder, seed):
    """Return the path of the YAML of a motion designed for the robot, from where it rests."""
    options = DesignOptions(
        seed=seed,
        effort=tuple((TORQUE_SHARE * robot.effort).tolist()),
        restarts=2,
        acceleration=(8.0,) * len(robot),
        start=tuple(((robot.lower + robot.upper) / 2.0).tolist()),
    )
    result = design(robot, options)
    say(f'{result.motion.period:g} s of motion, designed in {result.seconds:.0f} s')
    return write_design(result, folder)[0]


def in_bag(topic: str) -> str:
    """Return the full name of a ``topic`` of the demonstration."""
    return f'{NAMESPACE}/{topic}'


def _counted(recording):
    """Return the numbers of joint states published from first to last, and in the bag."""
    stamps = recording.channels[in_bag('joint_states')].stamp_ns
    return round((stamps[-1] - stamps[0]) * 1e-9 * ARM_RATE) + 1, len(np.unique(stamps))


def _true_parameters(truth, model):
    """Return {parameter: value}; what the arm does not have is zero."""
    true: dict[str, float] = {}
    for entry in model.base:
        true |= dict.fromkeys(entry['grouping'], 0.0)
    robot = load_robot_model(truth['true_urdf'])
    for number, ten in enumerate(robot.inertias, 1):
        true |= {f'{symbol}{number}': value for symbol, value in zip(SYMBOLS, ten)}
    for law in LAWS.keys() & truth['friction'].keys():
        for number, value in enumerate(truth['friction'][law], 1):
            true[f'{LAWS[law].symbol}{number}'] = value
    return true


def _torque_error(recording):
    """Return |predicted - true| / |true| [%] over the live predictions, by equal stamps."""
    predicted, true = (recording.channels[in_bag(topic)] for topic in (PREDICTED, TRUTH))
    _, rows, columns = np.intersect1d(predicted.stamp_ns, true.stamp_ns, return_indices=True)
    if not len(rows):
        raise RecordingError('no live prediction at the stamp of a joint state')
    order = [predicted.names.index(name) for name in true.names]
    guess = predicted.fields['effort'][rows][:, order]
    tau = true.fields['effort'][columns]
    return float(100 * np.linalg.norm(guess - tau) / np.linalg.norm(tau))


LIVE = 'Live, while the second motion ran, its prediction was within {:.2g} % of the true torque.'
SENTENCES = {  # of the numbers of an arm or a rig, each where there is such a number
    'worst_error_percent': 'The worst of those that matter is off by {:.2g} %.',
    'validation_relative_percent': 'On the second motion, which took no part in the '
    'identification, the model misses {:.2g} % of the measured torque.',
    'torque_relative_percent': LIVE,
    'prediction_relative_percent': LIVE,
    'live_residual_percent': 'Live, while the second motion ran, the residual was {:.2g} % of '
    'what the contacts leave of the measured joint torque.',
    'condition_number': 'The condition number of the first motion is {:.3g}.',
}


def sentences(result: Mapping[str, Any]) -> list[str]:
    """Return one sentence for each number in the ``result`` of a demonstration of arm or rig."""
    share, count = result['within_3_standard_errors'], result['base_parameters']
    return [
        _recorded(result['published'], result['recorded']),
        f'{round(share * count)} of {count} identified base parameters lie within three '
        'standard errors of the truth.',
        *(words.format(result[key]) for key, words in SENTENCES.items() if key in result),
        f'Look at {result["report"]}; the model is {result["model"]}.',
    ]


def _recorded(published: Any, recorded: Any) -> str:
    """Say how many messages were published and recorded, of one topic or of several."""
    if not isinstance(published, Mapping):
        published, recorded = {'joint states': published}, {'joint states': recorded}
    said = [f'{recorded[topic]} of {count} {topic}' for topic, count in published.items()]
    words = f'Recorded {", ".join(said)}'
    if all(recorded[topic] == count for topic, count in published.items()):
        return f'{words}: nothing was lost.'
    return f'{words}.'


def main(args: Sequence[str] | None = None) -> int:
    """Run the demonstration with command line ``args``; return its exit status."""
    parser = argparse.ArgumentParser(prog='demo', description=__doc__)
    parser.add_argument('--out', default='demo')
    parser.add_argument('--robot', default='franka')
    parser.add_argument('--rig', default='', choices=['', *PLANS])
    parser.add_argument('--seconds', type=float, help='of the recordings of a rig')
    parser.add_argument('--json', action='store_true')
    if args is None:
        args = sys.argv[1:]
    options = parser.parse_args(rclpy.utilities.remove_ros_args(args))
    without_type_lookup()
    for number in SIGNALS:
        signal.signal(number, _leave)
    try:
        result = _demonstrated(pathlib.Path(options.out).resolve(), options)
    except InertialIdError as error:
        print(f'demo: {error}', file=sys.stderr)
        return 2
    finally:
        rclpy.utilities.try_shutdown()
    words = sentences(result)
    if options.json:
        print(json.dumps(plain({'schema': SCHEMA, 'verdict': words, **result})))
    else:
        print('\n'.join(words))
    return 0


def _demonstrated(out, options):
    """Return the numbers of a demonstration in the folder ``out``, in a domain of its own."""
    if options.seconds and not options.rig:
        raise ConfigError('--seconds', expected='with --rig; a motion of an arm has its own')
    _fresh(out)
    say(f'to look at it with ros2, put {isolate()} before the command')
    rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
    if options.rig:
        return demonstrate_rig(out, options.rig, options.seconds)
    return demonstrate(out, options.robot)


def _leave(*_):
    """
    End from wherever we are, by way of all that tidies up; one signal is enough.

    Not a KeyboardInterrupt: that ends the search for a motion and nothing else.
    """
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    Chain.interrupted = True
    print('demo: interrupted', file=sys.stderr)
    sys.exit(130)


def _fresh(out):
    """Make the folder; refuse one that holds recordings already: nothing is overwritten."""
    make_folder(out)
    if (out / 'recording').exists():
        raise ConfigError(f'{out} holds a demonstration already', do='give another --out')
