"""Context that a program adds between a tool call and its result stays inside the turn, in every format."""

import json
from pathlib import Path
from typing import Any

import pytest

from agents_ledger import Ledger
from agents_ledger.ledger.digest import digest
from tests.capture.cuts import growth
from tests.capture.folders import GOLDEN, assert_sound, opened, rows, sync, write

CODEX = next((GOLDEN / "codex" / "developer-message-inside-a-turn" / "source").rglob("*.jsonl"))
SESSION = "00000000-1111-4222-8333-00000000c001"
Line = dict[str, Any]


def _time(second: int) -> str:
    return f"2026-03-01T10:00:{second:02d}.000Z"


def pi() -> tuple[str, list[Line]]:
    """A message of an extension between a call and its result, in the chain."""

    def entry(number: int, message: Line) -> Line:
        parent = f"a{number - 1:07}" if number > 1 else None
        return {"id": f"a{number:07}", "parentId": parent, "timestamp": _time(number), **message}

    def said(role: str, content: Any, **more: Any) -> Line:
        return {"type": "message", "message": {"role": role, "content": content, "timestamp": 1, **more}}

    def answer(*blocks: Line) -> Line:
        return said("assistant", list(blocks), provider="p", model="m", stopReason="stop")

    call = {"type": "toolCall", "id": "c1", "name": "bash", "arguments": {"command": "ls"}}
    messages = [
        said("user", "Question 1"),
        answer(call),
        {"type": "custom_message", "customType": "x", "content": "Context between", "display": True},
        said("toolResult", [{"type": "text", "text": "out"}], toolCallId="c1", toolName="bash", isError=False),
        answer({"type": "text", "text": "Answer 1"}),
        said("user", "Question 2"),
        answer({"type": "text", "text": "Answer 2"}),
    ]
    header = {"type": "session", "version": 3, "id": SESSION, "timestamp": _time(0), "cwd": "/w"}
    return f"2026-03-01T10-00-00-000Z_{SESSION}.jsonl", [
        header,
        *(entry(number, message) for number, message in enumerate(messages, 1)),
    ]


def claude(result_follows: int) -> tuple[str, list[Line]]:
    """What a hook added: in the chain (3), or beside it (2: Claude Code hangs results on their calls)."""

    def line(number: int, parent: int, kind: str, **more: Any) -> Line:
        return {
            "parentUuid": f"{parent:08x}-0000-4000-8000-00000000c001" if parent else None,
            "isSidechain": False,
            "sessionId": SESSION,
            "version": "2.1.119",
            "type": kind,
            "uuid": f"{number:08x}-0000-4000-8000-00000000c001",
            "timestamp": _time(number),
            **more,
        }

    def asked(content: Any) -> Line:
        return {"message": {"role": "user", "content": content}}

    def answer(name: str, block: Line) -> Line:
        return {"message": {"id": name, "role": "assistant", "model": "m", "content": [block]}}

    call = {"type": "tool_use", "id": "c1", "name": "Bash", "input": {"command": "ls"}}
    hook = {"type": "hook_additional_context", "content": ["Context between"], "hookEvent": "PreToolUse"}
    return f"{SESSION}.jsonl", [
        line(1, 0, "user", **asked("Question 1")),
        line(2, 1, "assistant", **answer("m1", call)),
        line(3, 2, "attachment", attachment=hook),
        line(4, result_follows, "user", **asked([{"type": "tool_result", "tool_use_id": "c1", "content": "out"}])),
        line(5, 4, "assistant", **answer("m2", {"type": "text", "text": "Answer 1"})),
        line(6, 5, "user", **asked("Question 2")),
        line(7, 6, "assistant", **answer("m3", {"type": "text", "text": "Answer 2"})),
    ]


def turns_of(ledger: Ledger) -> list[list[tuple[str, str]]]:
    """The messages of each turn under the head; nothing else is in the ledger."""
    assert_sound(ledger)
    assert not rows(ledger, "SELECT code FROM problems")
    (session,) = rows(ledger, "SELECT thread_id FROM sessions")
    path = ledger.ancestry(str(session["thread_id"]))
    assert len(path) == len(rows(ledger, "SELECT id FROM turns"))
    return [
        [(message.role, message.content or "") for message in record.messages]
        for record in ledger.thread(str(session["thread_id"]))
    ]


def digest_line_by_line(path: Path, data: bytes, target: Path) -> str:
    """The digest of a ledger that was synced after each line of a file."""
    with opened(target) as ledger:
        for tick, part in enumerate([*growth(data), data]):
            write(path, part, tick)
            sync(ledger, path)
        return digest(ledger.database)


@pytest.mark.parametrize("made", [pi(), claude(3), claude(2)], ids=["pi", "claude", "claude-beside"])
def test_context_between_a_call_and_its_result(made: tuple[str, list[Line]], tmp_path: Path) -> None:
    name, lines = made
    data = b"".join(json.dumps(line, separators=(",", ":")).encode() + b"\n" for line in lines)
    with opened(tmp_path / "whole.db") as ledger:
        write(path := tmp_path / name, data)
        sync(ledger, path)
        assert turns_of(ledger) == [
            [("user", "Question 1"), ("assistant", ""), ("user", "Context between"), ("assistant", "Answer 1")],
            [("user", "Question 2"), ("assistant", "Answer 2")],
        ]
        assert rows(ledger, "SELECT status FROM tool_calls") == [{"status": "completed"}]
        whole = digest(ledger.database)
    assert digest_line_by_line(path, data, tmp_path / "grown.db") == whole


def test_a_developer_message_of_codex_between_a_call_and_its_output(tmp_path: Path) -> None:
    data = CODEX.read_bytes()
    path = tmp_path / CODEX.name
    with opened(tmp_path / "whole.db") as ledger:
        write(path, data)
        sync(ledger, path)
        told = turns_of(ledger)
        questions = [next(words for role, words in turn if role == "user") for turn in told]
        assert questions == ["Bring the branch up to date.", "Now fetch the two others.", "Thanks."]
        calls = rows(ledger, "SELECT native_id, status FROM tool_calls ORDER BY native_id")
        assert [(call["native_id"], call["status"]) for call in calls] == [
            (f"call_{name}", "completed") for name in ("a", "b", "fetch", "merge", "status")
        ]
        whole = digest(ledger.database)
    assert digest_line_by_line(path, data, tmp_path / "grown.db") == whole
