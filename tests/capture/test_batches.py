"""What goes in with one batch is what would go in turn by turn."""

import json
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from agents_ledger.capture import taking, writer
from tests.capture.folders import opened, rows, said_by, sync, write
from tests.capture.told import SESSION, answer, text, user

_REACH = "SELECT turns_summarized FROM compactions ORDER BY turn_id"
_MARKED = "SELECT depth, has_children FROM turns ORDER BY depth"


def _compacted_thrice() -> list[dict[str, Any]]:
    """One, two and three questions, with a summary of everything after each: some blocks long, each may end a batch."""
    lines: list[dict[str, Any]] = []
    number = 0
    for questions in (1, 2, 3):
        for _ in range(questions):
            number += 2
            lines.append(user(number - 1, number - 2 or None, f"question {number}"))
            lines.append(answer(number, number - 1, text(f"answer {number} " * 20_000)))
        number += 2
        lines.append(user(number, number - 2, f"summary {number}", isCompactSummary=True))
    lines.append(user(number + 1, number, "and then?"))
    return lines


@pytest.mark.parametrize("size", [1, 1 << 24])
def test_compactions_of_one_batch_reach_as_far_as_those_of_many(
    size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = [json.dumps(line).encode() + b"\n" for line in _compacted_thrice()]
    source = tmp_path / "projects" / f"{SESSION}.jsonl"
    with closing(opened(tmp_path / "slowly.db")) as slowly, closing(opened(tmp_path / "at once.db")) as at_once:
        for count in range(1, len(lines) + 1):
            write(source, b"".join(lines[:count]), count)
            sync(slowly, source)
        monkeypatch.setattr(writer, "BATCH_BYTES", size)
        sync(at_once, source)
        assert said_by(at_once) == said_by(slowly)
        assert rows(at_once, _MARKED) == rows(slowly, _MARKED)
        found = rows(at_once, _REACH)
    assert [row["turns_summarized"] for row in found] == [1, 3, 4]


def test_after_much_was_taken_a_search_looks_into_one_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [json.dumps(line).encode() + b"\n" for line in _compacted_thrice()]
    source = tmp_path / "projects" / f"{SESSION}.jsonl"
    write(source, b"".join(lines), 1)
    monkeypatch.setattr(writer, "BATCH_BYTES", 1)
    counted: dict[str, int] = {}
    for name, much in (("usual", 1 << 40), ("much", 1)):
        monkeypatch.setattr(taking, "_MUCH", much)
        with closing(opened(tmp_path / f"{name}.db")) as ledger:
            sync(ledger, source)
            counted[name] = len(rows(ledger, "SELECT DISTINCT segid FROM search_idx"))
            assert [len(group.hits) + group.more for group in ledger.search("answer").groups] == [6]
    assert counted["usual"] > counted["much"] == 1
