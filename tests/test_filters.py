"""The filters: what they take, what they refuse, and that both engines mean the same by them."""

from itertools import product

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from agents_ledger import Ledger, Message, Settings, Turn, Usage
from agents_ledger.errors import BadInput
from agents_ledger.ledger.sessions import Origin
from agents_ledger.ledger.stats import tokens
from agents_ledger.ledger.timeline import page
from agents_ledger.model.entries import ModelCall
from agents_ledger.model.filters import Filters, first_id, parsed
from agents_ledger.model.times import iso, parse, parse_end

NOON = 1_763_208_000_000  # 2025-11-15T12:00Z
DAY = 86_400_000


@pytest.fixture
def known(ledger: Ledger) -> Ledger:
    """Sessions that differ in every way there is a filter for."""
    say(ledger, "plain", NOON)
    say(ledger, "claude", NOON + 1, model="claude-opus-4-1", origin="claude-code", place="/home/dev/weather")
    say(ledger, "codex", NOON + 2, model="gpt-5-codex", origin="codex", place="C:\\Dev\\Weather\\api")
    say(
        ledger, "bot", NOON + 3, model="gpt_5", origin="openclaw", routing="agent:main:telegram:dm:1", place="/srv/100%"
    )
    say(ledger, "away", NOON + 4, persona="ada")
    ledger.archive("away")
    turn = ledger.turn("broken", "Go on.")
    turn.call("Task").spawn("broken/sub", "a task")
    turn.fail("it broke")
    say(ledger, "broken/sub", NOON + 5)
    return ledger


def say(
    ledger: Ledger,
    label: str,
    at: int,
    *,
    model: str | None = None,
    origin: str | None = None,
    place: str | None = None,
    routing: str | None = None,
    persona: str | None = None,
) -> None:
    settings = Settings(model=model, workspace_path=place, persona_id=persona)
    came = Origin(origin=origin, routing_key=routing, persona_id=persona)
    ledger.append(label, Turn(messages=(Message("user", "Hi."),), settings=settings, started_at=at), origin=came)


CASES: list[tuple[Filters, set[str]]] = [
    (Filters(origin="codex"), {"codex"}),
    (Filters(origin="C*"), {"claude", "codex"}),
    (Filters(origin="c"), set()),
    (Filters(channel="telegram"), {"bot"}),
    (Filters(channel="tele"), set()),
    (Filters(project="/home/dev/weather/"), {"claude"}),
    (Filters(project="weather"), {"claude"}),
    (Filters(project="/home"), {"claude"}),
    (Filters(project="/home/de"), set()),
    (Filters(project="c:/dev/weather"), {"codex"}),
    (Filters(project="weather\\API"), {"codex"}),
    (Filters(project="100%"), {"bot"}),
    (Filters(project="1%"), set()),
    (Filters(model="gpt*"), {"codex", "bot"}),
    (Filters(model="gpt_5*"), {"bot"}),
    (Filters(model="gpt-5"), set()),
    (Filters(subagents=True), {"broken/sub"}),
    (Filters(subagents=False, origin=None), {"plain", "claude", "codex", "bot", "away", "broken"}),
    (Filters(status="archived"), {"away"}),
    (Filters(status="failed"), {"broken"}),
    (Filters(persona="ADA"), {"away"}),
    (Filters(origin="codex", model="gpt*", project="api", persona="default"), {"codex"}),
    (Filters(until=0), set()),
    (Filters(since=NOON, until=1 << 62, origin="codex"), {"codex"}),
]


def test_each_filter_finds_its_sessions_and_no_others(known: Ledger) -> None:
    found = [(filters, {line.session.label for line in known.sessions(filters)}) for filters, _ in CASES]
    assert found == CASES


def test_a_session_is_found_by_each_model_that_one_of_its_turns_used(ledger: Ledger) -> None:
    say(ledger, "changed", NOON, model="opus")
    say(ledger, "changed", NOON + 1, model="gpt-5")
    say(ledger, "changed", NOON + 2)
    first, *_ = ledger.ancestry(head_of(ledger, "changed"))
    ledger.fork(first, "fork")
    say(ledger, "fork", NOON + 3, model="haiku")
    say(ledger, "back", NOON + 4, model="haiku")
    kept = head_of(ledger, "back")
    say(ledger, "back", NOON + 5, model="gpt-5")
    ledger.rewind("back", kept)
    assert labels(ledger, model="opus") == {"changed", "fork"}, "a fork has what it shares"
    assert labels(ledger, model="gpt*") == {"changed", "back"}, "what a session went back from was used in it"
    assert labels(ledger, model="haiku") == {"fork", "back"}
    assert labels(ledger, model="gemini") == set()


def test_a_turn_that_went_from_one_model_to_another_is_found_by_both(ledger: Ledger) -> None:
    used = Usage(input=10, output=1)
    calls = (ModelCall(used, model="opus", at=NOON), ModelCall(used, model="sonnet", at=NOON))
    said, settings = (Message("user", "Hi."),), Settings(model="sonnet")
    found = ledger.append("both", Turn(messages=said, settings=settings, started_at=NOON, model_calls=calls))
    say(ledger, "other", NOON + 1, model="gpt-5")
    for model in ("opus", "sonnet"):
        filters = Filters(model=model)
        assert labels(ledger, model=model) == {"both"}
        assert [moment.id for moment in page(ledger.database, filters)] == [found]
        assert [line.key for line in tokens(ledger.database, filters, by=["session"]).lines] == [("both",)]
        assert [group.session for group in ledger.search("hi", filters=filters).groups] == ["both"]
        assert [group.session for group in ledger.search(f"hi model:{model}").groups] == ["both"]
        assert [group.session for group in ledger.search(f"hi -model:{model}").groups] == ["other"]


def labels(ledger: Ledger, **asked: str) -> set[str]:
    return {line.session.label for line in ledger.sessions(msgspec.convert(asked, Filters))}


def head_of(ledger: Ledger, label: str) -> str:
    head = ledger.session(label).thread_id
    assert head is not None
    return head


def test_times_are_the_last_uses(known: Ledger) -> None:
    newest, *others = known.sessions()
    at = newest.session.updated_at
    since = {line.session.label for line in known.sessions(Filters(since=at))}
    assert newest.session.label in since
    assert not since & {line.session.label for line in known.sessions(Filters(until=at))}
    assert len(others) == 6


def test_what_no_column_can_hold_is_refused_by_both_engines_alike(known: Ledger) -> None:
    for name, text in product(("origin", "channel", "project", "model", "persona"), ("a\x00b", "\ud800", "x" * 5000)):
        filters = msgspec.convert({name: text}, Filters)
        with pytest.raises(BadInput, match="can't be asked for"):
            known.sessions(filters)


def test_a_day_counts_whole() -> None:
    day = parsed(now=NOON, since="2025-11-14", until="2025-11-14")
    assert day.since is not None
    assert day.until is not None
    assert day.until - day.since in (DAY, DAY - 3_600_000, DAY + 3_600_000)
    assert parsed(now=NOON, since="yesterday", until="yesterday") == day
    assert parsed(now=NOON, until="today").until == parse("2025-11-16", NOON)
    assert parsed(now=NOON, since="7d").since == NOON - 7 * DAY


def test_a_month_and_a_year_count_whole() -> None:
    assert parsed(now=NOON, since="2025", until="2025").since == parse("2025-01-01", NOON)
    assert parsed(now=NOON, since="2025", until="2025").until == parse("2026-01-01", NOON)
    assert parsed(now=NOON, since="2024-02", until="2024-02").until == parse("2024-03-01", NOON)
    assert parsed(now=NOON, since="2025-12", until="2025-12").until == parse("2026-01-01", NOON)


@pytest.mark.parametrize(
    "text",
    ["foo", "", "2025-13-01", "2025-13", "2025-00", "99999999999999999999w", "-1", "1e9", "0000-00-00", "7 fortnights"],
)
def test_what_is_no_time_is_said_with_what_would_be_one(text: str) -> None:
    with pytest.raises(BadInput, match="is not a time: write 2026-11-15"):
        parsed(now=NOON, since=text)


def test_an_end_before_the_beginning_is_refused() -> None:
    with pytest.raises(BadInput, match="nothing can be between them"):
        parsed(now=NOON, since="2025-11-14", until="2025-11-13")
    with pytest.raises(BadInput, match="is no status"):
        parsed(now=NOON, status="finished")


@example(140_737_488_355_327)
@given(st.integers(0, 253_402_300_799_999))
def test_an_instant_is_read_back_from_its_iso_form(at: int) -> None:
    text = iso(at)
    assert text is not None
    assert abs(parse(text, NOON) - at) <= 1
    assert parse_end(text, NOON) - parse(text, NOON) == 1


@given(st.integers(-10, 1 << 50), st.integers(-10, 1 << 50))
def test_ids_are_ordered_as_their_times(one: int, other: int) -> None:
    small, large = sorted((one, other))
    assert first_id(small) <= first_id(large)
