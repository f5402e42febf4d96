"""The query language: any text is a query."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from agents_ledger.model.queries import KEYS, Condition, Query, Term, parse, remarks, spoken
from agents_ledger.model.tokens import is_special, is_unspaced, special_words, tokens

_PIECES = st.one_of(
    st.text(max_size=12),
    st.sampled_from(['"', "*", "-", ":", "C++", "api-key", "数据库", "🚀", "\x00", "\ud800", "OR", "NEAR(", "'", "\\"]),
    st.sampled_from([f"{key}:" for key in KEYS]),
)
_TEXTS = st.lists(_PIECES, max_size=12).map(" ".join) | st.lists(_PIECES, max_size=12).map("".join)


@given(_TEXTS)
@example("0*.*")
@example("(-🚀")
@example("-🚀*")
@example("-🚀 --🚀")
def test_every_text_is_a_query_that_can_be_said_again(text: str) -> None:
    query = parse(text)
    assert parse(spoken(query)) == query


@given(_TEXTS)
def test_no_term_is_empty(text: str) -> None:
    query = parse(text)
    assert all(term.text and term.text == " ".join(term.text.split()) for term in query.terms)
    assert all(condition.value and condition.key in KEYS for condition in query.conditions)


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("login token", [Term("login"), Term("token")]),
        ('"connection refused" retry', [Term("connection refused", is_quoted=True), Term("retry")]),
        ("config* -test", [Term("config", is_prefix=True), Term("test", is_excluded=True)]),
        ('-"not this"', [Term("not this", is_excluded=True, is_quoted=True)]),
        ("api-key foo:bar C++", [Term("api-key"), Term("foo:bar"), Term("C++")]),
        ('"unterminated phrase', [Term("unterminated phrase", is_quoted=True)]),
        ("Why did it fail? (again)", [Term("Why"), Term("did"), Term("it"), Term("fail"), Term("again")]),
        ("--force -> ... ?", [Term("--force"), Term("->")]),
        ("done -🚀 -✅ok", [Term("done"), Term("🚀", is_excluded=True), Term("✅ok", is_excluded=True)]),
        ("(-🚀) --🚀 -→", [Term("-🚀", is_quoted=True), Term("--🚀"), Term("-→")]),
        ("**bold**", [Term("bold", is_prefix=True)]),
        ("   ", []),
    ],
)
def test_what_people_type_means_what_they_expect(text: str, terms: list[Term]) -> None:
    assert parse(text) == Query(tuple(terms))


def test_conditions_stand_beside_words() -> None:
    query = parse('role:user tool:"Web Fetch" -ORIGIN:codex since:2d budget')
    assert query.terms == (Term("budget"),)
    assert query.conditions == (
        Condition("role", "user"),
        Condition("tool", "Web Fetch"),
        Condition("origin", "codex", is_excluded=True),
        Condition("since", "2d"),
    )
    assert query.values("origin", is_excluded=True) == ["codex"]
    assert query.values("origin") == []


def test_what_is_not_taken_as_it_looks_is_said_with_what_would_be() -> None:
    time, role = remarks('since:2026-13-40 role:asistant budget since:2026-13-40 "until:then"')
    assert time.startswith("since:2026-13-40 was taken as words: '2026-13-40' is not a time: write 2026-11-15")
    assert role == "role:asistant is nobody's: user, assistant, system, tool are the roles that there are"
    assert remarks("-until:2026-11") == [
        "-until:2026-11 was taken as words: no time can be taken away, write since: instead"
    ]
    assert remarks("since:2d until:2026-11 role:AI -role:tool role: file:x http://y 12:30") == []


@given(_TEXTS)
def test_every_text_can_be_remarked_on(text: str) -> None:
    assert all(remarks(text))


def test_a_key_without_a_value_is_a_word() -> None:
    assert parse("role: file:") == Query((Term("role"), Term("file")))


def test_only_signs_at_the_edge_must_stand_as_they_are() -> None:
    assert [term.literal for term in parse("C++ .env api-key $HOME plain").terms] == [
        "C++",
        ".env",
        None,
        "$HOME",
        None,
    ]


def test_scripts_without_spaces_and_emoji_have_words() -> None:
    assert tokens("修复React登录!") == ["u4fee", "u590d", "react", "u767b", "u5f55"]
    assert tokens("snake_case🚀 Über") == ["snake", "case", "u1f680", "über"]
    assert special_words("done ✅ and ✅ 🚀") == "u2705 u1f680"
    assert special_words("用 docker 部署") == "u7528 docker u90e8 u7f72"


@given(_TEXTS)
def test_a_text_is_special_if_one_of_its_characters_is(text: str) -> None:
    assert is_special(text) == any(map(is_special, text))
    assert is_unspaced(text) == any(map(is_unspaced, text))


def test_typography_and_lone_surrogates_are_not_special() -> None:
    assert not any(map(is_special, ("an “arrow” →", "Straße", "\ud800 x")))
    assert is_special("x" * 100_000 + "数")
    assert is_special("→ 🚀")
    assert not is_unspaced("→ 🚀")


@given(st.from_regex(r"[A-Za-z0-9]{1,12}", fullmatch=True))
def test_a_word_alone_is_read_as_it_is_beside_others(word: str) -> None:
    alone, beside = parse(word), parse(f"{word} ")
    assert alone == beside == parse(f" {word}")
