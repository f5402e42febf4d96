"""How live turns end when something goes wrong: at their beginning, in their block, at their end, with the ledger."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from agents_ledger import Ledger, LiveTurn, Usage
from agents_ledger.errors import (
    BadInput,
    HeadMoved,
    StoreBusy,
    StoreClosed,
    StoreError,
    StoreUnreachable,
    TurnIsSealed,
    UnresolvedCalls,
)
from agents_ledger.ledger.aio import AsyncLedger


@contextmanager
def writes_raise(ledger: Ledger, problem: BaseException, *outcomes: str) -> Iterator[None]:
    """The next writes raise, one for each outcome: `lost` before anything is committed, `kept` just after it was."""
    write, left = ledger.database.write, list(outcomes)

    def raising(body: Callable[..., Any]) -> Any:
        outcome = left.pop(0) if left else None
        done = None if outcome == "lost" else write(body)
        if outcome is not None:
            raise problem
        return done

    ledger.database.write = raising  # type: ignore[method-assign]
    try:
        yield
    finally:
        ledger.database.write = write  # type: ignore[method-assign]


class Odd(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")


def error_of(ledger: Ledger, label: str = "main") -> str | None:
    """The error of the failed turn that a session points at."""
    head = ledger.head(label)
    assert head is not None
    turn = ledger.get(head).turn
    assert turn.status == "failed"
    return turn.error


# at its beginning


@pytest.mark.parametrize("outcome", ["lost", "kept"])
@pytest.mark.parametrize("problem", [KeyboardInterrupt(), StoreUnreachable("away"), StoreError("interrupted")])
def test_a_turn_whose_beginning_is_interrupted_is_not_there_or_has_failed(
    ledger: Ledger, problem: BaseException, outcome: str
) -> None:
    with writes_raise(ledger, problem, outcome), pytest.raises(type(problem)):
        ledger.turn("main", "x")
    counts = ledger.counts()
    assert (counts["turns"], counts["live"]) == (int(outcome == "kept"), 0)
    if outcome == "kept":
        assert (error_of(ledger) or "").startswith(type(problem).__name__)
    assert ledger.verify().is_good


@pytest.mark.parametrize("outcome", ["lost", "kept"])
def test_a_turn_that_nobody_could_end_at_its_beginning_ends_with_the_ledger(url: str, outcome: str) -> None:
    ledger = Ledger.open(url)
    with (
        writes_raise(ledger, StoreUnreachable("away"), outcome, "lost"),
        pytest.raises(StoreUnreachable) as told,
    ):
        ledger.turn("main", "x")
    assert "could not be failed: StoreUnreachable: away" in told.value.__notes__[0]
    assert ledger.counts()["live"] == int(outcome == "kept")
    ledger.close()
    with Ledger.open(url) as again:
        assert (again.recovered, again.counts()["live"]) == ([], 0)
        if outcome == "kept":
            assert error_of(again) == "interrupted: the ledger was closed"


@pytest.mark.parametrize("problem", [StoreBusy("busy"), BadInput("bad")])
def test_a_turn_that_was_refused_is_not_looked_for(ledger: Ledger, problem: Exception) -> None:
    with writes_raise(ledger, problem, "lost", "lost"), pytest.raises(type(problem)) as told:
        ledger.turn("main", "x")
    assert not hasattr(told.value, "__notes__"), "no second write was tried"


# in its block


@pytest.mark.parametrize("problem", [KeyboardInterrupt(), ValueError("mine"), asyncio.CancelledError()])
def test_what_a_block_raises_comes_out_of_it_though_the_turn_can_not_be_ended(url: str, problem: BaseException) -> None:
    ledger = Ledger.open(url)
    turn = ledger.turn("main", "x")
    with writes_raise(ledger, StoreUnreachable("away"), "lost"), pytest.raises(type(problem)) as told, turn:
        raise problem
    assert told.value is problem
    assert "could not be failed: StoreUnreachable: away" in problem.__notes__.pop()
    assert turn.status == "pending"
    ledger.close()
    with Ledger.open(url) as again:
        assert again.recovered == []
        assert error_of(again) == "interrupted: the ledger was closed"


@pytest.mark.parametrize("end", ["answer", "complete", "fail"])
def test_an_interrupt_just_after_the_commit_that_ends_a_turn_is_what_comes_out(ledger: Ledger, end: str) -> None:
    turn = ledger.turn("main", "x")
    ends: dict[str, Callable[[], str]] = {
        "answer": lambda: turn.answer("done"),
        "complete": turn.complete,
        "fail": lambda: turn.fail("no"),
    }
    with writes_raise(ledger, KeyboardInterrupt(), "kept"), pytest.raises(KeyboardInterrupt), turn:
        ends[end]()
    assert turn.status == ledger.get(turn.id).turn.status == ("failed" if end == "fail" else "completed")
    with pytest.raises(TurnIsSealed):
        turn.reply("late")
    assert ledger.head("main") == turn.id
    assert ledger.verify().is_good


@pytest.mark.parametrize("outcome", ["lost", "kept"])
def test_an_interrupt_at_the_end_of_a_block_leaves_no_live_turn(ledger: Ledger, outcome: str) -> None:
    turn = ledger.turn("main", "x")
    with writes_raise(ledger, KeyboardInterrupt(), outcome), pytest.raises(KeyboardInterrupt), turn:
        pass
    kept = ledger.get(turn.id).turn
    assert (kept.status, kept.error) == (("completed", None) if outcome == "kept" else ("failed", "KeyboardInterrupt"))
    assert ledger.counts()["live"] == 0


def test_an_interrupt_while_a_turn_fails_is_not_lost(ledger: Ledger) -> None:
    turn = ledger.turn("main", "x")
    with writes_raise(ledger, KeyboardInterrupt(), "lost"), pytest.raises(KeyboardInterrupt) as told, turn:
        raise ValueError("mine")
    assert isinstance(told.value.__context__, ValueError)


def test_a_block_that_leaves_calls_open_says_so_though_the_turn_can_not_be_ended(ledger: Ledger) -> None:
    turn = ledger.turn("main", "x")
    turn.call("Read")
    with (
        writes_raise(ledger, StoreUnreachable("away"), "refused", "lost"),
        pytest.raises(UnresolvedCalls) as told,
        turn,
    ):
        pass
    assert "away" in told.value.__notes__[0]
    turn.fail("at last")


async def cancelled_while_the_store_is_away(url: str) -> None:
    async with await AsyncLedger.open(url) as ledger:
        inside = asyncio.Event()

        async def work() -> None:
            async with ledger.turn("main", "x"):
                inside.set()
                await asyncio.Event().wait()

        task = asyncio.create_task(work())
        await inside.wait()
        with writes_raise(await ledger.do(lambda sync: sync), StoreUnreachable("away"), "lost"):
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        assert task.cancelled()


def test_a_task_that_is_cancelled_while_the_store_is_away_ends_as_cancelled(url: str) -> None:
    asyncio.run(cancelled_while_the_store_is_away(url))
    with Ledger.open(url) as ledger:
        assert error_of(ledger) == "interrupted: the ledger was closed"


# by its reason


def test_a_turn_fails_with_whatever_reason_it_is_given(ledger: Ledger) -> None:
    reasons = {"ValueError: x": ValueError("x"), "KeyError": KeyError(), "Odd": Odd(), "7": 7, "as said": "as said"}
    for words, reason in reasons.items():
        turn = ledger.turn("main", "x")
        turn.fail(reason)
        assert error_of(ledger) == words
    with pytest.raises(Odd), ledger.turn("main", "x"):
        raise Odd
    assert error_of(ledger) == "Odd"


# with the ledger


def test_a_turn_that_can_not_be_ended_does_not_keep_the_ledger_from_closing(url: str) -> None:
    before = set(threading.enumerate())
    ledger = Ledger.open(url)
    stuck, other = ledger.turn("a", "x"), ledger.turn("b", "y")

    def fail(_: object) -> str:
        raise TypeError("stuck")

    stuck.fail = fail  # type: ignore[method-assign,assignment]
    started = set(threading.enumerate()) - before
    with pytest.raises(TypeError, match="stuck"):
        ledger.close()
    assert other.status == "failed"
    with pytest.raises(StoreClosed):
        ledger.head("b")
    assert not any(thread.is_alive() for thread in started)
    with Ledger.open(url) as again:
        assert again.recovered == [stuck.id]
        assert error_of(again, "b") == "interrupted: the ledger was closed"


# its tokens


def test_tokens_count_once_though_the_end_was_refused_before(ledger: Ledger) -> None:
    used = Usage(input=100, output=10)
    ends: list[Callable[[LiveTurn], str]] = [
        lambda turn: turn.answer("Done", usage=used),
        lambda turn: turn.complete(used),
    ]
    for end in ends:
        turn = ledger.turn("main", "x")
        turn.reply("a", usage=Usage(input=1))
        call = turn.call("Read")
        with pytest.raises(UnresolvedCalls):
            end(turn)
        call.complete()
        end(turn)
        row = ledger.get(turn.id).turn
        assert (row.input_tokens, row.output_tokens, row.total_tokens) == (101, 10, 111)
    failed = ledger.turn("main", "x")
    failed.call("Read")
    with pytest.raises(UnresolvedCalls):
        failed.complete(used)
    failed.fail("gave up")
    assert ledger.get(failed.id).turn.total_tokens is None


def test_tokens_that_can_not_be_kept_are_refused_before_anything_is_written(ledger: Ledger) -> None:
    turn = ledger.turn("main", "x")
    turn.stream("streamed")
    much = Usage(input=2**70)
    uses: list[Callable[[], str]] = [
        lambda: turn.reply("b", usage=much),
        lambda: turn.reply(usage=much),
        lambda: turn.answer("b", usage=much),
        lambda: turn.complete(much),
    ]
    for use in uses:
        with pytest.raises(BadInput, match="64 bits"):
            use()
    turn.stream(" on")
    turn.reply("b", usage=Usage(input=3))
    turn.complete()
    record = ledger.get(turn.id)
    assert [row.content for row in record.messages] == ["x", "streamed on", "b"]
    assert record.turn.total_tokens == 3


def test_a_turn_that_is_refused_by_its_session_leaves_nothing_behind(ledger: Ledger) -> None:
    first = ledger.turn("main", "x").complete()
    with pytest.raises(HeadMoved, match="nothing was written"):
        ledger.turn("main", "y", expect=None)
    assert (ledger.head("main"), ledger.counts()["turns"]) == (first, 1)
