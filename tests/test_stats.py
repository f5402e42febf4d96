"""Statistics: every call to a model once, days of any zone, prices as the library has them, sums that keep up."""

import itertools
from collections import Counter
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from genai_prices import Usage as TheirUsage
from genai_prices import calc_price
from genai_prices.data import providers
from hypothesis import given, settings
from hypothesis import strategies as st

from agents_ledger import Call, Compaction, Ledger, Message, Settings, Turn, Usage
from agents_ledger.errors import BadInput
from agents_ledger.ledger import activity, captured, stats
from agents_ledger.ledger.prices import prices_of
from agents_ledger.model.entries import File, ModelCall
from agents_ledger.model.filters import Filters
from agents_ledger.model.prices import SIZES, SLOT_MS
from agents_ledger.store.statements import statements
from tests.capture.folders import GOLDEN, copy, rows, sync

NOON = 1_763_208_000_000  # 2025-11-15T12:00Z
HOUR = 3_600_000
ONCE_BY_SESSION = """SELECT t.session_label, sum(u.total_tokens)
    FROM usages_once u JOIN turns t ON t.id = u.turn_id GROUP BY 1"""
SONNET = "claude-sonnet-4-5"


def called(at: int, key: str | None = None, model: str | None = SONNET, **tokens: int) -> ModelCall:
    return ModelCall(Usage(**({"input": 10, "output": 1} | tokens)), model=model, at=at, key=key)


def say(ledger: Ledger, label: str, *calls: ModelCall, **given_: Any) -> str:
    facts: dict[str, Any] = {"messages": (Message("user", "Hi."),), "model_calls": calls, "started_at": NOON} | given_
    return ledger.append(label, Turn(**facts))


def by(ledger: Ledger, *dimensions: str, filters: Filters = Filters(), zone: Any = UTC) -> dict[Any, int]:  # noqa: B008
    report = stats.tokens(ledger.database, filters, by=dimensions, zone=zone)
    assert sum(line.sums.total_tokens for line in report.lines) == report.total.total_tokens
    return {line.key if len(line.key) > 1 else line.key[0]: line.sums.total_tokens for line in report.lines}


def once(ledger: Ledger) -> int:
    """What plain SQL says: every call once, and turns that have none by their own counters."""
    sql = """SELECT coalesce((SELECT sum(total_tokens) FROM usages_once), 0)
        + coalesce((SELECT sum(total_tokens) FROM turns t
            WHERE NOT EXISTS (SELECT 1 FROM usages u WHERE u.turn_id = t.id)), 0)"""
    return int(ledger.database.query(sql)[1][0][0])


def test_tokens_by_every_dimension(ledger: Ledger) -> None:
    say(ledger, "a", called(NOON), called(NOON + 24 * HOUR, model="gpt-5"), settings=Settings(workspace_path="/w"))
    say(ledger, "b", usage=Usage(input=5, output=2), settings=Settings(model="m", provider="p", persona_id="ada"))
    assert by(ledger, "day") == {"2025-11-15": 18, "2025-11-16": 11}
    assert by(ledger, "week") == {"2025-W46": 29}
    assert by(ledger, "month") == {"2025-11": 29}
    assert by(ledger, "model") == {SONNET: 11, "gpt-5": 11, "m": 7}
    assert by(ledger, "session", "day") == {("a", "2025-11-15"): 11, ("a", "2025-11-16"): 11, ("b", "2025-11-15"): 7}
    assert by(ledger, "project") == {"/w": 22, None: 7}
    assert by(ledger, "persona") == {"default": 22, "ada": 7}
    assert by(ledger, "origin", filters=Filters(model="gpt*")) == {None: 11}
    assert by(ledger, "day", filters=Filters(since=NOON + HOUR)) == {"2025-11-16": 11}
    assert by(ledger, "session", filters=Filters(project="w")) == {"a": 22}
    with pytest.raises(BadInput, match="is nothing to count by: day, week"):
        by(ledger, "colour")


def test_days_are_the_readers_own(ledger: Ledger) -> None:
    say(ledger, "a", called(datetime(2025, 11, 15, 18, 20, tzinfo=UTC).timestamp().__int__() * 1000))
    assert by(ledger, "day") == {"2025-11-15": 11}
    assert by(ledger, "day", zone=timezone(timedelta(hours=5, minutes=45))) == {"2025-11-16": 11}
    assert by(ledger, "day", zone=timezone(timedelta(hours=5, minutes=30))) == {"2025-11-15": 11}


def test_copies_count_once_whichever_comes_first_and_whatever_is_summed_up_already(ledger: Ledger) -> None:
    ids = iter(("01KA3P5W000000000000000009", "01KA3P5W000000000000000005", "01KA3P5W000000000000000001"))
    totals = []
    for label, index in (("late", True), ("early", True), ("earliest", False)):
        say(ledger, label, called(NOON, "same"), called(NOON, "same"), called(NOON), id=next(ids))
        totals.append(by(ledger, "session"))
        if index:
            ledger.index()
    assert totals == [{"late": 22}, {"early": 22, "late": 11}, {"earliest": 22, "early": 11, "late": 11}]
    ledger.index()
    assert by(ledger, "session") == totals[-1]
    assert once(ledger) == 44


@pytest.mark.parametrize("order", [*itertools.permutations(("partial", "whole", "absurd"))], ids="-".join)
def test_of_copies_that_tell_a_call_differently_the_largest_believable_counts(
    ledger: Ledger, order: tuple[str, ...]
) -> None:
    """A count that was told while an answer was being written is less than the last one; ids say nothing about it."""
    told = {"partial": 7, "whole": 70, "absurd": 1 << 62}
    for number, label in enumerate(order):
        call = called(NOON + number, "same", input=told[label], output=0, total=told[label])
        say(ledger, label, call, id=f"01KA3P5W00000000000000000{number}")
        if number % 2:
            ledger.index()
    assert {label: count for label, count in by(ledger, "session").items() if count} == {"whole": 70}
    ledger.index()
    assert {label: count for label, count in by(ledger, "session").items() if count} == {"whole": 70}
    assert once(ledger) == 70


@given(st.data())
@settings(max_examples=12, deadline=None)
def test_the_sums_are_those_of_plain_sql_at_every_moment(tmp_path_factory: pytest.TempPathFactory, data: Any) -> None:
    with Ledger.open(f"sqlite:///{tmp_path_factory.mktemp('stats') / 'ledger.db'}") as ledger:
        for at in range(data.draw(st.integers(1, 8))):
            keys = data.draw(st.lists(st.sampled_from([None, "k1", "k2", "k3"]), max_size=3))
            number = data.draw(st.integers(0, 999))
            turn_id = f"01KA3P5W0000000000000{number:03}{at:02}"
            given_ = [called(NOON + at * SLOT_MS, key, input=data.draw(st.integers(9, 11))) for key in keys]
            say(ledger, f"s{at}", *given_, id=turn_id)
            if data.draw(st.booleans()):
                ledger.index()
            assert sum(by(ledger, "day").values()) == once(ledger)
            wanted = ledger.database.query(ONCE_BY_SESSION)[1]
            assert {label: count for label, count in by(ledger, "session").items() if count} == dict(wanted)


def test_absurd_counts_and_live_turns_break_nothing(ledger: Ledger) -> None:
    say(
        ledger,
        "a",
        called(NOON, input=(1 << 62), total=(1 << 63) - 1),
        called(NOON, input=-5, total=-5),
        called(-1, total=1),
    )
    live = ledger.turn("a", "Hi.")
    live.count(Usage(input=3))
    ledger.index()
    report = stats.tokens(ledger.database, by=["day"], zone=UTC)
    assert report.total.total_tokens == 1
    live.answer("Ho.")
    ledger.append("a", Turn(compaction=Compaction("short", live.id, model=SONNET, input_tokens=7, output_tokens=2)))
    assert stats.tokens(ledger.database, by=["day"], zone=UTC).total.input_tokens == 10 + 3 + 7


def test_the_prices_are_the_librarys_and_unknown_models_are_named(ledger: Ledger, tmp_path: Path) -> None:
    say(
        ledger,
        "a",
        called(NOON, input=250_000, output=1000, cached=5000, cache_write=300),
        called(NOON, model="made-up"),
    )
    say(ledger, "b", called(NOON, model=None), called(NOON, model="<synthetic>", input=0, output=0))
    kept = tmp_path / "cache" / "prices.json"
    first, second = (stats.tokens(ledger.database, by=["model"], zone=UTC, prices_kept_in=kept) for _ in range(2))
    assert first == second
    lines = {line.key[0]: line.sums for line in first.lines}
    theirs = TheirUsage(input_tokens=255_300, output_tokens=1000, cache_read_tokens=5000, cache_write_tokens=300)
    assert lines[SONNET].cost_usd == pytest.approx(float(calc_price(theirs, SONNET).total_price))
    assert (lines["made-up"].cost_usd, lines["made-up"].unpriced_tokens) == (None, 11)
    assert lines["<synthetic>"].cost_usd == 0
    assert first.unpriced == {"made-up": 11, "unknown": 11}
    assert first.prices is not None
    assert first.prices.startswith("genai-prices ")
    kept.write_bytes(b"broken")
    assert stats.tokens(ledger.database, by=["model"], zone=UTC, prices_kept_in=kept) == first
    assert stats.tokens(ledger.database, by=["model"], zone=UTC, prices_kept_in=Path("/dev/null/x")) == first


MODELS = [
    SONNET,
    "claude-opus-4-1-20250805",
    "gpt-5-codex",
    "gemini-2.5-pro",
    "deepseek-chat",
    "gpt-5.5",
    "claude-sonnet-4-6",
]


@given(
    st.sampled_from(MODELS),
    st.integers(0, 600_000),
    st.integers(0, 10_000),
    st.integers(0, 600_000),
    st.integers(1_735_689_600, 1_798_761_600),
)
@settings(max_examples=60, deadline=None)
def test_a_call_costs_what_the_library_says(model: str, given_: int, out: int, cached: int, at_s: int) -> None:
    table = prices_of([("", model)])
    assert table is not None
    slot = at_s * 1000 // SLOT_MS
    over = max((size for size in SIZES if given_ + cached > size), default=0)
    rates = table.models["", model].rates(slot, over)
    assert rates is not None
    when = datetime.fromtimestamp(slot * SLOT_MS / 1000, UTC)
    usage = TheirUsage(input_tokens=given_ + cached, output_tokens=out, cache_read_tokens=cached)
    theirs = float(calc_price(usage, model, genai_request_timestamp=when).total_price)
    assert given_ * rates[0] + out * rates[1] + cached * rates[2] == pytest.approx(theirs, abs=1e-9)


def test_the_sizes_at_which_prices_change_are_those_that_are_counted_by() -> None:
    known = {
        tier.start
        for provider, model in ((provider, model) for provider in providers for model in provider.models)
        for price in (model.prices if isinstance(model.prices, list) else [model])
        for value in vars(price.prices).values()
        for tier in getattr(value, "tiers", ())
    }
    assert known == set(SIZES)
    sql = statements("sqlite")["count_usages"].sql
    assert all(f"prompt > {size} THEN {size}" in sql for size in SIZES)


def test_fast_variants_are_counted_and_priced_apart(ledger: Ledger, tmp_path: Path) -> None:
    folders = [copy(GOLDEN / agent / "fast-mode" / "source", tmp_path / agent) for agent in ("claude-code", "codex")]
    sync(ledger, *folders)
    say(ledger, "a", called(NOON, model="claude-sonnet-4-5-fast"))  # nobody sells it
    report = stats.tokens(ledger.database, by=("model",))
    lines = {line.key[0]: line.sums for line in report.lines}
    calls = {model: (sums.calls, sums.cost_usd) for model, sums in lines.items()}
    opus = (1000 * 5 + 400 * 25 + 5000 * 0.5 + 200 * 6.25) / 1_000_000
    assert calls == {
        "claude-opus-4-6": (2, pytest.approx(2 * opus)),
        "claude-opus-4-6-fast": (1, pytest.approx(6 * opus)),
        "claude-opus-4-8-fast": (1, pytest.approx(2 * opus)),
        "gpt-5.4": (3, pytest.approx((610 * 2.5 + 100 * 15 + 2400 * 0.25) / 1_000_000)),
        "gpt-5.4-fast": (2, pytest.approx((405 * 5 + 65 * 30 + 1600 * 0.5) / 1_000_000)),
        "claude-sonnet-4-5-fast": (1, None),
    }
    assert report.unpriced == {"claude-sonnet-4-5-fast": 11}
    models = {row["model"] for row in rows(ledger, "SELECT model FROM turns WHERE model IS NOT NULL")}
    assert not any(str(model).endswith("-fast") for model in models), "a fork resumes with the model's own name"
    limits = {line.model: line.limit_tokens for line in stats.contexts(ledger.database)}
    assert (limits["claude-opus-4-6-fast"], limits["claude-sonnet-4-5-fast"]) == (1_000_000, 200_000)


def test_contexts_against_what_the_models_take(ledger: Ledger) -> None:
    say(ledger, "full", called(NOON, input=100_000, cached=80_000), called(NOON, input=50))
    say(ledger, "small", called(NOON, input=50, model="made-up"))
    first, second = stats.contexts(ledger.database)
    assert (first.session, first.prompt_tokens, first.limit_tokens, first.share) == ("full", 180_000, 200_000, 0.9)
    assert (second.session, second.limit_tokens, second.share) == ("small", None, None)


def test_tools_files_and_turns(ledger: Ledger) -> None:
    calls = (
        Call("Bash", {"command": "x"}, status="failed", error="no", started_at=NOON, completed_at=NOON + 500),
        Call("Bash", {"command": "x"}, started_at=NOON, completed_at=NOON + 1500),
        Call("Bash", {"command": "x"}, status="rejected"),
        Call("Edit", {"file_path": "a.py"}),
        Call("Write", {"file_path": "/w/a.py"}),
        Call("Write", {"file_path": "b.py"}, status="failed"),
        Call("Write", {"path": "c.py"}),
    )
    say(ledger, "a", calls=calls, settings=Settings(workspace_path="/w"), completed_at=NOON + 9000)
    say(ledger, "b", completed_at=NOON + 99)
    bash, write, edit = activity.tools(ledger.database)
    assert (bash.tool, bash.calls, bash.failed, bash.rejected, bash.failure_rate) == ("Bash", 3, 1, 1, 0.5)
    assert (bash.mean_ms, bash.longest_ms, write.tool, edit.tool, edit.mean_ms) == (1000, 1500, "Write", "Edit", None)
    assert [(line.path, line.edits) for line in activity.files(ledger.database)] == [("/w/a.py", 2), ("/w/c.py", 1)]
    assert [turn.session_label for turn in activity.longest(ledger.database)] == ["a", "b"]
    assert activity.tools(ledger.database, Filters(project="other")) == []


def test_an_edit_that_its_message_tells_of_as_well_counts_once(ledger: Ledger) -> None:
    files = (File("/w/a.py", "written"),)
    calls = (Call("Edit", {"file_path": "/w/a.py"}, message=1), Call("Edit", {"file_path": "/w/a.py"}, message=1))
    failed = (Call("Edit", {"file_path": "/w/a.py"}, status="failed", error="no", message=1),)
    messages = (Message("user", "Go on."), Message("assistant", "I edit it.", files=files))
    say(ledger, "a", messages=messages, calls=calls)
    say(ledger, "a", messages=messages, calls=failed)
    assert counted(ledger)[1] == {"/w/a.py": 2}
    say(ledger, "a", messages=messages, calls=(Call("Bash", {"command": "make"}, message=1),))
    assert counted(ledger)[1] == {"/w/a.py": 3}, "no call says it"


def test_what_a_fork_inside_a_turn_has_from_its_origin_counts_once(ledger: Ledger) -> None:
    """Its turn ends otherwise, so it is another turn; the calls in it were made once."""

    def go(label: str, turn: str, at: int, answer: str, files: tuple[File, ...] = ()) -> str:
        edit = Call("Edit", {"file_path": "/w/a.py"}, native_id="call_1", started_at=at)
        own = Call("Bash", {"command": label}, native_id=f"of-{label}", started_at=at)
        asked = Message("user", "Go on.", native_id=f"m-{turn}", files=files, created_at=at)
        return say(ledger, label, messages=(asked, Message("assistant", answer)), calls=(edit, own), native_id=turn)

    touched = (File("/w/b.py", "written"),)
    go("main", "turn-1", NOON, "Done.", touched)
    go("fork", "turn-1", NOON + 50, "Done otherwise.", touched)  # copied later, with other times
    assert counted(ledger) == ({"Bash": 2, "Edit": 1}, {"/w/a.py": 1, "/w/b.py": 1})
    go("other", "turn-2", NOON + 99, "Its own.")  # a model that gives the same ids in every conversation
    gone = go("copy", "turn-3", NOON + 99, "Its own, copied.")  # the same id at the same time
    assert counted(ledger) == ({"Bash": 4, "Edit": 2}, {"/w/a.py": 2, "/w/b.py": 1})
    ledger.database.write(lambda tx: captured.supersede(tx, gone, None, NOON))
    assert counted(ledger) == ({"Bash": 3, "Edit": 2}, {"/w/a.py": 2, "/w/b.py": 1})
    assert gone not in {turn.id for turn in activity.longest(ledger.database)}


def counted(ledger: Ledger) -> tuple[dict[str, int], dict[str, int]]:
    """Calls by tool, edits by file."""
    tools = {line.tool: line.calls for line in activity.tools(ledger.database)}
    return tools, {line.path: line.edits for line in activity.files(ledger.database)}


def test_many_edits_are_counted_over_pages(ledger: Ledger) -> None:
    calls = tuple(Call("Edit", {"file_path": f"/w/{at % 7}"}) for at in range(1203))
    say(ledger, "a", calls=calls)
    counts = Counter({line.path: line.edits for line in activity.files(ledger.database)})
    assert counts == Counter(itertools.islice(itertools.cycle(f"/w/{at}" for at in range(7)), 1203))
