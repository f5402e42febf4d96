"""Codex reads no line that holds two records. A fork for Codex has each record on a line of its own."""

import json
from itertools import pairwise
from pathlib import Path

import pytest

from agents_ledger import Ledger
from agents_ledger.capture.forking import fork_into, reveal
from agents_ledger.ledger.story import tell
from agents_ledger.model.formats import Machine
from agents_ledger.model.story import Block, Role
from tests.capture.folders import GOLDEN, opened, rows, sync, write

NAMES = ("developer-message-inside-a-turn", "tools", "compaction", "minimal")


def rollout(name: str) -> Path:
    (path,) = (GOLDEN / "codex" / name / "source").rglob("rollout-*.jsonl")
    return path


def told(ledger: Ledger, turn_id: str) -> tuple[str | None, list[tuple[Role, tuple[Block, ...]]]]:
    with ledger.database.read() as tx:
        story = tell(tx, turn_id, reveal())
        entries = [(entry.role, entry.blocks) for entry in story.entries]
        return None if story.summary is None else story.summary.text, entries


def questions(ledger: Ledger, turn_id: str) -> list[str]:
    asked = {
        str(row["turn_id"]): str(row["content"])
        for row in rows(ledger, "SELECT turn_id, content FROM messages WHERE source = 'human'")
    }
    return [asked[turn] for turn in ledger.ancestry(turn_id) if turn in asked]


def assert_forks_read_back(folder: Path, data: bytes, name: str) -> int:
    """Fork every turn of a file into Codex and read the fork into a new ledger. Give the number of forks."""
    machine = Machine(str(folder / "home"), {}, "linux")
    (folder / "home").mkdir()
    write(path := folder / name, data)
    with opened(folder / "ledger.db") as ledger:
        sync(ledger, path)
        turns = [str(row["id"]) for row in rows(ledger, "SELECT id FROM turns ORDER BY depth")]
        for number, turn_id in enumerate(turns):
            made = fork_into(ledger, machine, turn_id, "codex")
            lines = Path(made.path).read_bytes().splitlines()
            assert all(isinstance(json.loads(line), dict) for line in lines), "Codex reads each line"
            with opened(folder / f"again{number}.db") as again:
                sync(again, Path(made.path))
                assert not rows(again, "SELECT code FROM problems")
                head = again.head(made.session) or ""
                assert questions(again, head) == questions(ledger, turn_id)
                assert not made.is_copy or told(again, head) == told(ledger, turn_id)
                whole = len(again.ancestry(head))
                assert rows(again, "SELECT count(*) AS turns FROM turns") == [{"turns": whole}]
    return len(turns)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", NAMES)
def test_a_fork_has_one_record_a_line(name: str, seed: int, tmp_path: Path) -> None:
    """Each third line is glued to the one behind it."""
    path = rollout(name)
    lines = path.read_bytes().splitlines()
    glue = (b"", b" ", b", ")[seed]
    glued = [line + (glue if at and at % 3 == seed else b"\n") for at, line in enumerate(lines[:-1])]
    assert assert_forks_read_back(tmp_path, b"".join([*glued, lines[-1], b"\n"]), path.name)


def test_several_turns_on_one_line(tmp_path: Path) -> None:
    path = rollout("developer-message-inside-a-turn")
    lines = path.read_bytes().splitlines()
    begins = [at for at, line in enumerate(lines) if b'"task_started"' in line]
    for number, (start, end) in enumerate(pairwise((*begins, len(lines)))):
        folder = tmp_path / str(number)
        folder.mkdir()
        glued = [*lines[:start], b"".join(lines[start:end]), *lines[end:]]
        assert assert_forks_read_back(folder, b"\n".join(glued) + b"\n", path.name) == len(begins)
    (tmp_path / "all").mkdir()
    assert assert_forks_read_back(tmp_path / "all", b"".join(lines) + b"\n", path.name) == len(begins)
