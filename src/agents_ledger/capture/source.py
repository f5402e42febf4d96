"""One source: its bytes into evidence, all of them or those that are new; what they say is read on the way."""

from collections.abc import Iterator

import msgspec
from msgspec import Struct

from agents_ledger.capture.discover import Found, is_packed
from agents_ledger.capture.files import SourceFile
from agents_ledger.capture.operations import Grow, PutBlock, PutCapture, SetState, Touch
from agents_ledger.capture.reading import CHECKED_WHOLE, Reading
from agents_ledger.capture.writer import Writer
from agents_ledger.ledger import evidence, written
from agents_ledger.ledger.evidence import BLOCK_BYTES
from agents_ledger.model.captures import UNRECOGNISED, Capture
from agents_ledger.model.formats import Format, Source


class Taken(Struct):
    """What became of a source."""

    capture: Capture
    is_new: bool = False
    has_grown: bool = False
    was_rewritten: bool = False
    read_bytes: int = 0


class Taker:
    """Takes sources into the ledger, one after the other, in the batches of a writer."""

    def __init__(self, writer: Writer) -> None:
        self.writer = writer
        self.reading = Reading(writer)
        self.is_full = False  # whether sources are compared byte by byte, whatever their length

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
                self.reading.whole(taken.capture, form, [(taken.capture.id, 0, len(data), "", data)])
            return taken

    def put(self, capture: Capture) -> None:
        """Keeps what is known about a capture."""
        self.writer.add(PutCapture(msgspec.structs.replace(capture), None, None))

    def put_block(self, capture_id: int, idx: int, block: evidence.Block) -> None:
        """Keeps a block of a capture."""
        self.writer.add(PutBlock(capture_id, idx, block), len(block.packed))

    def set_state(self, capture_id: int, state: str) -> None:
        """Says that a capture is gone, back again, or replaced."""
        self.writer.add(SetState(capture_id, state))

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
        is_first = known is None or known.format == UNRECOGNISED  # no format has read it before
        if known is not None and is_first:
            self.writer.add(SetState(known.id, "replaced"))
        elif known is not None:
            fate = self._compare(file, known)
            is_resumable = shape == "lines" and not self._is_packed(file)
            # (of lines, all may be kept and not all be read: somebody was stopped in between)
            is_read = known.read_bytes >= (known.size_bytes if is_resumable else 1)
            if fate == "same" and is_read:
                self.writer.add(Touch(known.id, file.modified_ns))
                return None
            if fate == "same" and shape != "lines":
                known.state = "current"
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
        return Taken(capture, is_new=is_first, was_rewritten=not is_first)

    def _is_packed(self, file: SourceFile) -> bool:
        return is_packed(file.at(0, 4))

    def _compare(self, file: SourceFile, known: Capture) -> str:
        """Whether a source is the same, has grown, or was rewritten."""
        if file.size < known.size_bytes:
            return "rewritten"
        self.writer.flush()
        with self.writer.database.read() as tx:
            blocks = tx.rows("blocks_of", capture_id=known.id)
        is_whole = self.is_full or known.size_bytes <= CHECKED_WHOLE
        checked = blocks if is_whole else [blocks[0], *blocks[-2:]]
        for idx, _id, digest, size in checked:
            if evidence.digest_of_bytes(file.at(idx * BLOCK_BYTES, size)) != digest:
                return "rewritten"
        return "same" if file.size == known.size_bytes else "grown"

    def _lines(self, taken: Taken, form: Format, file: SourceFile) -> None:
        capture = taken.capture
        resume = self.reading.resume(capture, form) if taken.has_grown else None
        projection = self.reading.projection(capture, form, is_again=taken.has_grown and resume is None)
        if resume is not None:
            reader, state = resume
            projection.kin = state.kin
            projection.assembler.resume(state.lanes)
            start = capture.read_bytes
        else:
            reader, start = form.reader(Source(capture.path, capture.kind)), 0
            if not taken.is_new:
                self.reading.forget(capture)
            with self.writer.database.read() as tx:
                projection.written = written.known(tx, file.size, file.at)
        projection.file_time_ms = file.modified_ns // 1_000_000
        first = min(start, capture.size_bytes) // BLOCK_BYTES
        kept = self._kept_blocks(taken, file, first)
        taken.read_bytes = file.size - start
        self.reading.read_lines(capture, projection, reader, kept, start)
        for _ in kept:  # what could not be unpacked is kept all the same
            if self.writer.is_full:
                self.writer.flush()
                projection.assembler.forget()
        capture.modified_ns = file.modified_ns
        capture.state = "current"
        self.reading.end(capture, projection, reader)

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
