"""What Codex kept beside a summary without writing it down: its questions, the newest first, up to 20,000 tokens."""

from pathlib import Path

import pytest

from agents_ledger import Ledger, Message, Turn
from agents_ledger.capture.forking import fork_into, reveal
from agents_ledger.capture.sync import Sync
from agents_ledger.ledger.kept_questions import MOST_TOKENS, kept_questions, shortened
from agents_ledger.ledger.records import read_turn
from agents_ledger.ledger.story import tell
from agents_ledger.model.formats import Machine
from agents_ledger.model.story import Text
from tests.capture.folders import GOLDEN, copy

LABEL = "codex:01a1e08d-6cc1-73d2-8b1d-9a4a0972ecca"


@pytest.fixture
def machine(ledger: Ledger, tmp_path: Path) -> Machine:
    """A machine on which an old Codex has compacted a session, captured."""
    copy(GOLDEN / "codex" / "compaction-legacy" / "source", tmp_path / "source")
    made = Machine(str(tmp_path), {}, "linux")
    Sync(ledger, made).run([str(tmp_path / "source")])
    return made


def test_a_context_has_the_questions_and_then_the_summary(ledger: Ledger, machine: Machine) -> None:
    del machine
    context = ledger.context(ledger.head(LABEL) or "")
    texts = [item["content"][0]["text"] for item in context.replacement]
    assert [text[:11] for text in texts[:-1]] == ["Compact me."]
    assert texts[-1] == context.summary
    assert [turn.messages[0].content for turn in context.turns if turn.messages][-1] == "And after compaction?"


def test_a_context_before_the_compaction_has_nothing_of_it(ledger: Ledger, machine: Machine) -> None:
    del machine
    first = ledger.ancestry(ledger.head(LABEL) or "")[0]
    assert ledger.context(first).replacement is None


def test_another_agent_is_told_them_too(ledger: Ledger, machine: Machine) -> None:
    head = ledger.head(LABEL) or ""
    with ledger.database.read() as tx:
        story = tell(tx, head, reveal())
        entries = list(story.entries)
    (kept,) = (entry for entry in entries if entry.is_kept)
    assert isinstance(kept.blocks[0], Text)
    assert (kept.role, kept.blocks[0].text[:11]) == ("user", "Compact me.")
    assert "Compact me." in Path(fork_into(ledger, machine, head, "claude-code").path).read_text()


def test_the_newest_questions_are_kept_and_the_one_that_does_not_fit_is_shortened(ledger: Ledger) -> None:
    for letter in "abc":
        ledger.append("s", Turn((Message("user", letter * 40, source="human"), Message("assistant", "yes"))))
    ledger.append("s", Turn((Message("user", "<environment_context>", source="context"), Message("user", "dd"))))
    head = ledger.compact("s", "what happened")
    with ledger.database.read() as tx:
        turn = read_turn(tx, head)
        kept = {most: [text for _row, text in kept_questions(tx, turn, most)] for most in (1, 11, 16, MOST_TOKENS)}
    assert kept == {
        1: ["dd"],
        11: ["c" * 40, "dd"],
        16: ["bbbbbbbbbb…5 tokens truncated…bbbbbbbbbb", "c" * 40, "dd"],
        MOST_TOKENS: ["a" * 40, "b" * 40, "c" * 40, "dd"],
    }
    assert ledger.context(head).replacement is None  # our own compactions say what they keep


def test_no_letter_is_cut_in_half() -> None:
    assert shortened("€" * 10, 4) == "€€…4 tokens truncated…€€"
