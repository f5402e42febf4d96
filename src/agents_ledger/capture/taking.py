"""Taking: changed sources go into the ledger, each in the way of its shape, and what waited for them."""

import json
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from functools import partial
from itertools import chain
from pathlib import Path

import apsw
import msgspec
from msgspec import Struct

from agents_ledger.capture import groups
from agents_ledger.capture.databases import Groups, NotInPlace, Source, copied, in_place
from agents_ledger.capture.discover import (
    BESIDE,
    HEAD_BYTES,
    Found,
    began,
    file_id,
    is_broken,
    outlined,
    recognise,
    stamp,
)
from agents_ledger.capture.draft import label_for
from agents_ledger.capture.files import SourceFile
from agents_ledger.capture.links import link_children
from agents_ledger.capture.operations import Forget, PutProblem
from agents_ledger.capture.reading import Piece
from agents_ledger.capture.refusals import AGAIN, Dismiss, PutAsked
from agents_ledger.capture.scratch import place_for, remove_leftovers, scratch_folder
from agents_ledger.capture.source import Taken, Taker
from agents_ledger.capture.summary import Progress, Summary
from agents_ledger.capture.unrecognised import Keeper, Refused, copy_of, head_of, is_kept_type
from agents_ledger.capture.writer import BATCH_BYTES, Writer, step_key
from agents_ledger.formats import asked, formats
from agents_ledger.ledger import Ledger, evidence, runs
from agents_ledger.ledger.evidence import BLOCK_BYTES
from agents_ledger.model.captures import UNRECOGNISED, Capture
from agents_ledger.model.formats import Format, Kind, Machine
from agents_ledger.model.frames import framed, unframed
from agents_ledger.model.steps import Problem
from agents_ledger.store import Tx
from agents_ledger.store.database import is_file, sqlite_path
from agents_ledger.store.sqlite import APPLICATION_ID

_ROUNDS = 20  # of reading sources again that waited for others
_LISTED = 1000  # files that no format knows
_APPLICATION = 68  # where a database says which program it is of
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
        self,
        ledger: Ledger,
        known: dict[str, Capture] | None = None,
        refused: dict[str, int] | None = None,
        machine: Machine | None = None,
    ) -> None:
        self.ledger = ledger
        self.formats = {form.name: form for form in formats()}
        runs.tend(ledger.database)
        self.writer = Writer(ledger)
        self.writer.renumber()
        self.taker = Taker(self.writer)
        self.scratch = place_for(ledger, machine)  # where copies of conversations lie for a moment
        self._known = {} if known is None else known
        self._refused = {} if refused is None else refused  # paths of what could not be captured: see `refusals`
        self._left: list[tuple[Found, Capture | None]] = []  # files of this round that no format knows
        url = ledger.database.url
        self._own = sqlite_path(url) if is_file(url) else ""  # the ledger's own file
        self._own_ids: set[tuple[int, int]] = set()  # it and the files beside it, by device and inode
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
        kept: Iterable[Capture] = (),
        *,
        is_full: bool = False,
    ) -> None:
        """Everything new in some files, then what waited for it; that others are gone, or not refused any more.

        Of files that are `kept` because no format recognised them, those that one recognises now are read. With
        `is_full`, every byte is compared, also of long files and of databases that say they are the same.
        """
        self.fresh.clear()
        self._left.clear()
        self.taker.is_full = is_full
        self._own_ids = {file_id(f"{self._own}{end}") for end in ("", *BESIDE) if self._own} - {(0, 0)}
        remove_leftovers(self.scratch)
        for path in solved:
            self._dismiss(path)
        with ExitStack() as stack:
            found = chain(
                self._recognised_at_last(list(kept), stack),
                (self._recognised(file, chosen, known, summary) for file, known in changed),
            )
            work = sorted(filter(None, found), key=lambda item: (item.kind.order, item.began, item.found.name))
            if sum(map(_new_bytes, work)) >= _MUCH:
                stack.enter_context(runs.merged_at_the_end(self.ledger.database))
            self._take_all(work, summary, progress)
            self._keep_left(summary)
            self.writer.flush()
        for each in gone:
            capture = self._known.get(each.path, each)  # (what was kept may have been read just now)
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
        if found.file_id in self._own_ids:
            return None  # the ledger itself: see `walk`
        if found.name in self._refused:
            self._dismiss(found.name)  # until it is refused again
        if not found.is_regular:
            self._refuse(found.name, Problem("unreadable", found.problem or "not a regular file"), summary)
            return None
        try:
            with SourceFile(found.path) as file:
                head = shown = file.at(0, HEAD_BYTES)
                claim = self._claim(found, chosen, head)
                if claim is None and (brief := outlined(head, partial(file.at, 0))) is not None:
                    shown = brief
                    claim = self._claim(found, chosen, brief)
        except OSError as problem:
            self._refuse(found.name, Problem("unreadable", problem.strerror or str(problem)), summary)
            return None
        if claim is None and known is not None and known.format in self.formats:
            # it was one of ours: what it has become is kept
            form = self.formats[known.format]
            claim = (form, Kind(known.kind, known.shape))  # type: ignore[arg-type]
        if claim is None:
            if not self._is_of_others(found, chosen, shown):
                self._leave(found, head, known, summary)
            return None
        return Work(found, *claim, known, began(claim[1].shape, head))

    def _claim(self, found: Found, chosen: list[Format], head: bytes) -> tuple[Format, Kind] | None:
        """The format that knows a file by its first bytes: the one in whose place it lies, or any other."""
        claim = recognise(found, chosen, head)
        if claim is None and found.format is not None:
            claim = recognise(msgspec.structs.replace(found, format=None), self.formats.values(), head)
            if claim is not None:
                self._note(found.name, Problem("foreign-header", f"{claim[0].name}, in a place of {found.format.name}"))
        return claim

    def _is_of_others(self, found: Found, chosen: list[Format], head: bytes) -> bool:
        """Whether a format knows a file that was not asked for."""
        others = [form for form in self.formats.values() if form not in chosen]
        return found.format is None and recognise(found, others, head) is not None

    def _recognised_at_last(self, kept: list[Capture], stack: ExitStack) -> Iterator[Work]:
        """What is to be read of files that no format recognised once."""
        if kept:
            self.writer.add(PutAsked(asked()))
        folder: Path | None = None
        for capture in kept:
            with self.ledger.database.read() as tx:
                head = head_of(tx, capture)
                brief = outlined(head, partial(evidence.first_bytes, tx, capture.id))
            found = Found(capture.path, capture.size_bytes, capture.modified_ns)
            claim = recognise(found, self.formats.values(), head)
            if claim is None and brief is not None:
                claim = recognise(found, self.formats.values(), brief)
            if claim is not None:
                folder = folder or stack.enter_context(scratch_folder(self.scratch))
                with self.ledger.database.read() as tx:
                    copy = copy_of(tx, capture, folder)
                yield Work(copy, *claim, capture, began(claim[1].shape, head))

    def _leave(self, found: Found, head: bytes, known: Capture | None, summary: Summary) -> None:
        """Keeps a file that no format knows, if it is a transcript by its type; says what is to be said of it."""
        if is_broken(head):
            self._refuse(found.name, Problem("unreadable", "a broken archive"), summary)
            return
        if not found.size_bytes or is_ledger(head):
            return
        if is_kept_type(found):
            self._left.append((found, known))  # behind what can be read
        else:
            self._pass(found, "" if found.format is None else f"in a place of {found.format.name}", summary)

    def _pass(self, found: Found, why: str, summary: Summary) -> None:
        """Names a file that is not kept; why is kept for as long as it is so."""
        _list(summary.unrecognised, found.name)
        if why:
            self.writer.add(PutAsked(asked()))
            self._hold(found.name, Problem("not-recognised", why))

    def _keep_left(self, summary: Summary) -> None:
        """Keeps the files that no format knows and that are transcripts by their type."""
        keeper = Keeper(self.taker)
        for found, known in self._left:
            try:
                taken = keeper.keep(found, known, self.ledger.env.now())
            except Refused as refusal:
                self._pass(found, f"not kept: {refusal}", summary)
                continue
            except OSError as problem:
                self._refuse(found.name, Problem("unreadable", problem.strerror or str(problem)), summary)
                continue
            self.writer.add(PutAsked(asked()))
            self._learn(taken, found)
            self._count(taken, None, summary)
            _list(summary.kept, found.name)
            if self.writer.is_full:
                self.writer.flush()

    def _refuse(self, path: str, problem: Problem, summary: Summary) -> None:
        summary.unreadable.append(path)
        self._hold(path, problem)

    def _hold(self, path: str, problem: Problem) -> None:
        """Notes why a source is not captured, for as long as it is so."""
        self._refused[path] = AGAIN if problem.code == "unreadable" else self.ledger.env.now()
        self._note(path, problem)

    def _dismiss(self, path: str) -> None:
        self._refused.pop(path, None)
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
        if item.known is not None and item.known.format == UNRECOGNISED:
            self.writer.add(Forget(found.name, "not-recognised"))
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

    def _count(self, taken: Taken | None, form: Format | None, summary: Summary) -> None:
        if taken is None:
            summary.unchanged += 1
            return
        if taken.is_new:
            self.fresh.add(taken.capture.id)
        summary.new += taken.is_new
        summary.grown += taken.has_grown
        summary.rewritten += taken.was_rewritten
        summary.bytes_read += taken.read_bytes
        if form is not None:
            summary.sources[form.name] = summary.sources.get(form.name, 0) + 1

    def _has_better(self, item: Work) -> bool:
        """Whether a session has a richer source than this copy of it."""
        if not item.kind.session:
            return False
        self.writer.flush()
        label = f"{item.format.name}:{item.kind.session}"
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
        read_before = summary.bytes_read
        try:
            with in_place(item.found.path) as source:
                self._take_groups(item, source, summary)
        except NotInPlace:
            with copied(item.found.path, self.scratch) as source:
                self._take_groups(item, source, summary)
        known = item.known
        if known is not None and known.format == UNRECOGNISED:
            self.taker.set_state(known.id, "replaced")
            known = None
        marker = known or Capture(
            id=self.writer.capture_id(),
            path=path,
            format=form.name,
            kind=item.kind.name,
            shape="database",
            bundle=None,
            generation=1 if item.known is None else item.known.generation + 1,
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
        if summary.bytes_read == read_before:
            return None
        return Taken(marker, is_new=known is None, has_grown=known is not None)

    def _take_groups(self, item: Work, source: Source, summary: Summary) -> None:
        """Takes what has changed in an open database."""
        assert item.format.tables is not None, "as above"  # noqa: S101
        found = Groups(source, item.format.tables())
        stamps = found.stamps()
        for name in found.names():
            place, now = f"{item.found.name}#{name}", stamps.get(name, [])
            if now and not self.taker.is_full and self._stamps.get(place) == now and self._is_current(place):
                continue
            taken = self._take_group(item, place, framed(found.rows(name)), source)
            self._stamps[place] = now
            if taken is not None:
                summary.bytes_read += taken.read_bytes

    def _is_current(self, path: str) -> bool:
        known = self._known.get(path)
        return known is not None and known.state == "current"

    def _take_group(self, item: Work, path: str, frames: Iterator[bytes], source: Source) -> Taken | None:
        blocks = list(_blocks(frames))
        source.confirm()  # nothing is kept that may be half of one state and half of the next
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


def is_ledger(head: bytes) -> bool:
    """Whether a file is a ledger: a backup beside the sources is not a source."""
    return int.from_bytes(head[_APPLICATION : _APPLICATION + 4]) == APPLICATION_ID and head.startswith(b"SQLite")


def _list(names: list[str], name: str) -> None:
    if len(names) < _LISTED:
        names.append(name)


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
