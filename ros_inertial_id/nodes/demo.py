"""
demo: the whole chain on a simulated arm, over DDS, in separate processes.

Design two motions, play and record the first, identify from the bag, then predict live during
the second and compare: identified with true base parameters, predicted with true torque.  All
processes end with this one, also after Ctrl-C.
"""

import argparse
import ctypes
import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import time

import numpy as np
from rcl_interfaces.msg import Parameter as ParameterMessage
from rcl_interfaces.msg import ParameterType, ParameterValue
from rcl_interfaces.srv import SetParameters
import rclpy
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions
from std_msgs.msg import String
from std_srvs.srv import Trigger
import yaml

from ..dynamics.inertial_parameters import SYMBOLS
from ..dynamics.robot_model import load_robot_model
from ..errors import ConfigError, InertialIdError, RecordingError
from ..estimation.identified_model import IdentifiedModel, plain
from ..excitation.design import design, DesignOptions
from ..excitation.design_files import write_design
from ..measurement.bag import read_bag
from ..report import summary
from .conversions import latched

RATE = 500.0  # [Hz]
MARGIN = 0.6  # share of the torque limits the nominal model may use: the true arm may be heavier
TRUTH, PREDICTED = 'simulated_robot/true_joint_states', 'torque_prediction/predicted'


class Demo:
    """The processes of the demonstration and a node that asks them."""

    def __init__(self, out):
        self.out, self._processes, self._statuses = out, {}, []
        self.node = Node('demo')
        self.node.create_subscription(
            String, 'excitation/status', lambda m: self._statuses.append(m.data), latched())

    def start(self, name, **parameters):
        """Start a node of this package in a process of its own."""
        arguments = []
        for key, value in parameters.items():
            arguments += ['-p', f'{key}:={value}']
        with open(self.out / f'{name}.log', 'w') as log:
            self._processes[name] = subprocess.Popen(
                [sys.executable, '-m', f'ros_inertial_id.nodes.{name}', '--ros-args', *arguments],
                stdout=log, stderr=subprocess.STDOUT, preexec_fn=_die_with_parent)

    def call(self, service, patience=30.0):
        """Return the words of a Trigger service; a lost reply is asked for once more."""
        return self._ask(Trigger, service, Trigger.Request(), patience).message

    def set(self, node, name, text):
        """Set a text parameter of a node."""
        value = ParameterValue(type=ParameterType.PARAMETER_STRING, string_value=str(text))
        request = SetParameters.Request(parameters=[ParameterMessage(name=name, value=value)])
        self._ask(SetParameters, f'{node}/set_parameters', request, 30.0)

    def _ask(self, kind, service, request, patience):
        client = self.node.create_client(kind, service)
        try:
            for _ in range(2):
                self._wait(client.service_is_ready, 30.0, f'service {service}')
                future = client.call_async(request)
                deadline = time.monotonic() + patience
                while not future.done() and time.monotonic() < deadline:
                    self._spin()
                if future.done():
                    break
            else:
                raise RecordingError(f'{service} did not answer', do=f'see {self.out}')
            answer = future.result()
        finally:
            self.node.destroy_client(client)
        if getattr(answer, 'success', True) is False:
            raise RecordingError(f'{service} refused: {answer.message}')
        return answer

    def play(self, motion, name):
        """Play a motion with the recorder on; return the bag's path."""
        self.set('excitation', 'motion_file', motion)
        self.set('recorder', 'name', name)
        self._wait(lambda: self.node.count_publishers('excitation/status'), 30.0, 'the player')
        deadline = time.monotonic() + 15.0
        while True:
            try:
                self._statuses.clear()
                say(self.call('excitation/play'))
                break
            except RecordingError:  # joint states or controller may still be coming up
                if time.monotonic() > deadline:
                    raise
                self._spin()
        ended = ('finished; ', 'stopped')
        self._wait(lambda: any(s.startswith(ended) for s in self._statuses), 120.0, name)
        last = next(s for s in self._statuses if s.startswith(ended))
        if not last.startswith('finished'):
            raise RecordingError(last)
        return self.out / name

    def _wait(self, condition, patience, what):
        deadline = time.monotonic() + patience
        while not condition():
            if time.monotonic() > deadline:
                raise RecordingError(f'{what} did not come within {patience:g} s',
                                     do=f'see the logs in {self.out}')
            self._spin()

    def _spin(self):
        for name, process in self._processes.items():
            if process.poll() is not None:
                log = (self.out / f'{name}.log').read_text().strip().split('\n')
                raise RecordingError(f'{name} ended with status {process.returncode}',
                                     found=log[-1])
        rclpy.spin_once(self.node, timeout_sec=0.1)

    def stop(self):
        """End all processes, the gentle way first."""
        for process in self._processes.values():
            if process.poll() is None:
                process.send_signal(signal.SIGINT)
        deadline = time.monotonic() + 8.0
        for process in self._processes.values():
            try:
                process.wait(max(0.1, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _die_with_parent():
    """Let the kernel end this process when the demo is gone, however it went (Linux)."""
    os.setpgrp()  # Ctrl-C reaches the demo alone, which then ends the others in order
    ctypes.CDLL(None).prctl(1, signal.SIGTERM)


def demonstrate(out, robot_name):
    """Run the chain; return its numbers."""
    urdf_file = _urdf(robot_name)
    robot = load_robot_model(urdf_file.read_text())
    demo = Demo(out)
    try:
        demo.start('simulated_robot', urdf_file=urdf_file, rate=RATE,
                   truth_file=out / 'truth.yaml')
        demo.start('recorder', out=out, topics=f'[joint_states, {TRUTH}, excitation/periods, '
                   f'{PREDICTED}]')
        demo.start('excitation', stale=1.0)
        demo.start('identification', out=out)
        demo.start('torque_prediction')
        say('designing two motions')
        motions = [_design(robot, out / name, seed)
                   for seed, name in enumerate(('motion', 'second_motion'))]
        say('playing and recording the first')
        first = demo.play(motions[0], 'recording')
        say('identifying')
        demo.call('identification/identify', 60.0)
        model = IdentifiedModel.from_yaml((out / 'model.yaml').read_text())
        print(summary(model), file=sys.stderr)
        say('predicting during the second')
        second = demo.play(motions[1], 'second_recording')
    finally:
        demo.stop()
        demo.node.destroy_node()
    counts = _counted(read_bag(first), RATE)
    truth = yaml.safe_load((out / 'truth.yaml').read_text())
    return {'published': counts[0], 'recorded': counts[1],
            'base_parameters': sum(b['determined'] for b in model.base),
            'within_3_standard_errors': _within(model, truth),
            'torque_relative_percent': _torque_error(read_bag(second)),
            'condition_number': model.statistics['condition_number'],
            'model': str(out / 'model.yaml'), 'report': str(out / 'report.html')}


def _design(robot, folder, seed):
    """Return the path of the YAML of a motion designed for the robot."""
    limits = tuple(float(MARGIN * x) for x in robot.effort)
    options = DesignOptions(seconds=20.0, seed=seed, effort=limits, restarts=2,
                            acceleration=(8.0,) * len(robot))
    result = design(robot, options)
    say(f'condition number {result.condition_number:.1f} in {result.seconds:.0f} s')
    return write_design(result, folder)[0]


def _urdf(name):
    for folder in (pathlib.Path(__file__).resolve().parents[2] / 'urdf', _share() / 'urdf'):
        if (folder / f'{name}.urdf').exists():
            return folder / f'{name}.urdf'
    found = sorted(p.stem for p in (_share() / 'urdf').glob('*.urdf'))
    raise ConfigError('robot', found=repr(name), exists=found or ['franka', 'arm2', 'arm3'])


def _share():
    return pathlib.Path(sys.prefix) / 'share' / 'ros_inertial_id'


def _counted(recording, rate):
    """Return how many joint states were published between the first and last recorded, and how
    many of them are in the bag."""
    stamps = recording.channels['/joint_states'].stamp_ns
    return round((stamps[-1] - stamps[0]) * 1e-9 * rate) + 1, len(np.unique(stamps))


def _within(model, truth):
    """Return the share of determined base parameters within 3 standard errors of the truth."""
    robot = load_robot_model(truth['true_urdf'])
    true = {f'{s}{i + 1}': x for i, pi in enumerate(robot.inertias)
            for s, x in zip(SYMBOLS, pi)}
    for symbol, key in (('fv', 'viscous'), ('fc', 'coulomb')):
        true.update({f'{symbol}{j + 1}': x for j, x in enumerate(truth['friction'][key])})
    hits = []
    for entry in model.base:
        if entry['determined']:
            value = sum(c * true.get(name, 0.0) for name, c in entry['grouping'].items())
            hits.append(abs(entry['value'] - value) <= 3 * entry['standard_error'])
    return float(np.mean(hits))


def _torque_error(recording):
    """Return |predicted - true| / |true| [%] over the live predictions, by equal stamps."""
    predicted, true = recording.channels['/' + PREDICTED], recording.channels['/' + TRUTH]
    _, rows, columns = np.intersect1d(predicted.stamp_ns, true.stamp_ns, return_indices=True)
    if not len(rows):
        raise RecordingError('no live prediction at the stamp of a joint state')
    order = [predicted.names.index(name) for name in true.names]
    guess = predicted.fields['effort'][rows][:, order]
    tau = true.fields['effort'][columns]
    return float(100 * np.linalg.norm(guess - tau) / np.linalg.norm(tau))


def say(words):
    """Tell the person who watches how far things are."""
    print(f'demo: {words}', file=sys.stderr, flush=True)


def main(args=None):
    """Run the demonstration; return its exit status."""
    parser = argparse.ArgumentParser(prog='demo', description=__doc__)
    parser.add_argument('--out', default='demo')
    parser.add_argument('--robot', default='franka')
    parser.add_argument('--json', action='store_true')
    options, _ = parser.parse_known_args(args)
    out = pathlib.Path(options.out).resolve()
    os.environ.setdefault('ROS_AUTOMATIC_DISCOVERY_RANGE', 'LOCALHOST')
    os.environ.setdefault('ROS_DOMAIN_ID', str(random.randint(100, 200)))
    rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        _fresh(out)
        result = demonstrate(out, options.robot)
    except InertialIdError as error:
        print(f'demo: {error}', file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print('demo: interrupted', file=sys.stderr)
        return 130
    finally:
        rclpy.try_shutdown()
    if options.json:
        print(json.dumps(plain(result)))
    else:
        for key, value in result.items():
            print(f"{key.replace('_', ' '):26s} {value:.4g}" if isinstance(value, float)
                  else f"{key.replace('_', ' '):26s} {value}")
    return 0


def _fresh(out):
    """Make the folder; refuse one that holds recordings already: nothing is overwritten."""
    out.mkdir(parents=True, exist_ok=True)
    if (out / 'recording').exists():
        raise ConfigError(f'{out} holds a demonstration already', do='give another --out')


if __name__ == '__main__':
    sys.exit(main())
