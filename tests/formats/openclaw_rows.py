"""A database as openclaw has it: its tables of sessions, and one that is nobody's business."""

import json
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw

from agents_ledger.model import zstd

Json = dict[str, Any]
SECRET = "sk-not-for-the-ledger"  # noqa: S105 - the test's own
AGENT = ".openclaw/agents/main"
DATABASE = f"{AGENT}/agent/openclaw-agent.sqlite"
_SCHEMA = """
    CREATE TABLE IF NOT EXISTS auth_profile_store (id TEXT PRIMARY KEY, session_id TEXT, value TEXT);
    CREATE TABLE IF NOT EXISTS session_nodes (session_key TEXT PRIMARY KEY, current_session_id TEXT, entry_json TEXT,
        updated_at INTEGER, created_at INTEGER, spawned_by TEXT, fork_source_session_id TEXT, label TEXT);
    CREATE TABLE IF NOT EXISTS session_windows (session_id TEXT PRIMARY KEY, session_key TEXT,
        previous_session_id TEXT, reason TEXT, created_at INTEGER, updated_at INTEGER, spawned_by TEXT);
    CREATE TABLE IF NOT EXISTS transcript_events (session_id TEXT NOT NULL, seq INTEGER NOT NULL, event_json TEXT,
        created_at INTEGER, event_zstd BLOB, event_utf8_bytes INTEGER, PRIMARY KEY (session_id, seq));
    CREATE TABLE IF NOT EXISTS session_transcript_archives (session_id TEXT, generation TEXT, session_key TEXT,
        reason TEXT, encoding TEXT, archive_blob BLOB, archive_name TEXT, created_at INTEGER);
    CREATE TABLE IF NOT EXISTS session_transcript_cold_archives (session_id TEXT PRIMARY KEY, generation TEXT,
        archive_name TEXT, event_count INTEGER, last_seq INTEGER, archived_at INTEGER, storage TEXT, archive_blob BLOB);
"""


def database(home: Path) -> Path:
    """The database below a home, made if it is not there."""
    path = home / DATABASE
    path.parent.mkdir(parents=True, exist_ok=True)
    with closing(apsw.Connection(str(path))) as connection, connection:
        connection.execute(_SCHEMA)
        connection.execute("INSERT OR IGNORE INTO auth_profile_store VALUES ('a', 's1', ?)", (SECRET,))
    return path


def insert(path: Path, table: str, *rows: Json) -> None:
    """Adds rows, by the names of their columns."""
    with closing(apsw.Connection(str(path))) as connection, connection:
        for row in rows:
            sql = f"INSERT INTO {table} ({', '.join(row)}) VALUES ({', '.join('?' * len(row))})"  # noqa: S608
            connection.execute(sql, tuple(row.values()))


def execute(path: Path, sql: str) -> None:
    """Changes something behind everybody's back."""
    with closing(apsw.Connection(str(path))) as connection, connection:
        connection.execute(sql)


def append(path: Path, session: str, lines: Iterable[bytes], *, largest: int = 1 << 10) -> None:
    """Adds entries to a session, large ones packed, as openclaw does."""
    with closing(apsw.Connection(str(path))) as connection:
        sql = "SELECT coalesce(max(seq) + 1, 0) FROM transcript_events WHERE session_id = ?"
        first = connection.execute(sql, (session,)).get
    for seq, line in enumerate(lines, first):
        is_large = len(line) >= largest
        kept: Json = {"event_zstd": zstd.compress(line)} if is_large else {"event_json": line.decode()}
        insert(path, "transcript_events", {"session_id": session, "seq": seq, "created_at": 1, **kept})


def lines_of(path: Path, session: str) -> list[bytes]:
    """The entries of a session."""
    sql = "SELECT event_json, event_zstd FROM transcript_events WHERE session_id = ? ORDER BY seq"
    with closing(apsw.Connection(str(path))) as connection:
        return [
            zstd.decompress(packed) if text is None else text.encode()
            for text, packed in connection.execute(sql, (session,))
        ]


def session(path: Path, name: str, key: str, lines: Iterable[bytes] = (), spawned_by: str | None = None) -> None:
    """A session with its entries, its window and its node."""
    insert(path, "session_windows", {"session_id": name, "session_key": key, "created_at": 5, "spawned_by": spawned_by})
    entry = json.dumps({"sessionId": name, "updatedAt": 7, "spawnedBy": spawned_by})
    row = {"session_key": key, "current_session_id": name, "entry_json": entry, "updated_at": 7}
    insert(path, "session_nodes", {**row, "spawned_by": spawned_by})
    append(path, name, lines)


def chat(name: str, *questions: str, version: int = 4) -> list[bytes]:
    """A transcript: questions, each with its answer."""
    at = "2026-11-16T12:00:{:02d}.000Z"
    lines: list[Json] = [{"type": "session", "version": version, "id": name, "timestamp": at.format(0), "cwd": "/w"}]
    parent = None
    for number, question in enumerate(questions):
        for role, words in (("user", question), ("assistant", f"To {question}")):
            own = f"{role}-{number}"
            said = {"role": role, "content": [{"type": "text", "text": words}], "model": "m", "provider": "p"}
            place = {"id": own, "parentId": parent, "timestamp": at.format(len(lines))}
            lines.append({"type": "message", **place, "message": said})
            parent = own
    return [json.dumps(line).encode() for line in lines]


def called(name: str, parent: str, child_key: str) -> list[bytes]:
    """A call that starts a subagent, and what it gives."""
    call = {"type": "toolCall", "id": "c1", "name": "sessions_spawn", "arguments": {"task": "look"}}
    asked = {"role": "assistant", "content": [call], "model": "m"}
    details = {"status": "accepted", "childSessionKey": child_key}
    given = {"role": "toolResult", "toolCallId": "c1", "toolName": "sessions_spawn", "content": [], "details": details}
    at = "2026-11-16T12:01:00.000Z"
    lines = [
        {"type": "message", "id": f"{name}-call", "parentId": parent, "timestamp": at, "message": asked},
        {"type": "message", "id": f"{name}-result", "parentId": f"{name}-call", "timestamp": at, "message": given},
    ]
    return [json.dumps(line).encode() for line in lines]


def frozen(name: str, lines: Iterable[bytes]) -> bytes:
    """A transcript as it is put away: a header, rows, and what is only good for searching."""
    rows = [{"seq": seq, "event_json": line.decode(), "created_at": 1} for seq, line in enumerate(lines)]
    told = [{"kind": "header", "version": 1, "sessionId": name, "generation": "g"}]
    told += [{"kind": "event", "row": row} for row in rows]
    told += [{"kind": "fts", "row": {"message_id": "user-0", "text": "words"}}]
    return zstd.compress(b"".join(json.dumps(one, separators=(",", ":")).encode() + b"\n" for one in told))
