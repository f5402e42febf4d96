"""Search on both engines: what is found, in which order, and that nothing that people type makes it fail."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents_ledger import Call, Ledger, Message, Turn
from agents_ledger.errors import BadInput
from agents_ledger.ledger import notes
from agents_ledger.model.filters import Filters
from agents_ledger.model.hits import Found
from tests.search.conftest import DAY_MS, NOW
from tests.support.properties import WITH_FIXTURES


def sessions(found: Found) -> list[str | None]:
    return [group.session for group in found.groups]


def marked(found: Found) -> list[str]:
    hit = found.groups[0].hits[0]
    return [hit.snippet.text[start:end] for start, end in hit.snippet.marks]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("login", {"shop"}),
        ("LOGIN", {"shop"}),
        ("login cookie", {"shop"}),  # in two messages of one turn
        ('"session cookie"', {"shop"}),
        ("invalid*", {"words"}),
        ("api-key", {"shop"}),
        ("api_key", {"shop"}),
        ("C++", {"engine"}),
        (".env", {"shop"}),
        ("数据库", {"asia"}),
        ("连接失败", {"asia"}),
        ("React 登录", {"asia"}),
        ("画面", {"asia"}),
        ("เข้าสู่ระบบ", {"asia"}),
        ("🚀", {"asia"}),
        ("ship 🚀", {"asia"}),
        ("aardvark", {"words"}),  # a summary
        ("okapi", {"zoo"}),  # a title
        ("auth.py", {"shop"}),  # a path
        ("zebra role:tool", {"tools"}),
        ("zebra -role:tool -stripes -thought", {"zoo"}),
        ("zebra tool:bash", {"tools"}),
        ("zebra tool:B*", {"tools"}),
        ("zebra -tool:bash origin:pi", {"zoo"}),
        ("zebra origin:claude*", {"engine", "tools"}),
        ("zebra project:zoo", {"zoo"}),
        ("zebra session:zoo", {"zoo"}),
        ("zebra session:zoo-again", {"zoo"}),  # a fork shares its turns
        ("zebra -session:zoo", {"engine", "tools"}),
        ("file:auth.py", {"shop"}),
        ("file:shop/auth", {"shop"}),
        ("key -file:auth.py", set()),
        ("model:opus compiles", {"engine"}),
        ('"unterminated', set()),
        ("foo:bar", set()),
        ("session:nobody zebra", set()),
        ("-zebra", {"shop", "engine", "asia", "words"}),
        ("session:zoo -zebra", set()),
        ("role:user -zebra -login origin:claude*", {"engine"}),
        ('role:user -"🚀" -数据 origin:pi -zebra', {"asia", "words"}),
        ("-role:user -zebra origin:claude*", {"engine"}),
        ("🚀 -ship", set()),  # the words beside an emoji are in another index
        ("🚀 -deployed", {"asia"}),  # in another message
        ('ship -"🚀"', set()),
        ("ship -🚀", set()),
        ('"c++" -port', {"engine"}),
        ('"++" -compiles -port', set()),  # signs alone are in no index
        ("登录 -react", set()),
        ('"🚀" ✅ -ship -deployed', set()),
    ],
)
def test_queries_find_what_they_should(talks: Ledger, query: str, expected: set[str]) -> None:
    assert set(sessions(talks.search(query))) == expected


def test_dialogue_comes_before_thinking_and_tools(talks: Ledger) -> None:
    found = talks.search("zebra")
    assert [hit.place for hit in found.hits] == ["content", "thinking", "params"]
    assert [hit.role for hit in found.hits] == ["user", "assistant", "tool"] or found.hits[0].role == "assistant"
    assert found.hits[2].tool == "Bash"


def test_a_turn_that_sessions_share_is_one_hit(talks: Ledger) -> None:
    found = talks.search("zebra stripes")
    assert [hit.turn_id for hit in found.hits if not hit.is_partial] == [talks.session("zoo").thread_id]


def test_snippets_mark_the_words_by_their_places(talks: Ledger) -> None:
    assert marked(talks.search("zebra stripes")) == ["zebra", "stripes"]
    assert marked(talks.search("api-key")) == ["api-key"]
    assert marked(talks.search("C++")) == ["C++"] or marked(talks.search("C++")) == ["c++"]
    assert marked(talks.search("数据库")) == ["数据库"]
    assert marked(talks.search("invalid*")) == ["invalidation"]
    assert marked(talks.search("okapi")) == ["okapi"]


def test_c_alone_is_not_taken_for_c_plus_plus(talks: Ledger) -> None:
    assert [hit.snippet.text for hit in talks.search("C++").hits] in (["Port it to C++"], ["Done: c++ compiles."])


def test_words_that_are_nowhere_together_are_found_apart_and_said_to_be(talks: Ledger) -> None:
    found = talks.search("why was the repository caching stale tomatoes")
    assert sessions(found)[0] == "words"
    assert found.hits[0].is_partial


def test_times_bound_what_is_found(talks: Ledger) -> None:
    week = Filters(since=NOW - 45 * DAY_MS)
    assert set(sessions(talks.search("zebra", filters=week))) == {"tools", "zoo"}
    assert set(sessions(talks.search("zebra since:25d"))) == {"zoo"}
    assert set(sessions(talks.search("zebra until:25d"))) == {"engine", "tools"}


def test_filters_without_words_give_the_newest_first(talks: Ledger) -> None:
    found = talks.search("origin:pi")
    assert found.by == "time"
    assert sessions(found) == ["words", "asia", "zoo"]
    assert sessions(talks.search("role:tool")) == ["tools"]


def test_filters_without_words_show_what_fulfils_them(talks: Ledger) -> None:
    assert {hit.role for hit in talks.search("role:user").hits} == {"user"}
    assert {hit.role for hit in talks.search("-role:user").hits} == {"assistant"}
    assert {hit.role for hit in talks.search("-role:user -role:assistant").hits} == {"tool"}


def test_filters_without_words_show_the_last_message_of_a_turn_that_fulfils_them(talks: Ledger) -> None:
    said = tuple(Message("assistant", f"sentence {number}") for number in range(40))
    turn_id = talks.append("talkative", Turn(messages=(Message("user", "go on"), *said), calls=(Call("Read", "x"),)))
    (hit,) = [hit for hit in talks.search("role:assistant").hits if hit.turn_id == turn_id]
    assert "sentence 39" in hit.snippet.text


def test_what_is_taken_away_from_filters_alone_is_gone_and_all_else_is_there(talks: Ledger) -> None:
    whole = {hit.turn_id for hit in talks.search("origin:pi").hits}
    taken = {hit.turn_id for hit in talks.search("origin:pi zebra").hits} | {
        hit.turn_id for hit in talks.search("origin:pi 🚀").hits
    }
    found = talks.search('origin:pi -zebra -"🚀"')
    assert found.by == "time"
    assert {hit.turn_id for hit in found.hits} == whole - taken
    assert sessions(talks.search("origin:pi -nowhere")) == sessions(talks.search("origin:pi"))


def test_pages_follow_each_other_without_gaps_or_repeats(talks: Ledger) -> None:
    whole = [hit.turn_id for hit in talks.search("the OR a OR zebra is", limit=50).hits]
    for query in ("zebra", "the"):
        whole = [hit.turn_id for hit in talks.search(query, limit=50).hits]
        pages, cursor = [], None
        while True:
            page = talks.search(query, limit=1, cursor=cursor)
            pages += [hit.turn_id for hit in page.hits]
            cursor = page.next
            if cursor is None:
                break
        assert sorted(pages) == sorted(whole)
        assert len(pages) == len(set(pages)) > 1


def test_a_cursor_of_somebody_else_is_refused(talks: Ledger) -> None:
    with pytest.raises(BadInput, match="not a cursor"):
        talks.search("zebra", cursor="1; DROP TABLE turns")


SIGNS = ['"', "NEAR(", "AND", "OR", "NOT", "\x00", "\ud800", "<->", *"*-():'\\&|!%^{}+"]
PIECES = [*SIGNS, "zebra", "数据", "🚀", "é", "role:", "since:x", "tool:'", "file:%", "session:_", "{a b}:", "u1f680"]
HOSTILE = st.text(max_size=60) | st.lists(st.sampled_from(PIECES), max_size=10).map("".join)


@settings(max_examples=60, deadline=None, suppress_health_check=WITH_FIXTURES)
@given(query=HOSTILE)
def test_no_text_makes_search_fail(talks: Ledger, query: str) -> None:
    for hit in talks.search(query).hits:
        assert all(0 <= start < end <= len(hit.snippet.text) for start, end in hit.snippet.marks)


@pytest.mark.parametrize(
    "query", ["a " * 5000, "x" * 100_000, '"' * 999, "-" * 999, "*" * 99, "数" * 5000, "role:user " * 300]
)
def test_long_queries_are_cut_and_answered(talks: Ledger, query: str) -> None:
    talks.search(query)


def test_what_is_sealed_and_not_yet_indexed_is_found(ledger: Ledger) -> None:
    with ledger.turn("live", "where is the walrus") as turn:
        turn.answer("In the 冰箱, with a 🐟.")
    assert sessions(ledger.search("walrus")) == ["live"]
    assert sessions(ledger.search("冰箱")) == ["live"]
    assert sessions(ledger.search("🐟")) == ["live"]


def test_a_ledger_from_before_the_notes_gets_them(ledger: Ledger) -> None:
    with ledger.turn("live", "谁在那里") as turn:
        turn.answer("nobody")
    ledger.compact("live", "a walrus was sought")
    ledger.database.write(notes.forget_everything)
    assert sessions(ledger.search("那里")) == ["live"]
    assert sessions(ledger.search("walrus")) == ["live"]
