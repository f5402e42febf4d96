"""The active chain of every source is under the head that was imported, and `verify` finds when it is not."""

from pathlib import Path
from random import Random

import pytest

from agents_ledger import Ledger, Message, Turn
from agents_ledger.capture.check_sources import check_sources
from agents_ledger.capture.native_chain import Counts, NativeChain
from agents_ledger.model.steps import Moved, Noted, Said
from tests.capture.folders import GOLDEN, copy, opened, rows, sync
from tests.capture.test_evidence_tampering import Tampered
from tests.capture.test_line_order import conversation, encoded, in_another_order, transcript

COUNTED = "SELECT path, chain_entries, chain_under_head FROM captures WHERE chain_entries > 0 ORDER BY path"


def read(chain: NativeChain, *steps: tuple[str | None, str | None, str]) -> None:
    """Entries, each with its id, its parent's and the turn that it is read into."""
    for name, parent, turn in steps:
        step = Said(session="s", native_id=name, parent=parent, role="user")
        chain.place(chain.add(step, None if name is None else hash(name), hash(parent) if parent else None), turn)


def test_the_chain_follows_parents_in_any_order() -> None:
    chain = NativeChain()
    read(chain, ("c", "b", "2"), ("a", None, "1"), ("x", "a", "9"), ("b", "a", "1"), ("d", "c", "2"))
    assert chain.turns("s") == {"1", "2"}
    assert chain.count("s", {"1", "2"}) == Counts(4, 4)
    assert chain.count("s", {"2"}) == Counts(4, 2)


def test_what_follows_the_last_entry_although_it_was_written_before_ends_the_chain() -> None:
    chain = NativeChain()
    read(chain, ("a", None, "1"), ("d", "c", "3"), ("c", "b", "2"), ("b", "a", "1"))
    assert chain.count("s", {"1", "2", "3"}) == Counts(4, 4)


def test_entries_in_a_circle_are_counted_once() -> None:
    chain = NativeChain()
    read(chain, ("a", "b", "1"), ("b", "a", "1"), ("self", "self", "1"))
    assert chain.count("s", {"1"}) == Counts(1, 1)


def test_a_session_that_went_back_is_counted_from_there() -> None:
    chain = NativeChain()
    for name in "abc":
        step = Said(session="s", native_id=name, role="user", starts_turn=True)
        chain.place(chain.add(step, hash(name), None), name)
    chain.place(chain.add(Moved(session="s", turns=2), None, None), "a")
    chain.place(chain.add(Noted(session="s", native_id="d"), hash("d"), None), "d")
    assert chain.turns("s") == {"a", "d"}
    assert chain.count("s", {"a", "d"}) == Counts(3, 3)


def test_a_chain_that_leaves_the_new_part_is_not_known() -> None:
    chain = NativeChain()
    chain.resume("s", [], [])
    read(chain, ("b", "a", "1"))
    assert chain.count("s", {"1"}) is None


@pytest.mark.parametrize("seed", range(6))
def test_a_source_that_grew_has_the_counts_of_the_whole(seed: int, tmp_path: Path) -> None:
    random = Random(seed)  # noqa: S311 - the same lines each time
    lines = conversation(random)
    if seed % 2:
        lines = in_another_order(lines, random)
    with opened(tmp_path / "whole.db") as ledger:
        sync(ledger, transcript(tmp_path, encoded(lines)))
        (whole,) = rows(ledger, COUNTED)
        assert whole["chain_entries"] == whole["chain_under_head"]
    cut = random.randrange(1, len(lines))
    with opened(tmp_path / "cut.db") as ledger:
        sync(ledger, transcript(tmp_path, encoded(lines[:cut])))
        sync(ledger, transcript(tmp_path, encoded(lines), 1))
        found = rows(ledger, COUNTED)
        assert found in ([], [whole])  # (nothing, if the chain left the new part)
        report = check_sources(ledger)
        assert not report.findings
        assert report.chain_entries == whole["chain_entries"]


@pytest.mark.parametrize("name", ["claude-code", "codex", "pi", "opencode", "gemini", "agentuse"])
def test_captured_sources_are_read_again(name: str, url: str, tmp_path: Path) -> None:
    """Heads that were moved in the ledger itself are no finding."""
    with Ledger.open(url) as ledger:
        sync(ledger, copy(GOLDEN / name, tmp_path / "source"))
        assert not rows(ledger, "SELECT 1 FROM captures WHERE chain_under_head < chain_entries")
        label = str(rows(ledger, "SELECT session_label AS label FROM session_history ORDER BY id LIMIT 1")[0]["label"])
        head = ledger.head(label)
        assert head is not None
        ledger.fork(head, "mine")
        ledger.append(label, Turn(messages=(Message("user", "Here"), Message("assistant", "Yes"))))
        report = check_sources(ledger)
        assert not report.findings
        assert 0 < report.chain_entries == report.chain_under_head


def test_verify_names_a_source_whose_chain_is_not_under_its_head(tmp_path: Path) -> None:
    tampered = Tampered(tmp_path / "ledger.db")
    sync(tampered.ledger, copy(GOLDEN / "claude-code" / "children-before-parents", tmp_path / "source"))
    (row,) = tampered.rows("captures", "chain_entries > 0")
    assert not check_sources(tampered.ledger).findings
    tampered.change("captures", row["id"], "chain_under_head", row["chain_under_head"] - 1)
    assert ("captures", str(row["id"])) in tampered.findings()
    tampered.change("captures", row["id"], "chain_under_head", row["chain_under_head"] + 1)
    assert [finding.place for finding in check_sources(tampered.ledger).findings] == ["captures"]


def test_reading_again_finds_a_head_that_is_elsewhere(tmp_path: Path) -> None:
    """As if the source had been read wrongly: the session's last move leads to the turn before the last one."""
    tampered = Tampered(tmp_path / "ledger.db")
    sync(tampered.ledger, copy(GOLDEN / "claude-code" / "children-before-parents", tmp_path / "source"))
    move = tampered.rows("session_history")[-1]
    tampered.change("session_history", move["id"], "thread_id", move["from_thread_id"])
    assert [finding.place for finding in check_sources(tampered.ledger).findings] == ["sessions"]
