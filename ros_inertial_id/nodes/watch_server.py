"""
The live page over HTTP, with the standard library: a page, a stream of events, a few buttons.

The node writes into a WatchState, and every browser that looks on reads what has changed since it
asked last.

``GET /`` is the page, ``GET /events`` what changes (server-sent events, JSON), ``POST /call/NAME``
asks for a service by its name on the page.  Other sites that are open in the same browser reach
none of it: requests need a name of this machine as their host and, to call, a header that a
foreign page may not send.
"""

from collections import deque
from collections.abc import Callable, Collection, Sequence
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
import json
import math
import threading
from typing import Any
from urllib.parse import unquote

from ..errors import ConfigError

PERIOD = 0.2  # [s] between events: five a second are enough for eyes
SILENCE = 5.0  # [s] after which an empty event says that the server lives
POLICY = "default-src 'self' 'unsafe-inline'; frame-ancestors 'none'"
STEP = 0.02  # [s] between samples of a curve that are kept: 50 Hz are enough for eyes
KEPT = 1500  # samples of a curve: 30 s of them
ADDRESS = '127.0.0.1'  # no other machine reaches it
HEADER = 'X-Inertial-Id'  # of a call; a page of another origin may not send it


class WatchState:
    """Curves and facts with a running number each; safe for threads."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._number = 0
        self._names: dict[str, tuple[str, ...]] = {}
        self._curves: dict[str, deque[tuple[int, float, list[float | None]]]] = {}
        self._facts: dict[str, tuple[int, Any]] = {}
        self.closed = False

    def add(self, curve: str, stamp: float, names: Sequence[str], values: Sequence[float]) -> None:
        """
        Take a sample of a curve, unless one was taken less than STEP before.

        stamp : [s]; values : (joints,) [N m, N]
        Other joints or a stamp that runs back begin the curve anew.
        """
        with self._changed:
            kept = self._curves.setdefault(curve, deque(maxlen=KEPT))
            if self._names.get(curve) != tuple(names) or kept and stamp < kept[-1][1]:
                kept.clear()
                self._names[curve] = tuple(names)
            if kept and stamp < kept[-1][1] + STEP:
                return
            self._number += 1
            kept.append((self._number, stamp, [_plain(x) for x in values]))
            self._changed.notify_all()

    def set(self, fact: str, value: Any) -> None:  # noqa: A003
        """Remember a ``value`` that JSON can hold, if it is another than before."""
        with self._changed:
            if fact not in self._facts or self._facts[fact][1] != value:
                self._number += 1
                self._facts[fact] = self._number, value
                self._changed.notify_all()

    def close(self) -> None:
        """Let everybody who waits go on, to find ``closed`` true."""
        with self._changed:
            self.closed = True
            self._changed.notify_all()

    def since(self, number: int, patience: float) -> tuple[int, dict[str, Any]]:
        """
        Return (the newest number, what has changed since).

        number : up to which the reader knows all, 0 at first
        patience : [s] to wait for a change where there is none yet
        {curves: {name: {joints, t (N,), y (N, joints)}}, facts: {name: value}}
        """
        with self._changed:
            if self._number <= number and not self.closed:
                self._changed.wait(patience)
            curves = {}
            for name, kept in self._curves.items():
                newer = [(t, y) for k, t, y in kept if k > number]
                if newer:
                    curves[name] = {'joints': list(self._names[name]), 't': [t for t, _ in newer],
                                    'y': [y for _, y in newer]}
            facts = {name: value for name, (k, value) in self._facts.items() if k > number}
            return self._number, {'curves': curves, 'facts': facts}


def _plain(value: float) -> float | None:
    """Return a number as JSON has them: five digits, None for what is not finite."""
    return float(f'{value:.5g}') if math.isfinite(value) else None


class WatchServer:
    """
    Serves until ``close``, in threads of its own.

    port : to listen at on this machine alone, 0 for any that is free
    page : HTML text; state : what the events tell of
    calls : names of services that may be called; call : is given such a name, in some thread
    ConfigError where the port is taken.
    """

    def __init__(self, port: int, page: str, state: WatchState, calls: Collection[str],
                 call: Callable[[str], None]) -> None:
        handler: Any = type('Handler', (_Handler,), {
            'page': page.encode(), 'state': state, 'calls': tuple(calls),
            'call': staticmethod(call)})
        try:
            self._server = ThreadingHTTPServer((ADDRESS, port), handler)
        except (OSError, OverflowError) as error:
            raise ConfigError(f'the page cannot be served at port {port}',
                              found=error, do='give another port') from None
        self._server.daemon_threads = True
        self._state = state
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.1,))
        self._thread.start()

    @property
    def url(self) -> str:
        """Return where the page is."""
        return f'http://{ADDRESS}:{self._server.server_port}/'

    def close(self) -> None:
        """End all streams and the server."""
        self._state.close()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


class _Handler(BaseHTTPRequestHandler):
    """Answers one request; what it needs is given by WatchServer as attributes of the class."""

    page: bytes
    state: WatchState
    calls: tuple[str, ...]
    call: Callable[[str], None]
    timeout = 30.0  # [s] for a client that says nothing

    def do_GET(self) -> None:
        """Answer with the page or the events."""
        if not self._from_here():
            self._answer(HTTPStatus.FORBIDDEN, b'this page is served to its own machine only')
        elif self.path == '/':
            self._answer(HTTPStatus.OK, self.page, 'text/html; charset=utf-8')
        elif self.path == '/events':
            self._events()
        else:
            self._answer(HTTPStatus.NOT_FOUND, b'there is / and /events')

    def do_POST(self) -> None:
        """Ask for a service."""
        name = unquote(self.path.removeprefix('/call/'))
        if not self._from_here() or HEADER not in self.headers:
            self._answer(HTTPStatus.FORBIDDEN, b'calls come from the page alone')
        elif not self.path.startswith('/call/') or name not in self.calls:
            self._answer(HTTPStatus.NOT_FOUND, f"there is {', '.join(self.calls)}".encode())
        else:
            type(self).call(name)
            self._answer(HTTPStatus.ACCEPTED, b'{}', 'application/json')

    def _from_here(self) -> bool:
        """Return whether a page of this server, or nobody's, asked by a name of this machine."""
        host = self.headers.get('Host', '').lower()  # its port is another through ssh -L
        origin = self.headers.get('Origin')
        return (host.partition(':')[0] in (ADDRESS, 'localhost')
                and origin in (None, f'http://{host}'))

    def _answer(self, status: HTTPStatus, body: bytes, kind: str = 'text/plain') -> None:
        self.send_response(status)
        for key, value in (('Content-Type', kind), ('Content-Length', str(len(body))),
                           ('Cache-Control', 'no-store'), ('Content-Security-Policy', POLICY),
                           ('X-Content-Type-Options', 'nosniff')):
            self.send_header(key, value)
        self.end_headers()
        self.wfile.write(body)

    def _events(self) -> None:
        try:
            self.send_response(HTTPStatus.OK)
            self.send_header('Content-Type', 'text/event-stream')
            self.send_header('Cache-Control', 'no-store')
            self.end_headers()
            pause, number = threading.Event(), 0
            while not self.state.closed:
                number, changed = self.state.since(number, SILENCE)
                self.wfile.write(b'data: %s\n\n' % json.dumps(
                    changed, separators=(',', ':'), allow_nan=False).encode())
                self.wfile.flush()
                pause.wait(PERIOD)
        except OSError:  # the page was closed
            pass

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Say nothing: requests are no events of the robot, whatever ``format`` and ``args``."""
