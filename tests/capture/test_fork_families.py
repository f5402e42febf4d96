"""Forks of every agent: what was said before the fork is there once, and both sessions stand on it."""

from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from agents_ledger import Ledger
from tests.capture import told
from tests.capture.folders import GOLDEN, assert_sound, copy, names, opened, rows, sync, write

# How many turns the sessions of a family share, as their files say.
FAMILIES = {
    "codex/fork-by-reference": 2,
    "codex/legacy-fork-rollback": 2,
    "claude-code/cli-fork": 1,
    "claude-code/cli-fork-of-2.1.325": 1,
    "claude-code/1.0-fork-and-compaction": 1,
    "claude-code/sdk-fork": 1,
    "pi/fork-with-parent-session": 1,
    "pi/fork-of-a-tool-session": 1,
    "pi/fork-with-dangling-parent": 1,
    "pi/full-copy-and-branched-copy": 1,
    "cursor/duplicated-chat": 1,
}


def histories(ledger: Ledger) -> dict[str, list[str]]:
    """The turns up to the head of each session, the first one first."""
    parents = {str(row["id"]): row["parent_turn_id"] for row in rows(ledger, "SELECT id, parent_turn_id FROM turns")}
    found = {}
    for row in rows(ledger, "SELECT label, thread_id FROM sessions WHERE thread_id IS NOT NULL"):
        at, chain = row["thread_id"], []
        while at is not None:
            chain.append(str(at))
            at = parents[str(at)]
        found[str(row["label"])] = chain[::-1]
    return found


def contents(ledger: Ledger) -> dict[tuple[Any, str], list[str]]:
    """Turns by what they follow and what they say."""
    said: dict[Any, Any] = {}
    for table, what in (
        ("messages", "role, content, thinking"),
        ("tool_calls", "tool_name, params_json, result_json, error"),
        ("compactions", "summary"),
    ):
        order = "turn_id" if table == "compactions" else "turn_id, sequence"
        for row in rows(ledger, f"SELECT turn_id, {what} FROM {table} ORDER BY {order}"):  # noqa: S608 - as above
            said.setdefault(row.pop("turn_id"), sha256(table.encode())).update(repr(sorted(row.items())).encode())
    found: dict[tuple[Any, str], list[str]] = {}
    for row in rows(ledger, "SELECT id, parent_turn_id FROM turns"):
        key = row["parent_turn_id"], said[row["id"]].hexdigest() if row["id"] in said else str(row["id"])
        found.setdefault(key, []).append(str(row["id"]))
    return found


@pytest.mark.parametrize("name", FAMILIES)
def test_a_fork_and_its_origin_stand_on_one_chain(name: str, tmp_path: Path) -> None:
    source = copy(GOLDEN / name / "source", tmp_path / "source")
    with opened(tmp_path / "ledger.db") as ledger:
        sync(ledger, source)
        assert_sound(ledger)
        chains = list(histories(ledger).values())
        shared = [
            sum(a == b for a, b in zip(one, other, strict=False))
            for at, one in enumerate(chains)
            for other in chains[at + 1 :]
        ]
        assert max(shared) >= FAMILIES[name], histories(ledger)
        assert _twice(ledger) == []


@pytest.mark.parametrize("name", sorted(set(names()) - {"cursor/transcripts"}))  # (two sessions with the same words)
def test_no_turn_is_stored_twice(name: str, tmp_path: Path) -> None:
    source = copy(GOLDEN / name / "source", tmp_path / "source")
    with opened(tmp_path / "ledger.db") as ledger:
        sync(ledger, source)
        assert _twice(ledger) == []


def test_a_fork_that_is_read_before_its_origin_has_grown_to_it_is_the_same(tmp_path: Path) -> None:
    """Both files grow in turn: origin, fork, origin."""
    other = told.SESSION.replace("f1de", "f0ee")
    origin, fork = (tmp_path / "source" / f"{name}.jsonl" for name in (told.SESSION, other))
    lines = told.talk(4)
    branch = [{**line, "sessionId": other} for line in [*lines[:6], *told.talk(2, 101, 6)]]
    with opened(tmp_path / "ledger.db") as ledger:
        for tick, (path, upto) in enumerate([(origin, 3), (fork, 7), (origin, 8), (fork, 10)]):
            write(path, told.written((lines if path == origin else branch)[:upto]), tick)
            sync(ledger, tmp_path / "source")
            assert_sound(ledger)
        one, two = histories(ledger)[f"claude-code:{told.SESSION}"], histories(ledger)[f"claude-code:{other}"]
        assert (len(one), len(two), one[:3]) == (4, 5, two[:3])
        assert len(rows(ledger, "SELECT id FROM turns")) == 6
        assert _twice(ledger) == []


def _twice(ledger: Ledger) -> list[list[str]]:
    return [turns for turns in contents(ledger).values() if len(turns) > 1]
