"""Ledger files in a process that forks.

What SQLite knows of its locks is copied into the child, the locks are not: a file that the child opens beside a copied
connection is written without any, and closed as if nobody else had it. So nothing is open at the moment of a fork:
every connection is closed before it, and opened again when it is needed. A file that was in use at that moment is
refused in the child.
"""

import os
import threading
from typing import Protocol
from weakref import WeakSet

import apsw

from agents_ledger.errors import StoreClosed

PATIENCE_S = 5.0  # for a commit that is under way


class Parked(Protocol):
    """A ledger file, as a fork sees it."""

    path: str

    def park(self) -> None:
        """Closes what is idle, and lets nobody open anything until `unpark`."""

    def unpark(self) -> None:
        """Goes on."""


_lock = threading.RLock()
_files: WeakSet[Parked] = WeakSet()
_parked: list[Parked] = []
_in_use: set[str] = set()  # files that can't be opened in this process


def take_part(file: Parked) -> None:
    """From now on a fork knows of it."""
    if _in_use and os.path.realpath(file.path) in _in_use:
        raise StoreClosed(
            f"{file.path} was in use when this process was forked: fork when nothing is read or written, "
            "or start the process anew (multiprocessing: the start method 'spawn')"
        )
    with _lock:
        _files.add(file)


def _before() -> None:
    _lock.acquire()
    _parked.extend(_files)
    for file in _parked:
        file.park()


def _in_parent() -> None:
    while _parked:
        _parked.pop().unpark()
    _lock.release()


def _in_child() -> None:
    mine = {os.path.realpath(file.path) for file in _parked}
    left = [connection for connection in apsw.connections() if connection.filename in mine]
    _in_use.update(connection.filename for connection in left)
    if left:
        import ctypes  # noqa: PLC0415 - only here

        for connection in left:  # to close one, also at the end of the process, would take the parent's files away
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(connection))
    _parked.clear()
    _files.clear()
    _lock.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_in_parent, after_in_child=_in_child)
