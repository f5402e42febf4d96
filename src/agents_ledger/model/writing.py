"""How a format writes a session that its program resumes: pure values and what a writer is given."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Protocol

from msgspec import Struct

from agents_ledger.model.story import Loss, Story


class Fork(Struct, frozen=True, kw_only=True):
    """The session that is to be written: a fork of another one, under an id of its own."""

    session: str  # the new one's id
    at: int  # now, Unix ms
    cwd: str  # the working folder
    forked_path: str | None = None  # the file that it was read from, if that was the same agent's
    git_branch: str | None = None
    root: str | None = None  # the repository around the working folder, or that folder
    persona: str | None = None  # on whose behalf it spoke, if that was the same agent's


class Line(Struct, frozen=True, gc=False):
    """A line of the new file, or several as they were; where it stands, which turn it tells."""

    data: bytes  # with the last end or without
    native_id: str | None = None
    turn_id: str | None = None
    count: int = 1  # of lines
    file: str = ""  # of a folder: the file that this is, with /
    copy_of: str | None = None  # at the end of a turn that is copied under new ids: the id that it had


class Origin(Protocol):
    """The records that a turn was read from, in their order, as often as they are asked for."""

    start: int  # where the first record of the turn begins
    leaf: int  # where the last record of the turn begins

    def records(self) -> Iterator[tuple[int, bytes]]:
        """Each record with its first byte."""

    def pieces(self) -> Iterator[tuple[int, bytes]]:
        """The same, many records at once: whole lines, each with its end (but the last), and where the piece begins."""

    def base(self, session: str) -> "Origin | None":
        """The records of a session that this one continues by reference."""


class Folder(Struct, frozen=True):
    """The files that a session was read from, by their names in its folder; and which of them tell of one turn."""

    files: Mapping[str, bytes]
    of_turn: frozenset[str]


class Whole(Struct, frozen=True):
    """The records of a session that is read as a whole, by their names; and the ids of what was said in one turn."""

    records: Mapping[str, bytes]
    of_turn: frozenset[str]


class Losses:
    """What could not be carried over as it was."""

    def __init__(self) -> None:
        self._counts: dict[tuple[str, str], int] = {}

    def note(self, code: str, detail: str = "") -> None:
        """Once more."""
        key = (code, detail[:200])
        self._counts[key] = self._counts.get(key, 0) + 1

    def listed(self) -> list[Loss]:
        """All of it, in the order in which it was met first."""
        return [Loss(code, detail, count) for (code, detail), count in self._counts.items()]


class Native(Struct, frozen=True):
    """How sessions of one agent are written; a format has one for each program that reads its files."""

    program: str  # what it is called when it is run
    new_session: Callable[[int, bytes], str]  # a new id, from the time and 16 random bytes
    file: Callable[[Fork], str]  # the file's name below the agent's place, with /
    place: Callable[[Mapping[str, str], str], str]  # the folder where the program looks: environment, home
    # the same agent: its own records, cut and under the new id; None if they are not what it resumes from (any more)
    again: Callable[[Origin, Fork], Iterator[Line] | None]
    anew: Callable[[Story, Fork, Losses], Iterator[Line]]  # any other story
    resume: Callable[[str, str], tuple[str, ...]]  # the command that resumes it, by session and file
    # where that is another one for sessions that the program keeps itself: the command, by session
    reopen: Callable[[str], tuple[str, ...]] | None = None
    # where a session is a folder of files, not one file of lines: the same from such a folder
    again_folder: Callable[[Folder, Fork], Iterator[Line] | None] | None = None
    # where sessions are read as a whole (rows, documents, many files), but written as one file: the same from those
    again_whole: Callable[[Whole, Fork], Iterator[Line] | None] | None = None
    # where the program has a list of its sessions beside them: the key of a new one, and what is said of it (by file)
    listed: Callable[[Fork, str], tuple[str, dict[str, Any]]] | None = None

    @property
    def is_folder(self) -> bool:
        """Whether a session is a folder."""
        return self.again_folder is not None
