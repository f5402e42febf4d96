"""A replay has the events of a thread in the order in which they can have happened, and reads no more than it shows."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from agents_ledger import Call, Ledger, Message, Turn, Usage
from agents_ledger.errors import NotFound
from agents_ledger.ledger.replay import Event, Replay, Sight, events_of
from agents_ledger.model.entries import ModelCall
from agents_ledger.store import Database, Tx


def test_calls_follow_their_message_and_results_their_call_in_the_order_of_time(ledger: Ledger) -> None:
    calls = (
        Call("Slow", {}, "s", message=1, started_at=1_100, completed_at=5_000),
        Call("Quick", {}, "q", message=1, started_at=1_200, completed_at=2_000),
    )
    turn = Turn(
        (
            Message("user", "go", created_at=1_000),
            Message("assistant", "both", created_at=1_050),
            Message("assistant", "done", created_at=1_060),  # its clock is wrong: it had the results
        ),
        calls,
        started_at=1_000,
        completed_at=6_000,
    )
    events = list(ledger.replay(ledger.append("main", turn)))
    assert [_name(event) for event in events] == [
        "turn",
        "go",
        "both",
        "call Slow",
        "call Quick",
        "result Quick",
        "result Slow",
        "done",
        "end",
    ]
    assert [event.after_ms for event in events] == [0, 0, 50, 50, 100, 800, 3_000, 0, 1_000]
    assert events[7].at == 1_060


def test_what_never_came_back_ends_with_its_turn(ledger: Ledger) -> None:
    calls = (Call("Lost", {}, status="abandoned", message=0, started_at=20), Call("Known", {}, 1, started_at=30))
    turn = Turn((Message("assistant", "try", created_at=10),), calls, status="failed", error="cut", started_at=10)
    names = [_name(event) for event in ledger.replay(ledger.append("main", turn))]
    assert names[:4] == ["turn", "try", "call Lost", "call Known"]
    assert names[4:] == ["result Known", "result Lost", "end"]


def test_clocks_that_go_back_make_no_negative_pause(ledger: Ledger) -> None:
    ledger.append("main", Turn((Message("user", "a", created_at=9_000),), started_at=8_000, completed_at=9_500))
    ledger.append("main", Turn((Message("user", "b", created_at=2_000),), started_at=1_000, completed_at=2_500))
    events = list(ledger.replay(ledger.head("main") or ""))
    assert all(event.after_ms >= 0 for event in events)
    assert [_name(event) for event in events] == ["turn", "a", "end", "turn", "b", "end"]


def test_a_live_turn_has_no_end_yet(ledger: Ledger) -> None:
    with ledger.turn("main", "Hello?") as turn:
        call = turn.call("Wait", {})
        assert [_name(event) for event in ledger.replay(turn.id)] == ["turn", "Hello?", "call Wait", "result Wait"]
        call.complete("waited")
    assert [event.kind for event in ledger.replay(turn.id)][-1] == "end"


def test_the_time_between_turns_is_a_pause(ledger: Ledger) -> None:
    for start in (1_000, 61_000):
        ledger.append(
            "main", Turn((Message("user", "x", created_at=start),), started_at=start, completed_at=start + 500)
        )
    events = list(ledger.replay(ledger.head("main") or ""))
    assert [event.after_ms for event in events if event.kind == "turn"] == [0, 59_500]


def test_what_the_model_saw_is_what_its_context_holds(ledger: Ledger) -> None:
    for number in range(12):
        ledger.append("main", _exchange(number, system="Be kind." if number in (0, 7) else None))
        if number == 4:
            ledger.compact("main", "what came before", keep=2)
    ledger.fork(ledger.ancestry(ledger.head("main") or "")[5], "side")
    ledger.append("side", _exchange(99))
    for label in ("main", "side"):
        whole = ledger.replay(ledger.head(label) or "", sees=True)
        for depth in range(1, whole.last + 1):
            spoke = [event for event in whole.turn(depth) if event.seen is not None]
            fresh = Replay(ledger.database, whole.turn_id, depth, whole.last, sees=True)  # assembles it anew
            assert spoke == [event for event in fresh.turn(depth) if event.seen is not None]
    assert not [event for event in ledger.replay(ledger.head("main") or "") if event.seen]
    seen = [event.seen for event in ledger.replay(ledger.head("main") or "", sees=True) if event.seen]
    assert seen[0].turns == 0
    assert seen[0].system_chars == len("Be kind.")
    assert seen[-1].summary_chars == len("what came before")
    assert seen[-1].turns == 2 + 6  # kept, and since


def test_tokens_stand_with_the_message_that_they_paid_for(ledger: Ledger) -> None:
    turn = Turn(
        (Message("user", "q"), Message("assistant", "a")),
        model_calls=(ModelCall(Usage(input=10, cached=5), message=1),),
    )
    (spoken,) = [event for event in ledger.replay(ledger.append("main", turn)) if event.usage is not None]
    assert spoken.message is not None
    assert (spoken.message.content, spoken.usage and spoken.usage.input_tokens) == ("a", 10)


def test_a_part_of_a_thread(ledger: Ledger) -> None:
    ids = [ledger.append("main", _exchange(number)) for number in range(5)]
    assert [event.record.turn.id for event in ledger.replay(ids[-1], 4) if event.kind == "turn"] == ids[3:]
    assert [event.record.turn.id for event in ledger.replay(ids[2], 99) if event.kind == "turn"] == [ids[2]]
    with pytest.raises(NotFound):
        ledger.replay("01NOWHERE")


def test_nothing_is_read_before_it_is_shown_and_no_snapshot_stays_open(ledger: Ledger) -> None:
    for number in range(40):
        ledger.append("main", _exchange(number))
    watched: Any = Watched(ledger.database)
    shown = Replay(watched, ledger.head("main") or "", 1, 40)
    assert watched.snapshots == 0
    for at, event in enumerate(shown):
        assert watched.is_at_rest
        if at == 0:
            assert (event.record.turn.depth, watched.turns_read) == (1, 8)
    assert watched.turns_read == 40


def test_events_of_a_record_need_no_ledger(ledger: Ledger) -> None:
    record = ledger.get(ledger.append("main", _exchange(1)))
    assert [event.kind for event in events_of(record)] == ["turn", "message", "message", "call", "result", "end"]
    assert Sight().at(events_of(record)[0]).seen is None


class Watched:
    """A database that counts how often it is read, and what is read of turns."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.snapshots = self.turns_read = 0
        self.is_at_rest = True

    @contextmanager
    def read(self) -> Iterator[Tx]:
        self.snapshots += 1
        self.is_at_rest = False
        with self._database.read() as tx:
            asked = tx.each

            def each(name: str, /, **params: Any) -> Iterator[tuple[Any, ...]]:
                for row in asked(name, **params):
                    self.turns_read += name == "path"
                    yield row

            tx.each = each  # type: ignore[method-assign]
            try:
                yield tx
            finally:
                del tx.each
        self.is_at_rest = True


def _exchange(number: int, system: str | None = None) -> Turn:
    opening = () if system is None else (Message("system", system),)
    said = (Message("user", f"q{number}"), Message("assistant", f"a{number}" * 10))
    return Turn(opening + said, (Call("Read", {"n": number}, {"text": "x" * number}, message=len(opening) + 1),))


def _name(event: Event) -> str:
    if event.message is not None:
        return event.message.content or ""
    return event.kind if event.call is None else f"{event.kind} {event.call.tool_name}"
