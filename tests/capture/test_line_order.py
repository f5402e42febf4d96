"""Claude Code's lines in other orders, with lines damaged, and cut anywhere: still one tree with the right depth."""

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest

from agents_ledger import Ledger
from agents_ledger.ledger.digest import digest
from tests.capture.folders import assert_sound, opened, rows, sync, write

SESSION = "00000000-1111-4222-8333-000000000200"
_SEEDS = (*range(9), 18, 34, 38, 75, 90, 124)  # the last ones found faults
_FARTHEST = 9  # lines between a child and its parent further down, as seen in real files
Line = dict[str, Any]


def uuid(number: int) -> str:
    return f"{number:08x}-0000-4000-8000-000000000200"


class Conversation:
    """The lines of a session in the order of its chain; parallel results stand beside it."""

    def __init__(self) -> None:
        self.lines: list[Line] = []
        self.last: int | None = None

    def add(self, kind: str, message: Line, parent: int | None) -> int:
        number = len(self.lines) + 1
        line = {
            "parentUuid": None if parent is None else uuid(parent),
            "isSidechain": False,
            "type": kind,
            "message": message,
            "uuid": uuid(number),
            "timestamp": f"2026-11-14T12:{number // 60:02d}:{number % 60:02d}.000Z",
            "sessionId": SESSION,
            "version": "2.1.119",
        }
        self.lines.append(line)
        self.last = number
        return number

    def ask(self, text: str) -> None:
        self.add("user", {"role": "user", "content": text}, self.last)

    def answer(self, text: str, calls: int = 0) -> None:
        """An answer of the model: a line a block, then the results of its parallel calls."""
        message = f"msg_{len(self.lines)}"
        blocks: list[Line] = [{"type": "text", "text": text}]
        blocks += [
            {"type": "tool_use", "id": f"{message}_{at}", "name": "Bash", "input": {"command": f"make {at}"}}
            for at in range(calls)
        ]
        callers = [
            self.add("assistant", {"id": message, "role": "assistant", "model": "m", "content": [block]}, self.last)
            for block in blocks
        ][1:]
        for at, caller in enumerate(callers):
            result = {"type": "tool_result", "tool_use_id": f"{message}_{at}", "content": f"made {at}"}
            self.add("user", {"role": "user", "content": [result]}, caller)


def conversation(random: Random, turns: int = 5) -> list[Line]:
    made = Conversation()
    for turn in range(turns):
        made.ask(f"Question {turn}")
        for step in range(random.randrange(3)):
            made.answer(f"Step {turn}.{step}", calls=random.randrange(1, 4))
        made.answer(f"Answer {turn}")
    return made.lines


def in_another_order(lines: list[Line], random: Random) -> list[Line]:
    """Each line at most so far from its place; the last one stays: it is where the session is.

    A result that nothing follows comes before the next question, as in real files: later its turn is over.
    """
    places = {line["uuid"]: at + random.uniform(0, _FARTHEST) for at, line in enumerate(lines[:-1])}
    parents = {line["parentUuid"] for line in lines}
    question = float(len(lines))
    for line in reversed(lines[:-1]):
        if isinstance(line["message"]["content"], str):
            question = min(question, places[line["uuid"]])
        elif line["uuid"] not in parents:
            places[line["uuid"]] = min(places[line["uuid"]], question - 0.001)
    return [*sorted(lines[:-1], key=lambda line: places[line["uuid"]]), lines[-1]]


def encoded(lines: list[Line]) -> bytes:
    return b"".join(json.dumps(line, separators=(",", ":")).encode() + b"\n" for line in lines)


def transcript(folder: Path, data: bytes, tick: int = 0) -> Path:
    write(path := folder / f"{SESSION}.jsonl", data, tick)
    return path


def turns_under_head(ledger: Ledger) -> list[str]:
    """The questions on the way to the head, the first one first."""
    (session,) = rows(ledger, "SELECT thread_id FROM sessions")
    path = ledger.ancestry(str(session["thread_id"]))
    asked = "SELECT turn_id, content FROM messages WHERE sequence = 0"
    questions = {row["turn_id"]: str(row["content"]) for row in rows(ledger, asked)}
    return [questions[turn_id] for turn_id in path]


def assert_one_tree(ledger: Ledger, turns: int) -> None:
    assert_sound(ledger)
    assert turns_under_head(ledger) == [f"Question {turn}" for turn in range(turns)]
    (counted,) = rows(ledger, "SELECT count(*) AS turns FROM turns")
    assert counted["turns"] == turns


@pytest.mark.parametrize("seed", _SEEDS)
def test_children_before_their_parents(seed: int, tmp_path: Path) -> None:
    random = Random(seed)  # noqa: S311 - the same lines each time
    lines = conversation(random)
    with opened(tmp_path / "in_order.db") as ledger:
        sync(ledger, transcript(tmp_path, encoded(lines)))
        assert_one_tree(ledger, 5)
        calls = rows(ledger, "SELECT native_id, result_json, status FROM tool_calls ORDER BY native_id")
    lines = in_another_order(lines, random)
    with opened(tmp_path / "whole.db") as ledger:
        sync(ledger, transcript(tmp_path, encoded(lines)))
        assert_one_tree(ledger, 5)
        assert rows(ledger, "SELECT native_id, result_json, status FROM tool_calls ORDER BY native_id") == calls
        assert not rows(ledger, "SELECT 1 FROM problems")
        whole = digest(ledger.database)
    for cut in sorted(random.sample(range(1, len(lines)), 4)):
        with opened(tmp_path / f"cut{cut}.db") as ledger:
            sync(ledger, transcript(tmp_path, encoded(lines[:cut])))
            sync(ledger, transcript(tmp_path, encoded(lines), 1))
            assert digest(ledger.database) == whole, cut
            assert not rows(ledger, "SELECT 1 FROM problems")


@pytest.mark.parametrize("seed", _SEEDS)
@pytest.mark.parametrize("is_legible", [True, False])
def test_lines_that_cannot_be_parsed(seed: int, is_legible: bool, tmp_path: Path) -> None:
    """Lines inside the turns are damaged, at most every fourth one. The questions are not: they are compared."""
    random = Random(seed)  # noqa: S311 - as above
    lines = conversation(random)
    records = encoded(lines).splitlines(keepends=True)
    candidates = [at for at, line in enumerate(lines[:-1]) if isinstance(line["message"]["content"], list)]
    for at in random.sample(candidates, len(lines) // 4):
        records[at] = records[at].replace(b'"role":"', b'"role":REDACTED"', 1) if is_legible else b'{"torn": "\n'
    with opened(tmp_path / "whole.db") as ledger:
        sync(ledger, transcript(tmp_path, b"".join(records)))
        assert_one_tree(ledger, 5)
        assert {row["code"] for row in rows(ledger, "SELECT code FROM problems")} <= {"broken-line", "missing-result"}
        whole = digest(ledger.database)
    for cut in sorted(random.sample(range(1, len(lines)), 4)):
        with opened(tmp_path / f"cut{cut}.db") as ledger:
            sync(ledger, transcript(tmp_path, b"".join(records[:cut])))
            sync(ledger, transcript(tmp_path, b"".join(records), 1))
            assert digest(ledger.database) == whole, cut
