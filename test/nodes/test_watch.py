"""The node watch: what comes over DDS stands on its page, and only the page may press buttons."""

from http.client import HTTPConnection, HTTPException
import json
import math
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from live_graph import LATCHED, ROOT
import pytest
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from std_srvs.srv import Trigger
from test_processes import until

from ros_inertial_id.nodes.conversions import row, table
from ros_inertial_id.nodes.watch_server import (
    ADDRESS,
    CURVE_STEP,
    HEADER,
    MOST_CONNECTIONS,
    SAMPLES_KEPT,
    WatchServer,
    WatchState,
)

BROWSER = (
    shutil.which('chromium') or shutil.which('chromium-browser') or shutil.which('google-chrome')
)
PATIENCE = 60.0  # [s] for an answer of a loaded machine; nothing waits this long


class Page:
    """Asks the server at a port for what has changed, as its page does."""

    def __init__(self, port):
        self._port, self._known = port, 0
        self.curves, self.facts = {}, {}

    def look(self):
        status, headers, text = ask(self._port, 'GET', f'/since/{self._known}')
        assert (status, headers['Content-Type']) == (200, 'application/json')
        self._known, changed = json.loads(text)
        for name, more in changed['curves'].items():
            self.curves.setdefault(name, []).extend(zip(more['t'], more['y']))
        self.facts.update(changed['facts'])
        return self


def ask(port, method, path, **headers):
    """Return (status, headers, text) of a request with headers of its own, Host among them."""
    connection = HTTPConnection('127.0.0.1', port, timeout=PATIENCE)
    connection.putrequest(method, path, skip_host='Host' in headers)
    for name, value in headers.items():
        connection.putheader(name.replace('_', '-'), value)
    connection.endheaders()
    answer = connection.getresponse()
    return answer.status, dict(answer.getheaders()), answer.read().decode()


@pytest.fixture
def served():
    """Yield (port, calls made, state) of a server without a node."""
    asked, state = [], WatchState()
    server = WatchServer(0, '<p>page</p>', state, ['record'], asked.append)
    yield int(server.url.rsplit(':')[-1].strip('/')), asked, state
    server.close()


def test_only_the_page_itself_reaches_the_server(served):
    port, asked, _ = served
    status, headers, text = ask(port, 'GET', '/')
    assert (status, text) == (200, '<p>page</p>')
    assert "default-src 'self'" in headers['Content-Security-Policy']
    own = {HEADER.replace('-', '_'): '1'}
    assert ask(port, 'POST', '/call/record', **own)[0] == 202 and asked == ['record']
    # A name that resolves to this machine, a page of another site or port, a form: none calls.
    for headers in (
        {'Host': f'evil.example:{port}', **own},
        {'Host': '', **own},
        {},
        {'Origin': 'http://evil.example', **own},
        {'Origin': 'null', **own},
        {'Origin': 'http://127.0.0.1:1', **own},
    ):
        assert ask(port, 'POST', '/call/record', **headers)[0] == 403
        if HEADER.replace('-', '_') in headers:
            assert ask(port, 'GET', '/since/0', **headers)[0] == 403
    assert ask(port, 'POST', '/call/play', **own)[0] == 404
    assert ask(port, 'GET', '/../setup.py')[0] == ask(port, 'GET', '/since/x')[0] == 404
    assert asked == ['record']
    through = {'Host': 'localhost:9000', 'Origin': 'http://localhost:9000'}  # ssh -L
    assert ask(port, 'POST', '/call/record', **through, **own)[0] == 202


def test_who_never_asks_or_never_reads_keeps_nobody_waiting(served):
    port, _, state = served
    state.set('bag', 'x' * 10**7)  # more than a connection holds unread
    idle = [
        socket.create_connection((ADDRESS, port), PATIENCE) for _ in range(4 * MOST_CONNECTIONS)
    ]
    for reader in idle[::2]:
        reader.sendall(b'GET /since/0 HTTP/1.1\r\nHost: localhost\r\n\r\n')
    assert ask(port, 'GET', '/')[0] == 200
    until(lambda: threading.active_count() < MOST_CONNECTIONS)  # there are two besides
    for silent in idle[1::2]:
        assert silent.recv(1) == b''  # ended by the server
    for each in idle:
        each.close()


def test_readers_get_what_they_do_not_know_yet_and_no_more(served):
    _, _, state = served
    for k in range(2000):  # at 1 kHz
        state.add('predicted', k * 1e-3, ['a', 'b'], [float(k), math.nan])
    number, changed = state.since(0)
    kept = changed['curves']['predicted']
    # Two seconds at 50 Hz; a stamp in binary may fall just short of the step.
    assert len(kept['t']) == pytest.approx(2.0 / CURVE_STEP, rel=0.06) and kept['joints'] == (
        'a',
        'b',
    )
    assert all(b is None and a == round(1e3 * t) for t, (a, b) in zip(kept['t'], kept['y']))
    assert state.since(number) == (number, {'curves': {}, 'facts': {}})
    state.set('bag', '/tmp/x')
    state.set('bag', '/tmp/x')
    assert state.since(number) == (number + 1, {'curves': {}, 'facts': {'bag': '/tmp/x'}})
    state.add('predicted', 0.5, ['a', 'b'], [1.0, 2.0])  # the clock began again
    _, changed = state.since(0)
    assert changed['curves']['predicted']['t'] == [0.5]
    for k in range(2 * SAMPLES_KEPT):
        state.add('predicted', 1.0 + k, ['a', 'b'], [1.0, 2.0])
    assert len(state.since(0)[1]['curves']['predicted']['t']) == SAMPLES_KEPT


def estimate(name, value, error):
    return row(name, {'value': value, 'standard_error': error, 'used': 1.0})


@pytest.fixture
def live(graph):
    """Return (port, publish): the node, and what publishes all that it shows once more."""
    process = graph.start('watch', port=0)
    graph.until(lambda: 'look at' in process.output, 'the page')
    port = int(re.search(r'look at http://127\.0\.0\.1:(\d+)/', process.output)[1])
    names = {
        'predicted': 1.5,
        'measured': 1.25,
        'residual': -0.25,
        'predicted_band/lower': 1.0,
        'predicted_band/upper': 2.0,
    }
    curves = {
        name: graph.node.create_publisher(JointState, f'torque_prediction/{name}', 10)
        for name in names
    }
    health = graph.node.create_publisher(DiagnosticArray, '/diagnostics', 10)
    online = graph.node.create_publisher(DiagnosticArray, 'identification/online_parameters', 10)
    graph.node.create_publisher(String, 'recorder/recording', LATCHED).publish(
        String(data='/tmp/<b>bag</b>')
    )
    identified = table(
        graph.node,
        [
            estimate('fv1', 2.0, 0.1),
            estimate('m1', None, None),
            row('gravity_base', {'x': 0.0, 'y': 0.0, 'z': -9.81}),
        ],
    )
    graph.node.create_publisher(
        DiagnosticArray, 'identification/base_parameters', LATCHED
    ).publish(identified)
    sent = iter(range(10**6))

    def publish():
        k = next(sent)
        for name, value in names.items():
            message = JointState(name=['one', 'two'], effort=[value, 2 * value])
            message.header.stamp.sec, message.header.stamp.nanosec = divmod(k * 10**8, 10**9)
            curves[name].publish(message)
        values = [
            KeyValue(key=key, value=value)
            for key, value in (
                ('one rms', '0.5'),
                ('one rms expected', '0.1'),
                ('two rms', '0.1'),
                ('two rms expected', '0.1'),
            )
        ]
        health.publish(
            DiagnosticArray(
                status=[
                    DiagnosticStatus(
                        level=b'\1',
                        name='torque_prediction: state',
                        message='5 times',
                        values=values,
                    ),
                    DiagnosticStatus(level=b'\2', name='somebody_else', message='not ours'),
                ]
            )
        )
        online.publish(
            table(
                graph.node,
                [
                    estimate('fv1', 2.0, 0.01),
                    estimate('fc1', 1.0, 0.3),
                    estimate('IzzR2', 0.1, 1.0),
                ],
            )
        )

    return port, publish


def test_what_comes_over_dds_comes_over_http_and_buttons_call(graph, live):
    port, publish = live
    called = []

    def start(_, response):
        called.append(1)
        response.success, response.message = False, 'no disk'
        return response

    graph.node.create_service(Trigger, 'recorder/start', start)
    page = Page(port)

    def complete():
        publish()
        page.look()
        return (
            len(page.curves) == 5
            and 'record' in page.facts.get('services', ())
            and {'prediction', 'online', 'identified', 'bag'} <= set(page.facts)
        )

    graph.until(complete, 'all on the page')
    assert page.curves['measured'][0][1] == [1.25, 2.5]
    assert page.curves['lower'][0][1] == [1.0, 2.0]
    assert page.curves['upper'][0][1] == [2.0, 4.0]
    assert page.facts['identified'] == [['fv1', 2.0, 0.1], ['m1', None, None]]
    assert page.facts['prediction']['level'] == 'warn'
    assert page.facts['prediction']['values']['one rms expected'] == '0.1'
    assert page.facts['online'] == [['fv1', 2.0, 0.01], ['fc1', 1.0, 0.3], ['IzzR2', 0.1, 1.0]]
    assert 'not ours' not in json.dumps(page.facts)
    own = {HEADER.replace('-', '_'): '1'}
    assert ask(port, 'POST', '/call/record', **own)[0] == 202
    graph.until(lambda: 'no disk' in page.look().facts.get('answer', ''), 'the answer')
    assert called == [1] and page.facts['answer'] == 'record: refused, no disk'
    assert ask(port, 'POST', '/call/identify', **own)[0] == 202
    graph.until(lambda: 'no node offers' in page.look().facts['answer'], 'word of the absence')


def refuses(port):
    try:
        ask(port, 'GET', '/')
    except ConnectionError:
        return True
    except HTTPException:  # it ended in the middle of its answer
        return False
    return False


@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGKILL])
def test_the_node_ends_with_its_verb_and_runs_nothing_of_the_current_folder(
    graph, tmp_path, trapped, number
):
    log = tmp_path / 'log'
    with log.open('w') as output:
        verb = subprocess.Popen(
            [sys.executable, str(ROOT / 'scripts' / 'inertial-id'), 'watch', '--port', '0'],
            cwd=trapped,
            env=graph.environment,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # as at a terminal, not under nohup:
            preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL),
        )
    port = int(until(lambda: re.search(r'look at http://[^:]*:(\d+)', log.read_text()))[1])
    assert ask(port, 'GET', '/')[0] == 200
    if number == signal.SIGINT:
        os.killpg(verb.pid, number)  # as a terminal does
    else:
        verb.send_signal(number)
    assert verb.wait(PATIENCE) == (0 if number == signal.SIGINT else -number)
    until(lambda: refuses(port))
    assert 'Traceback' not in log.read_text()
    assert not (trapped / 'executed').exists()


@pytest.mark.skipif(BROWSER is None, reason='no browser is installed')
def test_the_page_draws_it_in_a_browser(tmp_path):
    from ros_inertial_id.report import watch_page

    state = WatchState()
    for k in range(200):
        for name, value in (
            ('measured', 1.0),
            ('predicted', 1.1),
            ('residual', -0.1),
            ('lower', 0.9),
            ('upper', 1.3),
        ):
            state.add(name, 0.1 * k, ['one', 'two'], [value * math.sin(k), value])
    state.set('services', ['record'])
    state.set('bag', '<img src=x onerror=alert(1)>')
    state.set(
        'prediction',
        {
            'level': 'warn',
            'message': '5 times',
            'values': {
                'one rms': '0.5',
                'one rms expected': '0.1',
                'two rms': '0.1',
                'two rms expected': '0.1',
            },
        },
    )
    state.set(
        'online',
        [['fv1', 2.0, 0.01], ['fc1', 1.0, 0.3], ['IzzR2', 0.1, None], ['fv2', 0.1, 0.143]],
    )
    calls = ['record', 'identify']
    server = WatchServer(0, watch_page(calls), state, calls, calls.append)
    try:
        done = subprocess.run(
            [
                BROWSER,
                '--headless',
                '--no-sandbox',
                '--disable-gpu',
                '--disable-sync',
                '--disable-background-networking',
                '--no-first-run',
                '--disable-component-update',
                '--enable-logging=stderr',
                '--virtual-time-budget=2000',
                '--dump-dom',
                f'--user-data-dir={tmp_path}',
                server.url,
            ],
            capture_output=True,
            text=True,
            timeout=120,
        )
    finally:
        server.close()
    page = done.stdout
    assert 'Uncaught' not in done.stderr, done.stderr[-2000:]
    for name in ('measured', 'predicted', 'residual'):  # per joint, and once in the legend
        lines = re.findall(rf'<path class="s-{name}" d="([^"]*)"', page)
        assert len([d for d in lines if d.count('L') > 150]) == 2
    assert len(re.findall('<path class="band" d="M[^"]*L[^"]*Z"', page)) == 2
    assert '<td class="flag">5.0 !</td>' in page and '<td>1.0</td>' in page
    assert (
        'Online, while the robot moves: 1 of 4 with a standard error up to 10 %, 1 up to 50 %.'
        in page
    )
    assert '<td>30</td>' in page and '<td>140</td>' in page  # relative [%]
    assert re.search(r'data-call="record">', page) and re.search(
        r'data-call="identify" disabled="">', page
    )
    assert '&lt;img src=x' in page and '<img' not in page
