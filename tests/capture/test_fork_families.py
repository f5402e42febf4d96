"""Forks of every agent: what was said before the fork is there once, and both sessions stand on it."""

from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from agents_ledger import Ledger
from agents_ledger.capture.rebuild import rebuild
from agents_ledger.ledger.digest import digest
from tests.capture import told
from tests.capture.folders import GOLDEN, assert_sound, copy, names, opened, rows, sync, write
from tests.capture.hostile_lines import entry, header, written

# How many turns the sessions of a family share, as their files say.
FAMILIES = {
    "codex/fork-by-reference": 2,
    "codex/legacy-fork-rollback": 2,
    "claude-code/cli-fork": 1,
    "claude-code/cli-fork-of-2.1.325": 1,
    "claude-code/1.0-fork-and-compaction": 1,
    "claude-code/sdk-fork": 1,
    "claude-code/parallel-calls-in-another-order": 1,
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


@pytest.mark.parametrize("first", [0, 1])
def test_a_copy_that_is_stored_twice_is_a_problem(first: int, tmp_path: Path) -> None:
    """Both are kept: which of them was changed is not known."""
    source = copy(GOLDEN / "claude-code/parallel-calls-in-another-order" / "source", tmp_path / "source")
    one, other, fork = sorted(source.iterdir())
    fork.unlink()
    write(other, other.read_bytes().replace(b"part 3 is built", b"part 3 is in other words"))
    with opened(tmp_path / "ledger.db") as ledger:
        for path in (one, other)[:: 1 if first == 0 else -1]:
            sync(ledger, path)
        assert_sound(ledger)
        assert _twice(ledger) == []
        assert {row["code"] for row in rows(ledger, "SELECT code FROM problems")} == {"changed-step"}


@pytest.mark.parametrize(("origin", "fork"), [("a", "b"), ("b", "a")])
def test_a_session_is_read_before_its_forks_whatever_their_files_are_called(
    origin: str, fork: str, tmp_path: Path
) -> None:
    """Claude Code 1.0 gives the records that a fork copies the time of the copy: the earlier time is the true one."""
    restamped = "2026-11-15T23:00:00.000Z"
    lines = told.talk(2)
    copied = [line | {"sessionId": fork, "timestamp": restamped} for line in lines]
    write(tmp_path / "source" / f"{origin}.jsonl", told.written([line | {"sessionId": origin} for line in lines]))
    write(tmp_path / "source" / f"{fork}.jsonl", told.written([*copied, told.user(9, 4, "else?", sessionId=fork)]))
    with opened(tmp_path / "ledger.db") as ledger:
        sync(ledger, tmp_path / "source")
        assert_sound(ledger)
        found = rows(ledger, "SELECT session_label, started_at, completed_at FROM turns ORDER BY id")
    first_ms = 1_794_736_800_000
    assert [tuple(row.values()) for row in found] == [
        (f"claude-code:{origin}", first_ms + 1000, first_ms + 2000),
        (f"claude-code:{origin}", first_ms + 3000, first_ms + 4000),
        (f"claude-code:{fork}", first_ms + 9000, first_ms + 9000),
    ]


@pytest.mark.parametrize("name", sorted(set(names()) - {"cursor/transcripts"}))  # (two sessions with the same words)
def test_no_turn_is_stored_twice(name: str, tmp_path: Path) -> None:
    source = copy(GOLDEN / name / "source", tmp_path / "source")
    with opened(tmp_path / "ledger.db") as ledger:
        sync(ledger, source)
        assert _twice(ledger) == []


@pytest.mark.parametrize("order", [("early", "late"), ("late", "early")])
def test_of_two_files_that_tell_a_session_differently_the_later_one_has_the_head(
    order: tuple[str, str], tmp_path: Path
) -> None:
    """A session that was copied to another machine and went on there as well: the order of syncs does not matter."""
    told_in = {
        "early": entry("bbbb0001", "aaaa0001", "Here at noon?", timestamp=1794768298000),
        "late": entry("bbbb0002", "aaaa0001", "There in the evening?", timestamp=1794768299000),
    }
    times = {"early": "2026-11-15T12:00:00.000Z", "late": "2026-11-15T20:00:00.000Z"}
    with opened(tmp_path / "ledger.db") as ledger:
        for name in order:
            own = {**told_in[name], "timestamp": times[name]}
            written(tmp_path / "all" / name / "one.jsonl", header("same-session"), entry("aaaa0001", None), own)
            sync(ledger, tmp_path / "all")
        assert_sound(ledger)
        asked = "SELECT m.content FROM sessions s JOIN messages m ON m.turn_id = s.thread_id"
        assert [row["content"] for row in rows(ledger, asked)] == ["There in the evening?"]
        assert rebuild(ledger, f"sqlite:///{tmp_path / 'rebuilt.db'}").same


@pytest.mark.parametrize("order", [("knows", "not"), ("not", "knows")])
def test_of_two_files_that_know_more_and_less_of_a_turn_the_same_one_counts_in_any_order(
    order: tuple[str, str], tmp_path: Path
) -> None:
    said = {"knows": {"model": "model-1", "provider": "p"}, "not": {}}
    with opened(tmp_path / "ledger.db") as ledger, opened(tmp_path / "at once.db") as once:
        for name in order:
            answer = entry("aaaa0002", "aaaa0001", "It is so.", "assistant", **said[name])
            more = entry("aaaa0003", "aaaa0002", "And then?")
            lines = (header("same-session"), entry("aaaa0001", None), answer, more)
            written(tmp_path / "all" / name / "one.jsonl", *lines)
            sync(ledger, tmp_path / "all")
        sync(once, tmp_path / "all")
        assert_sound(ledger)
        assert digest(ledger.database) == digest(once.database)


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


def test_a_fork_leaves_the_turns_that_it_shares_as_its_origin_tells_them(tmp_path: Path) -> None:
    """A fork of OpenCode has ids of its own for what it copies: rebuilt, the turns have those that they had."""
    source = copy(GOLDEN / "opencode" / "exports" / "source", tmp_path / "source")
    (source / "ses_e1f718ae1ffejF1Pmi5Y0ai1eS.json").rename(source / "a.json")  # the origin, of which another is a fork
    names_of = "SELECT t.id, m.native_id, m.sequence FROM turns t JOIN messages m ON m.turn_id = t.id ORDER BY 1, 3"
    with opened(tmp_path / "ledger.db") as ledger:
        sync(ledger, source)
        told_first = rows(ledger, names_of)
        assert rebuild(ledger, f"sqlite:///{tmp_path / 'rebuilt.db'}").same
    with Ledger.open(f"sqlite:///{tmp_path / 'rebuilt.db'}") as rebuilt:
        assert rows(rebuilt, names_of) == told_first
