"""Where a session's head is after a sync: on the whole last turn, never inside it, never on a retracted one."""

import json
from pathlib import Path
from typing import Any

import pytest

from agents_ledger import Ledger, Message, Turn
from agents_ledger.capture.operations import Point, RetractOne
from agents_ledger.capture.rebuild import rebuild
from agents_ledger.capture.writer import Writer
from agents_ledger.ledger.digest import digest
from agents_ledger.model.rules import RETRACTED
from tests.capture.folders import GOLDEN, assert_sound, copy, opened, rows, sync, write
from tests.cli.conftest import Ldg

UNFINISHED = GOLDEN / "agentuse" / "unfinished-calls" / "source"
Line = dict[str, Any]
_TREE = """SELECT t.depth, t.id, t.parent_turn_id, t.error, s.label AS head_of, s.origin_session_id
    FROM turns t LEFT JOIN sessions s ON s.thread_id = t.id ORDER BY t.depth, t.started_at"""


_HEADS = "SELECT thread_id, label FROM sessions"


def lines(*entries: Line) -> bytes:
    return b"".join(json.dumps(entry).encode() + b"\n" for entry in entries)


def test_an_unfinished_call_does_not_hide_its_turn(url: str, tmp_path: Path) -> None:
    source = copy(UNFINISHED, tmp_path / "source")
    with Ledger.open(url) as ledger:
        sync(ledger, source)
        assert_sound(ledger)
        found = rows(ledger, _TREE)
        heads = {str(row["origin_session_id"])[-1]: row["depth"] for row in found if row["head_of"]}
        assert heads == {"0": 1, "1": 1, "2": 1, "3": 1, "4": 3}
        assert len(found) == 7
        assert all(row["error"] != RETRACTED for row in found)
        shown = rows(ledger, "SELECT session_id, count(*) AS count FROM agent_messages GROUP BY session_id")
        assert sorted(int(str(row["count"])) for row in shown) == [4, 4, 4, 4, 10]
        assert rebuild(ledger, f"sqlite:///{tmp_path / 'rebuilt.db'}").same
        labels = [str(row["head_of"]) for row in found if row["head_of"]]
    for label in labels:
        assert "I will look" in Ldg(url).text("show", label)


def test_a_retracted_head_beside_other_turns_is_found(url: str, tmp_path: Path) -> None:
    """As an earlier version left it: the head was cut out of the last turn, and emptied at once."""
    source = copy(UNFINISHED, tmp_path / "source")
    with Ledger.open(url) as ledger:
        sync(ledger, source)
        ((head, label),) = ledger.database.query(f"{_HEADS} WHERE origin_session_id LIKE '%N0'")[1]
        _plant_retracted_head(ledger, label, "retracted")
        found = ledger.verify().findings
        assert [(each.place, each.row) for each in found] == [("sessions", label)]
        assert "retracted was retracted" in found[0].what
        assert not rebuild(ledger, f"sqlite:///{tmp_path / 'rebuilt.db'}").same
        writer = Writer(ledger)
        writer.add(Point(label, head, 2, "import"))
        writer.flush()
        assert ledger.verify().findings == []


def _plant_retracted_head(ledger: Ledger, label: str, turn_id: str) -> None:
    writer = Writer(ledger)
    given = writer.prepare(Turn((Message("user", "cut"),), id=turn_id, status="failed", error="x", evidence="1:0+1"))
    given.record.turn.session_label = label
    writer.add(lambda batch: batch.put(given, None, is_final=False))
    writer.add(Point(label, turn_id, 1, "import"))
    writer.add(RetractOne(turn_id))
    writer.flush()


def test_a_retracted_head_without_other_turns_is_no_finding(url: str, tmp_path: Path) -> None:
    """Its source tells nothing any more."""
    source = copy(UNFINISHED, tmp_path / "source")
    with Ledger.open(url) as ledger:
        sync(ledger, source)
        ((head, _),) = ledger.database.query(f"{_HEADS} WHERE origin_session_id LIKE '%N0'")[1]
        writer = Writer(ledger)
        writer.add(RetractOne(head))
        writer.flush()
        assert rows(ledger, f"SELECT id FROM turns WHERE error = '{RETRACTED}'") == [{"id": head}]  # noqa: S608 - ours
        assert ledger.verify().findings == []


# A part or a result that completes an earlier message, behind something else that was said meanwhile.


def _claude(number: int, parent: int | None, kind: str, content: Any, answer: str = "msg_1", **fields: Any) -> Line:
    identity = "00000000-0000-4000-8000-{:012}".format
    message = {"role": kind, "content": content, **({"id": answer, "model": "m"} if kind == "assistant" else {})}
    return {
        "type": kind,
        "uuid": identity(number),
        "parentUuid": None if parent is None else identity(parent),
        "sessionId": identity(0),
        "timestamp": f"2026-11-15T10:00:{number:02}.000Z",
        "cwd": "/p",
        "version": "2.1.197",
        "isSidechain": False,
        "message": message,
        **fields,
    }


def _use(call: str) -> list[Line]:
    return [{"type": "tool_use", "id": call, "name": "Bash", "input": {}}]


def _result(call: str) -> list[Line]:
    return [{"type": "tool_result", "tool_use_id": call, "content": "ok"}]


def _pi(number: int, role: str, content: Any, **fields: Any) -> Line:
    message = {"role": role, "content": content, "timestamp": number, **fields}
    return {
        "type": "message",
        "id": f"a{number:07}",
        "parentId": f"a{number - 1:07}" if number > 1 else None,
        "timestamp": f"2026-11-15T10:00:{number:02}.000Z",
        "message": message,
    }


def _pi_call(call: str) -> Line:
    return {"type": "toolCall", "id": call, "name": "bash", "arguments": {}}


def _codex(number: int, kind: str, payload: Line) -> Line:
    return {"timestamp": f"2026-11-15T10:00:{number:02}.000Z", "type": kind, "payload": payload}


def _codex_said(number: int, role: str, text: str) -> Line:
    kind = "output_text" if role == "assistant" else "input_text"
    item = {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}
    return _codex(number, "response_item", item)


_THREAD = "01a1e000-0000-7000-8000-00000000aaaa"
BETWEEN = {
    "claude-code: a reminder between parallel calls": (
        "projects/p/00000000-0000-4000-8000-000000000000.jsonl",
        ["toolu_1", "toolu_2"],
        lines(
            _claude(1, None, "user", "question"),
            _claude(2, 1, "assistant", _use("toolu_1")),
            _claude(3, 2, "user", _result("toolu_1")),
            _claude(4, 3, "user", "a reminder", isMeta=True),
            _claude(5, 4, "assistant", _use("toolu_2")),
            _claude(6, 5, "user", _result("toolu_2")),
            _claude(7, 6, "assistant", [{"type": "text", "text": "done"}], "msg_2"),
        ),
    ),
    "claude-code: a hook's message beside a call": (
        "projects/p/00000000-0000-4000-8000-000000000000.jsonl",
        ["toolu_1"],
        lines(
            _claude(1, None, "user", "question"),
            _claude(2, 1, "assistant", _use("toolu_1")),
            _claude(3, 2, "user", "a hook's words", isMeta=True),
            _claude(4, 2, "user", _result("toolu_1")),
            _claude(5, 4, "assistant", [{"type": "text", "text": "done"}], "msg_2"),
        ),
    ),
    "pi: an extension's message between results": (
        ".pi/agent/sessions/--p--/2026-11-15T10-00-00-000Z_s1.jsonl",
        ["t1", "t2"],
        lines(
            {"type": "session", "version": 3, "id": "s1", "timestamp": "2026-11-15T10:00:00.000Z", "cwd": "/p"},
            _pi(1, "user", "question"),
            _pi(2, "assistant", [_pi_call("t1"), _pi_call("t2")]),
            _pi(3, "toolResult", [{"type": "text", "text": "ok"}], toolCallId="t1", toolName="bash"),
            _pi(4, "custom", "a reminder", customType="x", display=True),
            _pi(5, "toolResult", [{"type": "text", "text": "ok"}], toolCallId="t2", toolName="bash"),
            _pi(6, "assistant", [{"type": "text", "text": "done"}]),
        ),
    ),
    "codex: a developer message between a call and its output": (
        f"sessions/2026/11/15/rollout-2026-11-15T10-00-00-{_THREAD}.jsonl",
        ["c1"],
        lines(
            _codex(0, "session_meta", {"id": _THREAD, "cwd": "/w", "timestamp": "2026-11-15T10:00:00.000Z"}),
            _codex_said(1, "user", "question"),
            _codex(2, "response_item", {"type": "function_call", "name": "shell", "arguments": "{}", "call_id": "c1"}),
            _codex_said(3, "developer", "Approved command prefix saved"),
            _codex(4, "response_item", {"type": "function_call_output", "call_id": "c1", "output": "ok"}),
            _codex_said(5, "assistant", "done"),
        ),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BETWEEN)
def test_what_completes_an_earlier_message_does_not_split_the_turn(name: str, tmp_path: Path) -> None:
    place, calls, data = BETWEEN[name]
    path = tmp_path / "source" / place
    write(path, data)
    with opened(tmp_path / "whole.db") as ledger:
        sync(ledger, path)
        assert_sound(ledger)
        (turn,) = rows(ledger, _TREE)
        assert (turn["depth"], turn["head_of"] is not None) == (1, True)
        said = [row["content"] for row in rows(ledger, "SELECT content FROM messages ORDER BY sequence")]
        assert (said[0], said[-1]) == ("question", "done")
        done = rows(ledger, "SELECT native_id FROM tool_calls WHERE status = 'completed' ORDER BY sequence")
        assert [row["native_id"] for row in done] == calls
        whole = digest(ledger.database)
    ends = [at + 1 for at, byte in enumerate(data) if byte == 0x0A]
    for end in ends[:-1]:
        write(path, data[:end])
        with opened(tmp_path / f"cut{end}.db") as ledger:
            sync(ledger, path)
            assert_sound(ledger)
            assert RETRACTED not in {row["error"] for row in rows(ledger, _TREE) if row["head_of"]}
            write(path, data, tick=1)
            sync(ledger, path)
            assert digest(ledger.database) == whole, end


def test_a_head_inside_a_turn_survives_that_its_source_is_read_again(tmp_path: Path) -> None:
    """The head of pi is its last line, whose parent may lie inside the last turn. A grown fork is read again."""
    path = tmp_path / ".pi" / "agent" / "sessions" / "--p--" / "2026-11-15T10-00-00-000Z_s2.jsonl"
    header = {"type": "session", "version": 3, "id": "s2", "timestamp": "2026-11-15T10:00:00.000Z", "cwd": "/p"}
    label = {"type": "label", "id": "b0000001", "parentId": "a0000001", "targetId": "a0000001", "label": "x"}
    grown = [
        header | {"parentSession": "/elsewhere/2026-11-15T09-00-00-000Z_s1.jsonl"},
        _pi(1, "user", "question"),
        _pi(2, "assistant", [{"type": "text", "text": "look"}, _pi_call("t1")]),
        _pi(3, "toolResult", [{"type": "text", "text": "ok"}], toolCallId="t1", toolName="bash"),
        _pi(4, "assistant", [{"type": "text", "text": "done"}]),
        label | {"timestamp": "2026-11-15T10:00:08.000Z"},
    ]
    write(path, lines(*grown))
    with opened(tmp_path / "whole.db") as ledger:
        sync(ledger, path)
        whole = digest(ledger.database)
    with opened(tmp_path / "ledger.db") as ledger:
        write(path, lines(*grown[:-1]))
        sync(ledger, path)
        write(path, lines(*grown), tick=1)
        sync(ledger, path)
        assert_sound(ledger)
        (head,) = [row for row in rows(ledger, _TREE) if row["head_of"]]
        assert head["error"] != RETRACTED
        assert digest(ledger.database) == whole
