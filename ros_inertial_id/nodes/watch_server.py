"""
The live page over HTTP, with the standard library: a page, what has changed, a few buttons.

The node writes into a WatchState, and every browser that looks on asks for what has changed since
it asked last.

``GET /`` is the page, ``GET /since/NUMBER`` what is newer (JSON), ``POST /call/NAME`` asks for a
service by its name on the page.  Other sites that are open in the same browser reach none of it:
requests need a name of this machine as their host and, to call, a header that a foreign page may
not send.
"""

from collections import deque
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
import json
import math
from socket import SHUT_RDWR, socket
import sys
import threading
import time
from typing import Any
from urllib.parse import unquote

from ..errors import ConfigError

POLICY = "default-src 'self' 'unsafe-inline'; frame-ancestors 'none'"
CURVE_STEP = 0.02  # [s] between samples of a curve that are kept: 50 Hz are enough for eyes
SAMPLES_KEPT = 1500  # samples of a curve: 30 s of them
ADDRESS = '127.0.0.1'  # no other machine reaches it
DEADLINE = 3.0  # [s] for a request and its answer
MOST_CONNECTIONS = 32  # at once
HEADER = 'X-Inertial-Id'  # of a call; a page of another origin may not send it


class WatchState:
    """Curves and facts with a running number each; safe for threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._number = 0
        self._names: dict[str, tuple[str, ...]] = {}
        self._curves: dict[str, deque[tuple[int, float, list[float | None]]]] = {}
        self._facts: dict[str, tuple[int, Any]] = {}

    def add(self, curve: str, stamp: float, names: Sequence[str], values: Sequence[float]) -> None:
        """
        Take a sample of a curve, unless one was taken less than CURVE_STEP before.

        stamp : [s]; values : (joints,) [N m, N]
        Other joints or a stamp that runs back begin the curve anew.
        """
        with self._lock:
            samples = self._curves.setdefault(curve, deque(maxlen=SAMPLES_KEPT))
            newest = -math.inf  # [s]
            if samples and self._names[curve] == tuple(names):
                newest = samples[-1][1]
            if newest <= stamp < newest + CURVE_STEP:
                return
            if newest == -math.inf or stamp < newest:
                samples.clear()
            self._names[curve] = tuple(names)
            self._number += 1
            samples.append((self._number, stamp, list(map(_plain, values))))

    def set(self, fact: str, value: Any) -> None:  # noqa: A003
        """Remember a ``value`` that JSON can hold, if it is another than before."""
        with self._lock:
            if fact not in self._facts or self._facts[fact][1] != value:
                self._number += 1
                self._facts[fact] = self._number, value

    def since(self, number: int) -> tuple[int, dict[str, Any]]:
        """
        Return (the newest number, what has changed since).

        number : up to which the reader knows all, 0 at first
        {curves: {name: {joints, t (N,), y (N, joints)}}, facts: {name: value}}
        """
        with self._lock:
            curves = {}
            for name, samples in self._curves.items():
                newer = [sample for sample in samples if sample[0] > number]
                if newer:
                    _, times, values = zip(*newer)
                    curves[name] = {
                        'joints': self._names[name],
                        't': list(times),
                        'y': list(values),
                    }
            facts = {name: value for name, (k, value) in self._facts.items() if k > number}
            return self._number, {'curves': curves, 'facts': facts}


def _plain(value: float) -> float | None:
    """Return a number as JSON has them: five digits, None for what is not finite."""
    if not math.isfinite(value):
        return None
    return float(f'{value:.5g}')


class WatchServer(ThreadingHTTPServer):
    """
    Serves until ``close``, in threads of its own.

    port : to listen at on this machine alone, 0 for any that is free
    page : HTML text; state : what is asked for
    calls : names of services that may be called; call : is given such a name, in some thread
    ConfigError where the port is taken.
    """

    daemon_threads = True
    request_queue_size = 128

    def __init__(
        self,
        port: int,
        page: str,
        state: WatchState,
        calls: Collection[str],
        call: Callable[[str], None],
    ) -> None:
        self._open: dict[socket, float] = {}  # by connection: when it came [s]
        try:
            super().__init__((ADDRESS, port), _Handler)
        except OSError as error:
            raise ConfigError(
                f'the page cannot be served at port {port}', found=error, do='give another port'
            ) from None
        self.page, self.state, self.calls, self.call = page.encode(), state, calls, call
        threading.Thread(target=self.serve_forever, args=(0.1,)).start()

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answer in a thread; where too many wait for an answer, instead of the oldest."""
        self._open[request] = time.monotonic()
        super().process_request(request, client_address)
        self.service_actions()

    def service_actions(self) -> None:
        """Drop whoever takes too long to ask or to read, and the oldest of too many."""
        latest, connections = time.monotonic() - DEADLINE, [*self._open.items()]
        for place, (request, came) in enumerate(connections):
            if came < latest or place < len(connections) - MOST_CONNECTIONS:
                self._open.pop(request, None)
                with suppress(OSError):  # it has just ended by itself
                    request.shutdown(SHUT_RDWR)

    def shutdown_request(self, request: Any) -> None:
        """End a connection, by its thread."""
        self._open.pop(request, None)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of a connection that broke, or was dropped."""
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)

    @property
    def url(self) -> str:
        """Return where the page is."""
        return f'http://{ADDRESS}:{self.server_port}/'

    def close(self) -> None:
        """End the server."""
        self.shutdown()
        self.server_close()


class _Handler(BaseHTTPRequestHandler):
    """Answers one request."""

    server: WatchServer

    def do_GET(self) -> None:
        """Answer with the page or what has changed."""
        number = self.path.removeprefix('/since/')
        if not self._from_here():
            self._answer(HTTPStatus.FORBIDDEN, b'this page is served to its own machine only')
        elif self.path == '/':
            self._answer(HTTPStatus.OK, self.server.page, 'text/html; charset=utf-8')
        elif number.isdecimal():
            self._answer(
                HTTPStatus.OK,
                json.dumps(
                    self.server.state.since(int(number)),
                    separators=(',', ':'),
                    allow_nan=False,
                ).encode(),
                'application/json',
            )
        else:
            self._answer(HTTPStatus.NOT_FOUND, b'there is / and /since/NUMBER')

    def do_POST(self) -> None:
        """Ask for a service."""
        name = unquote(self.path.removeprefix('/call/'))
        if not self._from_here() or HEADER not in self.headers:
            self._answer(HTTPStatus.FORBIDDEN, b'calls come from the page alone')
        elif name not in self.server.calls:
            self._answer(HTTPStatus.NOT_FOUND, f'there is {", ".join(self.server.calls)}'.encode())
        else:
            self.server.call(name)
            self._answer(HTTPStatus.ACCEPTED, b'{}', 'application/json')

    def _from_here(self) -> bool:
        """Return whether a page of this server, or nobody's, asked by a name of this machine."""
        host = self.headers.get('Host', '').lower()  # its port is another through ssh -L
        origin = self.headers.get('Origin')
        return host.partition(':')[0] in (ADDRESS, 'localhost') and origin in (
            None,
            f'http://{host}',
        )

    def _answer(self, status: HTTPStatus, body: bytes, kind: str = 'text/plain') -> None:
        self.send_response(status)
        for key, value in (
            ('Content-Type', kind),
            ('Content-Length', str(len(body))),
            ('Cache-Control', 'no-store'),
            ('Content-Security-Policy', POLICY),
            ('X-Content-Type-Options', 'nosniff'),
        ):
            self.send_header(key, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Say nothing: requests are no events of the robot, whatever ``format`` and ``args``."""
