"""An error of the API stands in the model's place: a fork keeps its text, and Claude Code keeps its mark."""

import json
from pathlib import Path
from typing import Any

import pytest

from agents_ledger import Ledger
from agents_ledger.capture.forking import Made, fork_into, reveal
from agents_ledger.ledger.story import tell
from agents_ledger.model.formats import Machine
from agents_ledger.model.story import Text
from tests.capture.folders import opened, rows, sync, write

AGENTS = ("claude-code", "codex", "pi", "openclaw", "agentuse", "qwen", "gemini", "opencode")
SESSION = "00000000-1111-4222-8333-00000000e001"
ERROR = "API Error: 529 Overloaded"
Line = dict[str, Any]


def line(number: int, kind: str, message: Line, **more: Any) -> Line:
    parent = f"{number - 1:08x}-0000-4000-8000-00000000e001" if number > 1 else None
    return {
        "parentUuid": parent,
        "isSidechain": False,
        "sessionId": SESSION,
        "version": "2.1.119",
        "cwd": "/w",
        "type": kind,
        "message": message,
        **more,
        "uuid": f"{number:08x}-0000-4000-8000-00000000e001",
        "timestamp": f"2026-03-01T10:00:{number:02d}.000Z",
    }


def answer(number: int, words: str, **more: Any) -> Line:
    model = "<synthetic>" if more else "claude-opus-4-6"
    content = [{"type": "text", "text": words}]
    return line(
        number, "assistant", {"id": f"m{number}", "role": "assistant", "model": model, "content": content}, **more
    )


def transcript(folder: Path, *, is_whole: bool = True) -> Path:
    """A question that met an error, and one that was answered; or with a line between that Claude Code cannot read."""
    lines = [
        line(1, "user", {"role": "user", "content": "First question"}),
        answer(2, ERROR, isApiErrorMessage=True),
        line(3, "user", {"role": "user", "content": "Second question"}),
        answer(4, "Second answer"),
    ]
    records = [json.dumps(each, separators=(",", ":")).encode() for each in lines]
    if not is_whole:
        records[2] = records[2][:-1]
    data = b"\n".join(records)
    write(path := folder / f"{SESSION}.jsonl", data + b"\n")
    return path


def words(ledger: Ledger, turn_id: str) -> list[str]:
    with ledger.database.read() as tx:
        blocks = [block for entry in tell(tx, turn_id, reveal()).entries for block in entry.blocks]
        return [block.text for block in blocks if isinstance(block, Text)]


def forks(ledger: Ledger, folder: Path, source: Path, agent: str) -> list[Made]:
    (folder / "home").mkdir()
    machine = Machine(str(folder / "home"), {}, "linux")
    sync(ledger, source)
    turns = rows(ledger, "SELECT id FROM turns ORDER BY depth")
    return [fork_into(ledger, machine, str(row["id"]), agent) for row in turns]


@pytest.mark.parametrize("agent", AGENTS)
def test_a_fork_keeps_the_text_of_an_error(agent: str, tmp_path: Path) -> None:
    said = ["First question", ERROR, "Second question", "Second answer"]
    with opened(tmp_path / "ledger.db") as ledger:
        for number, made in enumerate(forks(ledger, tmp_path, transcript(tmp_path), agent)):
            with opened(tmp_path / f"again{number}.db") as again:
                sync(again, Path(made.path))
                assert words(again, again.head(made.session) or "") == said[: 2 * number + 2]


@pytest.mark.parametrize("is_whole", [True, False])
def test_claude_code_knows_it_for_an_error(is_whole: bool, tmp_path: Path) -> None:
    """From its own lines, and from the ledger: then it does not tell its model."""
    with opened(tmp_path / "ledger.db") as ledger:
        made = forks(ledger, tmp_path, transcript(tmp_path, is_whole=is_whole), "claude-code")[-1]
        assert made.is_copy == is_whole
        lines = [json.loads(each) for each in Path(made.path).read_bytes().splitlines()]
        (error,) = (each for each in lines if ERROR in json.dumps(each))
        assert (error["isApiErrorMessage"], error["message"]["model"]) == (True, "<synthetic>")
        assert [each for each in lines if each.get("isApiErrorMessage")] == [error]
        with opened(tmp_path / "again.db") as again:
            sync(again, Path(made.path))
            read = again.thread(again.head(made.session) or "")
            assert [message.content for record in read for message in record.messages].count(ERROR) == 1
