"""What was captured, given back byte for byte."""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

import apsw
import msgspec

from agents_ledger.errors import BadInput, NotFound
from agents_ledger.ledger import Ledger, evidence
from agents_ledger.model.captures import Capture
from agents_ledger.model.formats import Row
from agents_ledger.model.frames import unframed
from agents_ledger.model.rows import TurnRow
from agents_ledger.model.rules import RETRACTED
from agents_ledger.store import Tx
from agents_ledger.store.files import settle


def resolve(ledger: Ledger, text: str) -> list[Capture]:
    """The captures that a number, a path or a session's name stands for."""
    with ledger.database.read() as tx:
        if text.isdecimal():
            row = tx.first("capture_by_id", id=int(text))
            if row is not None:
                return [_whole(tx, Capture(*row))]
        for path in dict.fromkeys((text, os.path.abspath(text))):  # noqa: PTH100 - as it was captured
            rows = tx.rows("captures_at", path=path)
            if rows:
                return [_whole(tx, Capture(*rows[0]))]
        rows = tx.rows("captures_of_session", label=_label(tx, text))
        if rows:
            return [Capture(*row) for row in rows]
    raise NotFound(f"nothing was captured as {text!r}: `ldg captures` lists what there is")


def raw(ledger: Ledger, capture: Capture) -> Iterator[bytes]:
    """The bytes of a capture, in order; of a database the rows of all its groups."""
    with ledger.database.read() as tx:
        for each in _groups(tx, capture) or [capture]:
            yield from evidence.read(tx, each.id)


def slices(ledger: Ledger, row_id: str) -> Iterator[bytes]:
    """The bytes that a turn, a message or a tool call was read from, record by record."""
    with ledger.database.read() as tx:
        rows = tx.rows("evidence_of", id=row_id)
        if not rows:
            raise NotFound(f"no turn, message or tool call {row_id!r}")
        found = dict.fromkeys(place for (text,) in rows for place in evidence.places(text))
        if not found:
            turn = tx.first("turn_by_id", id=row_id)
            if turn is not None and TurnRow(*turn).error == RETRACTED:
                raise NotFound(f"{row_id} was {RETRACTED}; `ldg rebuild` reads what there is")
            raise NotFound(f"{row_id} was written here, not read from a source: there are no bytes behind it")
        for capture_id, offset, length in sorted(found):
            yield evidence.slice_of(tx, capture_id, offset, length)


def write(ledger: Ledger, capture: Capture, target: Path) -> None:
    """A capture as a file: the same bytes; rows of a database as a database with these rows. Never overwrites."""
    if target.exists():
        raise BadInput(f"{target} exists: an export never overwrites; name another file")
    partial = target.with_name(f"{target.name}.{os.getpid()}.partial")
    try:
        if capture.shape == "database":
            _write_rows((row for _, _, row in unframed(raw(ledger, capture))), partial)
        else:
            with partial.open("xb") as file:
                for chunk in raw(ledger, capture):
                    file.write(chunk)
        settle(partial)
        os.link(partial, target)
        settle(target.absolute().parent)
    except FileExistsError:
        raise BadInput(f"{target} exists by now: name another file") from None
    finally:
        partial.unlink(missing_ok=True)


def _whole(tx: Tx, capture: Capture) -> Capture:
    """A capture with the size of what it gives back."""
    groups = _groups(tx, capture)
    return msgspec.structs.replace(capture, size_bytes=sum(each.size_bytes for each in groups)) if groups else capture


def _groups(tx: Tx, capture: Capture) -> list[Capture]:
    """What a database was captured as."""
    if capture.shape != "database" or capture.bundle is not None:
        return []
    return [Capture(*row) for row in tx.rows("groups_in", path=capture.path)]


def _write_rows(rows: Iterable[Row], target: Path) -> None:
    connection = apsw.Connection(str(target))
    try:
        with connection:
            made: set[str] = set()
            for row in rows:
                table = '"' + row.table.replace('"', '""') + '"'
                if row.table not in made:
                    connection.execute(f"CREATE TABLE {table} (key TEXT UNIQUE, value BLOB)")
                    made.add(row.table)
                sql = f"INSERT OR IGNORE INTO {table} VALUES (?, ?)"  # noqa: S608 - quoted above
                connection.execute(sql, (row.key, row.value))
    finally:
        connection.close()


def _label(tx: Tx, text: str) -> str:
    alias = tx.first("alias_by_name", alias=text)
    return text if alias is None else str(alias[1])
