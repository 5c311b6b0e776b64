"""The README's recipe with a simulated driver: design, check, play, record, identify, predict."""

from pathlib import Path
import subprocess
import sys

from driver_profiles import descriptions, PROFILES
from live_graph import LATCHED, ROOT
import numpy as np
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import String
import yaml

from ros_inertial_id.nodes.launching import arguments, node_settings, PLANS


class Recipe:
    """
    One robot: its driver and what robot.launch.py starts, as processes.

    graph : a Graph; folder : for all files; name : of a profile
    urdf : path of the arm's description; config : path of the configuration
    """

    def __init__(self, graph, folder, name, urdf, config):
        self.graph, self.folder, self.name = graph, folder, name
        self.profile, self.config = PROFILES[name], config
        if self.profile.current:  # what inertial-id drive-gains would have found
            self.config = folder / 'with_gains.yaml'
            blocks = yaml.safe_load(Path(config).read_text())
            blocks['serial_arm']['drive_gain'] = [1 / x for x in self.profile.current]
            self.config.write_text(yaml.safe_dump(blocks))
        self.namespace = f'{self.profile.namespace}/' if self.profile.namespace else ''
        self._arm, self.urdf = urdf, folder / 'robot.urdf'
        self.urdf.write_text(descriptions(Path(urdf).read_text(), self.profile)[0])
        self.driver = None

    def design(self, *options):
        """Design a motion by the command line."""
        subprocess.run([sys.executable, '-m', 'ros_inertial_id', 'design', str(self.urdf),
                        '--config', str(self.config), '--out', str(self.folder / 'motion'),
                        *options], cwd=ROOT, check=True, capture_output=True)

    def drive(self, inactive=''):
        """Start the driver; ``inactive`` is a controller that somebody has deactivated."""
        self.driver = self.graph.run('simulated_driver.py', self.name, self._arm, inactive)

    def launch(self, **given):
        """Start the nodes of robot.launch.py with arguments."""
        plan = PLANS['robot']
        values = {name: a.default for name, a in arguments(plan).items()}
        values |= {'robot': str(self.config), 'speed': '1.0', 'out': str(self.folder / 'bags'),
                   'motion': str(self.folder / 'motion' / 'motion.yaml'),
                   'use_sim_time': 'true', **given}
        for node in node_settings(plan, values):
            parameters = dict(node['parameters'][0])
            if node['executable'] == 'excitation':  # nobody here answers for the controller
                parameters['from_command'] = True
            path = self.folder / f"{node['name']}.yaml"
            path.write_text(yaml.safe_dump({'/**': {'ros__parameters': parameters}}))
            remaps = [f'{a}:={b}' for a, b in node['remappings']]
            remaps += [f"__ns:=/{node['namespace']}"] if node['namespace'] else []
            self.graph.start(node['executable'], '--ros-args', '--params-file', str(path),
                             *(x for remap in remaps for x in ('-r', remap)))

    def call(self, service):
        """Return the response of a service of the nodes."""
        return self.graph.call(f'{self.namespace}{service}')

    def ready(self, service='excitation/check'):
        """Return the first answer of a service that waits for nothing to come up any more."""
        answers = []

        def answered():
            answers.append(self.call(service))
            return answers[-1].success or not any(
                words in answers[-1].message for words in (
                    'no robot_description', 'no joint', 'nobody listens', 'late', 'publishes'))

        self.graph.until(answered, f'{service} to be ready')
        return answers[-1]

    def play(self):
        """Play and record the motion; return the last status."""
        statuses = self.graph.listen(String, f'{self.namespace}excitation/status', LATCHED)
        self.graph.until(lambda: statuses, 'the player')
        statuses.clear()
        answer = self.ready('excitation/play')
        assert answer.success, answer.message
        self.graph.until(lambda: any(s.data.startswith(('finished', 'stopped')) and '; ' in s.data
                                     for s in statuses), 'the end of the motion')
        return statuses[-1].data

    def identify(self):
        """Return the answer of ~/identify."""
        return self.call('identification/identify')

    def predicted_error(self):
        """
        Play again with the model that was identified.

        Return the last status and rms(residual) / rms(torque) per joint of what was predicted.
        """
        topics = [f'{self.namespace}torque_prediction/{x}' for x in ('residual', 'predicted')]
        messages = [[], []]
        readers = [self.graph.node.create_subscription(  # bytes cost the machine less
            JointState, topic, batch.append, 5000, raw=True)
            for topic, batch in zip(topics, messages)]
        status = self.play()
        for reader in readers:
            self.graph.node.destroy_subscription(reader)
        r, tau = (np.array([deserialize_message(m, JointState).effort for m in batch])
                  for batch in messages)
        return status, np.sqrt((r ** 2).mean(0) / (tau ** 2).mean(0)).round(4).tolist()
