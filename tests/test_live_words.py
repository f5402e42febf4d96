"""Words that are streamed: in their order, soon on disk, and nothing but text."""

import threading
from collections.abc import Callable
from functools import partial
from typing import Any, cast

import pytest

from agents_ledger import CodeBlock, Ledger, LiveTurn, Message, Turn
from agents_ledger.errors import BadInput, HeadMoved, LeaseLost, StoreFull, TurnIsSealed, UnresolvedCalls
from agents_ledger.ledger import lease
from agents_ledger.model.rows import LeaseRow
from agents_ledger.store import Tx
from tests.crash.processes import outcome_of
from tests.support.leases import give_lease

LONG_S = 30.0
HEARTBEAT = "ledger-heartbeat"


def said(ledger: Ledger, turn: LiveTurn) -> list[str | None]:
    return [row.content for row in ledger.get(turn.id).messages]


class Writes:
    """Sees what a ledger's own thread writes."""

    def __init__(self, ledger: Ledger) -> None:
        self._write = ledger.database.write
        self.problem: Exception | None = None
        self.is_tried = threading.Event()
        ledger.database.write = self._counted  # type: ignore[method-assign]

    def _counted(self, body: Callable[[Tx], Any]) -> Any:
        if threading.current_thread().name != HEARTBEAT:
            return self._write(body)
        try:
            if self.problem is not None:
                raise self.problem
            return self._write(body)
        finally:
            self.is_tried.set()

    def wait(self) -> None:
        """Until it has written something, or has tried to."""
        assert self.is_tried.wait(LONG_S), "the ledger's thread does not write"
        self.is_tried.clear()

    def wait_for(self, ledger: Ledger, turn: LiveTurn, text: str) -> None:
        """Until a text is the last that readers see."""
        while said(ledger, turn)[-1] != text:
            self.wait()


# soon on disk


def test_words_are_written_though_no_other_call_comes(ledger: Ledger, url: str) -> None:
    writes = Writes(ledger)
    first, second = ledger.turn("a", "x"), ledger.turn("b", "y")
    first.stream("The answer ")
    first.stream("is 42.", thinking="sure")
    writes.wait_for(ledger, first, "The answer is 42.")
    with Ledger.open(url, readonly=True) as reader:
        row = reader.get(first.id).messages[1]
        assert (row.content, row.thinking) == ("The answer is 42.", "sure")
    second.stream("And ")
    second.stream("more")
    writes.wait_for(ledger, second, "And more")
    first.stream(" Really.")
    first.complete()
    second.complete()
    assert said(ledger, first) == ["x", "The answer is 42. Really."]
    assert ledger.verify().is_good


def test_words_that_have_waited_outlive_their_writer(url: str) -> None:
    Ledger.open(url).close()

    def work() -> str:
        ledger = Ledger.open(url)
        writes = Writes(ledger)
        turn = ledger.turn("main", "x")
        turn.stream("The answer ")
        turn.stream("is 42.")
        writes.wait_for(ledger, turn, "The answer is 42.")
        return turn.id

    turn_id = outcome_of(work)  # the child ends by os._exit: nothing is closed
    with Ledger.open(url) as ledger:
        assert ledger.recovered == [turn_id]
        assert [row.content for row in ledger.get(turn_id).messages] == ["x", "The answer is 42."]
        assert ledger.verify().is_good


def test_words_that_could_not_be_written_are_tried_again_and_their_speaker_hears_of_it(ledger: Ledger) -> None:
    writes = Writes(ledger)
    writes.problem = StoreFull("full")
    turn = ledger.turn("main", "x")
    turn.stream("one ")
    turn.stream("two ")
    writes.wait()
    write = ledger.database.write
    ledger.database.write = lambda _: (_ for _ in ()).throw(StoreFull("full"))  # type: ignore[method-assign,assignment]
    with pytest.raises(StoreFull):
        turn.stream("three ")
    ledger.database.write = write  # type: ignore[method-assign]
    writes.problem = None
    writes.wait_for(ledger, turn, "one two ")
    turn.stream("three")
    turn.complete()
    assert said(ledger, turn) == ["x", "one two three"]


@pytest.mark.parametrize("use", ["stream", "complete", "block", "raising block"])
def test_a_lease_that_the_ledgers_thread_finds_lost_is_told_to_the_next_call(ledger: Ledger, use: str) -> None:
    writes = Writes(ledger)
    turn = ledger.turn("main", "x")

    def die(tx: Tx) -> None:
        held = LeaseRow(*tx.rows("lease_of", turn_id=turn.id)[0])
        give_lease(tx, LeaseRow(turn.id, held.session_label, "elsewhere|1|1|x", held.token, 0))

    turn.stream("one ")
    with turn._lock:  # noqa: SLF001 - the words wait until it is lost
        turn.stream("two")
        ledger.database.write(die)
        assert ledger.recover() == [turn.id]
    writes.wait()
    uses: dict[str, Callable[[], object]] = {
        "stream": lambda: turn.stream("late"),
        "complete": turn.complete,
        "block": lambda: turn.__exit__(None, None, None),
    }
    if use == "raising block":
        mine = ValueError("mine")
        turn.__exit__(ValueError, mine, None)
        assert "LeaseLost" in mine.__notes__[0]
    else:
        with pytest.raises(LeaseLost, match="begin a new turn"):
            uses[use]()
    with pytest.raises(TurnIsSealed):
        turn.stream("later")
    assert said(ledger, turn) == ["x", "one "]


def test_a_turn_that_has_ended_takes_no_words_and_nothing_is_written_for_it(ledger: Ledger) -> None:
    writes = Writes(ledger)
    ended, other = ledger.turn("a", "x"), ledger.turn("b", "y")
    for turn in (ended, other):
        turn.stream("one ")
        turn.stream("two")
    ended.complete()
    with pytest.raises(TurnIsSealed):
        ended.stream("late")
    writes.wait_for(ledger, other, "one two")
    assert said(ledger, ended) == ["x", "one two"]
    assert ended.write_due(float("inf")) is None


def test_one_thread_does_it_and_ends_with_the_ledger(url: str) -> None:
    before = set(threading.enumerate())
    ledger = Ledger.open(url)
    ledger.append("a", _whole("x"))
    assert set(threading.enumerate()) == before
    turn = ledger.turn("a", "x")
    started = set(threading.enumerate()) - before
    turn.stream("one ")
    turn.stream("two")
    ledger.turn("b", "y").stream("three")
    assert set(threading.enumerate()) - before == started
    assert [thread.name for thread in started] == [HEARTBEAT]
    ledger.close()
    assert not any(thread.is_alive() for thread in started)
    with Ledger.open(url, readonly=True) as reader:
        assert said(reader, turn) == ["x", "one two"]


def test_the_thread_ends_when_there_is_no_live_turn_and_begins_anew_with_the_next(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lease, "TTL_MS", 30)
    before = set(threading.enumerate())
    with Ledger.open(url) as ledger:
        for _ in range(2):
            with ledger.turn("main", "x") as turn:
                (thread,) = set(threading.enumerate()) - before
                turn.stream("one ")
                turn.stream("two")
            thread.join(LONG_S)
            assert not thread.is_alive()


def test_while_somebody_is_at_work_on_a_turn_the_others_words_are_written(ledger: Ledger) -> None:
    writes = Writes(ledger)
    held, free = ledger.turn("a", "x"), ledger.turn("b", "y")
    is_held, may_go = threading.Event(), threading.Event()

    def work() -> None:
        with held._lock:  # noqa: SLF001 - as a step of the turn does that takes its time
            is_held.set()
            may_go.wait(LONG_S)

    for turn in (held, free):
        turn.stream("one ")
        turn.stream("two")
    thread = threading.Thread(target=work)
    thread.start()
    is_held.wait(LONG_S)
    writes.wait_for(ledger, free, "one two")
    may_go.set()
    thread.join()
    writes.wait_for(ledger, held, "one two")


# in their order


def test_a_message_ends_what_was_streamed_before_it(ledger: Ledger) -> None:
    with ledger.turn("main", "x") as turn:
        first = turn.stream("I am ")
        turn.stream("about")
        turn.message(Message("user", "Stop"))
        second = turn.stream("Stopped")
        turn.reply("Really.")
        turn.stream("One ")
        assert turn.stream("more") not in (first, second)
    assert said(ledger, turn) == ["x", "I am about", "Stop", "Stopped", "Really.", "One more"]
    assert ledger.verify().is_good


def test_a_message_that_is_refused_does_not_end_what_is_being_streamed(ledger: Ledger) -> None:
    with ledger.turn("main", "x") as turn:
        first = turn.stream("I am ")
        with pytest.raises(BadInput):
            turn.message(Message("nobody", "?"))
        assert turn.stream("here") == first
    assert said(ledger, turn) == ["x", "I am here"]


def test_the_outcome_of_a_call_does_not_end_what_is_being_streamed(ledger: Ledger) -> None:
    with ledger.turn("main", "x") as turn:
        call = turn.call("Read")
        first = turn.stream("I am ")
        call.complete("text")
        assert turn.stream("reading") == first
    assert said(ledger, turn) == ["x", "I am reading"]


def test_an_end_of_a_message_takes_no_transaction_of_its_own(ledger: Ledger) -> None:
    turn = ledger.turn("main", "x")
    turn.stream("one ")
    turn.stream("two")
    write, writes = ledger.database.write, []

    def counted(body: Callable[[Tx], Any]) -> Any:
        if threading.current_thread().name != HEARTBEAT:
            writes.append(body)
        return write(body)

    ledger.database.write = counted  # type: ignore[method-assign]
    turn.reply("three")
    assert (said(ledger, turn), len(writes)) == (["x", "one two", "three"], 1)


def test_an_answer_without_words_is_what_was_streamed(ledger: Ledger) -> None:
    for thinking, kept in ((None, "a"), ("b", "ab")):
        turn = ledger.turn("main", "x")
        call = turn.call("Read")
        first = turn.stream("Hello ", thinking="a")
        turn.stream("world")
        with pytest.raises(UnresolvedCalls):
            turn.answer(thinking=thinking)
        call.complete()
        turn.answer(thinking=thinking)
        record = ledger.get(turn.id)
        assert [(row.content, row.thinking) for row in record.messages] == [("x", None), ("Hello world", kept)]
        assert record.turn.response_message_id == first
    assert ledger.verify().is_good


def test_a_reply_without_words_ends_what_was_streamed_with_what_was_thought(ledger: Ledger) -> None:
    with ledger.turn("main", "x") as turn:
        first = turn.stream("Hello ", thinking="a")
        turn.stream("world")
        with pytest.raises(BadInput, match="only text can be streamed"):
            turn.reply(thinking=cast("str", 5))
        assert turn.reply(thinking="b") == first
        turn.reply("more")
    record = ledger.get(turn.id)
    assert [(row.content, row.thinking) for row in record.messages] == [
        ("x", None),
        ("Hello world", "ab"),
        ("more", None),
    ]
    assert ledger.verify().is_good


def test_an_answer_without_words_says_whether_the_session_has_moved(ledger: Ledger) -> None:
    turn = ledger.turn("main", "x")
    turn.stream("Hello")
    ledger.append("main", _whole("faster"))
    with pytest.raises(HeadMoved):
        turn.answer(thinking="hm")
    row = ledger.get(turn.id).messages[1]
    assert (row.content, row.thinking) == ("Hello", "hm")


@pytest.mark.parametrize("verb", ["reply", "answer"])
def test_what_comes_with_an_end_of_a_stream_is_not_dropped(ledger: Ledger, verb: str) -> None:
    with ledger.turn("main", "x") as turn:
        turn.stream("See ")
        turn.stream("this")
        getattr(turn, verb)(codeblocks=(CodeBlock("y = 1"),))
    record = ledger.get(turn.id)
    assert [row.content for row in record.messages] == ["x", "See this", None]
    assert [block.message_id for block in record.codeblocks] == [record.messages[2].id]


# nothing but text


@pytest.mark.parametrize("piece", [b"b", 5, None, ["b"]])
def test_what_is_no_text_is_refused_and_changes_nothing(ledger: Ledger, piece: Any) -> None:
    turn = ledger.turn("main", "x")
    for use in (partial(turn.stream, piece), partial(turn.stream, "b", thinking=piece)):
        with pytest.raises(BadInput, match="only text can be streamed"):
            use()
    assert said(ledger, turn) == ["x"]
    turn.stream("a")
    for use in (partial(turn.stream, piece), partial(turn.stream, "b", thinking=piece)):
        with pytest.raises(BadInput, match="only text can be streamed"):
            use()
    turn.stream("c")
    turn.complete()
    assert said(ledger, turn) == ["x", "ac"]


def _whole(text: str) -> Turn:
    return Turn(messages=(Message("user", text),))
