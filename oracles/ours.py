"""What our ledger says of session files, in the words of the outside readers: the other side of each comparison."""

import json
import os
import shutil
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from agents_ledger.capture.sync import Sync
from agents_ledger.ledger import Ledger
from agents_ledger.ledger.context import Context
from agents_ledger.ledger.evidence import places as places_in
from agents_ledger.model.formats import Machine
from agents_ledger.model.rows import CallRow, MessageRow, Record
from oracles.readers import Call, Message, Result, Tokens

ROOT = Path(__file__).resolve().parents[1]
GOLDEN = ROOT / "tests" / "golden"
SHARED = ROOT.parent / "shared"


def places(*folders: Path) -> list[Path]:
    """Those of some folders with sessions that are here; skips, loudly, if none is."""
    there = [folder for folder in folders if folder.exists()]
    if not there:
        pytest.skip(f"NOT JUDGED: none of {', '.join(map(str, folders))} is here")
    return there


@contextmanager
def synced(*paths: Path) -> Iterator[Ledger]:
    """A new ledger with everything below some paths."""
    with TemporaryDirectory() as folder, Ledger.open(f"sqlite:///{folder}/ledger.db") as ledger:
        Sync(ledger, Machine(folder, {}, "linux")).run([os.fspath(path) for path in paths])
        yield ledger


@contextmanager
def copied(files: Iterable[tuple[Path, str]]) -> Iterator[Path]:
    """A folder with copies of files under other names."""
    with TemporaryDirectory() as folder:
        for path, name in files:
            copy = Path(folder, name)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, copy)
        yield Path(folder)


def labels(ledger: Ledger) -> list[str]:
    """All sessions, by their labels."""
    return sorted(line.session.label for line in ledger.sessions(limit=100_000))


def labels_of(ledger: Ledger, path: Path) -> list[str]:
    """The sessions that were read from a file."""
    sql = "SELECT session_label FROM session_captures JOIN captures ON id = capture_id WHERE path = ?"
    return sorted({row[0] for row in asked(ledger, sql, os.path.abspath(path))})  # noqa: PTH100 - as it was captured


def owner(ledger: Ledger, path: Path) -> str:
    """The session whose file this is; others that were read from it are its subagents, embedded."""
    found = labels_of(ledger, path)
    sql = "SELECT label, parent_session_label FROM sessions"
    inner = {label for label, parent in asked(ledger, sql) if parent in found}
    (label,) = (label for label in found if label not in inner)
    return label


def asked(ledger: Ledger, sql: str, *values: Any) -> list[tuple[Any, ...]]:
    """An answer to plain SQL, as anyone may ask it."""
    with closing(sqlite3.connect(ledger.database.url.removeprefix("sqlite:///"))) as connection:
        return connection.execute(sql, values).fetchall()


def thread(ledger: Ledger, label: str) -> list[Message]:
    """What was said in a session, from the root to its head."""
    head = ledger.head(label)
    records = [] if head is None else ledger.thread(head)
    return [message for record in records for message in said(record)]


def everything(ledger: Ledger) -> list[Message]:
    """What was said in all sessions, on all branches."""
    ids = [row[0] for row in asked(ledger, "SELECT id FROM turns ORDER BY segment_id, depth")]
    return [message for turn_id in ids for message in said(ledger.get(turn_id))]


def said(record: Record) -> list[Message]:
    """The messages of a turn with their calls, behind each the results; a compaction's summary at its place."""
    if record.compaction is None:
        return list(spoken(record.messages, record.calls, record.turn.native_id))
    summary = Message("compaction", record.compaction.summary, id=record.turn.native_id)
    before = [row for row in record.messages if places_in(row.evidence) < places_in(record.turn.evidence)]
    after = [row for row in record.messages if row not in before]
    return [*spoken(before, record.calls), summary, *spoken(after, record.calls)]


def spoken(messages: list[MessageRow], calls: list[CallRow], turn_id: str | None = None) -> Iterator[Message]:
    """Messages, each with its calls, behind each the results of its calls. A turn's id is that of its first step."""
    for row in messages:
        own = [call for call in calls if call.message_id == row.id]
        yield Message(
            row.role,
            text=row.content or "",
            thinking=row.thinking or "",
            calls=tuple(Call(call.native_id or "", call.tool_name, json.loads(call.params_json)) for call in own),
            id=row.native_id or (None if row.sequence else turn_id),
        )
        results = tuple(_result(call) for call in own if call.result_json is not None or call.error is not None)
        if results:
            yield Message("results", results=results)


def context_messages(context: Context) -> list[Message]:
    """What an agent would see."""
    summary = [] if context.summary is None else [Message("summary", context.summary)]
    return summary + [message for turn in context.turns for message in spoken(turn.messages, turn.calls)]


def totals(ledger: Ledger) -> dict[str, Tokens]:
    """What each model used, every call once: plain SQL."""
    sums = ", ".join(
        f"sum(coalesce({name}, 0))"
        for name in ("input_tokens", "output_tokens", "cache_write_tokens", "cached_input_tokens")
    )
    found = asked(ledger, f"SELECT coalesce(model, 'unknown'), {sums} FROM usages_once GROUP BY 1")  # noqa: S608
    return {row[0]: Tokens(*row[1:]) for row in found}


def _result(call: CallRow) -> Result:
    text = (call.error or "") if call.result_json is None else result_text(call.result_json)
    return Result(call.native_id or "", text, call.error is not None)


def result_text(result_json: str | None) -> str:
    """The texts of a result."""
    value = None if result_json is None else json.loads(result_json)
    if isinstance(value, list):
        return "\n".join(one["text"] for one in value if isinstance(one, dict) and isinstance(one.get("text"), str))
    return value if isinstance(value, str) else "" if value is None else json.dumps(value)
