"""The one JSON shape, of every command with `--json`.

One document per command, an object. Rows stand in it as the tables have them: the same names, times as Unix
milliseconds, JSON columns as text; `turn_hash` is hex, the `bytes` of `originals` are base64.

| command | document |
|---|---|
| `ldg` | `{"db", "exists", "counts": {…}, "sessions": [session line…]}` |
| `sessions` | `{"sessions": [session line…], "next": cursor or null}` |
| `show` of a session | `{"session", "aliases": […], "subagents": […], "depth", "turns": [record…]}` |
| `show` of a turn | `{"record": record}` |
| `tree` | `{"trees": [{"root_id", "nodes": […], "heads": [{"label", "turn_id"}…]}…], "more": bool}` |
| `head` | `{"session", "turn_id" or null, "at"}` |
| `history` | `{"session", "moves": […]}` |
| `including` | `{"turn_id", "sessions": [label…]}` |
| `context` | `{"context": {"turn_id", "system", "summary", "compaction_turn_id", "replacement", "turns", "query"}}` |
| `fork`, `archive`, `restore`, `merge` | `{"session": …}` |
| `rewind`, `replay` | `{"move": …}` |
| `alias` | `{"alias": …}` |
| `compact` | `{"turn_id"}` |
| `sql` | `{"columns": […], "rows": [[…]…], "more": bool}`; bytes are hex |
| `verify` | `{"good", "turns", "log_entries", "sessions", "findings": [{"place", "row", "what"}…]}` |
| `doctor` | `{"good", "facts", "migrations", "counts", "search", "problems": […], "warnings": […]}` |
| `backup` | `{"target", "size_bytes"}` |
| `migrate` | `{"pending": [name…]}` with `--check`, else `{"applied": [name…]}` |
| `demo` | `{"added": turns, "sessions": [label…]}` |
| `completion` | `{"shell", "script"}` |
| any that fails | `{"error": {"kind", "message"}}` |

A record is a whole turn: `{"turn", "messages", "calls", "compaction", "files", "lints", "codeblocks", "originals"}`.
A session line is a session's row with `depth`, `thread_tokens`, `model` and `last_turn_at` of its head.
"""

import sys
from typing import Any

import msgspec

from agents_ledger.cli.terminal import json_safe
from agents_ledger.ledger.ledger import SessionLine, Tree
from agents_ledger.model.rows import Record

Shape = dict[str, Any]


def answer(document: Shape) -> None:
    """Writes the one JSON document of a command."""
    encoded = msgspec.json.encode(document, enc_hook=str).decode()
    sys.stdout.write(json_safe(encoded) + "\n")


def session_line(line: SessionLine) -> Shape:
    """A session with what its head says about it."""
    rest = {name: getattr(line, name) for name in line.__struct_fields__ if name != "session"}
    return {**msgspec.structs.asdict(line.session), **rest}


def record(value: Record) -> Shape:
    """A whole turn."""
    seal = value.turn.turn_hash
    turn = {**msgspec.structs.asdict(value.turn), "turn_hash": None if seal is None else seal.hex()}
    return {**msgspec.structs.asdict(value), "turn": turn}


def tree(value: Tree) -> Shape:
    """A tree, its sessions by name."""
    heads = [{"label": label, "turn_id": turn_id} for label, turn_id in value.heads]
    return {"root_id": value.root_id, "nodes": value.nodes, "heads": heads}


def cell(value: object) -> object:
    """A value of somebody's query: bytes as hex, everything else as it is."""
    return bytes(value).hex() if isinstance(value, bytes | bytearray | memoryview) else value
