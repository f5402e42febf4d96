"""Leases: who is writing a live turn, and whether that writer is still there."""

import os
import threading
from collections.abc import Callable
from math import inf
from time import monotonic
from typing import TYPE_CHECKING

from agents_ledger.errors import LedgerError

if TYPE_CHECKING:
    from agents_ledger.ledger.live import LiveTurn
    from agents_ledger.model.rows import LeaseRow

TTL_MS = 60_000
_BEATS = 3  # renewals within a lease's life
_LEAST_S = 0.05  # between two looks


_open_writers: set[str] = set()  # the ledgers that are open in this process


def writer_name() -> str:
    """This ledger of this process, so that others on the same machine can tell whether it is alive."""
    pid = os.getpid()
    name = f"{_machine()}|{pid}|{started(pid)}|{os.urandom(4).hex()}"
    _open_writers.add(name)
    return name


def retire(name: str) -> None:
    """A ledger is closed: what it left behind is nobody's."""
    _open_writers.discard(name)


def is_dead(lease: "LeaseRow", now: int) -> bool:
    """Whether nobody can be writing any more.

    On the writer's own machine the process table decides, at once; from elsewhere only the time does.
    """
    machine, pid, since, _ = lease.writer.split("|")
    if machine == _machine():
        if int(pid) == os.getpid():
            return lease.writer not in _open_writers
        return started(int(pid)) not in (since, "running")
    return lease.expires_at < now


class Heartbeat:
    """Renews a ledger's leases and writes streamed words that wait, in the background, while there are live turns."""

    def __init__(self, renew: Callable[[], None], turns: "dict[str, LiveTurn]") -> None:
        self._renew = renew
        self._turns = turns
        self._is_stopped = False
        self._wake = threading.Event()
        self._until = inf  # when it looks again by itself
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()

    def start(self) -> None:
        """Begins to beat; a second call does nothing."""
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._beat, name="ledger-heartbeat", daemon=True)
                self._thread.start()

    def remind(self, due_at: float) -> None:
        """Words wait, and are to be written by then."""
        if due_at < self._until:
            self._wake.set()

    def stop(self) -> None:
        """Stops and waits for the last beat."""
        self._is_stopped = True
        self._wake.set()
        thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join()

    def _beat(self) -> None:
        beat_at = monotonic() + TTL_MS / _BEATS / 1000
        while not self._is_stopped:
            self._until = inf  # before the look: whoever comes after it wakes this thread
            due_at = self._write_waiting()
            if monotonic() >= beat_at:
                if self._is_over():
                    return
                self._renew_all()
                beat_at = monotonic() + TTL_MS / _BEATS / 1000
            self._until = min(beat_at, due_at)
            self._wake.wait(max(self._until - monotonic(), _LEAST_S))
            self._wake.clear()

    def _write_waiting(self) -> float:
        """Writes the words that have waited long enough; gives when the next ones are due."""
        due = [turn.write_due(monotonic()) for turn in list(self._turns.values())]
        return min((at for at in due if at is not None), default=inf)

    def _renew_all(self) -> None:
        try:
            self._renew()
        except LedgerError:
            # A full disk or a server that is away: the next beat tries again, writers see the error themselves.
            return

    def _is_over(self) -> bool:
        """Whether there is nothing to do any more: the next live turn starts a thread anew."""
        with self._lock:
            if self._turns:
                return False
            self._thread = None
            return True


def _machine() -> str:
    """The machine and the space of process numbers: equal exactly where a pid means the same process."""
    try:
        boot = _read("/proc/sys/kernel/random/boot_id").decode("ascii").strip()
        space = os.readlink("/proc/self/ns/pid")  # noqa: PTH115 - as below
    except OSError:
        from socket import gethostname  # noqa: PLC0415 - where there is no /proc

        return gethostname()
    return f"{boot}/{space}"


def started(pid: int) -> str:
    """When a process started (in clock ticks after boot); '' if it is not there."""
    try:
        fields = _read(f"/proc/{pid}/stat").rpartition(b")")[2].split()
    except FileNotFoundError:
        return _running(pid)
    except OSError:
        return "running"  # it is there, but hidden from us
    return "" if fields[0] == b"Z" else fields[19].decode()


def _read(path: str) -> bytes:
    with open(path, "rb") as file:  # noqa: PTH123 - every ledger is opened here, and `pathlib` takes 4 ms to load
        return file.read()


def _running(pid: int) -> str:
    """The same where /proc does not tell: not there, or running since an unknown time."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return ""
    except PermissionError:
        return "running"
    return "running"
