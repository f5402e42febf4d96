"""A fake endpoint on loopback: each connection is answered by the next of a list of behaviours."""

import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

Behaviour = Callable[[socket.socket, threading.Event], None]


class FakeEndpoint:
    """What was asked, and what is answered: the last behaviour for good."""

    def __init__(self, *behaviours: Behaviour) -> None:
        self.requests: list[tuple[str, dict[str, str], Any]] = []
        self._behaviours = list(behaviours)
        self._end = threading.Event()
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._threads: list[threading.Thread] = []
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}/v1"
        self._acceptor = threading.Thread(target=self._accept)
        self._acceptor.start()

    def close(self) -> None:
        """Ends every connection."""
        self._end.set()
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        for thread in (self._acceptor, *self._threads):
            thread.join()

    def _accept(self) -> None:
        while not self._end.is_set():
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            behave = self._behaviours.pop(0) if len(self._behaviours) > 1 else self._behaviours[0]
            thread = threading.Thread(target=self._answer, args=(connection, behave))
            self._threads.append(thread)
            thread.start()

    def _answer(self, connection: socket.socket, behave: Behaviour) -> None:
        with connection, suppress(OSError):
            self.requests.append(_read_request(connection))
            behave(connection, self._end)


def says(status: int, body: bytes | dict[str, Any], **headers: str) -> Behaviour:
    """An ordinary answer."""
    content = json.dumps(body).encode() if isinstance(body, dict) else body
    extra = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
    head = f"HTTP/1.1 {status} X\r\nContent-Length: {len(content)}\r\n{extra}Connection: close\r\n\r\n"
    return lambda connection, _: connection.sendall(head.encode() + content)


def hangs(connection: socket.socket, end: threading.Event) -> None:
    """Takes the question, and never says anything."""
    end.wait()


def drips(connection: socket.socket, end: threading.Event) -> None:
    """Says something all the time, and never comes to an end."""
    connection.sendall(b"HTTP/1.1 200 OK\r\n")
    while not end.wait(0.02):
        connection.sendall(b"X-More: x\r\n")


def closes_early(connection: socket.socket, _: threading.Event) -> None:
    """Promises more than it gives."""
    connection.sendall(b'HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{"choices": [')


def never_stops(connection: socket.socket, end: threading.Event) -> None:
    """Answers with more and more."""
    connection.sendall(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n")
    while not end.is_set():
        connection.sendall(b" " * 65536)


@contextmanager
def endpoint(*behaviours: Behaviour) -> Iterator[FakeEndpoint]:
    """A running endpoint."""
    running = FakeEndpoint(*behaviours)
    try:
        yield running
    finally:
        running.close()


def _read_request(connection: socket.socket) -> tuple[str, dict[str, str], Any]:
    with connection.makefile("rb") as stream:
        line = stream.readline().decode().strip()
        headers = {}
        while (entry := stream.readline().decode().strip()) != "":
            name, _, value = entry.partition(": ")
            headers[name.lower()] = value
        body = stream.read(int(headers["content-length"]))
    return line, headers, json.loads(body)
