"""What a ledger says, as lines that people can read: turns by short names, long texts by their beginning."""

import json
from hashlib import sha256
from pathlib import Path
from typing import Any

from agents_ledger import Ledger
from agents_ledger.model.times import iso
from tests.capture.folders import rows

_LONGEST = 200
_TOKENS = ("input", "output", "cached_input", "cache_write", "reasoning", "total")


class Dump:
    """The lines of one ledger."""

    def __init__(self, ledger: Ledger, root: Path) -> None:
        self._ledger = ledger
        self._root = str(root)
        self._turns = {row["id"]: row for row in rows(ledger, "SELECT * FROM turns ORDER BY started_at, id")}
        self._tables: dict[str, dict[Any, list[dict[str, Any]]]] = {}
        self._names: dict[Any, str] = {}
        self._order: list[Any] = []
        self._walk(None)

    def entries(self) -> str:
        """One JSON line for each session, turn, message, call, compaction and usage."""
        lines = [*self._sessions()]
        for turn_id in self._order:
            lines += self._turn(turn_id)
        return "".join(json.dumps(_known(line), ensure_ascii=False) + "\n" for line in lines)

    def problems(self) -> str:
        """One line for each problem."""
        found = rows(self._ledger, "SELECT path, place, code, detail FROM problems ORDER BY path, place, code, detail")
        return "".join(
            f"{self._short(row['path'])}:{row['place']} {row['code']} {_one_line(str(row['detail']))}".rstrip() + "\n"
            for row in found
        )

    def _walk(self, parent: Any) -> None:
        children: dict[Any, list[Any]] = {}
        for turn_id, row in self._turns.items():
            children.setdefault(row["parent_turn_id"], []).append(turn_id)
        stack = list(reversed(children.get(parent, [])))
        while stack:
            turn_id = stack.pop()
            self._order.append(turn_id)
            self._names[turn_id] = f"T{len(self._order)}"
            stack += reversed(children.get(turn_id, []))

    def _sessions(self) -> list[dict[str, Any]]:
        details = {row.pop("session_label"): row for row in rows(self._ledger, "SELECT * FROM session_details")}
        aliases = rows(self._ledger, "SELECT alias, session_label FROM session_aliases ORDER BY alias")
        moves = rows(self._ledger, "SELECT * FROM session_history ORDER BY id")
        files = rows(
            self._ledger,
            "SELECT s.session_label, c.path, c.kind, c.generation, c.state FROM session_captures s"
            " JOIN captures c ON c.id = s.capture_id ORDER BY c.path, c.generation",
        )
        calls = {row["id"]: row for row in rows(self._ledger, "SELECT id, turn_id, sequence FROM tool_calls")}
        found = []
        for row in rows(self._ledger, "SELECT * FROM sessions ORDER BY label"):
            label = row["label"]
            spawn = calls.get(row["spawn_tool_call_id"])
            found.append(
                {
                    "session": label,
                    "head": self._names.get(row["thread_id"]),
                    "parent": row["parent_session_label"],
                    "parent_turn": self._names.get(row["parent_turn_id"]),
                    "spawned_by": None if spawn is None else f"{self._names[spawn['turn_id']]}.c{spawn['sequence']}",
                    "task": _cut(row["task_description"]),
                    "task_status": row["task_status"],
                    "routing_key": row["routing_key"],
                    "status": None if row["status"] == "active" else row["status"],
                    "created_at": iso(row["created_at"]),  # type: ignore[arg-type]
                    "aliases": [alias["alias"] for alias in aliases if alias["session_label"] == label],
                    "moves": [self._move(move) for move in moves if move["session_label"] == label],
                    "details": self._details(details.get(label, {})),
                    "read_from": [self._source(file) for file in files if file["session_label"] == label],
                }
            )
        return found

    def _move(self, move: dict[str, Any]) -> str:
        name = self._names[move["thread_id"]]
        return name if move["reason"] == "advance" else f"{name} {move['reason']}"

    def _details(self, row: dict[str, Any]) -> dict[str, Any]:
        values = {key: value for key, value in row.items() if not key.endswith("_at")}
        for key in ("started_at", "last_at"):
            values[key] = None if row.get(key) is None else iso(row[key])
        return _known({key: _cut(self._short(value)) for key, value in values.items()})

    def _source(self, file: dict[str, Any]) -> str:
        path = self._short(file["path"])
        extra = (
            "" if (file["state"], file["generation"]) == ("current", 1) else f" {file['generation']} {file['state']}"
        )
        return f"{path} ({file['kind']}){extra}"

    def _turn(self, turn_id: Any) -> list[dict[str, Any]]:
        turn = self._turns[turn_id]
        name = self._names[turn_id]
        facts = ("model", "provider", "error", "native_id", "toolset_name", "workspace_path", "system_prompt_hash")
        lines: list[dict[str, Any]] = [
            {
                "turn": name,
                "parent": self._names.get(turn["parent_turn_id"]),
                "type": None if turn["turn_type"] == "normal" else turn["turn_type"],
                "status": turn["status"],
                "is_open": turn["seal_seq"] == 0 or None,
                **{fact: _cut(self._short(turn[fact])) for fact in facts},
                "tools": _cut(turn["tools_available"]),
                "permissions": _cut(self._short(turn["permissions_granted"])),
                "at": [iso(turn["started_at"]), iso(turn["completed_at"])],  # type: ignore[arg-type]
                "tokens": _tokens(turn),
                "query": self._numbers(turn_id, turn["query_message_ids"]),
                "response": self._numbers(turn_id, json.dumps([turn["response_message_id"]])),
            }
        ]
        messages = self._of(turn_id, "messages")
        numbers = {row["id"]: row["sequence"] for row in messages}
        for row in messages:
            lines.append(self._message(name, row))
            lines += self._parts(name, row)
        lines += [self._call(name, row, numbers) for row in self._of(turn_id, "tool_calls")]
        lines += [self._compaction(row) for row in self._of(turn_id, "compactions", "turn_id", "turn_id")]
        lines += [_usage(name, row, numbers) for row in self._of(turn_id, "usages")]
        return lines

    def _numbers(self, turn_id: Any, ids: Any) -> Any:
        numbers = {row["id"]: row["sequence"] for row in self._of(turn_id, "messages")}
        found = [numbers[each] for each in json.loads(ids or "[]") if each is not None]
        return found or None

    def _message(self, name: str, row: dict[str, Any]) -> dict[str, Any]:
        return {
            "message": f"{name}.{row['sequence']}",
            "role": row["role"],
            "source": row["source"],
            "content": _cut(row["content"]),
            "thinking": _cut(row["thinking"]),
            "context": _cut(row["context_json"]),
            "metadata": _cut(row["metadata_json"]),
            "blocks": _cut(row["blocks_json"]),
            "lossy": row["lossy"] or None,
            "native_id": row["native_id"],
            "at": iso(row["created_at"]),
            "from": row["evidence"],
        }

    def _parts(self, name: str, row: dict[str, Any]) -> list[dict[str, Any]]:
        found = []
        for table in ("message_files", "message_lints", "message_codeblocks"):
            for part in self._of(row["id"], table, "message_id", "id"):
                values = {key: _cut(value) for key, value in part.items() if key not in ("id", "message_id", "root_id")}
                found.append({table.removeprefix("message_")[:-1]: f"{name}.{row['sequence']}", **values})
        return found

    def _call(self, name: str, row: dict[str, Any], numbers: dict[Any, Any]) -> dict[str, Any]:
        return {
            "call": f"{name}.c{row['sequence']}",
            "message": numbers.get(row["message_id"]),
            "tool": row["tool_name"],
            "number": row["tool_number"],
            "status": row["status"],
            "params": _cut(row["params_json"]),
            "result": _cut(row["result_json"]),
            "error": _cut(row["error"]),
            "spawned": row["spawned_session_label"],
            "native_id": row["native_id"],
            "at": [iso(row["started_at"]), None if row["completed_at"] is None else iso(row["completed_at"])],
            "from": row["evidence"],
        }

    def _compaction(self, row: dict[str, Any]) -> dict[str, Any]:
        kept = self._of(row["first_kept_message_id"], "messages", "id")
        skipped = ("turn_id", "root_id", "summarized_through_turn_id", "first_kept_turn_id", "first_kept_message_id")
        return {
            "compaction": self._names[row["turn_id"]],
            "through": self._names.get(row["summarized_through_turn_id"]),
            "first_kept": self._names.get(row["first_kept_turn_id"]),
            "first_kept_message": f"{self._names[kept[0]['turn_id']]}.{kept[0]['sequence']}" if kept else None,
            **{key: _cut(value) for key, value in row.items() if key not in skipped},
        }

    def _of(self, key: Any, table: str, column: str = "turn_id", order: str = "sequence") -> list[dict[str, Any]]:
        """The rows of a table with a value in a column; each table is read once."""
        if (name := f"{table}.{column}") not in self._tables:
            found = self._tables[name] = {}
            for row in rows(self._ledger, f"SELECT * FROM {table} ORDER BY {order}"):  # noqa: S608 - names of ours
                found.setdefault(row[column], []).append(row)
        return self._tables[name].get(key, [])

    def _short(self, text: Any) -> Any:
        return text.replace(self._root, "…") if isinstance(text, str) else text


def _usage(name: str, row: dict[str, Any], numbers: dict[Any, Any]) -> dict[str, Any]:
    return {
        "usage": f"{name}.u{row['sequence']}",
        "message": numbers.get(row["message_id"]),
        "model": row["model"],
        "provider": row["provider"],
        "tokens": _tokens(row),
        "key": row["usage_key"],
        "at": iso(row["at"]),
    }


def _tokens(row: dict[str, Any]) -> dict[str, Any]:
    return _known({name: row[f"{name}_tokens"] for name in _TOKENS})


def _known(line: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in line.items() if value is not None and value not in ([], {})}


def _cut(text: Any) -> Any:
    if not isinstance(text, str) or len(text) <= _LONGEST:
        return text
    mark = sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]
    return f"{text[:_LONGEST]}… ({len(text)} characters, {mark})"


def _one_line(text: str) -> str:
    return text.replace("\n", "␤").replace("\r", "␍")
