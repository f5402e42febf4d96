"""A folder of pi's transcripts: sessions are begun, opened, forked and cloned here, and what they write is taken."""

import os
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

from agents_ledger.capture.intake import Intake
from agents_ledger.capture.whole_files import settle_folder
from agents_ledger.errors import BadInput, NotFound
from agents_ledger.formats.pi import entries
from agents_ledger.formats.pi.forked import forked
from agents_ledger.formats.pi.names import name_of
from agents_ledger.ledger import Ledger
from agents_ledger.model.ids import uuid7
from agents_ledger.store.files import make_folders
from agents_ledger.stores.pi.session import PiSession
from agents_ledger.stores.pi.transcript import Transcript

Json = dict[str, Any]


class PiFolder:
    """What pi's SessionManager does with a folder of sessions (for pi itself: one for each working directory)."""

    def __init__(self, ledger: Ledger, folder: str) -> None:
        self.path = os.path.abspath(folder)  # noqa: PTH100 - a text, as captures have it
        self.env = ledger.env
        self._intake = Intake(ledger, "pi")
        self._mutex = threading.Lock()
        self._open: WeakValueDictionary[str, PiSession] = WeakValueDictionary()
        make_folders(Path(self.path), mode=0o700)

    def begin(self, cwd: str, session_id: str | None = None) -> PiSession:
        """A new session; its file comes with its first message."""
        now, name = self.env.now(), session_id or self.new_session_id()
        return self.at(self.inside(entries.file_name(name, now)), entries.header(name, now, cwd))

    def open(self, path: str) -> PiSession:
        """A session that is there; one of an older version is brought up to date first, as pi does it."""
        if not os.path.exists(path):  # noqa: PTH110 - one call
            raise NotFound(f"{path} is not there: begin a new session instead")
        return self.at(os.path.abspath(path))  # noqa: PTH100 - as above

    def at(self, path: str, header: Json | None = None) -> PiSession:
        """The session of a file (the same as long as it is in use); with a header, if it may not be there yet."""
        known = self._open.get(path)
        if known is not None and known.is_there:
            return known
        transcript = Transcript(path, header)
        if transcript.is_written:
            self.take([path])
            transcript = Transcript(path)
            transcript.refresh()
            if transcript.modernise():
                self.take([path])
        session = self._open[path] = PiSession(transcript, self.env, self.take)
        return session

    def recent(self, cwd: str) -> PiSession:
        """The session that was used last; a new one, if there is none."""
        newest = max(self.files(), key=lambda path: os.stat(path).st_mtime_ns, default=None)  # noqa: PTH116
        return self.begin(cwd) if newest is None else self.open(newest)

    def files(self) -> Iterator[str]:
        """The transcripts in this folder, without archives."""
        for found in sorted(os.listdir(self.path)):  # noqa: PTH208 - texts
            if found.endswith(".jsonl") and name_of(found).kind == "transcript":
                yield self.inside(found)

    def fork(self, source: PiSession, leaf: str | None = None, into: PiSession | None = None) -> PiSession:
        """A new session with everything up to an entry (the leaf, if none is named), and nothing of other branches."""
        lines = forked(source.raw_path(leaf), source.labels())
        return self._copied(source, lines, source.transcript.header.get("cwd", ""), into)

    def clone(self, path: str, cwd: str) -> PiSession:
        """A new session with all branches of another one, in another working directory."""
        source = self.open(path)
        return self._copied(source, source.transcript.raw(list(source.transcript.nodes)), cwd, None)

    def take(self, paths: Sequence[str], *, has_subagents: bool = False) -> None:
        """What is new in some files goes into the ledger."""
        with self._mutex:
            self._intake.take(paths, has_subagents=has_subagents)

    def put_aside(self, path: str, reason: str) -> list[str]:
        """Gives a transcript an archive's name; both names, or nothing if there is no file."""
        if not os.path.exists(path):  # noqa: PTH110 - one call
            return []
        aside = entries.archive_name(path, reason, self.env.now())
        os.rename(path, aside)  # noqa: PTH104 - one call
        settle_folder(aside)
        return [path, aside]

    def inside(self, name: str) -> str:
        """The path of a file in this folder."""
        return os.path.join(self.path, name)  # noqa: PTH118 - a text

    def new_session_id(self) -> str:
        """A UUID of version 7, as pi gives them."""
        return uuid7(self.env.now(), self.env.salt(16))

    def _copied(self, source: PiSession, lines: Any, cwd: str, into: PiSession | None) -> PiSession:
        if not source.transcript.is_written:
            raise BadInput("nothing was said in this session yet: there is nothing to fork")
        copy = into or self.begin(cwd)
        header = entries.header(copy.id, self.env.now(), cwd, source.path)
        with copy.writing() as transcript:
            transcript.replace([entries.line(header), *lines])
        return copy
