"""Stories: what only the evidence holds, what they are without it, and that no record is too odd to be asked."""

from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents_ledger import Ledger, Message, Turn
from agents_ledger.capture.forking import fork_into, reveal
from agents_ledger.capture.place import drafted
from agents_ledger.errors import BadInput, TurnIsLive
from agents_ledger.formats import formats
from agents_ledger.ledger.story import tell
from agents_ledger.model.entries import Call
from agents_ledger.model.formats import Machine
from agents_ledger.model.story import Held, Image, Text, Thinking
from tests.capture.folders import GOLDEN, opened, sync
from tests.formats.codex_lines import PATH, THREAD, entry, header, message

WORDS = ("type", "message", "content", "payload", "role", "thinking", "source", "data", "api", "tool_use_id", "text")
KINDS = ("assistant", "user", "thinking", "image", "reasoning", "message", "compacted", "toolResult", "tool_result")
VALUES: Any = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from(KINDS) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(WORDS), inner, max_size=4),
    max_leaves=12,
)


@settings(deadline=None)
@given(st.dictionaries(st.sampled_from(WORDS), VALUES))
def test_no_record_is_too_odd_to_be_asked_what_it_holds(record: dict[str, Any]) -> None:
    for form in formats():
        assert isinstance(form.held(msgspec.json.encode(record)), Held)
        assert isinstance(form.held(b"{ not json"), Held)


@pytest.mark.parametrize(
    ("case", "kind"), [("claude-code/images", Image), ("codex/tools", Thinking), ("pi/images", Image)]
)
def test_seals_and_pictures_come_from_the_evidence(case: str, kind: type, tmp_path: Path) -> None:
    with opened(tmp_path / "ledger.db") as ledger:
        sync(ledger, GOLDEN / case / "source")
        whole, poor = (_blocks(ledger, kind, known) for known in (reveal(), None))
    assert len(whole) == len(poor) > 0
    assert all(block.data or getattr(block, "signature", None) for block in whole if isinstance(block, Image))
    assert all(block.signature for block in whole if isinstance(block, Thinking))
    assert not any(getattr(block, "data", None) or getattr(block, "signature", None) for block in poor)


def _blocks(ledger: Ledger, kind: type, known: Any) -> list[Any]:
    heads = [line.session.thread_id for line in ledger.sessions(limit=100)]
    found = []
    for head in filter(None, heads):
        with ledger.database.read() as tx:
            entries = list(tell(tx, head, known).entries)
        blocks = [block for entry in entries for block in entry.blocks]
        found += [
            part for block in blocks for part in (block, *getattr(block, "content", ())) if isinstance(part, kind)
        ]
    return found


def test_a_context_that_codex_wrote_down_is_told_with_and_without_evidence(tmp_path: Path) -> None:
    with opened(tmp_path / "ledger.db") as ledger:
        sync(ledger, GOLDEN / "codex" / "compaction" / "source")
        label = max(
            (line.session.label for line in ledger.sessions(limit=9)), key=lambda one: len(_texts(ledger, one, None))
        )
        assert _texts(ledger, label, None) == _texts(ledger, label, reveal())


def _texts(ledger: Ledger, label: str, known: Any) -> list[str]:
    with ledger.database.read() as tx:
        story = tell(tx, ledger.head(label) or "", known)
        return [block.text for entry in story.entries for block in entry.blocks if isinstance(block, Text)]


def test_a_session_that_was_written_here_can_be_forked_into_any_agent(ledger: Ledger, tmp_path: Path) -> None:
    machine = Machine(str(tmp_path / "home"), {}, "linux")
    call = Call(tool="Bash", params={"command": "list-all"}, result="a\nb", status="completed", message=1)
    said = (Message("user", "What is here?"), Message("assistant", "Let me look."), Message("assistant", "a and b."))
    turn = ledger.append("mine", Turn(messages=said, calls=(call,)))
    for agent in ("claude-code", "codex", "pi", "openclaw"):
        made = fork_into(ledger, machine, turn, agent)
        text = Path(made.path).read_text(encoding="utf-8")
        places = [text.index(words) for words in ("What is here?", "Let me look.", "list-all", "a and b.")]
        assert places == sorted(places)
        assert ledger.head(made.session) == turn
    assert ledger.head("mine") == turn


@pytest.mark.parametrize("kind", ["subagent_notification", "user_shell_command"])
def test_what_came_of_something_is_told_to_another_agent_and_what_codex_always_adds_is_not(
    kind: str, tmp_path: Path
) -> None:
    place = "<environment_context>\n  <cwd>/w</cwd>\n</environment_context>"
    answers = [entry("response_item", {"type": "message", "role": "assistant", "content": text}) for text in ("1", "2")]
    came = message("user", f"<{kind}>\nSub result 42\n</{kind}>")  # after the first turn had ended
    rollout = tmp_path / Path(PATH).name
    first, second = message("user", "One?"), message("user", "Two?")
    rollout.write_bytes(
        b"\n".join([header(), message("user", place), first, answers[0], came, second, answers[1], b""])
    )
    with opened(tmp_path / "ledger.db") as ledger:
        sync(ledger, rollout)
        machine = Machine(str(tmp_path / "home"), {}, "linux")
        before, after = (
            Path(fork_into(ledger, machine, turn.id, "claude-code").path).read_text("utf-8")
            for turn in ledger.path(ledger.find(f"codex:{THREAD}"))
        )
    assert "Sub result 42" not in before
    assert after.index("One?") < after.index("Sub result 42") < after.index("Two?")
    assert "environment_context" not in after


def test_a_live_turn_is_not_forked(ledger: Ledger, tmp_path: Path) -> None:
    with ledger.turn("mine", "What?") as live:
        with pytest.raises(TurnIsLive):
            fork_into(ledger, Machine(str(tmp_path), {}, "linux"), live.id, "pi")
        live.complete()
    assert not list(tmp_path.rglob("*.jsonl"))


def test_a_file_that_is_there_stays_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "taken.jsonl"
    path.write_text("mine", encoding="utf-8")
    with pytest.raises(BadInput, match="stays as it is"), drafted(path, [b"{}"]) as draft:
        draft.publish()
    assert path.read_text(encoding="utf-8") == "mine"
    assert list(tmp_path.iterdir()) == [path]


def test_a_draft_that_is_not_published_leaves_nothing(tmp_path: Path) -> None:
    with drafted(tmp_path / "new.jsonl", [b"{}", b"[]"]) as draft:
        assert draft.size_bytes == len(b"{}\n[]\n")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(ZeroDivisionError), drafted(tmp_path / "new.jsonl", (b"%d" % (1 // 0) for _ in "x")):
        pass
    assert list(tmp_path.iterdir()) == []
