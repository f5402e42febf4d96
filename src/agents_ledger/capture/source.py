"""One source: its bytes into evidence, its records through a reader into turns."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

import msgspec
from msgspec import Struct

from agents_ledger.capture.beginnings import Beginnings
from agents_ledger.capture.discover import Found, is_packed
from agents_ledger.capture.files import SourceFile
from agents_ledger.capture.lanes import LaneState
from agents_ledger.capture.operations import (
    Belongs,
    Forget,
    Grow,
    PutBlock,
    PutCapture,
    PutProblem,
    SetState,
    Touch,
    WasRead,
)
from agents_ledger.capture.project import Kin, Projection
from agents_ledger.capture.records import Lines, unpacked
from agents_ledger.capture.writer import Writer
from agents_ledger.ledger import evidence, written
from agents_ledger.ledger.evidence import BLOCK_BYTES
from agents_ledger.ledger.sealing import OPEN
from agents_ledger.model import zstd
from agents_ledger.model.captures import Capture
from agents_ledger.model.formats import Format, Reader, Source
from agents_ledger.model.steps import At, Event, Problem

_CHECKED_WHOLE = 4 << 20  # sources up to this size are compared byte by byte before they are gone on with


class Resume(Struct):
    """Where the reading of a source goes on."""

    reader: bytes
    lanes: list[LaneState]
    kin: Kin
    beside: list[int] = []  # it ended inside what these sources tell: it may be told otherwise when it has grown


class Taken(Struct):
    """What became of a source."""

    capture: Capture
    is_new: bool = False
    has_grown: bool = False
    was_rewritten: bool = False
    read_bytes: int = 0


Piece = tuple[int, int, int, str, bytes]  # capture, first byte, length, name, what it says


class Taker:
    """Takes sources into the ledger, one after the other, in the batches of a writer."""

    def __init__(self, writer: Writer) -> None:
        self.writer = writer
        self.problems = 0

    def lines(self, found: Found, form: Format, kind: str, known: Capture | None, now: int) -> Taken | None:
        """A file of lines: from its beginning, or from where it ended; None if nothing has changed."""
        with SourceFile(found.path) as file:
            taken = self._begin(found, file, form, kind, "lines", known, now)
            if taken is None:
                return None
            self._lines(taken, form, file)
            return taken

    def document(
        self, found: Found, form: Format, kind: str, known: Capture | None, now: int, *, bundle: str | None = None
    ) -> Taken | None:
        """A file that is replaced as a whole. One that belongs to a bundle is read with the others later."""
        shape = "document" if bundle is None else "bundle"
        with SourceFile(found.path) as file:
            taken = self._begin(found, file, form, kind, shape, known, now, bundle=bundle)
            if taken is None:
                return None
            blocks = list(file.blocks(0))
            self._keep(taken, file, 0, blocks)
            if bundle is None:
                data = b"".join(blocks)
                self.whole(taken.capture, form, [(taken.capture.id, 0, len(data), "", data)])
            return taken

    def whole(self, capture: Capture, form: Format, records: Iterable["Piece"], path: str | None = None) -> None:
        """Reads a document, the files of a bundle, or the rows of a database's group, all at once."""
        projection = self.projection(capture, form, is_again=True)
        reader = form.reader(Source(path or capture.path, capture.kind))
        places: dict[str, str] = {}
        owners = projection.read_with
        here = ""
        for capture_id, offset, length, name, data in records:
            here = places[name] = f"{capture_id}:{offset}+{length}"
            owners.add(capture_id)
            for event in events_of(reader, data, name):
                projection.take(event, here)
        for event in _last_events(reader):
            if isinstance(event, At):
                here = places.get(event.name, here)
            else:
                projection.take(event, here)
        projection.assembler.inherited()
        projection.finish()
        for session in projection.assembler.lanes:
            for owner in owners - {capture.id}:
                self.writer.add(Belongs(projection.label(session), owner))
        self._note(capture, projection)
        capture.read_bytes = capture.size_bytes
        is_growing = capture.shape == "database" and form.tables is not None and form.tables().is_growing
        resume = _put_away(projection, reader) if is_growing else None
        self.writer.add(PutCapture(msgspec.structs.replace(capture), resume, _awaits(projection)))
        for owner in owners:
            self.writer.add(WasRead(owner))
        projection.assembler.let_go()

    def put(self, capture: Capture) -> None:
        """Keeps what is known about a capture."""
        self.writer.add(PutCapture(msgspec.structs.replace(capture), None, None))

    def put_block(self, capture_id: int, idx: int, block: evidence.Block) -> None:
        """Keeps a block of a capture."""
        self.writer.add(PutBlock(capture_id, idx, block), len(block.packed))

    def set_state(self, capture_id: int, state: str) -> None:
        """Says that a capture is gone, or replaced."""
        self.writer.add(SetState(capture_id, state))

    def from_evidence(self, capture: Capture, form: Format, *, is_again: bool) -> None:
        """Reads a capture of lines from its evidence: once more, or for the first time (of a rebuilt ledger)."""
        for code in ("missing-base", "missing-parent", "missing-result"):
            self.writer.add(Forget(capture.path, code))
        projection = self.projection(capture, form, is_again=is_again)
        reader = form.reader(Source(capture.path, capture.kind))
        with self.writer.database.read() as tx:
            projection.written = written.known(tx, capture.size_bytes, evidence.Slices(tx).of(capture.id))
            blocks = list(evidence.read(tx, capture.id)) if capture.size_bytes < _CHECKED_WHOLE else None
        if blocks is None:
            with self.writer.database.read() as tx:
                self._read_lines(capture, projection, reader, evidence.read(tx, capture.id), 0)
        else:
            self._read_lines(capture, projection, reader, blocks, 0)
        self.end(capture, projection, reader)

    def events(self, form: Format, capture: Capture, until: int | None) -> Iterator[tuple[Event, str]]:
        """The events of a capture, from its evidence, up to a record."""
        reader = form.reader(Source(capture.path, capture.kind, until))
        with self.writer.database.read() as tx:
            chunks: Iterable[bytes] = evidence.read(tx, capture.id)
            lines = Lines()
            for chunk in _plain(chunks):
                for offset, line in lines.feed(chunk):
                    if line.strip():
                        for event in events_of(reader, line, ""):
                            yield event, f"{capture.id}:{offset}+{len(line)}"
            last = lines.last()
            if last is not None:
                for event in events_of(reader, last[1], ""):
                    yield event, f"{capture.id}:{last[0]}+{len(last[1])}"

    # how

    def _begin(
        self,
        found: Found,
        file: SourceFile,
        form: Format,
        kind: str,
        shape: str,
        known: Capture | None,
        now: int,
        *,
        bundle: str | None = None,
    ) -> Taken | None:
        if known is not None:
            fate = self._compare(file, known)
            is_resumable = shape == "lines" and not self._is_packed(file)
            # (of lines, all may be kept and not all be read: somebody was stopped in between)
            is_read = known.read_bytes >= (known.size_bytes if is_resumable else 1)
            if fate == "same" and is_read:
                self.writer.add(Touch(known.id, file.modified_ns))
                return None
            if fate == "same" and shape != "lines":
                return Taken(known)  # it was kept, but not read yet
            if fate in ("same", "grown") and is_resumable:
                known.format, known.kind, known.state, known.seen_at = form.name, kind, "current", now
                return Taken(known, has_grown=True)
            self.writer.add(SetState(known.id, "replaced"))
        capture = Capture(
            id=self.writer.capture_id(),
            path=found.name,
            format=form.name,
            kind=kind,
            shape=shape,
            bundle=bundle,
            generation=1 if known is None else known.generation + 1,
            state="current",
            size_bytes=0,
            digest=b"",
            modified_ns=-1,
            first_seen_at=now,
            seen_at=now,
            read_bytes=0,
        )
        self.writer.add(PutCapture(msgspec.structs.replace(capture), None, None))
        return Taken(capture, is_new=known is None, was_rewritten=known is not None)

    def _is_packed(self, file: SourceFile) -> bool:
        return is_packed(file.at(0, 4))

    def _compare(self, file: SourceFile, known: Capture) -> str:
        """Whether a source is the same, has grown, or was rewritten."""
        if file.size < known.size_bytes:
            return "rewritten"
        self.writer.flush()
        with self.writer.database.read() as tx:
            blocks = tx.rows("blocks_of", capture_id=known.id)
        checked = blocks if known.size_bytes <= _CHECKED_WHOLE else [blocks[0], *blocks[-2:]]
        for idx, _id, digest, size in checked:
            if evidence.digest_of_bytes(file.at(idx * BLOCK_BYTES, size)) != digest:
                return "rewritten"
        return "same" if file.size == known.size_bytes else "grown"

    def _lines(self, taken: Taken, form: Format, file: SourceFile) -> None:
        capture = taken.capture
        resume = self.resume(capture, form) if taken.has_grown else None
        projection = self.projection(capture, form, is_again=taken.has_grown and resume is None)
        if resume is not None:
            reader, state = resume
            projection.kin = state.kin
            projection.assembler.resume(state.lanes)
            start = capture.read_bytes
        else:
            reader, start = form.reader(Source(capture.path, capture.kind)), 0
            with self.writer.database.read() as tx:
                projection.written = written.known(tx, file.size, file.at)
        projection.file_time_ms = file.modified_ns // 1_000_000
        first = min(start, capture.size_bytes) // BLOCK_BYTES
        kept = self._kept_blocks(taken, file, first)
        taken.read_bytes = file.size - start
        self._read_lines(capture, projection, reader, kept, start)
        for _ in kept:  # what could not be unpacked is kept all the same
            if self.writer.is_full:
                self.writer.flush()
                projection.assembler.forget()
        capture.modified_ns = file.modified_ns
        capture.state = "current"
        self.end(capture, projection, reader)

    def _kept_blocks(self, taken: Taken, file: SourceFile, first: int) -> Iterator[bytes]:
        """The file's blocks from one on; those that are new go into the evidence on the way."""
        capture = taken.capture
        old = [] if not capture.size_bytes else self._digests(capture)
        whole = capture.size_bytes // BLOCK_BYTES
        digests = old[:whole]
        for idx, data in enumerate(file.blocks(first), first):
            if idx >= whole:
                block = evidence.pack(data)
                digests.append(block.digest)
                self.writer.add(PutBlock(capture.id, idx, block), len(block.packed))
                size = idx * BLOCK_BYTES + len(data)
                self.writer.add(Grow(capture.id, size, evidence.digest_of(digests)))
            yield data
        capture.size_bytes = max(capture.size_bytes, file.size)
        capture.digest = evidence.digest_of(digests)

    def _digests(self, capture: Capture) -> list[bytes]:
        with self.writer.database.read() as tx:
            return [row[2] for row in tx.rows("blocks_of", capture_id=capture.id)]

    def _keep(self, taken: Taken, file: SourceFile, first: int, blocks: list[bytes]) -> None:
        capture = taken.capture
        packed = [evidence.pack(data) for data in blocks]
        for idx, block in enumerate(packed, first):
            self.writer.add(PutBlock(capture.id, idx, block), len(block.packed))
        capture.size_bytes = file.size
        capture.modified_ns = file.modified_ns
        capture.digest = evidence.digest_of(block.digest for block in packed)
        taken.read_bytes = file.size
        self.writer.add(PutCapture(msgspec.structs.replace(capture), None, None))

    def _read_lines(
        self, capture: Capture, projection: Projection, reader: Reader, blocks: Iterable[bytes], start: int
    ) -> None:
        lines = Lines(start)
        try:
            self._feed(capture, projection, reader, blocks, lines, start % BLOCK_BYTES)
        except zstd.ZstdError as problem:
            projection.problem(Problem("unreadable", str(problem)[:200]), "")
        except OverflowError as problem:
            projection.problem(Problem("too-large", str(problem)[:200]), "")
        projection.assembler.inherited()
        last = lines.last()
        if last is not None:
            for event in events_of(reader, last[1], ""):
                projection.take(event, f"{capture.id}:{last[0]}+{len(last[1])}")
        projection.problems += lines.problems
        if lines.is_cut:
            projection.problems.append((Problem("cut-line"), lines.position))
        self.writer.add(Forget(capture.path, "cut-line"))
        capture.read_bytes = lines.position

    def _feed(
        self,
        capture: Capture,
        projection: Projection,
        reader: Reader,
        blocks: Iterable[bytes],
        lines: Lines,
        skip: int,
    ) -> None:
        take, inherit = projection.take, projection.assembler.inherit
        known = projection.written
        own = 0 if known is None else known.size_bytes  # what lies before is in the ledger already
        prefix = f"{capture.id}:"
        for chunk in _plain(blocks):
            for offset, line in lines.feed(chunk[skip:] if skip else chunk):
                if line and not line.isspace():
                    place = f"{prefix}{offset}+{len(line)}"
                    if own and offset >= own:
                        projection.assembler.inherited()
                        own = 0
                    for event in events_of(reader, line, ""):
                        if own and known is not None:
                            inherit(event, place, known.turn_id)
                        else:
                            take(event, place)
            skip = 0
            if self.writer.is_full:
                self.writer.flush()
                projection.assembler.forget()

    def end(self, capture: Capture, projection: Projection, reader: Reader) -> None:
        """The end of a source that may go on: its last turns, and what to go on from."""
        projection.finish()
        self._note(capture, projection)
        resume = _put_away(projection, reader)
        self.writer.add(PutCapture(msgspec.structs.replace(capture), resume, _awaits(projection)))
        projection.assembler.let_go()

    def resume(self, capture: Capture, form: Format) -> tuple[Reader, Resume] | None:
        """How a source is gone on with; None: it is read from its beginning."""
        with self.writer.database.read() as tx:
            kept = tx.value("capture_resume", id=capture.id)
        if kept is None:
            return None
        reader = form.reader(Source(capture.path, capture.kind))
        kind: Any = type(reader)
        try:
            state = msgspec.msgpack.decode(kept, type=Resume)
            self.writer.in_doubt.update((capture.id, other) for other in state.beside)
            if state.kin.relatives and capture.size_bytes <= _CHECKED_WHOLE:
                return None  # a fork: where its copies end and its own turns begin shows best from the start
            if any(self._is_told_by_others(lane.open_id, capture) for lane in state.lanes):
                return None  # a copy of it went on first
            return msgspec.msgpack.decode(state.reader, type=kind), state
        except (msgspec.MsgspecError, ValueError):
            return None  # written by another version of the format

    def _is_told_by_others(self, turn_id: str | None, capture: Capture) -> bool:
        """Whether the turn that a source ended in was sealed or retracted, or is as another source tells it."""
        state = None if turn_id is None else self.writer.state(turn_id)
        if state is None:
            return False
        return state[0] != OPEN or [place[0] for place in evidence.places(state[4])[:1]] != [capture.id]

    def projection(self, capture: Capture, form: Format, *, is_again: bool) -> Projection:
        """A source on its way into the ledger."""
        projection = Projection(
            self.writer,
            capture,
            form.name,
            lambda other, until: self.events(form, other, until),
            is_again=is_again,
        )
        if form.wrote is not None:
            projection.take = Beginnings(projection, form, is_whole=capture.shape != "lines").take
        return projection

    def _note(self, capture: Capture, projection: Projection) -> None:
        now = self.writer.env.now()
        self.problems += len(projection.problems)
        for problem, place in projection.problems:
            self.writer.add(PutProblem(capture.path, place, problem, capture.id, now))


def _put_away(projection: Projection, reader: Reader) -> bytes | None:
    """What to go on from; None: it is read from its beginning the next time."""
    try:
        return msgspec.msgpack.encode(
            Resume(
                reader=msgspec.msgpack.encode(reader),
                lanes=projection.assembler.state(),
                kin=projection.kin,
                beside=sorted(projection.beside),
            )
        )
    except (TypeError, ValueError, OverflowError, UnicodeEncodeError, RecursionError):
        return None


def events_of(reader: Reader, data: bytes, name: str) -> Sequence[Event]:
    """What a reader makes of a record; a bug in it costs (the rest of) this record only."""
    events: list[Event] = []
    try:
        found = reader.read(data, name)
        if isinstance(found, list | tuple):
            return found
        events.extend(found)
    except Exception as bug:  # noqa: BLE001 - around a format's reader: all input is hostile, the rest must go on
        events.append(Problem("reader-failed", f"{type(bug).__name__}: {bug}"[:200]))
    return events


def _last_events(reader: Reader) -> Iterator[Event]:
    try:
        yield from reader.end()
    except Exception as bug:  # noqa: BLE001 - as above
        yield Problem("reader-failed", f"{type(bug).__name__}: {bug}"[:200])


def _plain(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """The content of a source: unpacked, if it is packed."""
    found = iter(chunks)
    first = next(found, b"")
    whole = chain((first,), found) if first else found
    return unpacked(whole) if is_packed(first) else whole


def _awaits(projection: Projection) -> str | None:
    waiting = [
        [projection.origin_of(lane.session), scope, native]
        for lane in projection.assembler.lanes.values()
        for native in lane.awaits
        for scope in projection.scopes(lane.session)
    ]
    return msgspec.json.encode(waiting[:1000]).decode() if waiting else None
