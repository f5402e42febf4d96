"""The right to change a file, by the rule of the programs that share it: `<file>.lock`, which names its process.

clawdbot and openclaw lock so. A lock whose process is gone is nobody's; who takes it over is decided among ours by a
lock on the folder, which no crash can leave behind.
"""

import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from agents_ledger.errors import StoreBusy
from agents_ledger.ledger.lease import started
from agents_ledger.model.times import now_ms

if os.name == "posix":
    import fcntl

PATIENCE_MS = 30_000
_NAP_S = 0.005
_NAMED_MS = 1000
_STALE_MS = 30 * 60_000  # of a lock whose process lives, or that names none: as openclaw has it


@contextmanager
def locked(path: str, patience_ms: int = PATIENCE_MS) -> Iterator[None]:
    """The right to change a file; waits for who has it."""
    lock = f"{path}.lock"
    until = time.monotonic() + patience_ms / 1000
    while not _claim(lock):
        if time.monotonic() > until:
            raise StoreBusy(
                f"{path} is being written by another process ({_holder(lock) or 'unknown'}): wait for it, "
                f"or remove {lock} if there is none"
            )
        time.sleep(_NAP_S)  # a lock that other programs know is a file: nothing tells when it goes
    try:
        yield
    finally:
        with suppress(FileNotFoundError):
            os.unlink(lock)  # noqa: PTH108 - one call


def _claim(lock: str) -> bool:
    with _folder_of(lock):
        if _made(lock):
            return True
        if not _is_stale(lock):
            return False
        with suppress(FileNotFoundError):
            os.unlink(lock)  # noqa: PTH108 - one call
        return _made(lock)


@contextmanager
def _folder_of(path: str) -> Iterator[None]:
    if os.name != "posix":  # Windows: the lock file alone must do
        yield
        return
    folder = os.open(os.path.dirname(path) or ".", os.O_RDONLY)  # noqa: PTH120 - one call
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)


def _made(lock: str) -> bool:
    try:
        file = os.open(lock, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    except FileExistsError:
        return False
    with os.fdopen(file, "w") as open_lock:
        json.dump({"pid": os.getpid(), "startedAt": now_ms(), "starttime": started(os.getpid())}, open_lock)
    return True


def _is_stale(lock: str) -> bool:
    """Whether nobody can be behind a lock any more."""
    try:
        age_ms = now_ms() - os.stat(lock).st_mtime_ns // 1_000_000  # noqa: PTH116 - one call
        said = Path(lock).read_text("utf-8")
    except OSError:
        return False  # it is gone, or being made: look again
    try:
        told = json.loads(said)
        pid, since = int(told["pid"]), told.get("starttime")
    except (ValueError, TypeError, KeyError, AttributeError):
        return age_ms > _NAMED_MS  # killed between making it and writing its name
    if pid <= 0 or age_ms > _STALE_MS:
        return True
    now = started(pid)
    return not now or (isinstance(since, str) and since != now and "running" not in (since, now))


def _holder(lock: str) -> int | None:
    try:
        return int(json.loads(Path(lock).read_text("utf-8"))["pid"])
    except (OSError, ValueError, TypeError, KeyError):
        return None
