"""The records of one source, out of its file or its evidence, through a reader into turns."""

import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

import msgspec
from msgspec import Struct

from agents_ledger.capture.beginnings import Beginnings
from agents_ledger.capture.discover import is_packed
from agents_ledger.capture.lanes import LaneState
from agents_ledger.capture.operations import Belongs, Forget, ForgetAll, PutCapture, PutProblem, WasRead
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

CHECKED_WHOLE = 4 << 20  # sources up to this size are compared byte by byte before they are gone on with
Piece = tuple[int, int, int, str, bytes]  # capture, first byte, length, name, what it says


class Resume(Struct):
    """Where the reading of a source goes on."""

    reader: bytes
    lanes: list[LaneState]
    kin: Kin
    beside: list[int] = []  # it ended inside what these sources tell: it may be told otherwise when it has grown


class Reading:
    """Reads sources, one after the other, into the batches of a writer."""

    def __init__(self, writer: Writer) -> None:
        self.writer = writer
        self.problems = 0

    def whole(self, capture: Capture, form: Format, records: Iterable[Piece], path: str | None = None) -> None:
        """Reads a document, the files of a bundle, or the rows of a database's group, all at once."""
        self.forget(capture)
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
        self.writer.add(PutCapture(msgspec.structs.replace(capture), resume, _awaits(projection), projection.chain))
        for owner in owners:
            self.writer.add(WasRead(owner))
        projection.assembler.let_go()

    def from_evidence(self, capture: Capture, form: Format, *, is_again: bool) -> None:
        """Reads a capture of lines from its evidence: once more, or for the first time (of a rebuilt ledger)."""
        self.forget(capture)
        projection = self.projection(capture, form, is_again=is_again)
        reader = form.reader(Source(capture.path, capture.kind))
        with self.writer.database.read() as tx:
            projection.written = written.known(tx, capture.size_bytes, evidence.Slices(tx).of(capture.id))
            blocks = list(evidence.read(tx, capture.id)) if capture.size_bytes < CHECKED_WHOLE else None
        if blocks is None:
            with self.writer.database.read() as tx:
                self.read_lines(capture, projection, reader, evidence.read(tx, capture.id), 0)
        else:
            self.read_lines(capture, projection, reader, blocks, 0)
        self.end(capture, projection, reader)

    def forget(self, capture: Capture) -> None:
        """Whatever was wrong with a source is said anew, if it still is: it is read from its beginning."""
        bundle = capture.bundle if capture.shape == "bundle" else None
        self.writer.add(ForgetAll(capture.path, capture.id, bundle))

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

    def read_lines(
        self, capture: Capture, projection: Projection, reader: Reader, blocks: Iterable[bytes], start: int
    ) -> None:
        """Reads the lines in blocks of a source, from one of its bytes on."""
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

    def end(self, capture: Capture, projection: Projection, reader: Reader) -> None:
        """The end of a source that may go on: its last turns, and what to go on from."""
        projection.finish()
        self._note(capture, projection)
        resume = _put_away(projection, reader)
        self.writer.add(PutCapture(msgspec.structs.replace(capture), resume, _awaits(projection), projection.chain))
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
            if state.kin.relatives and capture.size_bytes <= CHECKED_WHOLE:
                return None  # a fork: where its copies end and its own turns begin shows best from the start
            if any(lane.is_provisional for lane in state.lanes):
                return None  # what their parents are shows when the source is read together with what was added
            if any(self._is_told_by_others(lane.open_id, capture) for lane in state.lanes):
                return None  # a copy of it went on first
            return msgspec.msgpack.decode(state.reader, type=kind), state
        except (msgspec.MsgspecError, ValueError):
            return None  # written by another version of the format

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

    # how

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

    def _is_told_by_others(self, turn_id: str | None, capture: Capture) -> bool:
        """Whether the turn that a source ended in was sealed or retracted, or is as another source tells it."""
        state = None if turn_id is None else self.writer.state(turn_id)
        if state is None:
            return False
        return state[0] != OPEN or [place[0] for place in evidence.places(state[4])[:1]] != [capture.id]

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
    except RecursionError:  # it could be decoded, and not looked into
        events.append(Problem("deep-nesting", f"{len(data)} bytes"))
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
    # by the standard library: an agent's id may have lone surrogates
    return json.dumps(waiting[:1000], separators=(",", ":")) if waiting else None
