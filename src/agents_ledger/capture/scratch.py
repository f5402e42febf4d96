"""Private folders for short-lived copies of conversations, and the removal of those that a dead process left behind.

A folder is locked (`flock`) for as long as its process lives: the kernel releases the lock at any kind of death, so the
next sync knows which folders are leftovers. They lie beside the ledger, not in the machine's temporary folder: what is
copied belongs to the same person, and needs the same protection.
"""

import os
import re
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import gettempdir, mkdtemp

from agents_ledger.capture.discover import SCRATCH as PREFIX
from agents_ledger.ledger import Ledger
from agents_ledger.model.formats import Machine
from agents_ledger.store.database import is_file, sqlite_path

if os.name == "posix":
    import fcntl

_APP = "agents-ledger"
_OLD_S = 24 * 3600  # where no lock tells whether a folder is in use
_TRIES = 5


def place_for(ledger: Ledger, machine: Machine | None) -> str:
    """The folder for scratch folders: the ledger's own, or the user's state folder if the ledger is on a server."""
    if is_file(ledger.database.url):
        return os.path.dirname(os.path.abspath(sqlite_path(ledger.database.url)))  # noqa: PTH100, PTH120 - one call
    return gettempdir() if machine is None else _state_folder(machine)


@contextmanager
def scratch_folder(place: str) -> Iterator[Path]:
    """A new folder that only this user can enter; it is removed at the end, or by `remove_leftovers` after a kill."""
    Path(place).mkdir(mode=0o700, parents=True, exist_ok=True)
    folder, lock = _made(place)
    try:
        inner = folder / "files"  # a folder of its own: who makes a database locks the folder that it is made in
        inner.mkdir(mode=0o700)
        yield inner
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        if lock is not None:
            os.close(lock)


def remove_leftovers(place: str) -> None:
    """Removes the scratch folders of processes that are dead."""
    try:
        with os.scandir(place) as entries:
            found = [entry.path for entry in entries if entry.name.startswith(PREFIX)]
    except OSError:
        return
    for folder in found:
        _remove_if_left(folder)


def new_private_file(path: Path) -> int:
    """A new file that only this user can read; gives its descriptor."""
    return os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR | getattr(os, "O_BINARY", 0), 0o600)


def _state_folder(machine: Machine) -> str:
    variable, usual = {
        "darwin": ("", "Library/Caches"),
        "win32": ("LOCALAPPDATA", "AppData/Local"),
    }.get(machine.platform, ("XDG_STATE_HOME", ".local/state"))
    named = machine.environ.get(variable, "") if variable else ""
    base = named if re.match(r"/|[A-Za-z]:[/\\]", named) else f"{machine.home}/{usual}"
    return f"{base.rstrip('/')}/{_APP}"


def _made(place: str) -> tuple[Path, int | None]:
    for _ in range(_TRIES):
        folder = Path(mkdtemp(prefix=PREFIX, dir=place))
        if os.name != "posix":
            return folder, None
        try:
            lock = os.open(folder, os.O_RDONLY)
        except FileNotFoundError:  # another process took it for a leftover before it was locked
            continue
        with suppress(BlockingIOError):  # (that process holds the lock)
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if folder.exists():
                return folder, lock
        os.close(lock)
    raise OSError(f"can't keep a private folder in {place}")


def _remove_if_left(folder: str) -> None:
    if os.name != "posix":
        with suppress(OSError):
            if time.time() - os.stat(folder).st_mtime > _OLD_S:  # noqa: PTH116 - one call
                shutil.rmtree(folder, ignore_errors=True)
        return
    try:
        lock = os.open(folder, os.O_RDONLY | os.O_NOFOLLOW | os.O_DIRECTORY)
    except OSError:
        return
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(folder, ignore_errors=True)
    except OSError:  # its process lives
        return
    finally:
        os.close(lock)
