"""One HTTP request with limits: a time after which it is over, whatever the other side does, and a largest answer.

Written over the standard library: http.client knows no limit on the whole time, so the socket is shut down from outside
when the time is up. Redirects are not followed: the key is for the address that was given, and for no other.
"""

import socket
import ssl
import threading
from collections.abc import Mapping
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from urllib.parse import urlsplit

from msgspec import Struct

from agents_ledger.errors import SummariserFailed

_CHUNK = 1 << 16


class Answer(Struct, frozen=True):
    """What came back."""

    status: int
    body: bytes
    retry_after: str | None = None


class NoAnswer(SummariserFailed):
    """Nobody answered, or not to the end: another try may do."""


def post(url: str, headers: Mapping[str, str], body: bytes, *, timeout_s: float, largest_bytes: int) -> Answer:
    """The answer to a POST."""
    watch = _Watch(url, timeout_s)
    try:
        return _exchange(watch, headers, body, largest_bytes)
    except (OSError, HTTPException) as problem:
        if watch.is_over:
            raise SummariserFailed(f"the summariser at {watch.host} did not answer within {timeout_s:g} s") from problem
        raise NoAnswer(f"the summariser at {watch.host} can't be reached: {_why(problem)}") from problem
    finally:
        watch.end()


class _Watch:
    """A connection that ends with its time."""

    def __init__(self, url: str, timeout_s: float) -> None:
        parts = urlsplit(url)
        self.host = parts.netloc
        self.target = f"{parts.path}?{parts.query}" if parts.query else parts.path
        name, port = parts.hostname or "", parts.port
        if parts.scheme == "https":
            self.connection: HTTPConnection = HTTPSConnection(
                name, port, timeout=timeout_s, context=ssl.create_default_context()
            )
        else:
            self.connection = HTTPConnection(name, port, timeout=timeout_s)
        self.is_over = False
        self._socket: socket.socket | None = None
        self._timer = threading.Timer(timeout_s, self._expire)
        self._timer.daemon = True
        self._timer.start()

    def connected(self) -> None:
        """The socket is there; http.client forgets it when it hands it to the answer."""
        self._socket = self.connection.sock
        if self.is_over:
            raise TimeoutError

    def end(self) -> None:
        """Gives everything back."""
        self._timer.cancel()
        self.connection.close()

    def _expire(self) -> None:
        self.is_over = True
        if self._socket is not None:
            try:
                self._socket.shutdown(socket.SHUT_RDWR)
            except OSError:
                return  # it ended by itself


def _exchange(watch: _Watch, headers: Mapping[str, str], body: bytes, largest_bytes: int) -> Answer:
    watch.connection.connect()
    watch.connected()
    watch.connection.request("POST", watch.target, body, dict(headers))
    with watch.connection.getresponse() as response:
        found = bytearray()
        while chunk := response.read1(_CHUNK):
            found += chunk
            if len(found) > largest_bytes:
                raise SummariserFailed(f"the summariser at {watch.host} answers with more than {largest_bytes:,} bytes")
        if watch.is_over:
            raise TimeoutError
        if response.length:
            raise NoAnswer(f"the summariser at {watch.host} closed the connection in the middle of its answer")
        return Answer(response.status, bytes(found), response.headers.get("Retry-After"))


def _why(problem: Exception) -> str:
    if isinstance(problem, ssl.SSLError):
        return f"its certificate or TLS is not accepted ({problem.reason or problem})"
    if isinstance(problem, OSError):
        return problem.strerror or str(problem) or type(problem).__name__
    return f"it does not speak HTTP ({type(problem).__name__})"
