"""The records that a turn was read from: a capture's lines out of the evidence, up to the last one of the turn."""

from collections.abc import Callable, Iterator

from agents_ledger.capture.discover import is_packed
from agents_ledger.capture.draft import label_for
from agents_ledger.capture.records import Lines, unpacked
from agents_ledger.ledger import evidence
from agents_ledger.ledger.evidence import places
from agents_ledger.model.captures import Capture
from agents_ledger.model.formats import Format, Row
from agents_ledger.model.frames import unframed
from agents_ledger.model.rows import Record
from agents_ledger.model.writing import Folder, Whole
from agents_ledger.store import Tx

_ALL = 1 << 62


class Evidence:
    """A capture's records, as a format's writer asks for them."""

    def __init__(self, tx: Tx, capture: Capture, leaf: int = _ALL, start: int = 0) -> None:
        self._tx = tx
        self.capture = capture
        self.start = start
        self.leaf = leaf
        self._checked = 0  # blocks

    def records(self) -> Iterator[tuple[int, bytes]]:
        """Each record with its first byte."""
        lines = Lines()
        for chunk in self._plain():
            for offset, line in lines.feed(chunk):
                if line and not line.isspace():
                    yield offset, line
        last = lines.last()
        if last is not None:
            yield last

    def pieces(self) -> Iterator[tuple[int, bytes]]:
        """Many records at once: whole lines, each with its end (but the last), and where the piece begins."""
        start = 0
        rest: list[bytes | memoryview] = []  # of a line whose end has not come yet
        for chunk in self._plain():
            end = chunk.rfind(b"\n") + 1
            if end:
                piece = b"".join((*rest, memoryview(chunk)[:end]))
                yield start, piece
                start, rest = start + len(piece), [chunk[end:]]
            else:
                rest.append(chunk)
        if last := b"".join(rest):
            yield start, last

    def base(self, session: str) -> "Evidence | None":
        """The records of a session that this one continues by reference."""
        label = label_for(self.capture.format, session)
        found = [Capture(*row) for row in self._tx.rows("captures_of_session", label=label)]
        lines = [capture for capture in found if capture.shape == "lines"]
        return Evidence(self._tx, lines[-1]) if lines else None

    def _plain(self) -> Iterator[bytes]:
        chunks = self._chunks()
        first = next(chunks, b"")
        whole = _chained(first, chunks)
        return unpacked(whole) if is_packed(first) else whole

    def _chunks(self) -> Iterator[bytes]:
        """The bytes of the capture; what has been read once need not be checked again."""
        for checked, part in evidence.read_parts(self._tx, self.capture.id, self._checked):
            self._checked = max(self._checked, checked)
            yield part


class Rows(Evidence):
    """The same of rows in a database that stand for lines."""

    def __init__(self, tx: Tx, capture: Capture, leaf: int, start: int, line: Callable[[Row], bytes | None]) -> None:
        super().__init__(tx, capture, leaf, start)
        self._line = line

    def records(self) -> Iterator[tuple[int, bytes]]:
        """Each line with the first byte of its row."""
        for offset, _, row in unframed(self._chunks()):
            line = self._line(row)
            if line is not None:
                yield offset, line

    def pieces(self) -> Iterator[tuple[int, bytes]]:
        """One by one."""
        return ((offset, line + b"\n") for offset, line in self.records())


def origin_of(tx: Tx, record: Record, form: Format) -> Evidence | None:
    """Where a turn was read, up to its last record; None for one that was not read from lines of this format."""
    first = places(record.turn.evidence)
    if not first:
        return None
    found = tx.first("capture_by_id", id=first[0][0])
    capture = None if found is None else Capture(*found)
    if capture is None or capture.format != form.name:
        return None
    said = [row.evidence for row in record.messages] + [call.evidence for call in record.calls]
    found_in = [offset for each in said for number, offset, _ in places(each) if number == capture.id]
    if record.compaction is not None or not found_in:
        found_in.append(first[0][1])  # (of a turn that was cut this is where the whole one begins)
    line = form.tables().line if capture.shape == "database" and form.tables is not None else None
    if line is not None:
        return Rows(tx, capture, max(found_in), first[0][1], line)
    return Evidence(tx, capture, max(found_in), first[0][1]) if capture.shape == "lines" else None


def whole_of(tx: Tx, record: Record, form: Format) -> Whole | None:
    """The records of the session in which a turn was read, where that is read as a whole: as it was then."""
    found = _captures(tx, record)
    if not found or {capture.format for capture in found} != {form.name}:
        return None
    last = max(found, key=lambda capture: capture.id)  # a turn that was open when it was read first
    ids = (record.turn.native_id, *(row.native_id for row in record.messages))
    return Whole(_records(tx, last, form), frozenset(name for name in ids if name is not None))


def _records(tx: Tx, capture: Capture, form: Format) -> dict[str, bytes]:
    """By the names under which a reader gets them."""
    if capture.shape == "database":
        rows = (row for _, _, row in unframed(evidence.read(tx, capture.id)))
        return {f"{row.table}\n{row.key}": row.value for row in rows}
    if capture.shape == "document" or capture.bundle is None:
        return {"": b"".join(evidence.read(tx, capture.id))}
    files = [Capture(*row) for row in tx.rows("captures_in", bundle=capture.bundle)]
    start = len(form.bundle(capture.path) or capture.bundle) + 1
    return {file.path[start:]: b"".join(evidence.read(tx, file.id)) for file in files}


def folder_of(tx: Tx, record: Record) -> tuple[Folder, Capture] | None:
    """The files of the session in which a turn was read, where that is a folder of them."""
    found = _captures(tx, record)
    if not found or found[0].bundle is None or found[0].shape != "bundle":
        return None
    start = len(found[0].bundle) + 1
    rows = [Capture(*row) for row in tx.rows("captures_in", bundle=found[0].bundle)]
    files = {row.path[start:]: b"".join(evidence.read(tx, row.id)) for row in rows}
    return Folder(files, frozenset(capture.path[start:] for capture in found)), found[0]


def _captures(tx: Tx, record: Record) -> list[Capture]:
    """Those that a turn was read from."""
    said = [record.turn.evidence, *(row.evidence for row in record.messages), *(call.evidence for call in record.calls)]
    numbers = dict.fromkeys(number for each in said for number, _, _ in places(each))
    return [Capture(*row) for number in numbers if (row := tx.first("capture_by_id", id=number)) is not None]


def _chained(first: bytes, rest: Iterator[bytes]) -> Iterator[bytes]:
    if first:
        yield first
    yield from rest
