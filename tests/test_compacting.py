"""Sessions compacted by summarisers: when, where they are cut, what it costs, and that nothing is lost meanwhile."""

import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents_ledger import Call, Compaction, Ledger, LiveTurn, Message, Turn, Usage
from agents_ledger.errors import BadInput, HeadMoved, NotAllowed, SummariserFailed, TurnIsLive
from agents_ledger.ledger.compacting import Flush, Outcome
from agents_ledger.ledger.policy import Policy, due, plan
from agents_ledger.ledger.tokens import count
from agents_ledger.model.entries import ModelCall
from agents_ledger.model.rows import CompactionRow
from agents_ledger.model.summary import Summary, Task
from agents_ledger.model.texts import read_json
from tests.support.properties import WITH_FIXTURES
from tests.test_compaction import exchange, talk, words

if TYPE_CHECKING:
    from collections.abc import Callable


NEW_CONTEXT = [{"role": "user", "content": [{"type": "text", "text": "of it"}]}, {"type": "message", "content": "all"}]


class Says:
    """A summariser that says what it is told to, and remembers what it was asked."""

    def __init__(self, text: str = "(sum)", window_tokens: int | None = None) -> None:
        self.text = text
        self.window_tokens = window_tokens
        self.asked: list[Task] = []
        self.meanwhile: Callable[[], object] = lambda: None

    def summarise(self, task: Task) -> Summary:
        self.asked.append(task)
        self.meanwhile()
        return Summary(text=self.text, model="says", provider="tests", input_tokens=70, output_tokens=5, calls=1)


class InTurn(Says):
    """One that says one thing after the other."""

    def __init__(self, texts: list[str]) -> None:
        super().__init__(window_tokens=4000)
        self.texts = texts

    def summarise(self, task: Task) -> Summary:
        self.text = self.texts[len(self.asked)]
        return super().summarise(task)


class Gives:
    """One that gives anything, or raises it."""

    window_tokens = None

    def __init__(self, given: Any) -> None:
        self.given = given

    def summarise(self, _: Task) -> Summary:
        if isinstance(self.given, Exception):
            raise self.given
        return self.given  # type: ignore[no-any-return]


def run(ledger: Ledger, who: Says | None = None, label: str = "main", **policy: Any) -> Outcome:
    made = ledger.compact_by(who or Says(), Policy(**policy)).run(label, "manual")
    assert made is not None
    return made


def row_of(ledger: Ledger, turn_id: str) -> CompactionRow:
    row = ledger.get(turn_id).compaction
    assert row is not None
    return row


def test_a_summariser_stands_for_the_first_turns_and_all_costs_are_recorded(ledger: Ledger) -> None:
    ids = talk(ledger, 5)
    who = Says()
    made = run(ledger, who, keep=2)
    assert words(ledger.context(made.turn_id)) == ["[Be kind.]", "((sum))", "q3", "a3", "q4", "a4"]
    assert [passage.turn_id for passage in who.asked[0].passages] == ids[:3]
    row = row_of(ledger, made.turn_id)
    assert (row.model, row.provider, row.trigger, row.compaction_type) == ("says", "tests", "manual", "summary")
    assert (row.summarization_input_tokens, row.summarization_output_tokens, row.summary_tokens) == (70, 5, 2)
    assert row.tokens_before is not None
    assert row.tokens_after is not None
    assert row.tokens_before > row.tokens_after > 0
    assert row.duration_ms is not None
    assert row.turns_summarized == made.turns_summarised == 3
    told = read_json(row.metadata_json or "{}")
    assert told["tokens"] == {"before": "estimated", "after": "estimated", "summary": "estimated"}
    assert (told["policy"]["mode"], told["calls"]) == ("default", 1)
    assert ledger.get(made.turn_id).turn.total_tokens == 75
    assert ledger.verify().is_good


def test_without_a_summariser_the_conversations_own_words_are_used(ledger: Ledger) -> None:
    talk(ledger, 6)
    made = ledger.compact_by().run("main", "manual")
    assert made is not None
    assert made.summary.startswith("Earlier turns: ")
    assert "- q0" in made.summary
    assert row_of(ledger, made.turn_id).model == "extractive-1"


def test_recorded_tokens_count_and_what_came_behind_them_is_estimated(ledger: Ledger) -> None:
    def counted(turn_id: str, query: str | None = None) -> tuple[int, str]:
        with ledger.database.read() as tx:
            found = count(tx, ledger.context(turn_id, query))
            return found.count, found.how

    first = ledger.append("main", exchange(0))
    assert counted(first)[1] == "estimated"
    usage = Usage(input=10, cached=1000, cache_write=90, output=50)
    messages = (Message("user", "q"), Message("assistant", "one"), Message("assistant", "two" * 40))
    spent = (ModelCall(Usage(input=5, output=5), message=1), ModelCall(usage, message=2))
    called = ledger.append(
        "main", Turn(messages=messages, calls=(Call("Read", {}, "r" * 400, message=1),), model_calls=spent)
    )
    assert counted(called) == (1150, "recorded")
    assert counted(called, "what" * 3) == (1150 + 3 + 4, "mixed")
    later = ledger.append("main", exchange(1))
    assert 1150 < counted(later)[0] < 1200
    assert counted(later)[1] == "mixed"
    single = ledger.append("main", Turn(messages=(Message("user", "q"),), usage=Usage(input=2000, output=7)))
    assert counted(single) == (2007, "recorded")
    after = ledger.compact("main", "short", keep=1)
    assert counted(after)[1] == "estimated", "what was counted before a compaction is no more"
    assert counted(called) == (1150, "recorded"), "of an earlier turn it still is"


def test_a_call_whose_result_came_after_the_count_is_added(ledger: Ledger) -> None:
    spent = (ModelCall(Usage(input=100, output=10), message=1),)
    call = Call("Read", {"p": 1}, "r" * 398, message=1)
    head = ledger.append("main", Turn((Message("user", "q"), Message("assistant", "a")), (call,), model_calls=spent))
    with ledger.database.read() as tx:
        assert count(tx, ledger.context(head)).count == 110 + 100 + 4


def test_it_is_due_near_the_limit_or_after_so_many_turns(ledger: Ledger) -> None:
    talk(ledger, 3)
    full = ledger.append("main", Turn(messages=(Message("user", "q"),), usage=Usage(input=900, output=0)))
    with ledger.database.read() as tx:
        for policy, trigger, flush in (
            (Policy(window_tokens=1000, reserve_tokens=101, flush_tokens=5), "context_limit", True),
            (Policy(window_tokens=1000, reserve_tokens=90, flush_tokens=20), None, True),
            (Policy(window_tokens=1000, reserve_tokens=90, flush_tokens=5), None, False),
            (Policy(every_turns=4), "periodic", False),
            (Policy(every_turns=5), None, False),
        ):
            found = due(tx, full, policy)
            assert (found.trigger, found.is_flush_due) == (trigger, flush), policy
    assert ledger.compact_by().run("main", None) is None
    made = ledger.compact_by(policy=Policy(every_turns=4)).run("main", None)
    assert made is not None
    assert row_of(ledger, made.turn_id).trigger == "periodic"
    with ledger.database.read() as tx:
        assert due(tx, made.turn_id, Policy(every_turns=1)).trigger is None, "nothing has come since"


def test_a_window_slides_without_words(ledger: Ledger) -> None:
    talk(ledger, 6)
    who = Says()
    made = run(ledger, who, strategy="sliding_window", keep=2)
    assert words(ledger.context(made.turn_id)) == ["[Be kind.]", "q4", "a4", "q5", "a5"]
    assert not who.asked
    assert row_of(ledger, made.turn_id).compaction_type == "sliding_window"


def test_a_selection_keeps_the_older_turns_that_the_newest_speak_of(ledger: Ledger) -> None:
    said = [
        "the parser breaks on tabs",
        "lunch was fine",
        "the index is slow",
        "weather today",
        "back to the parser and tabs",
    ]
    ids = [ledger.append("main", Turn((Message("user", text), Message("assistant", "ok")))) for text in said]
    who = Says()
    made = run(ledger, who, strategy="selective", keep=1, select_tokens=40)
    seen = ledger.context(made.turn_id)
    assert seen.turns[0].turn_id == ids[0]
    assert seen.turns[-1].turn_id == ids[-1]
    assert [passage.turn_id for passage in who.asked[0].passages] == [
        turn for turn in ids if turn not in {one.turn_id for one in seen.turns}
    ]
    more = ledger.append("main", exchange(7))
    again = run(ledger, who, keep=len(seen.turns))
    kept = [turn.turn_id for turn in ledger.context(again.turn_id).turns]
    assert kept == [*[turn.turn_id for turn in seen.turns[1:]], more], "picked turns can be kept once more"
    assert ledger.verify().is_good


def test_a_turn_that_is_too_long_is_cut_before_an_answer(ledger: Ledger) -> None:
    talk(ledger, 2)
    steps = [Message("assistant", f"step {n} " + "x" * 400) for n in range(20)]
    calls = tuple(Call("Bash", {"n": n}, "y" * 400, message=n + 1) for n in range(20))
    ledger.append("main", Turn((Message("user", "do it all"), *steps), calls))
    who = Says()
    made = run(ledger, who, keep_tokens=700)
    seen = ledger.context(made.turn_id)
    assert [row.content[:7] for row in seen.turns[0].messages if row.content] == ["step 17", "step 18", "step 19"]
    assert len(seen.turns[0].calls) == 3
    assert len(who.asked[0].passages[-1].steps) == 1 + 17 * 2
    later = ledger.append("main", exchange(5))
    assert [turn.turn_id for turn in ledger.context(later).turns] == [seen.turns[0].turn_id, later]
    again = run(ledger, who, keep=1)
    assert [turn.turn_id for turn in ledger.context(again.turn_id).turns] == [later]
    assert ledger.verify().is_good


def test_the_summary_before_is_given_to_the_next_one(ledger: Ledger) -> None:
    talk(ledger, 4)
    who = Says()
    run(ledger, who, keep=1)
    ledger.append("main", exchange(8))
    made = run(ledger, who, keep=1)
    assert who.asked[1].earlier == "(sum)"
    assert words(ledger.context(made.turn_id)) == ["[Be kind.]", "((sum))", "q8", "a8"]
    ledger.append("main", Turn(compaction=Compaction("", through=made.turn_id, replacement=NEW_CONTEXT)))
    ledger.append("main", exchange(9))
    run(ledger, who, keep=0)
    assert who.asked[2].earlier == "of it\n\nall"


def test_nothing_to_compact_is_said(ledger: Ledger) -> None:
    ledger.create_session("empty")
    with pytest.raises(NotAllowed, match="no turns yet"):
        ledger.compact_by().run("empty", "manual")
    talk(ledger, 1)
    with pytest.raises(NotAllowed, match="all 1 turn of the context would be kept"):
        ledger.compact_by().run("main", "manual")
    assert ledger.counts()["turns"] == 1


def test_a_policy_that_makes_no_sense_is_refused() -> None:
    for wrong in ({"keep": -1}, {"every_turns": -2}, {"limit_tokens": -1}):
        with pytest.raises(BadInput, match="can't be less than 0"):
            Policy(**wrong)  # type: ignore[arg-type]
    with pytest.raises(BadInput, match="leaves nothing of 10"):
        Policy(window_tokens=10, reserve_tokens=10)


# while others work


def test_turns_that_come_meanwhile_are_kept(ledger: Ledger) -> None:
    talk(ledger, 4)
    for strategy in ("summary", "selective"):
        who = Says()
        added: list[str] = []
        who.meanwhile = lambda into=added: into.append(ledger.append("main", exchange(77)))  # type: ignore[misc]
        made = run(ledger, who, keep=1, strategy=strategy)
        assert ledger.head("main") == made.turn_id
        assert ledger.context(made.turn_id).turns[-1].turn_id == added[0], strategy
        assert ledger.get(made.turn_id).turn.parent_turn_id == added[0]
        assert row_of(ledger, made.turn_id).tokens_after == made.tokens_after
    assert ledger.verify().is_good


def test_a_session_that_went_elsewhere_is_left_alone(ledger: Ledger) -> None:
    ids = talk(ledger, 4)
    who = Says()
    who.meanwhile = lambda: ledger.rewind("main", ids[2])
    before = ledger.counts()["turns"]
    with pytest.raises(HeadMoved, match="nothing was written"):
        run(ledger, who, keep=1)
    ledger.forward("main")
    who.meanwhile = lambda: ledger.compact("main", "somebody else's", keep=1)
    with pytest.raises(HeadMoved, match="nothing was written"):
        run(ledger, who, keep=1)
    assert ledger.context(ledger.find("main")).summary == "somebody else's"
    assert ledger.counts()["turns"] == before + 1


def test_a_live_turn_is_waited_for_and_never_overtaken(ledger: Ledger) -> None:
    talk(ledger, 3)
    live = ledger.turn("main", "and now?")
    pauses: list[float] = []

    def pause(seconds: float) -> None:
        pauses.append(seconds)
        live.answer("done")

    made = ledger.compact_by(Says(), Policy(keep=1), pause=pause).run("main", "manual")
    assert made is not None
    assert len(pauses) == 1
    assert words(ledger.context(made.turn_id))[-2:] == ["and now?", "done"]
    assert ledger.get(live.id).turn.status == "completed"
    stuck = ledger.turn("main", "and then?")
    patient = ledger.compact_by(Says(), Policy(keep=1), pause=lambda _: None, patience_s=1)
    with pytest.raises(TurnIsLive, match="compact when it has ended"):
        patient.run("main", "manual")
    stuck.answer("later")
    assert ledger.head("main") == stuck.id


def test_a_turn_that_began_while_it_was_summarised_is_waited_for(ledger: Ledger) -> None:
    talk(ledger, 3)
    who = Says()
    begun: list[LiveTurn] = []
    who.meanwhile = lambda: begun.append(ledger.turn("main", "begun meanwhile"))
    compactor = ledger.compact_by(who, Policy(keep=1), pause=lambda _: begun[0].answer("ended later"))
    made = compactor.run("main", "manual")
    assert made is not None
    assert ledger.get(made.turn_id).turn.parent_turn_id == begun[0].id
    assert words(ledger.context(made.turn_id))[-2:] == ["begun meanwhile", "ended later"]


def test_a_session_at_work_loses_no_turn_to_compactions(ledger: Ledger) -> None:
    talk(ledger, 3)
    written: list[str] = []

    def work() -> None:
        for number in range(20):
            if number % 3:
                written.append(ledger.append("main", exchange(number)))
            else:
                live = ledger.turn("main", f"live {number}")
                live.answer("done")  # HeadMoved, if a compaction were first
                written.append(live.id)

    with ThreadPoolExecutor(1) as thread:
        working = thread.submit(work)
        compactor = ledger.compact_by(Says(), Policy(keep=1), pause=lambda _: time.sleep(0.001))
        made: list[Outcome | None] = []
        for _ in range(4):
            with suppress(NotAllowed):  # nothing has come since the last one
                made.append(compactor.run("main", "manual"))
        working.result()
    thread_of_head = ledger.ancestry(ledger.find("main"))
    assert set(written) | {one.turn_id for one in made if one} <= set(thread_of_head)
    assert made
    assert len(thread_of_head) == 3 + 20 + len(made)
    assert ledger.verify().is_good


# memory


def test_memory_is_written_down_first_and_the_record_says_so(ledger: Ledger) -> None:
    talk(ledger, 4)
    told: list[Flush] = []

    def flush(given: Flush) -> str:
        told.append(given)
        ledger.append("main", exchange(55))
        return "3 notes"

    made = ledger.compact_by(Says(), Policy(keep=1), flush=flush).run("main", "manual")
    assert made is not None
    assert "q0" in told[0].text
    assert told[0].tokens.count > 0
    remarks = read_json(row_of(ledger, made.turn_id).metadata_json or "{}")
    assert remarks["memory_flush"]["result"] == "3 notes"
    assert words(ledger.context(made.turn_id))[-2:] == ["q55", "a55"], "what the flush said is kept"
    assert ledger.context(made.turn_id).turns[-1].turn_id == ledger.get(made.turn_id).turn.parent_turn_id


def test_a_memory_flush_that_fails_is_recorded_and_stops_a_safeguard(ledger: Ledger) -> None:
    talk(ledger, 4)

    def flush(_: Flush) -> None:
        raise OSError("disk full")

    head = ledger.head("main")
    with pytest.raises(NotAllowed, match="disk full"):
        ledger.compact_by(Says(), Policy(mode="safeguard", keep=1), flush=flush).run("main", "manual")
    assert ledger.head("main") == head
    made = ledger.compact_by(Says(), Policy(keep=1), flush=flush).run("main", "manual")
    assert made is not None
    assert made.flush["error"] == "OSError: disk full"


# bad summaries and long histories


@pytest.mark.parametrize(
    ("text", "policy", "why"),
    [
        ("  \n", {}, "empty summary"),
        ("x" * 4000, {"limit_tokens": 200}, "where 200 were asked for"),
        ("x" * 500, {"mode": "safeguard"}, "nothing would be gained"),
    ],
)
def test_a_bad_summary_leaves_the_session_as_it_was(
    ledger: Ledger, text: str, policy: dict[str, Any], why: str
) -> None:
    talk(ledger, 4)
    head, before = ledger.head("main"), ledger.counts()
    with pytest.raises(SummariserFailed, match=why):
        run(ledger, Says(text), keep=1, **policy)
    assert (ledger.head("main"), ledger.counts()) == (head, before)


@pytest.mark.parametrize("empty", [0, 1, -1], ids=["the first", "one between", "the last"])
def test_an_empty_stage_leaves_the_session_as_it_was(ledger: Ledger, empty: int) -> None:
    """What is added to a summary, and what comes after an empty stage, would hide that everything before is lost."""
    long = "It is said at some length here. " * 60
    edit = Call("Edit", {"file_path": "src/a.py"}, message=1)
    for number in range(12):
        ledger.append("main", Turn((Message("user", f"q{number}"), Message("assistant", long)), (edit,)))
    who = Says(window_tokens=4000)
    run(ledger, who, keep=1, limit_tokens=500, mode="safeguard")
    stages = len(who.asked)
    ledger.rewind("main", ledger.ancestry(ledger.find("main"))[-2])
    head, before, texts = ledger.head("main"), ledger.counts(), ["(sum)"] * stages
    texts[empty] = " "
    with pytest.raises(SummariserFailed, match="empty summary"):
        run(ledger, InTurn(texts), keep=1, limit_tokens=500, mode="safeguard")
    assert (ledger.head("main"), ledger.counts()) == (head, before)


@pytest.mark.parametrize(
    ("given", "why", "mode"),
    [
        (KeyError("choices"), "KeyError: 'choices'", "default"),
        (RecursionError("too deep"), "RecursionError: too deep", "safeguard"),
        (None, "gave a NoneType", "default"),
        ("just words", "gave a str", "safeguard"),
        (Summary(text=None, model="m"), "gave a Summary whose text is a NoneType", "default"),  # type: ignore[arg-type]
    ],
    ids=["an error", "another", "nothing", "a text", "no text"],
)
def test_a_summariser_of_somebodys_own_may_do_what_it_likes(ledger: Ledger, given: Any, why: str, mode: str) -> None:
    talk(ledger, 4)
    head, before = ledger.head("main"), ledger.counts()
    with pytest.raises(SummariserFailed, match=why) as raised:
        ledger.compact_by(Gives(given), Policy(keep=1, mode=mode)).run("main", "manual")  # type: ignore[arg-type]
    assert "the session is as it was" in str(raised.value)
    assert (ledger.head("main"), ledger.counts()) == (head, before)


def test_what_does_not_fit_a_window_is_summarised_in_stages(ledger: Ledger) -> None:
    long = "It is said at some length here, number {}. " * 40
    edit = Call("Edit", {"file_path": "src/a.py"}, message=1)
    for number in range(12):
        said = (Message("user", f"q{number}"), Message("assistant", long.format(number, *range(40))))
        ledger.append("main", Turn(said, (edit,)))
    who = Says(window_tokens=4000)
    with pytest.raises(SummariserFailed, match="the mode `safeguard`"):
        run(ledger, who, keep=1, limit_tokens=500)
    made = run(ledger, who, keep=1, limit_tokens=500, mode="safeguard")
    assert len(who.asked) > 2
    assert [task.earlier for task in who.asked] == [None, *["(sum)"] * (len(who.asked) - 1)]
    assert made.summary == "(sum)\n\n## Files\n- written: src/a.py (11 times)"
    assert (made.input_tokens, made.output_tokens) == (70 * len(who.asked), 5 * len(who.asked))
    assert sum(len(task.passages) for task in who.asked) == 11
    with pytest.raises(SummariserFailed, match="has no room"):
        run(ledger, Says(window_tokens=1000), keep=0, limit_tokens=500, mode="safeguard")


def test_a_turn_that_no_stage_can_hold_is_shortened(ledger: Ledger) -> None:
    ledger.append(
        "main",
        Turn((Message("user", "go"), Message("assistant", "x" * 90_000)), (Call("B", "p" * 9000, "y" * 90_000),)),
    )
    ledger.append("main", exchange(1))
    who = Says(window_tokens=4000)
    run(ledger, who, keep=1, limit_tokens=500, mode="safeguard")
    assert "bytes left out" in str(who.asked[0].passages)
    assert len(str(who.asked[0].passages)) < 4000 * 4


# whatever happens


steps = st.lists(
    st.one_of(
        st.tuples(st.just("turn"), st.integers(1, 3)),
        st.tuples(st.sampled_from(["summary", "sliding_window", "selective"]), st.integers(0, 3)),
        st.tuples(st.just("fork"), st.integers(0, 30)),
    ),
    min_size=2,
    max_size=8,
)


@settings(max_examples=20, deadline=None, suppress_health_check=WITH_FIXTURES)
@given(steps)
def test_the_context_is_always_the_summary_what_was_kept_and_what_came_later(
    ledger: Ledger, given_steps: list[tuple[str, int]]
) -> None:
    label = f"s{ledger.counts()['sessions']}"
    first = talk(ledger, 3, label)
    views: dict[str, tuple[str | None, list[str]]] = {turn: (None, first[: at + 1]) for at, turn in enumerate(first)}
    for kind, number in given_steps:
        head = ledger.find(label)
        summary, kept = views[head]
        if kind == "turn":
            for _ in range(number):
                kept = [*kept, ledger.append(label, exchange(number))]
                views[kept[-1]] = summary, kept
        elif kind == "fork":
            label = ledger.fork(list(views)[number % len(views)]).label
        elif len(kept) > number:
            policy = Policy(strategy=kind, keep=number, select_tokens=25)  # type: ignore[arg-type]
            compacted_view(ledger, label, policy, views)
    for turn_id, view in views.items():
        seen = ledger.context(turn_id)
        assert (seen.summary, [turn.turn_id for turn in seen.turns]) == view


def compacted_view(ledger: Ledger, label: str, policy: Policy, views: dict[str, tuple[str | None, list[str]]]) -> None:
    """Compacts, and notes what must be seen from then on."""
    head = ledger.find(label)
    before = views[head][1]
    with ledger.database.read() as tx:
        try:
            kept = [turn.turn_id for turn in plan(tx, head, policy).kept]
        except NotAllowed:
            assert policy.strategy == "selective", "only a selection can keep all of them"
            return
    newest = before[len(before) - (policy.keep or 0) :]
    assert kept == newest if policy.strategy != "selective" else kept[len(kept) - len(newest) :] == newest
    made = ledger.compact_by(Says(f"sum {len(views)}"), policy).run(label, "manual")
    assert made is not None
    views[made.turn_id] = (made.summary or None), kept
