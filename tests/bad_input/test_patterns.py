"""No regular expression of the product takes more than linear time, as far as a static check can tell."""

import re
import time

import pytest

from agents_ledger.formats import formats
from agents_ledger.formats.agentuse import belonging
from agents_ledger.model import secrets, snippets
from agents_ledger.model.formats import Machine
from tests.support.patterns import Found, product_patterns, weakness

LONGEST_PATH = 4096  # bytes, on Linux: a longer one cannot be opened
# Patterns that the check complains about, and why they may stay.
ALLOWED = {
    "store.guards: re.findall(_STATEMENT, whole_schema(dialect))": "reads the product's own schema",
    "store.guards: re.findall(_ENDINGS, statement)": "reads the product's own schema",
    "formats.agentuse.belonging: re.compile(FILES, re.DOTALL)": "matches paths: see the test of the longest path",
}
# Patterns that are only known when they are used; the tests below make them.
MADE = {
    "capture.catalog: re.compile(root.pattern)",
    "capture.discover: re.compile(root.pattern)",
    "model.secrets: re.compile(form)",
    "model.snippets: re.compile(_BEFORE + '[\\\\W_]+'.join(map(re.escape, words)) + end)",
    "model.snippets: re.compile(re.escape(folded))",
}


@pytest.fixture(scope="module")
def collected() -> tuple[list[Found], list[str]]:
    return product_patterns()


def test_all_patterns_of_the_product_take_linear_time(collected: tuple[list[Found], list[str]]) -> None:
    found, _ = collected
    weak = {each.where: why for each in found if (why := weakness(each.pattern, each.flags, each.uses))}
    assert {where: why for where, why in weak.items() if where not in ALLOWED} == {}
    assert set(weak) == set(ALLOWED), "a pattern that is allowed is not weak any more: take it off the list"
    assert len(found) > 150


def test_patterns_that_are_made_when_used_are_known(collected: tuple[list[Found], list[str]]) -> None:
    _, unknown = collected
    assert set(unknown) == MADE


@pytest.mark.parametrize("pattern", secrets._PATTERNS, ids=lambda each: each.kind)  # noqa: SLF001 - there is no other way
def test_patterns_of_secrets_take_linear_time(pattern: secrets._Pattern) -> None:
    why = weakness(pattern.form.pattern, pattern.form.flags & ~re.UNICODE, ["finditer"])
    assert why is None, why


@pytest.mark.parametrize("words", ["one", "one two", "C++", ".env x", "a" * 50, "数字"])
@pytest.mark.parametrize("is_prefix", [False, True])
def test_patterns_of_found_words_take_linear_time(words: str, *, is_prefix: bool) -> None:
    for _, form in snippets._parts(words, is_prefix):  # noqa: SLF001 - there is no other way
        if form is not None:
            assert weakness(form.pattern, form.flags & ~re.UNICODE, ["match"]) is None


def test_the_longest_path_is_matched_at_once() -> None:
    roots = [
        re.compile(root.pattern).search for form in formats() for root in form.roots(Machine("/home/ada", {}, "linux"))
    ]
    pieces = (
        "a/", "/", "sessions/", "/.claude/projects/", "projects/a/agent-transcripts/", "x/chats/", "a.jsonl.bak.",
        ".jsonl", "part/a.json.", "a.json.-", "agents/a/sessions/", "storage/part/", "rollout-", "sessions.json.bak.0",
        f"{'0' * 26}-a/subagent/", f"a/session/{'0' * 26}-",
    )  # fmt: skip
    paths = [f"{(piece * LONGEST_PATH)[: LONGEST_PATH - 1]}\n" for piece in pieces]
    began = time.process_time()
    for path in paths:
        for matches in roots:
            matches(path)
        belonging.bundle(f"/{'0' * 26}-a/{'0' * 26}/part/{path.replace('/', 'a')}")
        for form in formats():
            form.recognise(path, b"{}")
            form.bundle(path)
    assert time.process_time() - began < 2 * len(paths)  # 0.3 s each, on a slow machine


WEAK = {
    r'"[^"\\]*(?:\\.[^"\\]*)*"': "search",  # of the tolerant JSON reader: 1 MB took about an hour
    r'"(?:[^"\\]|\\.)*+"': "search",  # possessive, and quadratic all the same
    r"(a*)*b": "match",
    r"(?:a|a)*b": "match",
    r"(a+)+": "fullmatch",
    r"\s+$": "search",
    r"(.+?)\s*$": "match",
    r"a|a.*b": "findall",  # looks ahead to the end, and takes one character
    r"x(?=.*y)": "sub",
    r"[0-9a-f]{4096}": "search",
    r"\d+-\d*\d*z": "match",
    r"^(.*/storage)/(?:.*/)?a\.json$": "match",
}
STRONG = {
    r'"[^"\\]*+(?:\\.[^"\\]*+)*+"?': "search",
    r'"(?:[^"\\]|\\.)*+"': "match",
    r"(a+)+": "match",
    r"[a-z]+": "findall",
    r"(?m)^x.*y$": "search",
    r"\b\w*password=": "search",
    r"(?<![0-9a-f])[0-9a-f]{4096}": "search",
    r"(?s)(.+):thread:(.+)": "fullmatch",
    r"\A\s*\{[^{}]*\}\s*\Z": "search",
    r"(?>\s|--[^\n]*|/\*.*?\*/)*+SELECT": "match",
}


@pytest.mark.parametrize(("pattern", "use"), WEAK.items())
def test_the_check_finds_weak_patterns(pattern: str, use: str) -> None:
    assert weakness(pattern, 0, [use])


@pytest.mark.parametrize(("pattern", "use"), STRONG.items())
def test_the_check_lets_other_patterns_pass(pattern: str, use: str) -> None:
    assert weakness(pattern, 0, [use]) is None
