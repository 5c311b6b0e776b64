"""A ROS graph of its own: a domain on this host, nodes in processes, and one who watches."""

from concurrent.futures import ThreadPoolExecutor
import contextlib
import fcntl
import functools
import gc
import multiprocessing
from multiprocessing import forkserver
import os
from pathlib import Path
import re
import resource
import runpy
import signal
import subprocess
import sys
import tempfile
import time
from unittest.mock import patch
import warnings

from diagnostic_msgs.msg import DiagnosticArray
from rcl_interfaces.msg import Parameter as ParameterMessage
from rcl_interfaces.srv import GetParameters, ListParameters, SetParameters
import rclpy
from rclpy.action import ActionClient, ActionServer
from rclpy.parameter import Parameter
from rclpy.qos import DurabilityPolicy, QoSProfile
from std_srvs.srv import Trigger

from ros_inertial_id.nodes.rclpy_internals import Executor
from ros_inertial_id.nodes.running import without_type_lookup

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = Path(__file__).resolve().parent
PATIENCE = 90.0  # [s] for one thing to happen on a loaded machine; nothing waits this long
SETTLE, TRIES = 0.5, 10  # [s] for an answer, and how often a node is asked for one
LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
SEGMENT = r'/dev/shm/fast(dds|rtps)_[0-9a-f]{16}'
DOMAINS = range(60, 100)  # above 101 the ports of DDS may be taken by other programs
# The stack of a node whose time to leave was over within rclpy's own end of a node.
LOCKED = r'Timeout \(0:00:30\)!\nThread .*\n  File .*/rclpy/node.py", line \d+ in destroy_node'


FORKS = multiprocessing.get_context('forkserver')
FORKS.set_forkserver_preload(['preloaded'])


@functools.cache
def serve_forks():
    """Start the server whose forks our nodes are: what they import is most of their start."""
    with patch.dict(os.environ, PYTHONPATH=os.pathsep.join(filter(None, sys.path))):
        forkserver.ensure_running()


class Fork:
    """A node in a process of its own, with the part of subprocess.Popen that is needed."""

    def __init__(self, command, log, environment, limits):
        serve_forks()
        written = log.with_suffix('.stdin')
        os.mkfifo(written)
        self.stdin = open(os.open(written, os.O_RDWR), 'wb')  # without waiting for its reader
        self._process = FORKS.Process(
            target=run_script, args=(command, log, written, environment, limits)
        )
        self._process.start()
        self.pid = self._process.pid

    def poll(self):
        return self._process.exitcode

    def wait(self, timeout=None):
        self._process.join(timeout)
        assert self._process.exitcode is not None, f'process {self.pid} does not end'
        return self._process.exitcode

    def send_signal(self, number):
        with contextlib.suppress(ProcessLookupError):  # it has just ended
            os.kill(self.pid, number)


def run_script(command, log, written, environment, limits):
    """
    Be the process of a script: ``command`` [path, arguments] with its output in ``log``.

    written : path of a pipe, its standard input; limits : {of the module resource: (soft, hard)}
    """
    assert 'preloaded' in sys.modules
    for kind, limit in limits.items():
        resource.setrlimit(kind, limit)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(log.parent)  # what is not told where to go
    output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    for descriptor in (1, 2):
        os.dup2(output, descriptor)
    os.dup2(os.open(written, os.O_RDONLY), 0)
    sys.stdin = open(0)
    sys.argv = command
    runpy.run_path(command[0], run_name='__main__')


class Process:
    """
    A child process with its output in a file.

    fresh : a Python of its own; else a Fork, with ``limits``
    """

    def __init__(self, command, log, environment, fresh=False, limits=None):
        self.log, self.shared_memory, self.ends = log, set(), False
        if not fresh:
            log.touch()
            self._process = Fork(command, log, environment, limits or {})
            return
        with log.open('w') as output:
            self._process = subprocess.Popen(
                [sys.executable, *command],
                cwd=ROOT,
                env=environment,
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=subprocess.STDOUT,
            )

    @property
    def pid(self):
        return self._process.pid

    @property
    def output(self):
        return self.log.read_text(errors='replace')

    def alive(self):
        return self._process.poll() is None

    def say(self, line):
        """Give a line to its standard input."""
        self._process.stdin.write(f'{line}\n'.encode())
        self._process.stdin.flush()

    def send(self, number):
        """Send a signal that will end the process."""
        # A killed process leaves the files of Fast DDS behind.
        self.shared_memory.update(n for n in _open_files(self.pid) if re.match(SEGMENT, n))
        self.ends = True
        self._process.send_signal(number)

    def wait(self):
        """
        Return the status with which it ends by itself.

        Fast DDS can lock itself while other nodes go (eProsima/Fast-DDS#6502).  A node whose own
        end was done by then is ended by its watchdog, see nodes/running.py: a warning here.
        """
        self.ends = True
        status = self._process.wait(PATIENCE)
        if status == 1 and re.search(LOCKED, self.output):
            warnings.warn(f'Fast DDS locked itself at the end of {self.log.name}')
            return 0
        return status

    @contextlib.contextmanager
    def held_up(self):
        """Stop the process meanwhile, as a machine does that has no time for it."""
        self._process.send_signal(signal.SIGSTOP)
        yield
        self._process.send_signal(signal.SIGCONT)

    def pause(self, seconds):
        """Stop the process for a while."""
        with self.held_up():
            time.sleep(seconds)

    def end(self, number=signal.SIGINT):
        """Return the status with which it ends after a signal."""
        if self.alive():
            self.send(number)
        return self.wait()

    def kill(self):
        """End it, whatever it takes."""
        if self.alive():
            self.send(signal.SIGKILL)
        self._process.wait()
        self._process.stdin.close()


class Graph:
    """
    Starts nodes and scripts, calls, sets, listens; ends everything and cleans up at the end.

    folder : for logs; node : of the observer, in this process; environment : of the processes
    """

    def __init__(self, folder):
        self.folder, self.processes = folder, []
        self.domain, self._lock = _own_domain()
        self.environment = dict(
            os.environ,
            ROS_DOMAIN_ID=str(self.domain),
            ROS_LOG_DIR=str(folder),
            ROS_AUTOMATIC_DISCOVERY_RANGE='LOCALHOST',
            OPENBLAS_NUM_THREADS='1',
            PYTHONPATH=os.pathsep.join(filter(None, (str(ROOT), os.environ.get('PYTHONPATH')))),
        )
        self.environment.pop('FASTDDS_DEFAULT_PROFILES_FILE', None)  # nodes set it themselves
        without_type_lookup()
        os.environ['ROS_AUTOMATIC_DISCOVERY_RANGE'] = 'LOCALHOST'
        self.context = rclpy.Context()
        rclpy.init(context=self.context, domain_id=self.domain)
        self.node = rclpy.create_node('observer', context=self.context)
        self.executor = Executor(context=self.context)
        self.executor.add_node(self.node)
        self._clients, self._health = {}, {}
        self.node.create_subscription(DiagnosticArray, '/diagnostics', self._note_health, 100)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def start(self, kind, /, *arguments, limits=None, fresh=False, **parameters):
        """
        Start a script of this package as a Process.

        limits : see run_script; fresh : a Python of its own
        """
        command = [str(ROOT / 'scripts' / kind), *arguments]
        command += ['--ros-args'] * bool(parameters)
        for key, value in parameters.items():
            command += ['-p', f'{key}:={value}']
        return self._begin(command, kind, fresh=fresh, limits=limits)

    def run(self, script, *arguments):
        """Start a script of this folder as a Process."""
        return self._begin(
            [str(SCRIPTS / script), *map(str, arguments)], script.removesuffix('.py')
        )

    def python(self, program):
        """Run a program, given as its text, as a Process."""
        return self._begin(['-c', program], 'program', fresh=True)

    def _begin(self, command, name, **arguments):
        log = self.folder / f'{len(self.processes)}_{name}.log'
        process = Process(command, log, self.environment, **arguments)
        self.processes.append(process)
        return process

    def until(self, condition, what):
        """Spin until ``condition()``; fail when it never comes, or a process ends before."""
        end = time.monotonic() + PATIENCE
        while not condition():
            for process in self.processes:
                assert process.ends or process.alive(), process.output
            assert time.monotonic() < end, f'waited {PATIENCE} s for {what}; ' + self.outputs()
            self.executor.spin_once(timeout_sec=0.05)

    def beside(self, work):
        """Return what ``work`` does in a thread, which may wait for what this one serves."""
        with ThreadPoolExecutor(1) as thread:
            future = thread.submit(work)
            self.until(future.done, 'the work')
            return future.result()

    def spin(self, seconds, enough=lambda: False):
        """Spin for a while, to give something that must not happen time; or until ``enough()``."""
        end = time.monotonic() + seconds
        while time.monotonic() < end and not enough():
            self.executor.spin_once(timeout_sec=0.02)

    def outputs(self):
        """Return what the processes printed, and how many diagnostics came."""
        heard = ', '.join(f'{node} {len(healths)} times' for node, healths in self._health.items())
        return '\n'.join(
            [
                f'diagnostics of: {heard or "nobody"}',
                *(f'{p.log.name}:\n{p.output[-2000:]}' for p in self.processes),
            ]
        )

    def listen(self, kind, topic, qos=5000):
        """Return a list that fills with the messages of a topic."""
        received = []
        self.node.create_subscription(kind, topic, received.append, qos)
        return received

    def ask(self, kind, service, request):
        """Return the future of a service's response."""
        if service not in self._clients:
            self._clients[service] = self.node.create_client(kind, service)
            self.until(self._clients[service].service_is_ready, service)
            self._become_known(service.rpartition('/')[0])
        return self._clients[service].call_async(request)

    def _become_known(self, node):
        """
        Wait until a node knows the reply topics of our clients: else it would drop replies.

        It learns of them in their order: when it answers a younger client, it knows the others.
        """
        client = self.node.create_client(ListParameters, f'{node}/list_parameters')
        self.spin(SETTLE, client.service_is_ready)
        for _ in range(TRIES if client.service_is_ready() else 0):  # some scripts have none
            future = client.call_async(ListParameters.Request())
            self.spin(SETTLE, future.done)
            if future.done():
                break
        self.node.destroy_client(client)

    def call(self, service, kind=Trigger, request=None):
        """Return the response of a service."""
        future = self.ask(kind, service, request or kind.Request())
        self.until(future.done, f'the answer of {service}')
        return future.result()

    def set(self, node, **values):
        """Set parameters of a node; return '' or why it refused."""
        # An empty list has no type of its own; ours are of texts.
        kinds = {
            name: Parameter.Type.STRING_ARRAY if value == [] else None
            for name, value in values.items()
        }
        messages = [
            Parameter(name, kinds[name], value).to_parameter_msg()
            for name, value in values.items()
        ]
        request = SetParameters.Request(
            parameters=[ParameterMessage(name=m.name, value=m.value) for m in messages]
        )
        response = self.call(f'{node}/set_parameters', SetParameters, request)
        return '; '.join(r.reason for r in response.results if not r.successful)

    def get(self, node, name):
        """Return the ParameterValue of a node's parameter."""
        request = GetParameters.Request(names=[name])
        return self.call(f'{node}/get_parameters', GetParameters, request).values[0]

    def _note_health(self, message):
        for status in message.status:
            level = {b'\0': 'ok', b'\1': 'warn', b'\2': 'error'}[status.level]
            values = {v.key: v.value for v in status.values}
            node = status.name.removesuffix(': state')
            self.healths(node).append((level, status.message, values))

    def healths(self, node):
        """Return all (level, message, {key: value}) that a node reported in diagnostics."""
        return self._health.setdefault(node, [])

    def health(self, node):
        """Return what a node reported last."""
        return self.healths(node)[-1] if self.healths(node) else (None, '', {})

    def left_behind(self, *ended):
        """Return the files of shared memory of ``ended`` processes that no living one uses."""
        living = [os.getpid(), *(p.pid for p in self.processes if p.alive())]
        used = set().union(*map(_open_files, living))
        return {name for p in ended for name in p.shared_memory - used if Path(name).exists()}

    def close(self):
        """
        Leave nothing behind: no process, no shared memory.

        The observer goes first: its port may be broken by a process that is killed as it writes
        there, and Fast DDS 3.2 ends with a segmentation fault then (~SharedMemChannelResource).
        """
        self.executor.shutdown()
        for waitable in [*self.node.waitables]:
            if isinstance(waitable, (ActionClient, ActionServer)):
                waitable.destroy()  # or the node's participant would outlive the node
        self.node.destroy_node()
        self.context.try_shutdown()
        gc.collect()
        for process in self.processes:
            process.kill()
        left = {*_ports(self.domain), *(f for p in self.processes for f in p.shared_memory)}
        # A participant that lives on without the file of its port takes messages of the next graph
        # with it, for good.
        for path in left - _open_files(os.getpid()):
            Path(path).unlink(missing_ok=True)
        self._lock.close()


def read_table(message):
    """Return {name: {key: text}} of the rows of a DiagnosticArray."""
    return {row.name: {pair.key: pair.value for pair in row.values} for row in message.status}


def _open_files(pid):
    """Return the names of the files that a process has open or mapped, none once it is gone."""
    try:
        names = set(Path(f'/proc/{pid}/maps').read_text().split())
        descriptors = list(Path(f'/proc/{pid}/fd').iterdir())
    except OSError:
        return set()
    for descriptor in descriptors:
        with contextlib.suppress(OSError):
            names.add(os.readlink(descriptor))
    return names


def _ports(domain):
    """Return the files of the ports of a domain (250 each) in shared memory."""
    for path in Path('/dev/shm').glob('*fast*_port*'):
        port = int(re.search(r'_port(\d+)', path.name)[1])
        if 0 <= port - 7400 - 250 * domain < 250:
            yield str(path)


def _own_domain():
    """Return a ROS domain that no other test on this machine uses, and the lock on it."""
    first = os.getpid() % len(DOMAINS)
    for domain in [*DOMAINS[first:], *DOMAINS[:first]]:
        lock = open(Path(tempfile.gettempdir(), f'ros_inertial_id_domain_{domain}'), 'w')
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return domain, lock
        except OSError:
            lock.close()
    raise AssertionError('all ROS domains for tests are taken')
