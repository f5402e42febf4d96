"""A thread told as a request to an API or as a document for people: into a pipe, or into a file that was not there."""

import os
import re
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path

from msgspec import Struct, structs

from agents_ledger.capture.forking import reveal
from agents_ledger.errors import BadInput, NotFound, StoreFull, StoreUnreachable
from agents_ledger.exports.targets import TARGETS, Request
from agents_ledger.ledger import Ledger, sessions, threads
from agents_ledger.ledger.chronicle import chronicle
from agents_ledger.ledger.story import tell
from agents_ledger.model.story import Entry, Loss, Story, Text
from agents_ledger.model.writing import Losses
from agents_ledger.store import Tx
from agents_ledger.store.files import publish, settle

_ODD = re.compile(r"[^\w.#@+=-]+")
_LONGEST = 120


class Written(Struct, frozen=True):
    """A file that was written."""

    format: str
    turn_id: str
    session: str | None
    output: str
    size_bytes: int
    losses: list[Loss]


class Telling:
    """A thread on its way into one target: the turn is found at once, the rest is told when it is asked for."""

    def __init__(self, ledger: Ledger, text: str, target: str, query: str | None = None) -> None:
        if target not in TARGETS:
            raise BadInput(f"there is no export as {target!r}: there are raw, {', '.join(sorted(TARGETS))}")
        self.target = target
        self.losses = Losses()
        self._ledger = ledger
        self._query = query  # of a request: what is asked next
        with ledger.database.read() as tx:
            self.session, self.turn_id = _found(tx, text)

    @property
    def name(self) -> str:
        """A file's name for it that no file system minds."""
        return f"{_ODD.sub('_', self.session or self.turn_id)[-_LONGEST:]}.{TARGETS[self.target].suffix}"

    def pieces(self) -> Iterator[str]:
        """The text, in pieces, as one snapshot of the ledger has it."""
        wanted = TARGETS[self.target]
        with self._ledger.database.read() as tx:
            if isinstance(wanted, Request):
                yield from wanted.write(_with(tell(tx, self.turn_id, reveal()), self._query), self.losses)
            else:
                yield from wanted.write(chronicle(tx, self.turn_id, reveal(), self.session))

    def write(self, path: Path) -> Written:
        """Writes a new file, whole or not at all; in a folder under a name of its own."""
        target = path / self.name if path.is_dir() else path
        size = _write_new(target, (piece.encode("utf-8", "replace") for piece in self.pieces()))
        return Written(self.target, self.turn_id, self.session, str(target.absolute()), size, self.losses.listed())


def _with(story: Story, query: str | None) -> Story:
    """A story with a question behind it."""
    if query is None:
        return story
    asked = Entry(role="user", blocks=(Text(query),), turn_id=story.turn_id, at=story.at, source="human")
    return structs.replace(story, entries=chain(story.entries, (asked,)))


def _found(tx: Tx, text: str) -> tuple[str | None, str]:
    """The session that is meant, if one is, and the last turn."""
    session = sessions.resolve(tx, text)
    if session is None:
        return None, threads.find(tx, text)
    if session.thread_id is None:
        raise NotFound(f"session {session.label!r} has no turns yet: there is nothing to export")
    return session.label, session.thread_id


def _write_new(target: Path, pieces: Iterable[bytes]) -> int:
    exists = f"{target} exists: an export never overwrites; name another file"
    if target.exists():
        raise BadInput(exists)
    partial = target.with_name(f".{target.name}.{os.getpid()}.new")
    size = 0
    try:
        with partial.open("xb") as file:
            for piece in pieces:
                size += file.write(piece)
        settle(partial)
        if not publish(partial, target):
            raise BadInput(exists)
    except (FileNotFoundError, PermissionError, NotADirectoryError) as problem:
        raise StoreUnreachable(
            f"can't write {target} ({problem.strerror}): name a file in a folder that you may write to"
        ) from None
    except OSError as problem:
        raise StoreFull(f"can't write {target} ({problem.strerror}): free some space and try again") from None
    finally:
        partial.unlink(missing_ok=True)
    return size
