"""Files that lost their first lines (clawdbot's `sessions.compact`): the same tree, whenever the archive arrives."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agents_ledger import Ledger
from agents_ledger.capture.rebuild import rebuild
from agents_ledger.model.rules import RETRACTED
from tests.capture.folders import GOLDEN, assert_sound, copy, opened, rows, sync, write

SESSION = "seed-1"
SESSIONS = Path(".clawdbot") / "agents" / "main" / "sessions"
Line = dict[str, Any]
Said = tuple[str, ...]
Round = dict[str, bytes]  # file names, and what they hold at a sync


def _time(number: int) -> str:
    return f"2026-01-21T12:00:{number:02}.000Z"


def seed_line(number: int, role: str, *blocks: Line) -> Line:
    """A line in the shape of the seed: `uuid`, and no `parentId`."""
    message = {"role": role, "content": list(blocks)}
    return {
        "type": role,
        "timestamp": _time(number),
        "sessionId": SESSION,
        "uuid": f"msg-{number}",
        "message": message | ({"model": "claude-4-sonnet"} if role == "assistant" else {}),
    }


def pi_line(number: int, role: str, *blocks: Line) -> Line:
    """An entry of pi that does not say what it follows."""
    message: Line = {"role": role, "content": list(blocks), "timestamp": number}
    if blocks[0]["type"] == "tool_result":
        block = blocks[0]
        message |= {"role": "toolResult", "toolCallId": block["tool_use_id"], "toolName": "bash"}
        message["content"] = [_text(block["content"])]
    elif blocks[-1]["type"] == "tool_use":
        call = blocks[-1]
        used = {"type": "toolCall", "id": call["id"], "name": call["name"], "arguments": call["input"]}
        message["content"] = [*blocks[:-1], used]
    return {"type": "message", "id": f"a{number:07}", "timestamp": _time(number), "message": message}


def _text(words: str) -> Line:
    return {"type": "text", "text": words}


def talk(make: Callable[..., Line]) -> list[bytes]:
    """A header and six turns; two of them call a tool."""
    lines: list[Line] = [{"type": "session", "version": "3", "id": SESSION, "timestamp": _time(0), "cwd": "/p"}]
    for turn in range(1, 7):
        lines.append(make(len(lines), "user", _text(f"t{turn}")))
        if turn in (2, 6):
            used = {"type": "tool_use", "id": f"tool-{turn}", "name": "bash", "input": {"command": "ls"}}
            lines.append(make(len(lines), "assistant", _text(f"look {turn}"), used))
            result = {"type": "tool_result", "tool_use_id": f"tool-{turn}", "content": "a file"}
            lines.append(make(len(lines), "user", result))
        lines.append(make(len(lines), "assistant", _text(f"a{turn}")))
    lines += [make(len(lines), "user", _text("new")), make(len(lines) + 1, "assistant", _text("newest"))]
    return [json.dumps(line, separators=(",", ":")).encode() + b"\n" for line in lines]


LIVE, ARCHIVE = f"{SESSION}.jsonl", f"{SESSION}.jsonl.bak.2026-01-21T12-30-00.000Z"
ARRIVALS: dict[str, Callable[[bytes, bytes, bytes], list[Round]]] = {
    "never": lambda whole, cut, new: [{LIVE: whole}, {LIVE: cut}, {LIVE: cut + new}],
    "never, and the cut was not seen": lambda whole, cut, new: [{LIVE: whole}, {LIVE: cut + new}],
    "with the cut": lambda whole, cut, new: [{LIVE: whole}, {LIVE: cut, ARCHIVE: whole}, {LIVE: cut + new}],
    "at once": lambda whole, cut, new: [{LIVE: cut + new, ARCHIVE: whole}],
    "before": lambda whole, cut, new: [{ARCHIVE: whole}, {LIVE: cut + new}],
    "after": lambda whole, cut, new: [{LIVE: cut + new}, {ARCHIVE: whole}],
    "after all, line by line": lambda whole, cut, new: [
        {LIVE: cut},
        {LIVE: cut + new[: new.index(b"\n") + 1]},
        {LIVE: cut + new},
        {ARCHIVE: whole},
    ],
}


def tree(ledger: Ledger) -> tuple[list[tuple[Said, ...]], list[Said]]:
    """Every turn that counts, as what was said on the way to it; and the way to the head."""
    assert_sound(ledger)
    said: dict[object, list[str]] = {}
    for row in rows(ledger, "SELECT turn_id, content FROM messages ORDER BY turn_id, sequence"):
        said.setdefault(row["turn_id"], []).append(str(row["content"]))
    calls = rows(ledger, "SELECT turn_id, result_json FROM tool_calls ORDER BY turn_id, sequence")
    for row in calls:
        said.setdefault(row["turn_id"], []).append(f"result: {row['result_json']}")
    turns = rows(ledger, "SELECT id, error FROM turns WHERE id NOT IN (SELECT turn_id FROM superseded)")
    ways = [_way(ledger, str(row["id"]), said) for row in turns if row["error"] != RETRACTED]
    (session,) = rows(ledger, "SELECT thread_id FROM sessions")
    return sorted(map(tuple, ways)), _way(ledger, str(session["thread_id"]), said)


def _way(ledger: Ledger, turn_id: str, said: dict[object, list[str]]) -> list[Said]:
    return [tuple(said.get(each, ())) for each in ledger.ancestry(turn_id)]


@pytest.fixture(params=[seed_line, pi_line], ids=["seed", "pi"])
def lines(request: pytest.FixtureRequest) -> list[bytes]:
    return talk(request.param)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / SESSIONS


@pytest.mark.parametrize("arrival", ARRIVALS)
def test_a_file_cut_at_every_line_is_the_same_tree(
    arrival: str, lines: list[bytes], folder: Path, tmp_path: Path
) -> None:
    whole, new = b"".join(lines[:-2]), b"".join(lines[-2:])
    with opened(tmp_path / "whole.db") as ledger:
        write(folder / LIVE, whole + new)
        sync(ledger, folder)
        expected = tree(ledger)
        assert [turn[0] for turn in expected[1]] == ["t1", "t2", "t3", "t4", "t5", "t6", "new"]
        assert len(expected[0]) == 7
    for at in range(1, len(lines) - 2):
        for path in folder.iterdir():
            path.unlink()
        with opened(tmp_path / "cut.db") as ledger:
            for tick, files in enumerate(ARRIVALS[arrival](whole, b"".join(lines[at:-2]), new)):
                for name, data in files.items():
                    write(folder / name, data, tick)
                sync(ledger, folder)
            assert tree(ledger) == expected, f"cut before line {at}"
            if at == len(lines) - 6:  # the question of the last turn
                assert rebuild(ledger, f"sqlite:///{tmp_path / 'rebuilt.db'}").same
        (tmp_path / "cut.db").unlink()


def test_a_header_that_was_kept_changes_nothing(lines: list[bytes], folder: Path, tmp_path: Path) -> None:
    whole, new = b"".join(lines[:-2]), b"".join(lines[-2:])
    question = len(lines) - 6
    with opened(tmp_path / "ledger.db") as ledger:
        for tick, data in enumerate((whole, lines[0] + b"".join(lines[question:-2]) + new)):
            write(folder / LIVE, data, tick)
            sync(ledger, folder)
        assert [turn[0] for turn in tree(ledger)[1]] == ["t1", "t2", "t3", "t4", "t5", "t6", "new"]


def test_the_golden_folder_is_one_tree(url: str, tmp_path: Path) -> None:
    source = copy(GOLDEN / "pi" / "seed-shape-cut-with-bak" / "source", tmp_path / "source")
    with Ledger.open(url) as ledger:
        sync(ledger, source)
        ways, head = tree(ledger)
        assert [turn[0] for turn in head] == ["t1", "t2", "t3", "t4", "t5", "t6", "new"]
        assert len(ways) == 7
