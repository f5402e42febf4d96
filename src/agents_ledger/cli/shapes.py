"""The one JSON shape, of every command with `--json`.

One document per command, an object. Rows stand in it as the tables have them: the same names, times as Unix
milliseconds, JSON columns as text; `turn_hash` is hex, the `bytes` of `originals` are base64.

| command | document |
|---|---|
| `ldg` | `{"db", "exists", "counts": {…}, "origins": {origin: sessions}, "sessions": [session line…]}` |
| `sessions` | `{"sessions": [session line…], "next": cursor or null}` |
| `search` | `{"query", "by": "words", "meaning", "both" or "time", "groups": [group…], "next", "notes": [text…]}` |
| `timeline` | `{"turns": [moment…], "next": cursor or null}`, newest first |
| `timeline --follow` | `{"turn": moment}` on a line, each time that a turn has changed |
| `stats` | `{"by": […], "lines": [{"key": {…}, sums…}…], "total": sums, "unpriced": {model: tokens}, "prices", …}` |
| `stats tools`, `files`, `turns`, `contexts` | `{"tools": [line…]}` and so on |
| `audit` | `{"findings": [{"rule", "turn_id", "row_id", "what", "detail", …}…], "counts": {rule: n}, "more": bool}` |
| `show` of a session | `{"session", "details", "captures", "aliases", "subagents", "depth", "turns", "next", …}` |
| `show` of a turn | `{"record": record}` |
| `replay` | events, one on a line |
| `tree` | `{"trees": [{"root_id", "nodes": […], "heads": [{"label", "turn_id"}…], "first", …}…], "next"}` |
| `head` | `{"session", "turn_id" or null, "at"}` |
| `history` | `{"session", "moves": […], "next": cursor or null}` |
| `including` | `{"turn_id", "sessions": [label…], "next": cursor or null}` |
| `context` | `{"context": {"turn_id", "system", "summary", "compaction_turn_id", …, "turns", "query"}, "tokens"}` |
| `sync` | a round |
| `sync --watch` | rounds, one on a line: the first one, then those that brought something |
| `sources` | `{"sources": [{"format", "places": […], "captured", "captured_bytes", "missing": [path…]}…]}` |
| `captures` | `{"captures": [capture…], "next": cursor or null}` |
| `problems` | `{"problems": [problem…], "counts": {code: number}, "next": cursor or null}` |
| `export` | `{"exported": [{"id", "size_bytes", "output", …}…]}`: captures, or the one turn or message |
| `export --format` | `{"exported": [{"format", "turn_id", "session", "output", "size_bytes", "losses"}]}` |
| `rebuild` | `{"target", "same", "captures", "sessions", "turns", "not_rebuilt", "digest_before", "digest_after"}` |
| `ability` | what the ability gives; with `--describe` `{name: {"description", "input", "output", "entity"}}` |
| `ability --stdio` | `{"id", "output"}` or `{"id", "error": {"kind", "message"}}`, one on a line |
| `fork`, `archive`, `unarchive`, `merge` | `{"session": …}` |
| `fork --into` | `{"fork": {"session", "agent", "agent_session", "path", "folder", "command", "losses": […], …}}` |
| `fork --find` | `{"question", "budget_tokens", "by": "words" or "both", "points": [point…]}` |
| `fork --find` with `--into`, `--label` or `--pick` | the fork as above, and `"question"`, `"point"` |
| `open` | `{"open": {"session", "agent", "agent_session", "turn_id", "path", "folder", "command", "is_elsewhere"}}` |
| `rewind`, `forward` | `{"move": …}` |
| `alias` | `{"alias": …}` |
| `compact` | `{"turn_id", "compaction"}`; `{"turn_id"}` with `--summary`; `{"turn_id": null, "due"}` if it is not due |
| `compact --dry-run` | `{"due", "plan": {"head", "through", "message_id", "dropped": [turn…], "kept": [turn…]}}` |
| `sql` | `{"columns": […], "rows": [[…]…], "more": bool}`; bytes are hex |
| `face` | `{"table", "rows": [row…], "next": cursor or null}`; without a table `{"tables": {name: [column…]}}` |
| `verify` | `{"good", "turns", "open_turns", "live_turns", "log_entries", "sessions", "sources", "findings": […]}` |
| `index` | `{"semantic": bool, "turns": number of turns whose meaning was added}` |
| `doctor` | `{"good", "facts", "migrations", "counts", "evidence", "search", "problems": […], "warnings": […]}` |
| `backup` | `{"target", "size_bytes"}`; `"set_aside": [path…]` and `"findings"` if there are any |
| `restore` | `{"restored", "backup", "kept": path or null, "set_aside": […], "migrated": […], "turns", "sessions"}` |
| `migrate` | `{"pending": [name…]}` with `--check`, else `{"applied": [name…]}` |
| `demo` | `{"added": turns, "sessions": [label…]}` |
| `completion` | `{"shell", "script"}` |
| any that fails | `{"error": {"kind", "message"}}` |

`next` is the `--cursor` of the next page, or null; `turns` are records; `first` is the depth that a tree is shown from.
An event is `{"n", "kind": "turn", "message", "call", "result" or "end", "turn_id", "depth", "at", "after_ms"}`: when it
was, and how long after the event before it. A turn has its row and its `compaction`; a message its row, its `usage` and
(with `--context`) what the model had `seen`; a call its row without the outcome and the `changes` that it makes; a
result the outcome; an end the status. With `--context --full` a turn has the whole `context`, too.
A record is a whole turn: `{"turn", "messages", "calls", "compaction", "files", "lints", "codeblocks", "originals"}`.
A session line is a session's row with `depth`, `thread_tokens`, `model`, `last_turn_at` and `opening` (the first words)
of its head, the `title` and `project` that its source gives it, `used_at` (null: unknown), and the session that its
label `leads_to` since a merge (else null); `details` are all that its sources say about it, or null. `show` of a label
that leads elsewhere has the session that it was as `former`; `live` are the records of turns that have not ended, and
`left_behind` the ids of those whose writers are gone. A capture is a row of `captures` with its `digest` as hex; a
problem is a row of `problems`; a place is
`{"path", "exists", "files", "size_bytes"}`. A round is `{"found", "new", "grown", "rewritten", "unchanged", "gone",
"bytes_read", "problems", "sessions", "new_sessions", "turns", "new_turns", "kept": [path…], "unrecognised": [path…],
"unreadable": [path…], "sources": {format: files}, "duration_ms", "samples": bool}`; the later ones of `--watch` have
`"at"` and `"labels": [session…]`, too.

A moment is a turn in a timeline: its `id`, `session_label`, times, `status`, `model` and counters, the `origin`,
`project` and `title` of its session, and its `opening` words.
A point is a turn to fork from: `{"turn_id", "score", "session", "origin", "project", "title", "model", "started_at",
"depth", "opening", "words": […], "missing": […], "stands": [{"turn_id", "turns_above", "words", "share",
"is_summarised"}…], "snippet", "context_tokens", "is_estimated", "is_over_budget", "reasons": […]}`: `words` of the
question stand on the way to it, `stands` says where.
A finding of `verify` is `{"place", "row", "what"}`; of its `open_turns`, which are not sealed yet, some are live.
With `--sources`, `sources` is `{"captures", "chain_entries", "chain_under_head"}`: how many entries are on the active
chains of all captures and how many of them are under the heads of their sessions. Otherwise it is null.
Notes say what of a query was not taken as it looks, and what would be.
A group is a session with its hits: `{"session", "title", "project", "origin", "is_subagent", "hits": […], "more"}`; a
hit is `{"turn_id", "started_at", "model", "status", "place", "role", "tool", "snippet": {"text", "marks": [[from,
to]…]}, "score", "is_partial"}`: `place` is the column (content, thinking, params, result) or title, summary, path.
"""

import sys
from typing import TYPE_CHECKING, Any

import msgspec

from agents_ledger.cli.terminal import json_safe

if TYPE_CHECKING:
    from agents_ledger.capture.summary import Summary
    from agents_ledger.ledger.replay import Event
    from agents_ledger.model.captures import Capture
    from agents_ledger.model.fork_points import ForkPoints
    from agents_ledger.model.hits import Found
    from agents_ledger.model.overview import SessionLine, Tree
    from agents_ledger.model.rows import Record

Shape = dict[str, Any]
_OUTCOME = ("status", "result_json", "error", "completed_at", "spawned_session_label")


def answer(document: Shape) -> None:
    """Writes the one JSON document of a command."""
    encoded = msgspec.json.encode(document, enc_hook=str).decode()
    sys.stdout.write(json_safe(encoded) + "\n")


def session_line(line: "SessionLine") -> Shape:
    """A session with what its head says about it."""
    rest = {name: getattr(line, name) for name in line.__struct_fields__ if name != "session"}
    return {**msgspec.structs.asdict(line.session), **rest}


def found_page(text: str, value: "Found", notes: list[str]) -> Shape:
    """A page of hits."""
    return {"query": text, "by": value.by, "groups": value.groups, "next": value.next, "notes": notes}


def fork_points_page(value: "ForkPoints") -> Shape:
    """Starting points for a question."""
    return {name: getattr(value, name) for name in ("question", "budget_tokens", "by", "points")}


def record(value: "Record") -> Shape:
    """A whole turn."""
    seal = value.turn.turn_hash
    turn = {**msgspec.structs.asdict(value.turn), "turn_hash": None if seal is None else seal.hex()}
    return {**msgspec.structs.asdict(value), "turn": turn}


def event(number: int, value: "Event") -> Shape:
    """One event of a replay."""
    turn, call = value.record.turn, value.call
    shape: Shape = {"n": number, "kind": value.kind, "turn_id": turn.id, "depth": turn.depth}
    shape |= {"at": value.at, "after_ms": value.after_ms}
    if value.kind == "turn":
        return shape | {"turn": record(value.record)["turn"], "compaction": value.record.compaction}
    if value.message is not None:
        return shape | {"message": value.message, "usage": value.usage}
    if call is not None and value.kind == "call":
        kept = (name for name in call.__struct_fields__ if name not in _OUTCOME)
        return shape | {"call": {name: getattr(call, name) for name in kept}}
    if call is not None:
        return (
            shape | {"call_id": call.id, "tool_name": call.tool_name} | {name: getattr(call, name) for name in _OUTCOME}
        )
    return shape | {"status": turn.status, "error": turn.error, "total_tokens": turn.total_tokens}


def capture(value: "Capture") -> Shape:
    """A capture."""
    return {**msgspec.structs.asdict(value), "digest": value.digest.hex()}


def summary(value: "Summary", duration_ms: int, *, samples: bool) -> Shape:
    """What a round of capturing has done."""
    return {**msgspec.structs.asdict(value), "duration_ms": duration_ms, "samples": samples}


def tree(value: "Tree") -> Shape:
    """A tree, its sessions by name."""
    heads = [{"label": label, "turn_id": turn_id} for label, turn_id in value.heads]
    return {
        "root_id": value.root_id,
        "nodes": value.nodes,
        "heads": heads,
        "first": value.first,
        "left_behind": value.left_behind,
    }


def cell(value: object) -> object:
    """A value of somebody's query: bytes as hex, everything else as it is."""
    return bytes(value).hex() if isinstance(value, bytes | bytearray | memoryview) else value
