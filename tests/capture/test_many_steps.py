"""Sources of many steps take linear time, whatever their order and whatever they join: through a real sync."""

import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from agents_ledger.capture.comparing import is_beginning
from agents_ledger.ledger.build import prepare
from agents_ledger.ledger.env import Env
from agents_ledger.model.entries import Call, Message, Turn
from tests.capture.folders import opened, sync
from tests.capture.hostile_lines import Record, line, written
from tests.support.cpu import finishes

SECONDS = 60  # of CPU; each takes 1 to 10 on an idle machine
Lines = list[Record | bytes | str]


def step(number: int) -> str:
    return f"{number:08x}-0000-4000-8000-000000000001"


def answer(number: int, parent: str | None, *content: Any, message: str | None = None) -> Record:
    made = line(step(number), parent, list(content), "assistant")
    made["message"] |= {"id": message or f"msg_{number}", "model": "claude", "type": "message"}
    return made


def call(name: str) -> Record:
    return {"type": "tool_use", "id": name, "name": "Bash", "input": {"command": "ls"}}


def result(number: int, parent: str, name: str) -> Record:
    return line(step(number), parent, [{"type": "tool_result", "tool_use_id": name, "content": "ok"}])


def results_without_calls(count: int) -> Iterator[Record]:
    """Each asked whether nothing but such results stands behind its parent: 16,000 took more than 100 s."""
    yield line(step(0), None)
    yield answer(1, step(0), {"type": "text", "text": "x"})
    yield from (result(at, step(1), f"none{at}") for at in range(2, count))


def children_before_their_parents(count: int) -> Iterator[Record]:
    yield from (line(step(at), step(at + 1)) for at in range(count))
    yield line(step(count), None)


def children_of_one_late_parent(count: int) -> Iterator[Record]:
    yield line(step(count), None)
    yield from (line(step(at), step(0)) for at in range(1, count))
    yield line(step(0), step(count))


def orphans(count: int) -> Iterator[Record]:
    yield from (line(step(at), step(at + 10**7)) for at in range(count))


def parts_of_one_message(count: int) -> Iterator[Record]:
    yield line(step(0), None)
    for at in range(1, count):
        part = call(f"c{at}") if at % 2 else {"type": "text", "text": "hello"}
        yield answer(at, step(at - 1), part, message="msg_1")


def calls_of_one_turn(count: int) -> Iterator[Record]:
    yield line(step(0), None)
    for at in range(1, count, 2):
        yield answer(at, step(at - 1), call(f"c{at}"))
        yield result(at + 1, step(at), f"c{at}")


def results_of_one_call(count: int) -> Iterator[Record]:
    yield line(step(0), None)
    yield answer(1, step(0), call("c"))
    yield from (result(at, step(at - 1), "c") for at in range(2, count))


def branches_inside_one_turn(count: int) -> Iterator[Record]:
    """Each copied the turn up to where it begins: 4,000 lines took minutes and gigabytes."""
    yield from calls_of_one_turn(count // 2)
    yield from (line(step(count + at), step(at)) for at in range(1, count // 2))


def lines_with_one_id(count: int) -> Iterator[Record]:
    """Each was compared with all before it, and made 40 times."""
    yield line(step(0), None)
    yield from (line(step(1), step(0), f"words {at}") for at in range(1, count))


SHAPES: dict[str, tuple[Callable[[int], Iterator[Record]], int]] = {
    "results without calls": (results_without_calls, 16_000),
    "children before their parents": (children_before_their_parents, 10_000),
    "children of one late parent": (children_of_one_late_parent, 10_000),
    "orphans": (orphans, 10_000),
    "parts of one message": (parts_of_one_message, 50_000),
    "calls of one turn": (calls_of_one_turn, 50_000),
    "results of one call": (results_of_one_call, 50_000),
    "branches inside one turn": (branches_inside_one_turn, 4_000),
    "lines with one id": (lines_with_one_id, 4_000),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_many_steps_are_read_in_time(shape: str, tmp_path: Path) -> None:
    make, count = SHAPES[shape]
    assert finishes(partial(captured, tmp_path, list(make(count))), SECONDS)


def test_glued_values_are_read_in_time(tmp_path: Path) -> None:
    lines = [json.dumps(line(step(at), step(at - 1) if at else None)) for at in range(4000)]
    assert finishes(partial(captured, tmp_path, [lines[0], "".join(lines[1:]), "{}" * (1 << 19)]), SECONDS)


def captured(folder: Path, lines: Lines) -> None:
    source = written(folder / "source" / "5e551011-0000-4000-8000-000000000001.jsonl", *lines)
    with opened(folder / "ledger.db") as ledger:
        summary = sync(ledger, source.parent)
        assert summary.sources == {"claude-code": 1}


def test_branches_beyond_the_limit_begin_at_the_end_of_the_turn(tmp_path: Path) -> None:
    written(tmp_path / "source" / "5e551011-0000-4000-8000-000000000001.jsonl", *branches_inside_one_turn(600))
    with opened(tmp_path / "ledger.db") as ledger:
        sync(ledger, tmp_path / "source")
    with closing(sqlite3.connect(tmp_path / "ledger.db")) as database:
        (messages,) = database.execute("SELECT count(*) FROM messages").fetchone()
        problems = dict(database.execute("SELECT code, count(*) FROM problems GROUP BY code").fetchall())
    assert problems["too-many-branches"] == 1  # (one row for each turn)
    assert 5_000 < messages < 20_000  # each of the 299 branches has its question


def test_a_copy_with_many_calls_in_another_order_is_compared_at_once() -> None:
    """Each call was looked for among all that were left: 50,000 took minutes."""
    calls = tuple(Call("Bash", {"command": str(at)}, result="ok", status="completed") for at in range(50_000))
    said = Message("assistant", "x")
    one, other = (
        prepare(Turn((said, *more), mine), Env(), bytes(32)).record
        for more, mine in (((), calls), ((Message("user", "y"),), calls[::-1]))
    )
    assert finishes(lambda: is_beginning(one, other))
    assert is_beginning(one, other)
