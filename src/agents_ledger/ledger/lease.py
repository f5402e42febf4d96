"""Leases: who is writing a live turn, and whether that writer is still there.

On the writer's own machine the process table decides, at once. For a writer elsewhere no two wall clocks are compared,
because a clock that is a minute ahead would end healthy turns:

- A server (PostgreSQL) dates leases by its own clock and is asked for the time.
- A file has no clock. Each renewal changes `expires_at`, so the lease works as a counter: a machine that has seen the
  same value for a whole lease time, by its own monotonic clock, knows that the writer is gone. What each machine saw,
  and when, is kept in the ledger: two short commands, a minute apart, find out as well as one that stays open.
"""

import os
import threading
from collections.abc import Callable, Iterable
from math import inf
from time import monotonic
from typing import TYPE_CHECKING

from agents_ledger.errors import LedgerError

if TYPE_CHECKING:
    from agents_ledger.ledger.env import Env
    from agents_ledger.ledger.live import LiveTurn
    from agents_ledger.model.rows import LeaseRow
    from agents_ledger.store import Tx

TTL_MS = 60_000
# After so long a lease counts as expired by anybody's wall clock: a file that only machines open that never come back
# (containers of a cloud) would otherwise never be free of it.
_FORGOTTEN_MS = 30 * 86_400_000
_SIGHTINGS = "lease_sightings"
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


def dead(tx: "Tx", env: "Env", held: "list[LeaseRow]") -> "list[LeaseRow]":
    """The leases whose writers cannot be writing any more, as far as this machine can tell by now."""
    here, elsewhere = _by_machine(held)
    gone = {row.turn_id for row in here if has_ended(row.writer)}
    if elsewhere:
        time = server_time(tx)
        gone |= {row.turn_id for row in elsewhere if _is_silent(tx, env, row, time)}
    return [row for row in held if row.turn_id in gone]


def watch(tx: "Tx", env: "Env", held: "list[LeaseRow]") -> None:
    """Keeps what the leases of writers elsewhere look like now, for whoever opens the ledger later on this machine."""
    _, elsewhere = _by_machine(held)
    if elsewhere and server_time(tx) is None:
        sight(tx, env, _SIGHTINGS, ((row.turn_id, _sign(row)) for row in elsewhere))


def is_here(writer: str) -> bool:
    """Whether a writer is, or was, a process of this machine."""
    return writer.split("|", maxsplit=1)[0] == _machine()


def has_ended(writer: str) -> bool:
    """Whether a writer of this machine has ended."""
    _, pid, since, _ = writer.split("|")
    if int(pid) == os.getpid():
        return writer not in _open_writers
    return started(int(pid)) not in (since, "running")


def server_time(tx: "Tx") -> int | None:
    """The time by the clock that all who use this database share, in Unix milliseconds; None for a file."""
    time = tx.value("server_time")
    return None if time is None else int(time)


def sight(tx: "Tx", env: "Env", fact: str, signs: Iterable[tuple[str, str]]) -> None:
    """Keeps the signs of life that this machine sees now, by their keys; a sign that has not changed keeps its time."""
    before, here, now = _sightings(tx, fact), _boot(), env.elapsed()
    after: dict[str, dict[str, list[object]]] = {}
    for key, sign in signs:
        known = {machine: seen for machine, seen in before.get(key, {}).items() if seen[0] == sign}
        since = known.get(here, [sign, now])[1]
        known[here] = [sign, since if isinstance(since, int) and since <= now else now]
        after[key] = known
    if after != before:
        import json  # noqa: PLC0415 - as below

        tx.run("put_fact", name=fact, value=json.dumps(after))


def unchanged_ms(tx: "Tx", env: "Env", fact: str, key: str, sign: str) -> int:
    """For how long this machine has seen the same sign of life; 0 where it has not looked before."""
    seen = _sightings(tx, fact).get(key, {}).get(_boot())
    if seen is None or seen[0] != sign or not isinstance(seen[1], int):
        return 0
    return max(0, env.elapsed() - seen[1])


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


def _by_machine(held: "list[LeaseRow]") -> "tuple[list[LeaseRow], list[LeaseRow]]":
    """Those of writers on this machine, and those of writers elsewhere."""
    here = f"{_machine()}|"
    found: tuple[list[LeaseRow], list[LeaseRow]] = ([], [])
    for row in held:
        found[not row.writer.startswith(here)].append(row)
    return found


def _is_silent(tx: "Tx", env: "Env", held: "LeaseRow", time: int | None) -> bool:
    """Whether a writer elsewhere has not renewed its lease for a whole lease time."""
    if time is not None:
        return held.expires_at < time
    if held.expires_at + _FORGOTTEN_MS < env.now():
        return True
    return unchanged_ms(tx, env, _SIGHTINGS, held.turn_id, _sign(held)) > TTL_MS


def _sign(held: "LeaseRow") -> str:
    return f"{held.token} {held.expires_at}"


def _sightings(tx: "Tx", fact: str) -> dict[str, dict[str, list[object]]]:
    """What was seen: by key and machine, the sign and when, in milliseconds since that machine was started."""
    text = tx.value("fact", name=fact)
    if text is None:
        return {}
    import json  # noqa: PLC0415 - only where a ledger is shared by several machines

    found: dict[str, dict[str, list[object]]] = json.loads(text)
    return found


def _machine() -> str:
    """The machine and the space of process numbers: equal exactly where a pid means the same process."""
    try:
        space = os.readlink("/proc/self/ns/pid")  # noqa: PTH115 - as below
    except OSError:
        return _boot()
    return f"{_boot()}/{space}"


def _boot() -> str:
    """This machine since it was started: containers share it, and its monotonic clock."""
    try:
        return _read("/proc/sys/kernel/random/boot_id").decode("ascii").strip()
    except OSError:
        from socket import gethostname  # noqa: PLC0415 - where there is no /proc

        return gethostname()


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
