"""The timeline: every turn once, newest first, page by page; and turns as they come."""

from pathlib import Path
from threading import Event, Timer

import pytest

from agents_ledger import Call, Ledger, Message, Settings, Turn
from agents_ledger.ledger.activity import tools
from agents_ledger.ledger.timeline import Moment, follow, page
from agents_ledger.model.filters import Filters
from agents_ledger.model.ids import derived
from agents_ledger.model.rules import RETRACTED
from tests.capture.cuts import growth
from tests.capture.folders import GOLDEN, copy, files_below, is_lines, rows, sync, write

NOON = 1_763_208_000_000


def say(ledger: Ledger, label: str, words: str, at: int, model: str = "m") -> str:
    said, settings = (Message("user", words),), Settings(model=model)
    given = Turn(messages=said, calls=(Call("Read"),), started_at=at, settings=settings, id=derived(at, words))
    return ledger.append(label, given)


def say_as(ledger: Ledger, turn_id: str) -> str:
    """A turn with an id that has no time in it."""
    return ledger.append("named", Turn((Message("user", "Hi."),), id=turn_id))


def pages(ledger: Ledger, filters: Filters, limit: int) -> list[Moment]:
    found: list[Moment] = []
    while part := page(ledger.database, filters, before=found[-1].id if found else None, limit=limit):
        assert len(part) <= limit
        found += part
    return found


def test_pages_give_every_turn_once_newest_first_also_shared_ones(ledger: Ledger) -> None:
    ids = [say(ledger, f"s{at % 3}", f"word {at}", NOON + at, model=f"m{at % 2}") for at in range(20)]
    ledger.fork(ids[0], "fork")
    ids.append(say(ledger, "fork", "another way", NOON + 30))
    ids.append(ledger.branch(ids[3], Turn(messages=(Message("user", "alone"),), id=derived(NOON + 40, ""))))
    found = pages(ledger, Filters(), 7)
    assert [moment.id for moment in found] == ids[::-1]
    assert [found[0].session_label, found[1].session_label, found[-1].session_label] == [None, "fork", "s0"]
    assert (found[1].opening, found[1].tool_call_count, found[-1].opening) == ("another way", 1, "word 0")
    assert [moment.id for moment in pages(ledger, Filters(model="m1"), 4)] == ids[:20][::-2]
    between = pages(ledger, Filters(since=NOON + 5, until=NOON + 8), 2)
    assert [moment.started_at - NOON for moment in between] == [7, 6, 5]


def tie(ledger: Ledger) -> list[str]:
    """Turns of three sessions, most of them of the same time: in the order in which they were said."""
    times = [NOON - 1, *[NOON] * 24, NOON + 1, *[NOON + 2] * 5]
    return [say(ledger, f"s{at % 3}", f"word {at}", time, model=f"m{at % 2}") for at, time in enumerate(times)]


@pytest.mark.parametrize("most", [3, 1_000])
def test_pages_are_complete_where_many_turns_have_the_same_time(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    monkeypatch.setattr("agents_ledger.ledger.timeline._TIED", most)  # more are not sorted, and none is lost
    ids = tie(ledger)
    ids += [say_as(ledger, name) for name in ("short", f"{ids[3][:10]}", f"{ids[3][:10]}~", f"{ids[3][:10]} or so")]
    for limit in (1, 2, 5, 7, 23, 24, 25, 26, 99):
        found = [moment.id for moment in pages(ledger, Filters(), limit)]
        assert sorted(found) == sorted(ids), limit
    odd = [moment.id for moment in pages(ledger, Filters(model="m1"), 4)]
    assert sorted(odd) == sorted(ids[1:31:2])


def test_a_turn_stands_above_its_parent_also_if_both_have_the_same_time(ledger: Ledger) -> None:
    ids = tie(ledger)
    parents = {turn_id: ledger.get(turn_id).turn.parent_turn_id for turn_id in ids}
    whole = [moment.id for moment in pages(ledger, Filters(), 99)]
    for limit in (1, 4, 24):
        found = [moment.id for moment in pages(ledger, Filters(), limit)]
        assert found == whole
    assert all(whole.index(turn_id) < whole.index(parent) for turn_id, parent in parents.items() if parent)


@pytest.mark.parametrize("last", [0, 2, 99])
def test_nothing_is_between_the_last_turns_and_what_comes_in(ledger: Ledger, last: int) -> None:
    before = [ledger.append("main", Turn(messages=(Message("user", text),))) for text in "abc"]
    news = follow(ledger.database, last=last, pause_s=0.01)
    after = [ledger.append("main", Turn(messages=(Message("user", text),))) for text in "de"]
    told = [*before[len(before) - min(last, len(before)) :], *after]
    assert [next(news).id for _ in told] == told


def test_of_the_same_time_a_parent_comes_in_before_what_follows_it(ledger: Ledger) -> None:
    news = follow(ledger.database, pause_s=0.01)
    ids = tie(ledger)
    came = [next(news).id for _ in ids]
    for session in range(3):
        assert sorted(ids[session::3], key=came.index) == ids[session::3]


def test_turns_that_their_source_took_back_or_tells_otherwise_are_not_shown(ledger: Ledger, tmp_path: Path) -> None:
    source = copy(GOLDEN / "pi" / "fork-with-dangling-parent" / "source", tmp_path / "source")
    files = [path for path in files_below(source) if is_lines(path)]
    whole = {path: path.read_bytes() for path in files}
    for path in files:
        write(path, b"")
    for path in files:
        for tick, piece in enumerate(growth(whole[path])):
            write(path, piece, tick)
            sync(ledger, path)
    taken_back = rows(ledger, f"SELECT id FROM turns WHERE error = '{RETRACTED}'")  # noqa: S608 - ours
    superseded = rows(ledger, "SELECT turn_id AS id FROM superseded")
    assert taken_back
    assert superseded
    gone = {row["id"] for row in [*taken_back, *superseded]}
    shown = {moment.id for moment in pages(ledger, Filters(), 3)}
    assert len(shown) == ledger.counts()["turns"] - len(gone)
    assert not shown & gone


def test_turns_by_any_id_are_listed(ledger: Ledger) -> None:
    """Ids of one's own may begin with whatever can be printed, also behind every letter of ours."""
    failed = Call("Shell", {}, None, status="failed", error="no")
    ids = {
        ledger.append(f"s{at}", Turn((Message("user", "Hi."),), (failed,), id=given))
        for at, given in enumerate(["~first", None, "ключ-1", "𐍈", "é"])
    }
    assert set(ledger.roots()) == ids
    assert {moment.id for moment in pages(ledger, Filters(), 2)} == ids
    assert {hit.turn_id for group in ledger.search("", limit=50).groups for hit in group.hits} == ids
    assert sum(line.failed for line in tools(ledger.database)) == 5
    assert set(ledger.roots(2)) | set(ledger.roots(9, before=ledger.roots(2)[-1])) == ids


def test_a_turn_is_found_by_the_time_that_was_given_for_it(ledger: Ledger) -> None:
    """An importer says when a turn was; what is listed and filtered is that time, not the time of the append."""
    then = NOON - 365 * 24 * 3600 * 1000
    old = ledger.append("import", Turn((Message("user", "long ago"),), started_at=then, completed_at=then + 5))
    new = ledger.append("import", Turn((Message("user", "now"),)))
    assert [moment.id for moment in pages(ledger, Filters(until=then + 1), 9)] == [old]
    assert [moment.id for moment in pages(ledger, Filters(since=then + 1), 9)] == [new]
    again = [ledger.append("import", Turn((Message("user", "long ago"),), started_at=then)) for _ in range(50)]
    assert len({old, *again}) == 51
    assert [moment.started_at for moment in pages(ledger, Filters(), 99)][1:] == [then] * 51
    assert ledger.verify().is_good


def test_a_merge_does_not_change_where_a_session_pointed_before(ledger: Ledger) -> None:
    mine = ledger.append("anna", Turn((Message("user", "a"),)))
    theirs = ledger.append("bert", Turn((Message("user", "b"),)))
    seq, at = ledger.counts()["seq"], ledger.history("anna")[-1].changed_at
    ledger.merge("anna", "bert")
    assert ledger.head("anna") == theirs
    assert (ledger.head("anna", seq=seq), ledger.head("anna", at=at)) == (mine, mine)
    assert [move.thread_id for move in ledger.history("anna")] == [mine]
    ledger.alias("other", "bert")
    assert ledger.head("other", seq=seq) == theirs


def test_turns_come_as_they_are_committed_and_again_when_they_change(ledger: Ledger) -> None:
    for at in range(60):
        say(ledger, "old", f"before {at}", NOON + at)
    impatient = Event()
    giving_up = Timer(20, impatient.set)
    giving_up.daemon = True
    giving_up.start()
    news = follow(ledger.database, until=impatient, pause_s=0.01)
    say(ledger, "taken", "an old source, read now", NOON - 1000)  # far behind the newest ones
    assert next(news).opening == "an old source, read now"
    turn = ledger.turn("live", "Hi.")
    assert (found := next(news)).status == "pending"
    assert found.session_label == "live"
    turn.answer("Hello.")
    assert (next(news).status, found.id) == ("completed", turn.id)
    giving_up.cancel()


def test_a_filter_holds_for_what_comes_and_an_event_ends_it(ledger: Ledger) -> None:
    ended = Event()
    news = follow(ledger.database, Filters(model="wanted"), until=ended, pause_s=0.01)
    for at in range(300):
        say(ledger, "s", "x", NOON + at, model="wanted" if at == 270 else "other")
    assert next(news).started_at == NOON + 270
    ended.set()
    assert list(news) == []
