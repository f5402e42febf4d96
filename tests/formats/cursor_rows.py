"""Rows of a database as they reach a reader, and what it says about them."""

import json
import sqlite3
from collections import defaultdict
from contextlib import closing
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from agents_ledger.formats.cursor import FORMAT
from agents_ledger.formats.cursor.transcript import TranscriptReader
from agents_ledger.model.formats import Source
from agents_ledger.model.steps import Asked, Event, Facts, Said
from tests.formats import cursor_store as made

T = TypeVar("T")
Groups = dict[str, dict[str, bytes]]
CORPUS = Path(__file__).parents[2].parent / "shared"
TABLES = FORMAT.tables and FORMAT.tables()
assert TABLES is not None


def groups(path: Path) -> Groups:
    """The rows of a database by group, with those that they refer to."""
    assert TABLES is not None
    owned: defaultdict[str, dict[tuple[str, str], bytes]] = defaultdict(dict)
    free: dict[tuple[str, str], bytes] = {}
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as db:
        here = {name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        for table, (key, value) in TABLES.columns.items():
            if table in here:
                for name, data in db.execute(f"SELECT {key}, {value} FROM {table} ORDER BY {key}"):  # noqa: S608 - ours
                    group = TABLES.group(table, name)
                    kept = b"" if data is None else data.encode() if isinstance(data, str) else data
                    if group == "":
                        free[table, name] = kept
                    elif group is not None:
                        owned[group][table, name] = kept
    for rows in owned.values():
        ahead = list(rows)
        while ahead:
            table, name = ahead.pop()
            found = [ref for ref in TABLES.refers(table, name, rows[table, name]) if ref in free and ref not in rows]
            rows.update({ref: free[ref] for ref in found})
            ahead += found
    return {name: {f"{table}\n{key}": value for (table, key), value in rows.items()} for name, rows in owned.items()}


def read(rows: dict[str, bytes], path: str = "state.vscdb#x", kind: str = "global") -> list[Event]:
    reader = FORMAT.reader(Source(path, kind))
    return [event for name, value in rows.items() for event in reader.read(value, name)] + list(reader.end())


def of(events: list[Event], kind: type[T]) -> list[T]:
    return [event for event in events if isinstance(event, kind)]


def plain(value: Any) -> Any:
    """Events as comparable values (Raw has no equality)."""
    return msgspec.to_builtins([(type(event).__name__, json.loads(msgspec.json.encode(event))) for event in value])


def said(events: list[Event], session: str = made.MAIN) -> dict[str | None, Said]:
    return {event.native_id: event for event in of(events, Said) if event.session == session}


def call(events: list[Event], native_id: str) -> Asked:
    return next(found for event in of(events, Said) for found in event.calls if found.native_id == native_id)


def facts(events: list[Event], session: str) -> dict[str, Any]:
    """What all facts about a session say together."""
    told: dict[str, Any] = {"extra": {}}
    for fact in of(events, Facts):
        if fact.session == session:
            told["extra"] |= fact.extra or {}
            values = msgspec.structs.asdict(fact)
            told |= {key: value for key, value in values.items() if value not in (None, ()) and key != "extra"}
    return told


def lines(path: Path, reader: TranscriptReader | None = None, *, cut: int | None = None) -> list[Event]:
    reader = reader or TranscriptReader(str(path))
    events: list[Event] = []
    for at, line in enumerate(path.read_bytes().splitlines()):
        if at == cut:
            reader = msgspec.json.decode(msgspec.json.encode(reader), type=TranscriptReader)
        events += reader.read(line, "")
    return events
