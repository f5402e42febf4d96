"""The best turn to ask a question from: by what leads to it, its size, its subject; on both engines."""

from collections.abc import Iterator
from typing import Any

import pytest
from msgspec import structs

from agents_ledger import Ledger, Turn, Usage
from agents_ledger.errors import BadInput
from agents_ledger.ledger import embedding, meaning
from agents_ledger.ledger.env import Env
from agents_ledger.ledger.sessions import Origin
from agents_ledger.model.filters import Filters
from agents_ledger.model.fork_points import ForkPoint, reasons, telling
from agents_ledger.model.relevance import rarity
from agents_ledger.store import Tx
from tests.search.conftest import DAY_MS, NOW, Times, said

CACHE = said("the redis cache goes stale", "its keys live too long in redis")
EVICTION = said("which eviction is used", "eviction by least recent use")
GARDEN = (
    said("how deep are tulips planted", "tulips are planted three times their height"),
    said("and when do they need water", "tulips need little water in spring"),
    said("what about slugs", "slugs dislike gravel"),
)
QUESTION = "shall the redis cache use another eviction?"


class Talk:
    """A ledger whose clock stands where it is put."""

    def __init__(self, url: str) -> None:
        self.clock = Times()
        self.ledger = Ledger.open(url, env=Env(now=self.clock.now, new_id=self.clock.new_id))

    def say(self, session: str, *turns: Turn, days_ago: int = 5, origin: str | None = None) -> list[str]:
        """Appends turns; in the order of time, because ids only ever rise."""
        self.clock.now_ms = NOW - days_ago * DAY_MS
        made = [self.ledger.append(session, turn, origin=Origin(origin=origin)) for turn in turns]
        self.clock.now_ms = NOW
        return made

    def points(self, question: str = QUESTION, **given: Any) -> list[ForkPoint]:
        return list(self.ledger.fork_points(question, **given).points)

    def order(self, question: str = QUESTION, **given: Any) -> list[str]:
        return [point.turn_id for point in self.points(question, **given)]

    def point(self, turn_id: str, **given: Any) -> ForkPoint:
        return next(point for point in self.points(limit=60, **given) if point.turn_id == turn_id)


@pytest.fixture
def talk(url: str) -> Iterator[Talk]:
    made = Talk(url)
    with made.ledger:
        made.say("garden", *GARDEN, days_ago=500)
        yield made


def test_a_turn_whose_ancestry_has_the_content_beats_a_lone_mention(talk: Talk) -> None:
    first, second = talk.say("work", CACHE, EVICTION)
    lone = talk.say("lone", said("an eviction notice came", "an eviction needs a judge"), days_ago=1)
    assert talk.order() == [second, first, *lone]
    best = talk.points()[0]
    assert {"redis", "cache", "eviction"} <= set(best.words)
    assert {(stand.turn_id, stand.turns_above) for stand in best.stands} == {(first, 1), (second, 0)}
    assert best.reasons[1] == "in this turn and up to one turn before"


def test_after_wandering_off_an_earlier_turn_wins(talk: Talk) -> None:
    work = talk.say("work", CACHE, EVICTION, *GARDEN, said("where is the gravel from, redis?", "from a quarry"))
    assert talk.order()[0] == work[1]
    far = talk.point(work[-1])
    assert far.turns_since == 0
    assert max(stand.turns_above for stand in far.stands) == 5


def test_what_has_passed_since_is_said(talk: Talk) -> None:
    work = talk.say("work", CACHE, said("use another one", "all right", thinking="not that cache"))
    (later,) = [point for point in talk.points("redis cache") if point.turn_id == work[1]]
    assert later.turns_since == 1
    assert later.reasons[1] == "last spoken of one turn before"


def test_what_does_not_fit_in_the_budget_loses(talk: Talk) -> None:
    def sized(tokens: int) -> Turn:
        return Turn(CACHE.messages, usage=Usage(input=tokens, output=10))

    (small,) = talk.say("small", sized(9_000), days_ago=300)
    (large,) = talk.say("large", sized(90_000), days_ago=1)
    assert talk.order(budget_tokens=50_000) == [small, large]
    over = talk.point(large, budget_tokens=50_000)
    assert (over.context_tokens, over.is_estimated, over.is_over_budget) == (90_010, False, True)
    assert over.reasons[-1] == "a context of 90,010 tokens, over the budget of 50,000"
    assert talk.order(budget_tokens=1_000_000) == [large, small]  # newer; the size hardly counts


def test_of_equals_the_cheaper_and_the_newer_one_wins(talk: Talk) -> None:
    (old,) = talk.say("old", CACHE, days_ago=400)
    (new,) = talk.say("new", CACHE, days_ago=1)
    padded = Turn(CACHE.messages, usage=Usage(input=150_000, output=1))
    (large,) = talk.say("large", padded, days_ago=1)
    assert talk.order() == [new, large, old]


def test_contexts_without_recorded_tokens_are_estimated_from_the_last_ones_that_were(talk: Talk) -> None:
    told = Turn(CACHE.messages, usage=Usage(input=5_000, output=10))
    first, second = talk.say("work", told, said("eviction", "x" * 4_000))
    assert talk.point(first).context_tokens == 5_010
    assert talk.point(second).context_tokens == pytest.approx(6_010, abs=20)
    assert talk.point(second).is_estimated


def test_a_long_thread_without_recorded_tokens_is_estimated_by_its_end(talk: Talk) -> None:
    long = talk.say("long", *[said(f"step {at}", "y" * 400) for at in range(60)], EVICTION)
    assert talk.point(long[-1]).context_tokens == pytest.approx(60 * 102, rel=0.1)


def test_what_was_summarised_away_is_worth_less(talk: Talk) -> None:
    going_on = said("go on with the eviction", "going on")
    open_ended = talk.say("open", CACHE, EVICTION, going_on)
    talk.say("cut", CACHE, EVICTION)
    talk.ledger.compact("cut", "They spoke of keys.")
    (cut,) = talk.say("cut", going_on)
    talk.say("kept", CACHE, EVICTION)
    talk.ledger.compact("kept", "They spoke of keys.", keep=1)
    (kept,) = talk.say("kept", going_on)
    shares = {turn_id: talk.point(turn_id) for turn_id in (open_ended[2], cut, kept)}
    assert shares[open_ended[2]].score > shares[kept].score > shares[cut].score
    assert [stand.is_summarised for stand in shares[cut].stands] == [
        stand.turns_above > 0 for stand in shares[cut].stands
    ]
    assert any("only in a summary" in reason for reason in shares[cut].reasons)
    assert not any("summary" in reason for reason in shares[open_ended[2]].reasons)


def test_a_summary_is_content_too(talk: Talk) -> None:
    talk.say("cut", *GARDEN)
    summary = talk.ledger.compact("cut", "They chose a redis cache with an eviction of their own.")
    best = talk.points()[0]
    assert best.turn_id == summary
    assert "redis cache" in best.snippet.text


def test_forks_have_what_they_share_and_nothing_of_each_other(talk: Talk) -> None:
    first, second = talk.say("work", CACHE, EVICTION)
    talk.ledger.fork(first, "aside")
    (aside,) = talk.say("aside", said("another question about use", "it is of use"))
    talk.ledger.fork(second, "copy")
    order = talk.order(limit=60)
    assert len(order) == len(set(order))
    assert order[0] == second
    assert talk.point(aside).stands[0].turn_id == first
    assert "eviction" not in talk.point(aside).words


def test_filters_choose_the_points_and_not_what_leads_to_them(talk: Talk) -> None:
    (first,) = talk.say("work", CACHE, days_ago=50, origin="codex")
    (other,) = talk.say("other", CACHE, origin="pi")
    (second,) = talk.say("work", EVICTION, days_ago=2)
    assert talk.order(filters=Filters(origin="codex")) == [second, first]
    assert talk.order(filters=Filters(origin="pi")) == [other]
    (only,) = talk.points(filters=Filters(since=NOW - 3 * DAY_MS))
    assert only.turn_id == second
    assert {"redis", "cache"} <= set(only.words)
    assert talk.points(filters=Filters(origin="nobody")) == []


def test_words_that_are_missing_are_named(talk: Talk) -> None:
    talk.say("work", CACHE, EVICTION)
    best = talk.points("redis tulips zanzibar")[0]
    assert set(best.missing) == {"zanzibar", "tulips"} - set(best.words)


def test_scripts_without_spaces_are_asked_in_pairs(talk: Talk) -> None:
    (asia,) = talk.say("asia", said("请修复数据库连接失败的问题", "已修复 🚀"))
    assert talk.order("如何修复数据库?") == [asia]
    assert talk.order("🚀") == [asia]


def test_a_turn_that_is_still_being_written_is_none(talk: Talk) -> None:
    (first,) = talk.say("work", CACHE)
    with talk.ledger.turn("work", "redis cache eviction") as live:
        assert talk.order() == [first]
        live.answer("done")
    assert talk.order()[0] == live.id


def test_no_question_makes_it_fail(talk: Talk) -> None:
    talk.say("work", CACHE, EVICTION)
    hostile = (
        *(
            "",
            " ",
            '"',
            "'",
            "\\",
            "*",
            "()",
            "AND OR NOT",
            "NEAR(redis, 2)",
            "redis*",
            "-redis",
            "content:redis",
            "^redis",
        ),
        *(
            "redis:* & !cache | <->",
            "'; DROP TABLE turns; --",
            "\x00redis\x00",
            "\ud800 redis",
            "\u202eredis",
            "%s %(x)s",
        ),
        *(
            "redis " * 5_000,
            "r" * 100_000,
            "since:yesterday redis role:user",
            "🚀" * 300,
            "数" * 5_000,
            "e\u0301vidence",
        ),
    )
    for question in hostile:
        for point in talk.points(question):
            assert point.reasons
    assert talk.points("since:yesterday redis")


def test_limits_and_budgets_hold_and_have_to_make_sense(talk: Talk) -> None:
    for limit, budget_tokens in ((0, 1), (61, 1), (1, 0)):
        with pytest.raises(BadInput, match="from 1 to 60"):
            talk.points(limit=limit, budget_tokens=budget_tokens)
    talk.say("work", CACHE, EVICTION)
    assert len(talk.points(limit=1)) == 1


def test_more_candidates_take_no_more_statements(talk: Talk, monkeypatch: pytest.MonkeyPatch) -> None:
    counted: list[str] = []

    def counting(tx: Tx, name: str, /, **params: Any) -> Any:
        counted.append(name)
        return asked(tx, name, **params)

    def count() -> int:
        counted.clear()
        assert talk.points(limit=2)
        return len(counted)

    with talk.ledger.database.read() as tx:
        asked = type(tx).rows
        monkeypatch.setattr(type(tx), "rows", counting)
    talk.say("work", CACHE, EVICTION)
    few = count()
    for number in range(12):
        talk.say(f"work-{number}", CACHE, EVICTION, EVICTION, CACHE)
    assert few == count()


@pytest.mark.skipif(not embedding.is_installed(), reason="the extra `semantic` is not installed")
def test_meaning_counts_where_it_is_indexed(talk: Talk) -> None:
    (work,) = talk.say("work", said("my website crashes on login", "the session cookie was missing"))
    question = "authentication failure"
    assert talk.order(question) == []
    meaning.feed(talk.ledger.database)
    found = talk.ledger.fork_points(question)
    assert (found.by, found.points[0].turn_id) == ("both", work)
    assert found.points[0].reasons[0] == "means something alike"
    for hostile in ("", "\ud800", "\x00", "\u202e", "x" * 100_000):
        assert talk.points(hostile) is not None


def test_reasons_name_what_the_question_is_about(talk: Talk) -> None:
    """In a ledger of a few turns small words are as rare as the others."""
    (cache,) = talk.say("work", said("the cache of this one is what it was when we had redis", "it is"))
    (small,) = talk.say("small", said("this is what it was, when we were there", "and so it is"))
    best, other, *_ = talk.points("what is it that this cache of the redis was, when it failed?")
    assert (best.turn_id, best.telling) == (cache, ("cache", "redis"))
    assert best.reasons[0] == "speaks of cache, redis"
    assert {"what", "this", "was", "when"} <= set(best.words)
    assert (other.turn_id, other.telling) == (small, ())
    assert other.reasons[0].startswith("has only ")


def test_words_that_hardly_count_are_not_named(talk: Talk) -> None:
    (work,) = talk.say("work", CACHE, *GARDEN, said("the eviction of the redis cache", "redis"))[-1:]
    point = next(point for point in talk.points("redis and gravel") if point.turn_id == work)
    assert point.telling[0] == "redis"
    worths = telling({"redis": 20.0, "cache": 2.0, "gravel": 1.9, "the": 30.0})
    assert worths == ("redis", "cache")


def test_small_words_count_as_others_do_where_there_are_enough_turns() -> None:
    assert rarity("the", 5, 20) < rarity("redis", 5, 20) / 10
    assert rarity("the", 5, 200) == rarity("redis", 5, 200)


def test_alike_in_meaning_is_said_where_no_word_is(talk: Talk) -> None:
    (work,) = talk.say("work", CACHE)
    point = structs.replace(talk.point(work), telling=(), is_alike=True)
    assert next(reasons(point, 1_000)) == "means something alike"
