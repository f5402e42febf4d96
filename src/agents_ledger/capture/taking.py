"""Taking: changed sources go into the ledger, each in the way of its shape, and what waited for them."""

import json
from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from pathlib import Path

import apsw
import msgspec
from msgspec import Struct

from agents_ledger.capture import groups
from agents_ledger.capture.databases import Groups, copied
from agents_ledger.capture.discover import HEAD_BYTES, Found, began, is_broken, recognise, stamp
from agents_ledger.capture.draft import label_for
from agents_ledger.capture.files import SourceFile
from agents_ledger.capture.links import link_children
from agents_ledger.capture.operations import PutProblem
from agents_ledger.capture.reading import Piece
from agents_ledger.capture.refusals import Dismiss
from agents_ledger.capture.source import Taken, Taker
from agents_ledger.capture.summary import Progress, Summary
from agents_ledger.capture.writer import BATCH_BYTES, Writer, step_key
from agents_ledger.formats import formats
from agents_ledger.ledger import Ledger, evidence, runs
from agents_ledger.ledger.evidence import BLOCK_BYTES
from agents_ledger.model.captures import Capture
from agents_ledger.model.formats import Format, Kind
from agents_ledger.model.frames import framed, unframed
from agents_ledger.model.steps import Problem
from agents_ledger.store import Tx

_ROUNDS = 20  # of reading sources again that waited for others
_LISTED = 1000  # files that no format knows
_MUCH = 8 * BATCH_BYTES  # new bytes


class Work(Struct):
    """A source that is to be read."""

    found: Found
    format: Format
    kind: Kind
    known: Capture | None
    began: bytes  # its first time: see `began`


class Taking:
    """Reads sources into a ledger; what it learns about them goes into `known`, by path, and `refused`."""

    def __init__(
        self, ledger: Ledger, known: dict[str, Capture] | None = None, refused: set[str] | None = None
    ) -> None:
        self.ledger = ledger
        self.formats = {form.name: form for form in formats()}
        runs.tend(ledger.database)
        self.writer = Writer(ledger)
        self.writer.renumber()
        self.taker = Taker(self.writer)
        self._known = {} if known is None else known
        self._refused = set() if refused is None else refused  # paths of what could not be captured
        self.fresh: set[int] = set()  # captures of this round that are new: they were read in the best order
        self._bundles: dict[str, None] = {}  # folders in which something changed
        self._stamps: dict[str, list[tuple[object, ...]]] = {}  # of groups of rows, as they were when they were taken

    def take_all(
        self,
        changed: Iterable[tuple[Found, Capture | None]],
        gone: Iterable[Capture],
        chosen: list[Format],
        summary: Summary,
        progress: Progress | None = None,
        solved: Iterable[str] = (),
        *,
        is_full: bool = False,
    ) -> None:
        """Everything new in some files, then what waited for it; that others are gone, or not refused any more.

        `is_full`: every byte of the files is compared, also of long ones and of databases that say they are the same.
        """
        self.fresh.clear()
        self.taker.is_full = is_full
        for path in solved:
            self._dismiss(path)
        found = (self._recognised(file, chosen, known, summary) for file, known in changed)
        work = sorted(filter(None, found), key=lambda item: (item.kind.order, item.began, item.found.path))
        is_much = sum(map(_new_bytes, work)) >= _MUCH
        with runs.merged_at_the_end(self.ledger.database) if is_much else nullcontext():
            self._take_all(work, summary, progress)
            self.writer.flush()
        for capture in gone:
            summary.gone += 1
            capture.state = "gone"
            self.taker.set_state(capture.id, "gone")
        self.writer.flush()
        if work:
            self.read_awaiting()
            self.writer.add(link_children)
            self.writer.flush()
        summary.problems = self.taker.reading.problems + len(summary.unreadable)
        self.taker.reading.problems = 0

    # what it is

    def _recognised(self, found: Found, chosen: list[Format], known: Capture | None, summary: Summary) -> Work | None:
        if found.name in self._refused:
            self._dismiss(found.name)  # until it is refused again
        if not found.is_regular:
            self._refuse(found.name, Problem("unreadable", found.problem or "not a regular file"), summary)
            return None
        try:
            with SourceFile(found.path) as file:
                head = file.at(0, HEAD_BYTES)
        except OSError as problem:
            self._refuse(found.name, Problem("unreadable", problem.strerror or str(problem)), summary)
            return None
        claim = recognise(found, chosen, head)
        if claim is None and found.format is not None:
            claim = recognise(msgspec.structs.replace(found, format=None), self.formats.values(), head)
            if claim is not None:
                self._note(found.name, Problem("foreign-header", f"{claim[0].name}, in a place of {found.format.name}"))
        if claim is None and known is not None and known.format in self.formats:
            # it was one of ours: what it has become is kept
            form = self.formats[known.format]
            claim = (form, Kind(known.kind, known.shape))  # type: ignore[arg-type]
        if claim is None:
            if not self._is_of_others(found, chosen, head):
                self._leave(found, head, summary)
            return None
        return Work(found, *claim, known, began(claim[1].shape, head))

    def _is_of_others(self, found: Found, chosen: list[Format], head: bytes) -> bool:
        """Whether a format knows a file that was not asked for."""
        others = [form for form in self.formats.values() if form not in chosen]
        return found.format is None and recognise(found, others, head) is not None

    def _leave(self, found: Found, head: bytes, summary: Summary) -> None:
        """Says of a file that no format knows what is to be said."""
        if is_broken(head):
            self._refuse(found.name, Problem("unreadable", "a broken archive"), summary)
        elif len(summary.unrecognised) < _LISTED and found.size_bytes:
            summary.unrecognised.append(found.name)
            if found.format is not None:  # it lies where its agent keeps sessions
                self._hold(found.name, Problem("not-recognised", f"in a place of {found.format.name}"))

    def _refuse(self, path: str, problem: Problem, summary: Summary) -> None:
        summary.unreadable.append(path)
        self._hold(path, problem)

    def _hold(self, path: str, problem: Problem) -> None:
        """Notes why a source is not captured, for as long as it is so."""
        self._refused.add(path)
        self._note(path, problem)

    def _dismiss(self, path: str) -> None:
        self._refused.discard(path)
        self.writer.add(Dismiss(path))

    def _note(self, path: str, problem: Problem) -> None:
        self.writer.add(PutProblem(path, -1, problem, None, self.ledger.env.now()))

    # reading

    def _take_all(self, work: list[Work], summary: Summary, progress: Progress | None) -> None:
        total = sum(item.found.size_bytes for item in work)
        done = 0
        for item in work:
            if progress:
                progress(done, total, item.found.name)
            try:
                self._take(item, summary)
            except (OSError, apsw.Error) as problem:
                self._refuse(item.found.name, Problem("unreadable", str(problem)[:200]), summary)
            done += item.found.size_bytes
            if self.writer.is_full:
                self.writer.flush()
        for folder in inner_first(self._bundles):
            self.read_bundle(folder)
        self._bundles.clear()
        if progress:
            progress(total, total, "")

    def _take(self, item: Work, summary: Summary) -> None:
        now = self.ledger.env.now()
        found, form, kind = item.found, item.format, item.kind
        taken: Taken | None
        if kind.shape == "lines":
            if kind.is_fallback and self._has_better(item):
                taken = self.taker.document(found, form, kind.name, item.known, now, bundle=f"{found.name}#evidence")
            else:
                taken = self.taker.lines(found, form, kind.name, item.known, now)
        elif kind.shape == "document":
            taken = self.taker.document(found, form, kind.name, item.known, now)
        elif kind.shape == "bundle":
            folder = _bundle_of(item)
            taken = self.taker.document(found, form, kind.name, item.known, now, bundle=folder)
            if taken is not None:
                self._bundles[folder] = None
        else:
            taken = self._take_database(item, summary)
        if kind.shape != "database":
            self._learn(taken, found)
        self._count(taken, form, summary)

    def _learn(self, taken: Taken | None, found: Found) -> None:
        """What is known of a source from now on."""
        if taken is not None:
            self._known[taken.capture.path] = taken.capture
        elif found.name in self._known:
            known = self._known[found.name]
            known.modified_ns, known.state = found.modified_ns, "current"

    def _count(self, taken: Taken | None, form: Format, summary: Summary) -> None:
        if taken is None:
            summary.unchanged += 1
            return
        if taken.is_new:
            self.fresh.add(taken.capture.id)
        summary.new += taken.is_new
        summary.grown += taken.has_grown
        summary.rewritten += taken.was_rewritten
        summary.bytes_read += taken.read_bytes
        summary.sources[form.name] = summary.sources.get(form.name, 0) + 1

    def _has_better(self, item: Work) -> bool:
        """Whether a session has a richer source than this copy of it."""
        self.writer.flush()
        label = f"{item.format.name}:{Path(item.found.name).name.partition('.')[0]}"
        with self.ledger.database.read() as tx:
            return any(row[3] != item.kind.name for row in tx.rows("captures_of_session", label=label))

    def read_bundle(self, folder: str) -> None:
        """Reads all files of a folder that belong together, as they are in the evidence."""
        self.writer.flush()
        with self.ledger.database.read() as tx:
            rows = [Capture(*row) for row in tx.rows("captures_in", bundle=folder)]
        if rows:
            form = self.formats[rows[0].format]
            start = len(form.bundle(rows[0].path) or folder) + 1
            pieces = (self.piece(capture, capture.path[start:]) for capture in sorted(rows, key=lambda row: row.path))
            self.taker.reading.whole(min(rows, key=lambda row: row.id), form, pieces, folder)

    def piece(self, capture: Capture, name: str) -> Piece:
        """The whole of a capture, to be read at once."""
        with self.ledger.database.read() as tx:
            data = b"".join(evidence.read(tx, capture.id))
        return capture.id, 0, len(data), name, data

    def _take_database(self, item: Work, summary: Summary) -> Taken | None:
        form, path = item.format, item.found.name
        assert form.tables is not None, "a format with databases says how to look into them"  # noqa: S101
        modified_ns = stamp(item.found)
        changed: Taken | None = None
        with copied(item.found.path) as connection:
            found = Groups(connection, form.tables())
            stamps = found.stamps()
            for name in found.names():
                place, now = f"{path}#{name}", stamps.get(name, [])
                if now and not self.taker.is_full and self._stamps.get(place) == now and self._is_current(place):
                    continue
                taken = self._take_group(item, place, framed(found.rows(name)))
                self._stamps[place] = now
                if taken is not None:
                    changed = taken
                    summary.bytes_read += taken.read_bytes
        marker = item.known or Capture(
            id=self.writer.capture_id(),
            path=path,
            format=form.name,
            kind=item.kind.name,
            shape="database",
            bundle=None,
            generation=1,
            state="current",
            size_bytes=0,
            digest=b"",
            modified_ns=modified_ns,
            first_seen_at=self.ledger.env.now(),
            seen_at=self.ledger.env.now(),
            read_bytes=0,
        )
        marker.modified_ns, marker.state = modified_ns, "current"
        self._known[path] = marker
        self.taker.put(marker)
        return None if changed is None else Taken(marker, is_new=item.known is None, has_grown=item.known is not None)

    def _is_current(self, path: str) -> bool:
        known = self._known.get(path)
        return known is not None and known.state == "current"

    def _take_group(self, item: Work, path: str, frames: Iterator[bytes]) -> Taken | None:
        blocks = list(_blocks(frames))
        known = self._known.get(path)
        if known is not None and known.state == "gone":  # it is back
            known.state = "current"
            self.taker.set_state(known.id, "current")
        taken = groups.keep(self.taker, path, item.format, item.kind.name, blocks, known, self.ledger.env.now())
        if taken is not None:
            capture = self._known[path] = taken.capture
            if taken.is_new:
                self.fresh.add(capture.id)
            pieces = (
                (capture.id, offset, length, f"{row.table}\n{row.key}", row.value)
                for offset, length, row in unframed(blocks)
            )
            groups.read(self.taker.reading, taken, item.format, pieces)
        return taken

    def read_awaiting(self) -> None:
        """Reads again the sources that waited for something that has come meanwhile."""
        tried: set[tuple[int, str]] = set()
        for _ in range(_ROUNDS):
            ready = [entry for entry in self._ready() if entry not in tried]
            ready += [(capture_id, "") for capture_id in sorted(self.writer.to_read_again)]
            self.writer.to_read_again.clear()
            if not ready:
                return
            tried.update(ready)
            for capture_id, _awaits in ready:
                with self.ledger.database.read() as tx:
                    row = tx.first("capture_by_id", id=capture_id)
                if row is not None:
                    self._read_again(Capture(*row))
                    self.writer.flush()

    def _read_again(self, capture: Capture) -> None:
        """A source once more, from its evidence; rows of a database come whole each time that they change."""
        form = self.formats[capture.format]
        if capture.shape == "lines":
            self.taker.reading.from_evidence(capture, form, is_again=True)
        elif capture.shape == "bundle" and capture.bundle is not None:
            self.read_bundle(capture.bundle)
        elif capture.shape == "document":
            self.taker.reading.whole(capture, form, [self.piece(capture, "")])

    def _ready(self) -> list[tuple[int, str]]:
        found: list[tuple[int, str]] = []
        with self.ledger.database.read() as tx:
            for capture_id, awaits in tx.rows("awaiting"):
                capture = Capture(*(tx.first("capture_by_id", id=capture_id) or ()))
                if capture.shape != "lines" or capture.format not in self.formats:
                    continue
                for origin, session, native in json.loads(awaits):
                    if self._has_come(tx, capture, origin, session, native):
                        found.append((capture_id, awaits))
                        break
        return found

    def _has_come(self, tx: Tx, capture: Capture, origin: str, session: str, native: str) -> bool:
        if native.startswith("session "):
            return bool(tx.rows("captures_of_session", label=label_for(origin, native[8:])))
        for row in tx.rows("steps_by_key", step_key=step_key(origin, session, native)):
            state = tx.first("turn_state", id=row[0])
            where = evidence.places(state[4]) if state is not None else []
            if where and where[0][0] != capture.id:
                return True
        return False


def _new_bytes(item: Work) -> int:
    """About how much of a source was not here the last time."""
    return max(0, item.found.size_bytes - (item.known.size_bytes if item.known else 0))


def inner_first(folders: Iterable[str]) -> list[str]:
    """Folders that lie in others before those: a subagent says when it began, its parent only that it is there."""
    return sorted(dict.fromkeys(folders), key=lambda folder: -len(Path(folder).parts))


def _bundle_of(item: Work) -> str:
    """What the files that belong together with a file are kept under: their folder, and which of those in it it is."""
    if item.known is not None and item.known.bundle is not None:
        return item.known.bundle
    folder = item.format.bundle(item.found.name) or str(Path(item.found.name).parent)
    return f"{folder}#{item.kind.group}" if item.kind.group else folder


def _blocks(frames: Iterator[bytes]) -> Iterator[bytes]:
    """Frames as blocks of evidence."""
    rest = bytearray()
    for frame in frames:
        rest += frame
        while len(rest) >= BLOCK_BYTES:
            yield bytes(rest[:BLOCK_BYTES])
            del rest[:BLOCK_BYTES]
    if rest:
        yield bytes(rest)
