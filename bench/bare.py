"""The same turns by bare SQLite: what is left to a ledger between the disk and its target.

The leanest tables that hold them, rows that were made beforehand, the words indexed in the same batches. No seal, no
log, no foreign keys, no guards, nothing looked up, no code of ours: a bound, not a ledger.
"""

from pathlib import Path

import apsw

from agents_ledger import Turn
from agents_ledger.ledger.search import BATCH
from bench.figures import seconds

_TABLES = """
CREATE TABLE turns (id TEXT PRIMARY KEY, parent_turn_id TEXT, status TEXT, started_at INTEGER, completed_at INTEGER,
    model TEXT, provider TEXT, tools_available TEXT, input_tokens INTEGER, output_tokens INTEGER,
    cached_input_tokens INTEGER, query_message_ids TEXT, response_message_id TEXT, has_children INTEGER);
CREATE TABLE messages (n INTEGER PRIMARY KEY, id TEXT UNIQUE, turn_id TEXT, role TEXT, content TEXT, sequence INTEGER,
    created_at INTEGER);
CREATE UNIQUE INDEX messages_turn ON messages(turn_id, sequence);
CREATE TABLE tool_calls (n INTEGER PRIMARY KEY, id TEXT UNIQUE, turn_id TEXT, tool_name TEXT, params TEXT, result TEXT,
    status TEXT, sequence INTEGER, started_at INTEGER);
CREATE UNIQUE INDEX tool_calls_turn ON tool_calls(turn_id, sequence);
CREATE TABLE sessions (label TEXT PRIMARY KEY, thread_id TEXT, updated_at INTEGER);
CREATE TABLE session_history (id INTEGER PRIMARY KEY, session_label TEXT, thread_id TEXT, changed_at INTEGER);
CREATE INDEX session_history_label ON session_history(session_label, id);
CREATE VIRTUAL TABLE search USING fts5(content, params, result, content='', tokenize='unicode61');
INSERT INTO sessions (label) VALUES ('session-0');
"""
_NOW = 1_790_000_000_000
_INSERTS = {
    "messages": "INSERT INTO messages VALUES (?, ?, ?, ?, ?, ?, ?)",
    "tool_calls": "INSERT INTO tool_calls VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
    "search": "INSERT INTO search (rowid, content, params, result) VALUES (?, ?, ?, ?)",
}
Rows = dict[str, list[tuple[object, ...]]]


def write_bare(folder: Path, turns: list[Turn]) -> float:
    """Seconds for one durable commit after the other, everything indexed at the end."""
    connection = apsw.Connection(str(folder / "bare.db"))
    connection.execute("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL").fetchall()
    connection.execute(_TABLES)
    made = [_rows(number, turn) for number, turn in enumerate(turns)]
    try:
        return seconds(lambda: _write(connection.cursor(), made))
    finally:
        connection.close()


def _write(cursor: apsw.Cursor, made: list[Rows]) -> None:
    for first in range(0, len(made), BATCH):
        batch = made[first : first + BATCH]
        for number, rows in enumerate(batch, first):
            _commit(cursor, number, rows)
        cursor.execute("BEGIN IMMEDIATE")
        cursor.executemany(_INSERTS["search"], [row for rows in batch for row in rows["search"]])
        cursor.execute("COMMIT")


def _commit(cursor: apsw.Cursor, number: int, rows: Rows) -> None:
    (turn,) = rows["turns"]
    cursor.execute("BEGIN IMMEDIATE")
    cursor.execute("INSERT INTO turns VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", turn)
    cursor.execute("UPDATE turns SET has_children = 1 WHERE id = ?", (turn[1],))
    for table in ("messages", "tool_calls"):
        if rows[table]:
            cursor.executemany(_INSERTS[table], rows[table])
    cursor.execute("INSERT INTO session_history VALUES (?, 'session-0', ?, ?)", (number + 1, turn[0], _NOW))
    cursor.execute("UPDATE sessions SET thread_id = ?, updated_at = ? WHERE label = 'session-0'", (turn[0], _NOW))
    cursor.execute("COMMIT")


def _rows(number: int, turn: Turn) -> Rows:
    """A turn as tuples, with ids as long as ours."""
    turn_id, first = _id(number * 100), number * 200
    messages: list[tuple[object, ...]] = []
    calls: list[tuple[object, ...]] = []
    for at, said in enumerate(turn.messages):
        messages.append((first + 2 * at, _id(number * 100 + at + 1), turn_id, said.role, said.content, at, _NOW))
    for at, call in enumerate(turn.calls):
        texts = (call.tool, str(call.params), str(call.result))
        calls.append((first + 2 * at + 1, _id(number * 100 + at + 50), turn_id, *texts, "completed", at, _NOW))
    facts = (turn_id, _id((number - 1) * 100), "completed", _NOW, _NOW, turn.settings.model, turn.settings.provider)
    counted = (str(turn.settings.tools), turn.usage.input, turn.usage.output, turn.usage.cached)
    said_and_done = [(row[0], row[4], None, None) for row in messages] + [(row[0], None, *row[4:6]) for row in calls]
    return {
        "turns": [(*facts, *counted, messages[0][1], messages[-1][1], 0)],
        "messages": messages,
        "tool_calls": calls,
        "search": sorted(said_and_done, key=lambda row: int(str(row[0]))),
    }


def _id(number: int) -> str:
    return f"{number:026}"
