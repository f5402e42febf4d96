"""Compaction as a turn: what it keeps, what it costs, who sees it, and that nothing is lost."""

from typing import Any

import pytest

from agents_ledger import Call, Compaction, Ledger, Message, Turn
from agents_ledger.errors import BadInput, NotAllowed, NotFound, TurnIsLive
from agents_ledger.ledger import append, sessions
from agents_ledger.ledger import context as contexts
from agents_ledger.ledger.build import prepare
from agents_ledger.ledger.context import Context
from agents_ledger.ledger.policy import Policy
from agents_ledger.store import Tx


def exchange(number: int) -> Turn:
    messages = (Message("user", f"q{number}"), Message("assistant", f"a{number}"))
    return Turn(messages=messages, calls=(Call("Read", {"n": number}, message=1),))


def talk(ledger: Ledger, turns: int, label: str = "main") -> list[str]:
    opening = Turn(messages=(Message("system", "Be kind."), Message("user", "q0"), Message("assistant", "a0")))
    return [ledger.append(label, exchange(number) if number else opening) for number in range(turns)]


def words(context: Context) -> list[str]:
    """What the agent reads, in order."""
    said = [f"[{row.content}]" for row in context.system]
    said += [f"({context.summary})"] if context.summary else []
    return said + [row.content or "" for turn in context.turns for row in turn.messages]


def test_a_summary_stands_for_the_first_turns_and_the_last_are_kept(ledger: Ledger) -> None:
    ids = talk(ledger, 5)
    compaction = ledger.compact("main", "They talked.", keep=2)
    assert ledger.head("main") == compaction
    record = ledger.get(compaction)
    assert record.turn.turn_type == "compaction"
    assert record.compaction is not None
    named = record.compaction
    assert (named.summarized_through_turn_id, named.first_kept_turn_id, named.turns_summarized) == (ids[2], ids[3], 3)
    assert words(ledger.context(compaction)) == ["[Be kind.]", "(They talked.)", "q3", "a3", "q4", "a4"]
    later = ledger.append("main", exchange(5))
    assert words(ledger.context(later, "now?"))[-2:] == ["q5", "a5"]
    assert ledger.ancestry(later) == [*ids, compaction, later], "everything is still there"
    assert words(ledger.context(ids[4]))[1] == "q0", "the past has not changed"
    assert ledger.verify().is_good


@pytest.mark.parametrize("trigger", ["context_limit", "manual", "periodic", None])
def test_every_column_of_a_compaction_comes_back(ledger: Ledger, trigger: str | None) -> None:
    ids = talk(ledger, 3)
    first_kept = ledger.get(ids[2])
    given = Compaction(
        "sum",
        through=ids[1],
        first_kept=ids[2],
        first_kept_message_id=first_kept.messages[1].id,
        kept=(ids[2],),
        replacement=[{"role": "user"}],
        type="hierarchical",
        model="haiku",
        provider="anthropic",
        tokens_before=1000,
        tokens_after=100,
        summary_tokens=10,
        input_tokens=900,
        output_tokens=12,
        duration_ms=1234,
        trigger=trigger,
        metadata={"v": 2},
    )
    row = ledger.get(ledger.append("main", Turn(compaction=given))).compaction
    assert row is not None
    assert (row.compaction_type, row.model, row.provider, row.trigger) == (
        "hierarchical",
        "haiku",
        "anthropic",
        trigger,
    )
    assert (row.tokens_before, row.tokens_after, row.summary_tokens) == (1000, 100, 10)
    assert (row.summarization_input_tokens, row.summarization_output_tokens, row.duration_ms) == (900, 12, 1234)
    assert (row.metadata_json, row.kept_json, row.replacement_json) == (
        '{"v":2}',
        f'["{ids[2]}"]',
        '[{"role":"user"}]',
    )
    assert row.first_kept_message_id == first_kept.messages[1].id
    assert ledger.verify().is_good


def test_a_sliding_window_drops_the_oldest_without_words(ledger: Ledger) -> None:
    talk(ledger, 4)
    compaction = ledger.compact("main", "", keep=1, type="sliding_window", trigger="periodic")
    seen = ledger.context(compaction)
    assert seen.summary is None
    assert words(seen) == ["[Be kind.]", "q3", "a3"]


def test_a_selective_compaction_keeps_the_turns_that_it_names_in_their_order(ledger: Ledger) -> None:
    ids = talk(ledger, 6)
    compaction = ledger.compact("main", "rest", through=ids[4], type="selective", kept=(ids[4], ids[1]))
    assert words(ledger.context(compaction)) == ["[Be kind.]", "(rest)", "q1", "a1", "q4", "a4"]
    later = ledger.append("main", exchange(9))
    assert words(ledger.context(later))[2:] == ["q1", "a1", "q4", "a4", "q9", "a9"]
    assert ledger.verify().is_good


def test_a_compaction_keeps_by_number_or_by_turn_not_both(ledger: Ledger) -> None:
    ids = [ledger.append("main", Turn((Message("user", f"q{at}"),))) for at in range(3)]
    with pytest.raises(BadInput, match="pass `keep` or `through`"):
        ledger.compact("main", "what was said", keep=1, through=ids[0])
    assert ledger.head("main") == ids[-1]


def test_a_compaction_without_a_summary_is_refused(ledger: Ledger) -> None:
    ids = talk(ledger, 4)
    before = ledger.counts()
    for nothing in (None, "", " \n"):
        for given in ({"keep": 2}, {"through": ids[2], "type": "selective", "kept": (ids[1],)}):
            with pytest.raises(BadInput, match="the summary is empty"):
                ledger.compact("main", nothing, **given)  # type: ignore[arg-type]
        with pytest.raises(BadInput, match="the summary is empty"):
            ledger.append("main", Turn(compaction=Compaction(nothing, through=ids[3])))  # type: ignore[arg-type]
    assert ledger.counts() == before
    replaced = ledger.compact("main", "", replacement=[{"role": "user", "content": "all of it"}])
    assert ledger.context(replaced).replacement, "what stands for the turns is there"


def test_compactions_are_not_counted_among_the_kept_turns(ledger: Ledger) -> None:
    ids = talk(ledger, 6)
    kept = {
        keep: words(ledger.context(ledger.compact("main", f"S{keep}", keep=keep))) for keep in (3, 3, 2, 1)
    }  # each keeps what the one before it has kept
    assert kept[3] == ["[Be kind.]", "(S3)", "q3", "a3", "q4", "a4", "q5", "a5"]
    assert kept[2] == ["[Be kind.]", "(S2)", "q4", "a4", "q5", "a5"]
    assert kept[1] == ["[Be kind.]", "(S1)", "q5", "a5"]
    row = ledger.get(ledger.head("main") or "").compaction
    assert row is not None
    assert (row.summarized_through_turn_id, row.first_kept_turn_id, row.turns_summarized) == (ids[4], ids[5], 1)
    with pytest.raises(BadInput, match="the agent sees 1 turn of this session: keep 0 to 1 of them, not 2"):
        ledger.compact("main", "more than there is", keep=2)
    later = ledger.append("main", exchange(6))
    assert words(ledger.context(ledger.compact("main", "S", keep=2)))[2:] == ["q5", "a5", "q6", "a6"]
    assert words(ledger.context(ledger.compact("main", "none")))[1:] == ["(none)"]
    assert ledger.ancestry(ledger.head("main") or "")[:6] == ids
    assert ledger.get(later).turn.turn_type == "normal"
    assert ledger.verify().is_good


def test_picked_turns_and_a_cut_inside_a_turn_are_kept_again_as_they_are_seen(ledger: Ledger) -> None:
    ids = talk(ledger, 6)
    ledger.compact("main", "picked", through=ids[5], type="selective", kept=(ids[1], ids[4]))
    ledger.append("main", exchange(6))
    assert words(ledger.context(ledger.compact("main", "S", keep=2)))[2:] == ["q4", "a4", "q6", "a6"]
    answers = tuple(Message("assistant", text) for text in ("one", "two"))
    cut = ledger.append("main", Turn(messages=(Message("user", "ask"), *answers)))
    message_id = ledger.get(cut).messages[2].id
    ledger.compact("main", "cut", through=ledger.ancestry(cut)[-2], first_kept=cut, first_kept_message_id=message_id)
    ledger.append("main", exchange(7))
    seen = words(ledger.context(ledger.compact("main", "again", keep=2)))
    assert seen == ["[Be kind.]", "(again)", "two", "q7", "a7"]
    by_policy = ledger.compact_by(policy=Policy(keep=2))
    ledger.append("main", exchange(8))
    made = by_policy.run("main", "manual")
    assert made is not None
    assert words(ledger.context(made.turn_id))[2:] == ["q7", "a7", "q8", "a8"]
    assert ledger.verify().is_good


def test_behind_a_context_of_its_own_only_what_came_since_can_be_kept(ledger: Ledger) -> None:
    talk(ledger, 4)
    ledger.compact("main", "new", keep=2, replacement=[{"role": "user", "content": "new"}])
    ledger.append("main", exchange(4))
    with pytest.raises(BadInput, match="keep 0 to 1 of them, not 2"):
        ledger.compact("main", "S", keep=2)
    assert words(ledger.context(ledger.compact("main", "S", keep=1))) == ["[Be kind.]", "(S)", "q4", "a4"]


def test_nothing_kept_leaves_the_summary_alone(ledger: Ledger) -> None:
    ids = talk(ledger, 2)
    compaction = ledger.compact("main", "all of it")
    assert words(ledger.context(compaction)) == ["[Be kind.]", "(all of it)"]
    row = ledger.get(compaction).compaction
    assert row is not None
    assert (row.summarized_through_turn_id, row.first_kept_turn_id) == (ids[1], None)


def test_a_cut_inside_a_turn_keeps_the_rest_of_its_messages_and_their_calls(ledger: Ledger) -> None:
    ids = talk(ledger, 2)
    answers = tuple(Message("assistant", text) for text in ("one", "two"))
    calls = (Call("Old", message=1), Call("New", message=2))
    cut = ledger.append("main", Turn(messages=(Message("user", "ask"), *answers), calls=calls))
    message_id = ledger.get(cut).messages[2].id
    compaction = ledger.compact("main", "before", through=ids[1], first_kept=cut, first_kept_message_id=message_id)
    seen = ledger.context(compaction)
    assert words(seen) == ["[Be kind.]", "(before)", "two"]
    assert [call.tool_name for turn in seen.turns for call in turn.calls] == ["New"]
    with pytest.raises(BadInput, match="must belong to the first kept turn"):
        ledger.compact("main", "x", through=cut, first_kept=compaction, first_kept_message_id=message_id)


def test_a_replacement_is_the_whole_new_context(ledger: Ledger) -> None:
    talk(ledger, 3)
    compaction = ledger.compact("main", "sum", keep=1, replacement=[{"role": "user", "content": "new"}])
    later = ledger.append("main", exchange(7))
    seen = ledger.context(later)
    assert seen.replacement == [{"role": "user", "content": "new"}]
    assert seen.compaction_turn_id == compaction
    assert words(seen) == ["[Be kind.]", "(sum)", "q7", "a7"]


def test_of_nested_compactions_only_the_newest_applies(ledger: Ledger) -> None:
    ids = talk(ledger, 3)
    first = ledger.compact("main", "first", keep=1)
    more = [ledger.append("main", exchange(number)) for number in (3, 4, 5)]
    second = ledger.compact("main", "second", through=more[1], first_kept=more[2])
    later = ledger.append("main", exchange(6))
    assert words(ledger.context(later)) == ["[Be kind.]", "(second)", "q5", "a5", "q6", "a6"]
    assert words(ledger.context(more[0])) == ["[Be kind.]", "(first)", "q2", "a2", "q3", "a3"]
    row = ledger.get(second).compaction
    assert row is not None
    # the compaction turn itself lies between the two cuts: turns 3, 4 of the talk, the compaction and two more
    assert row.turns_summarized == ledger.get(more[1]).turn.depth - ledger.get(ids[1]).turn.depth
    assert ledger.get(second).turn.compaction_depth == ledger.get(second).turn.depth
    assert ledger.get(first).turn.compaction_depth == 4
    with pytest.raises(BadInput, match="was summarised before"):
        ledger.compact("main", "back", through=ids[0])
    assert ledger.verify().is_good


def test_forks_see_a_compaction_only_if_they_come_after_it(ledger: Ledger) -> None:
    ids = talk(ledger, 5)
    compaction = ledger.compact("main", "sum", keep=2)
    for label, at, expected in (
        ("before", ids[1], ["[Be kind.]", "q0", "a0", "q1", "a1", "q8", "a8"]),
        ("kept", ids[3], ["[Be kind.]", "q0", "a0", "q1", "a1", "q2", "a2", "q3", "a3", "q8", "a8"]),
        ("after", compaction, ["[Be kind.]", "(sum)", "q3", "a3", "q4", "a4", "q8", "a8"]),
    ):
        ledger.fork(at, label)
        turn_id = ledger.append(label, exchange(8))
        assert words(ledger.context(turn_id)) == expected, label
        assert bool(ledger.context(turn_id).compaction_turn_id) == (label == "after")
    assert ledger.verify().is_good


def test_wrong_cuts_are_refused_and_nothing_is_written(ledger: Ledger) -> None:
    ids = talk(ledger, 4)
    other = talk(ledger, 1, "other")[0]
    ledger.fork(ids[1], "side")
    branch = ledger.append("side", exchange(9))
    before = ledger.counts()
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"keep": 4}, "keep 0 to 3"),
        ({"keep": -1}, "keep 0 to 3"),
        ({"through": other}, "is not in the thread"),
        ({"through": branch}, "is not in the thread"),
        ({"through": ids[2], "first_kept": ids[2]}, "must come after"),
        ({"through": ids[2], "first_kept": ids[0]}, "must come after"),
        ({"through": ids[0], "first_kept": branch}, "is not in the thread"),
        ({"through": ids[0], "kept": (ids[1], branch)}, "is not in the thread"),
        ({"through": ids[2], "kept": (ids[1], ids[1])}, "kept once"),
        ({"through": ids[0], "first_kept": ids[1], "first_kept_message_id": "none"}, "must belong"),
    ]
    for given, why in wrong:
        with pytest.raises(BadInput, match=why):
            ledger.compact("main", "x", **given)
    with pytest.raises(NotFound, match="no turn"):
        ledger.compact("main", "x", through="none")
    ledger.create_session("empty")
    with pytest.raises(NotAllowed, match="nothing to compact"):
        ledger.compact("empty", "x")
    assert {**ledger.counts(), "sessions": 0, "seq": 0} == {**before, "sessions": 0, "seq": 0}


def test_a_turn_that_is_being_written_is_never_overtaken(ledger: Ledger) -> None:
    talk(ledger, 3)
    head, live = ledger.head("main"), ledger.turn("main", "and now?")
    before = ledger.counts()
    ledger.alias("other-name", "main")
    for name in ("main", "other-name"):
        with pytest.raises(TurnIsLive, match="compact when it has ended"):
            ledger.compact(name, "too early", keep=1)
    assert (ledger.head("main"), ledger.counts()) == (head, before | {"seq": before["seq"] + 1})  # (the alias)
    live.answer("done")
    assert ledger.head("main") == live.id
    compaction = ledger.compact("main", "They talked.", keep=1)
    assert words(ledger.context(compaction)) == ["[Be kind.]", "(They talked.)", "and now?", "done"]
    begun_elsewhere = ledger.turn("main", "behind it")
    ledger.fork(head or "", "fork")
    assert words(ledger.context(ledger.compact("fork", "Of others.", keep=0)))[1:] == ["(Of others.)"]
    begun_elsewhere.answer("fine")


def test_a_long_compacted_thread_is_read_from_its_kept_turns_on(ledger: Ledger) -> None:
    count = 1995 if ledger.database.dialect == "sqlite" else 295  # a server takes 5 ms for each

    def write(tx: Tx) -> list[str]:
        turns = (exchange(number) for number in range(count))
        origin = sessions.Origin()
        return [append.append(tx, ledger.env, "main", prepare(turn, ledger.env), origin) for turn in turns]

    ledger.append("main", Turn(messages=(Message("system", "Be kind."),)))
    ids = ledger.database.write(write)
    ledger.compact("main", "long", keep=3)
    last = ledger.append("main", exchange(1))
    with ledger.database.read() as inner:
        tx = Counted(inner)
        seen = contexts.assemble(tx, last)
    assert words(seen)[:2] == ["[Be kind.]", "(long)"]
    assert [turn.turn_id for turn in seen.turns] == [*ids[-3:], last]
    # each of the four turns with two messages and a call, the prompt, the compaction, and the steps to find them
    assert tx.rows_read <= 40


class Counted(Tx):
    """A transaction that counts rows."""

    def __init__(self, inner: Tx) -> None:
        self._inner = inner
        self.rows_read = 0

    def run(self, name: str, /, **params: Any) -> None:
        self._inner.run(name, **params)

    def run_all(self, name: str, values: Any) -> None:
        self._inner.run_all(name, values)

    def each(self, name: str, /, **params: Any) -> Any:
        for row in self._inner.each(name, **params):
            self.rows_read += 1
            yield row
