"""Labels, aliases and turns that are not what they should be."""

from collections.abc import Callable
from typing import Any

import pytest

from agents_ledger import Compaction, Ledger, Message, Turn, Usage
from agents_ledger.errors import (
    AliasCycle,
    BadInput,
    Conflict,
    ContentDiffers,
    HeadMoved,
    LabelTaken,
    NotAllowed,
    NotFound,
    SessionArchived,
    TurnIsLive,
    TurnIsSealed,
    UnresolvedCalls,
)

Use = Callable[[str], object]


def say(text: str, turn_id: str | None = None) -> Turn:
    return Turn(messages=(Message("user", text), Message("assistant", text)), id=turn_id)


WRONG_LABELS = ["", " ", " main", "main ", "two\nlines", "x" * 600, "tab\tinside", "bell\x07", "nul\x00", "half \ud800"]


def test_a_wrong_label_is_refused_everywhere_and_nothing_is_written(ledger: Ledger) -> None:
    turn_id = ledger.append("main", say("hello"))
    before = ledger.counts()
    uses: list[Use] = [
        lambda label: ledger.append(label, say("x")),
        lambda label: ledger.turn(label, "x"),
        ledger.create_session,
        lambda label: ledger.alias(label, "main"),
        lambda label: ledger.append("main", say("x", turn_id=label or " ")),
        lambda label: ledger.fork(turn_id, label),
        ledger.head,
    ]
    for label in WRONG_LABELS:
        for use in uses:
            with pytest.raises(BadInput, match="1 to 512 printable characters on one line"):
                use(label)
    assert ledger.counts() == before


def test_a_wrong_name_is_told_what_it_can_not_be(ledger: Ledger) -> None:
    ledger.append("main", say("hello"))
    with pytest.raises(BadInput, match="'' can't be an alias: use"):
        ledger.alias("", "main")
    with pytest.raises(BadInput, match="'' can't be a session label: use"):
        ledger.create_session("")


def test_a_label_that_is_no_text_is_refused(ledger: Ledger) -> None:
    with pytest.raises(BadInput, match="must be text, not int"):
        ledger.append(7, say("x"))  # type: ignore[arg-type]


def test_an_unknown_turn_is_named_with_the_way_to_find_the_known_ones(ledger: Ledger) -> None:
    ledger.append("main", say("hello"))
    for use in (
        lambda: ledger.get("nope"),
        lambda: ledger.fork("nope", "other"),
        lambda: ledger.branch("nope", say("x")),
        lambda: ledger.rewind("main", "nope"),
        lambda: ledger.ancestry("nope"),
        lambda: ledger.context("nope"),
        lambda: ledger.children("nope"),
        lambda: ledger.compact("main", "summary", through="nope"),
    ):
        with pytest.raises(NotFound, match="ldg tree"):
            use()
    with pytest.raises(NotFound, match="ldg sessions"):
        ledger.head("nope")


def test_a_turn_id_that_no_column_can_hold_is_refused_like_any_other(ledger: Ledger) -> None:
    uses: list[Use] = [ledger.get, ledger.find, ledger.fork, ledger.context]
    for turn_id in ("nul\x00", "half \ud800"):
        for use in uses:
            with pytest.raises((BadInput, NotFound)):
                use(turn_id)


@pytest.mark.parametrize(("given", "said"), [(None, "expected, not None"), (7, "not int"), (b"x", "not bytes")])
def test_a_turn_id_that_is_no_text_is_refused(ledger: Ledger, given: Any, said: str) -> None:
    ledger.append("main", say("hello"))
    uses: list[Use] = [
        ledger.get,
        ledger.ancestry,
        ledger.thread,
        ledger.path,
        ledger.children,
        ledger.tree,
        ledger.including,
        ledger.context,
        ledger.replay,
        ledger.find,
        ledger.fork,
    ]
    for use in uses:
        with pytest.raises(BadInput, match=f"a turn's id .*{said}"):
            use(given)
    for number in ("one", 1.5):
        with pytest.raises(BadInput, match="turns must be a whole number"):
            ledger.rewind("main", turns=number)  # type: ignore[arg-type]
        with pytest.raises(BadInput, match="at must be a whole number"):
            ledger.head("main", at=number)  # type: ignore[arg-type]


def test_an_id_that_may_be_left_out_is_text_as_well(ledger: Ledger) -> None:
    ledger.append("main", say("hello"))
    for use in (
        lambda: ledger.branch(7, say("x")),  # type: ignore[arg-type]
        lambda: ledger.rewind("main", 7),  # type: ignore[arg-type]
        lambda: ledger.compact("main", "summary", through=7),  # type: ignore[arg-type]
        lambda: ledger.tools_outside(7),  # type: ignore[arg-type]
        lambda: ledger.archive(7),  # type: ignore[arg-type]
    ):
        with pytest.raises(BadInput, match="must be text, not int"):
            use()


def test_a_session_without_turns_is_not_called_unknown(ledger: Ledger) -> None:
    ledger.create_session("empty")
    with pytest.raises(NotFound, match="session 'empty' has no turns yet"):
        ledger.find("empty")
    live = ledger.turn("begun", "hello")
    with pytest.raises(NotFound, match=f"session 'begun' has no finished turn yet: `ldg show {live.id}`"):
        ledger.find("begun")
    live.complete()
    assert ledger.find("begun") == live.id


def test_a_session_at_its_first_turn_has_nothing_to_go_back_to(ledger: Ledger) -> None:
    ledger.append("main", say("one"))
    for turns in (None, 1, 5):
        with pytest.raises(BadInput, match="at its first turn: there is nothing before it"):
            ledger.rewind("main", turns=turns)


def test_a_session_that_went_another_way_is_told_how_to_take_up_the_old_one(ledger: Ledger) -> None:
    ids = [ledger.append("main", say(text)) for text in ("one", "two", "three")]
    elsewhere = ledger.append("other", say("x"))
    ledger.rewind("main", ids[1])
    ledger.rewind("main", ids[0])
    ledger.append("main", say("another way"))
    with pytest.raises(NotAllowed, match=f"went on another way.*`ldg fork {ids[2]}` continues the old one"):
        ledger.forward("main")
    with pytest.raises(NotAllowed, match=f"went on another way.*`ldg fork {ids[1]}`"):
        ledger.forward("main", ids[1])
    with pytest.raises(NotAllowed, match=f"nothing ahead of it: turn {ids[0]} is in its thread"):
        ledger.forward("main", ids[0])
    with pytest.raises(BadInput, match="was never in session 'main'"):
        ledger.forward("main", elsewhere)
    assert ledger.fork(ids[2], "old").thread_id == ids[2]


def test_a_session_that_is_back_where_it_was_has_nothing_ahead(ledger: Ledger) -> None:
    ids = [ledger.append("main", say(text)) for text in ("one", "two")]
    ledger.rewind("main")
    ledger.forward("main")
    with pytest.raises(NotAllowed, match=f"nothing ahead of it: turn {ids[1]} is in its thread"):
        ledger.forward("main")


def test_nobody_is_sent_to_fork_a_live_turn(ledger: Ledger) -> None:
    ledger.append("main", say("one"))
    live = ledger.turn("main", "two")
    with pytest.raises(TurnIsLive, match="still being written: name an earlier turn"):
        ledger.rewind("main", live.id)
    live.complete()


def test_rewinding_to_a_turn_of_another_tree_or_branch_is_refused(ledger: Ledger) -> None:
    first = ledger.append("main", say("one"))
    ledger.append("main", say("two"))
    other_tree = ledger.append("other", say("three"))
    ledger.fork(first, "branch")
    other_branch = ledger.append("branch", say("four"))
    for target in (other_tree, other_branch):
        with pytest.raises(BadInput, match=f"not an ancestor.*ldg fork {target}"):
            ledger.rewind("main", target)
        with pytest.raises(BadInput, match="not in the thread"):
            ledger.compact("main", "summary", through=target)
    with pytest.raises(BadInput, match="the head already"):
        ledger.rewind("branch", other_branch)
    with pytest.raises(BadInput, match="back by 1 to 1, not 2"):
        ledger.rewind("main", turns=2)
    with pytest.raises(BadInput, match="name one of them"):
        ledger.rewind("main", first, turns=1)
    with pytest.raises(NotFound, match="ldg tree"):
        ledger.rewind("main", "")
    with pytest.raises(NotAllowed, match="not rewound"):
        ledger.forward("main")
    assert ledger.verify().findings == []


def test_a_compaction_of_nothing_is_refused(ledger: Ledger) -> None:
    ledger.create_session("empty")
    with pytest.raises(NotAllowed, match="nothing to compact"):
        ledger.append("empty", Turn(compaction=Compaction("summary", "x")))
    with pytest.raises(NotAllowed, match="nothing to rewind"):
        ledger.rewind("empty")


def test_a_merged_session_is_found_where_its_label_leads_and_keeps_its_own_history(ledger: Ledger) -> None:
    ledger.append("main", say("hello"))
    own = [ledger.append("merged", say(text)) for text in ("one", "two")]
    ledger.merge("merged", "main")
    ledger.alias("other", "main")
    lines = {line.session.label: line.leads_to for line in ledger.sessions()}
    assert lines == {"main": None, "merged": "main"}
    assert ledger.session("merged").label == "main"
    former = ledger.former("merged")
    assert former is not None
    assert (former.label, former.thread_id) == ("merged", own[1])
    assert [move.thread_id for move in ledger.history("merged")] == own
    assert ledger.history("other") == ledger.history("main") != ledger.history("merged")
    assert (ledger.former("main"), ledger.former("other"), ledger.former("unknown")) == (None, None, None)
    ledger.create_session("empty")
    ledger.merge("empty", "main")
    assert ledger.history("empty") == []
    with pytest.raises(LabelTaken, match="no turns of its own"):
        ledger.unarchive("empty")


def test_an_alias_never_leads_to_itself_nor_hides_a_session_nor_makes_a_chain(ledger: Ledger) -> None:
    ledger.append("main", say("hello"))
    ledger.append("live", say("hello"))
    ledger.alias("short", "main")
    for label in ("main", "short"):
        with pytest.raises(AliasCycle, match="name another session"):
            ledger.alias(label, label)
    with pytest.raises(AliasCycle):
        ledger.alias("main", "short")  # main is behind short: a circle of two
    with pytest.raises(AliasCycle, match="the same session"):
        ledger.merge("main", "short")
    with pytest.raises(LabelTaken, match="archive or merge it first"):
        ledger.alias("live", "main")
    with pytest.raises(LabelTaken, match="merge that session instead"):
        ledger.alias("short", "live")
    with pytest.raises(LabelTaken, match="choose another label"):
        ledger.create_session("short")
    assert ledger.alias("shorter", "short").session_label == "main", "an alias of an alias leads to the session itself"
    assert ledger.append("shorter", say("again")) == ledger.head("main")
    assert ledger.verify().findings == []


def test_a_turn_on_a_stale_head_is_refused_and_nothing_is_written(ledger: Ledger) -> None:
    first = ledger.append("main", say("one"))
    ledger.append("main", say("two"))
    before = ledger.counts()
    for use in (
        lambda: ledger.append("main", say("late"), expect=first),
        lambda: ledger.append("main", say("late"), expect=None),
        lambda: ledger.turn("main", "late", expect=first),
        lambda: ledger.rewind("main", first, expect=first),
        lambda: ledger.compact("main", "late", keep=1, expect=first),
    ):
        with pytest.raises(HeadMoved, match="nothing was written: read the new head and try again") as conflict:
            use()
        assert conflict.value.turn_id is None
    assert ledger.counts() == before


def test_the_same_id_with_other_content_is_refused_with_the_same_it_adds_nothing(ledger: Ledger) -> None:
    ledger.append("main", say("one", turn_id="mine"))
    before = ledger.counts()
    assert ledger.append("main", say("one", turn_id="mine")) == "mine"
    assert ledger.branch(None, say("one", turn_id="mine")) == "mine"
    with pytest.raises(ContentDiffers, match="give the new one another id"):
        ledger.append("main", say("two", turn_id="mine"))
    with pytest.raises(ContentDiffers):
        ledger.append("main", Turn(messages=say("one").messages, usage=Usage(input=1), id="mine"))
    with pytest.raises(ContentDiffers):
        ledger.branch("mine", say("one", turn_id="mine"))
    assert ledger.counts() == before


def test_an_id_or_key_that_is_taken_is_a_conflict(ledger: Ledger) -> None:
    ledger.append("main", Turn(messages=(Message("user", "x", id="mine"),)))
    with pytest.raises(Conflict, match="give the new one another id"):
        ledger.append("main", Turn(messages=(Message("user", "y", id="mine"),)))
    with pytest.raises(Conflict, match="another id"):
        ledger.append("main", Turn(messages=(Message("user", "y", id="twice"), Message("user", "z", id="twice"))))
    assert ledger.counts()["messages"] == 1


def test_nothing_can_follow_a_turn_that_is_still_being_written(ledger: Ledger) -> None:
    live = ledger.turn("main", "hello")
    with pytest.raises(TurnIsLive, match="wait until it is finished"):
        ledger.branch(live.id, say("x"))
    with pytest.raises(TurnIsLive, match="or fork its parent"):
        ledger.fork(live.id, "other")
    live.complete()
    assert ledger.fork(live.id, "other").thread_id == live.id
    with pytest.raises(TurnIsSealed, match="begin a new one"):
        live.reply("late")


def test_completing_with_open_calls_is_refused_and_the_turn_fails_with_the_reason(ledger: Ledger) -> None:
    with (
        pytest.raises(UnresolvedCalls, match=r"Shell.*complete or fail each call first"),
        ledger.turn("main", "x") as turn,
    ):
        turn.call("Shell", "sleep")
    record = ledger.get(turn.id)
    assert record.turn.status == "failed"
    assert "Shell" in (record.turn.error or "")
    assert [call.status for call in record.calls] == ["abandoned"]


def test_an_archived_session_takes_nothing_until_it_is_restored(ledger: Ledger) -> None:
    ledger.append("main", say("hello"))
    ledger.archive("main")
    for use in (
        lambda: ledger.append("main", say("x")),
        lambda: ledger.turn("main", "x"),
        lambda: ledger.compact("main", "x"),
        lambda: ledger.rewind("main"),
    ):
        with pytest.raises(SessionArchived, match="unarchive it first"):
            use()
    ledger.unarchive("main")
    ledger.append("main", say("again"))
    assert ledger.verify().findings == []
