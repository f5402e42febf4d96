"""The README's story, on both databases: write live, fork, rewind, go forward, ask for the past."""

from itertools import count

import pytest

from agents_ledger import Call, Ledger, Message, Turn, Usage
from agents_ledger.errors import HeadMoved
from agents_ledger.ledger import Env, sessions
from agents_ledger.ledger.context import as_text
from agents_ledger.ledger.growing import add_call, add_message
from agents_ledger.ledger.story import tell
from agents_ledger.model import story
from agents_ledger.store import Tx


def exchange(question: str, answer: str, **given: object) -> Turn:
    return Turn(messages=(Message("user", question), Message("assistant", answer)), **given)  # type: ignore[arg-type]


def test_the_story_of_the_readme(ledger: Ledger) -> None:
    with ledger.turn("main", query="Rename the module", model="claude-opus-4", tools=["Read", "Shell"]) as turn:
        call = turn.call("Shell", {"command": "git mv a.py b.py"})
        call.complete({"exit": 0})
        turn.reply("Done.", thinking="…", usage=Usage(input=900, output=40))
    branch = ledger.fork(turn.id, label="another-way")
    assert branch.thread_id == turn.id
    record = ledger.get(turn.id)
    assert [(row.role, row.content) for row in record.messages] == [
        ("user", "Rename the module"),
        ("assistant", "Done."),
    ]
    assert record.calls[0].result_json == '{"exit":0}'
    assert record.turn.total_tokens == 940
    assert record.turn.status == "completed"
    assert ledger.verify().is_good


def test_a_block_that_raises_leaves_a_failed_turn_with_the_reason(ledger: Ledger) -> None:
    turn = ledger.turn("main", "Divide")
    turn.call("Calc", {"by": 0})
    with pytest.raises(ZeroDivisionError), turn:
        _ = 1 / 0
    record = ledger.get(turn.id)
    assert (record.turn.status, record.turn.error) == ("failed", "ZeroDivisionError: division by zero")
    assert [call.status for call in record.calls] == ["abandoned"]
    assert ledger.head("main") == turn.id
    assert ledger.verify().is_good


def test_two_writers_on_one_head_one_wins_the_other_loses_nothing(ledger: Ledger) -> None:
    first = ledger.turn("main", "one")
    second = ledger.turn("main", "two")
    first.reply("first answer")
    second.reply("second answer")
    first.complete()
    with pytest.raises(HeadMoved) as conflict:
        second.complete()
    assert conflict.value.turn_id == second.id
    assert ledger.head("main") == first.id
    assert ledger.get(second.id).messages[1].content == "second answer"
    assert ledger.fork(second.id, "the-other").thread_id == second.id
    assert ledger.verify().is_good


def test_rewind_and_forward_move_the_pointer_and_nothing_else(ledger: Ledger) -> None:
    ids = [ledger.append("main", exchange(f"q{n}", f"a{n}", calls=(Call("Read", {"n": n}),))) for n in range(5)]
    assert ledger.ancestry(ids[-1]) == ids
    ledger.rewind("main", ids[2])
    ledger.rewind("main", turns=1)
    assert ledger.head("main") == ids[1]
    other = ledger.append("main", exchange("again", "differently"))
    assert ledger.ancestry(other) == [*ids[:2], other]
    assert ledger.including(ids[4]) == ["main"]
    assert [move.reason for move in ledger.history("main")] == ["advance"] * 5 + [
        "rewind",
        "rewind",
        "advance",
    ]
    assert ledger.verify().is_good


def test_what_an_agent_keeps_from_its_model_is_kept_from_the_context(ledger: Ledger) -> None:
    secret = Message("user", "Ran `cat secret`", metadata={"excludeFromContext": True})
    broken = Message("assistant", "I was about", metadata={"stopReason": "aborted"})
    call = Call("Read", {"path": "a"}, message=1)
    ledger.append("main", Turn(messages=(secret, broken), calls=(call,)))
    told = Message("assistant", "answer", metadata={"stopReason": "stop"})
    turn_id = ledger.append("main", Turn(messages=(Message("user", "question"), told)))
    context = ledger.context(turn_id)
    assert [row.content for turn in context.turns for row in turn.messages] == ["question", "answer"]
    assert not any(turn.calls for turn in context.turns)
    assert [row.content for row in ledger.thread(turn_id)[0].messages] == ["Ran `cat secret`", "I was about"]


@pytest.mark.parametrize("step_ms", [0, 1])
def test_a_call_that_nothing_was_said_before_stands_before_every_answer(url: str, step_ms: int) -> None:
    clock = count(1_000_000, step_ms)
    with Ledger.open(url, env=Env(now=lambda: next(clock))) as ledger:
        with ledger.turn("main", query="Rename") as turn:
            turn.call("Read", {"path": "a"}).complete("found")
            turn.reply("One moment.")
            turn.call("Shell", {"command": "git mv"}).complete("moved")
            turn.message(Message("user", "Be quick!"))
            turn.reply("Done.")
        expected = ["Rename", "Read", "found", "One moment.", "Shell", "moved", "Be quick!", "Done."]
        with ledger.database.read() as tx:
            told = list(tell(tx, turn.id).entries)
        assert [word for entry in told for block in entry.blocks for word in _words(block)] == expected
        text = as_text(ledger.context(turn.id))
        assert sorted(expected, key=text.index) == expected


def _words(block: object) -> list[str]:
    if isinstance(block, story.Result):
        return [part.text for part in block.content if isinstance(part, story.Text)]
    return [block.tool] if isinstance(block, story.Call) else [block.text] if isinstance(block, story.Text) else []


def test_a_call_without_a_message_stands_where_its_time_says(ledger: Ledger) -> None:
    said = [("user", "Why?", 10), ("assistant", "I look.", 20), ("assistant", "That is why.", 40)]

    def grow(tx: Tx) -> None:
        for role, text, at in said:
            session = sessions.ensure(tx, ledger.env, "main", sessions.Origin())
            add_message(tx, ledger.env, session, Message(role, text, created_at=at))
        for tool, at in (("First", 20), ("Second", 30), ("Third", 50)):
            add_call(tx, ledger.env, sessions.require(tx, "main"), Call(tool, started_at=at), None)

    ledger.database.write(grow)
    with ledger.database.read() as tx:
        told = list(tell(tx, ledger.head("main") or "").entries)
    words = [word for entry in told for block in entry.blocks for word in _words(block)]
    assert words == ["Why?", "First", "I look.", "Second", "That is why.", "Third"]
