"""Pieces of texts: on one line, with the words marked where they stand."""

import re
import sys

from hypothesis import given
from hypothesis import strategies as st

from agents_ledger import Call, Ledger, Message, Turn
from agents_ledger.model.snippets import Marker, cut, fold

_SPACES = st.text(st.sampled_from(" \t\n\r\x0b\x0c\x1c\x85\xa0\u2003\u2028\u3000\u200b"), min_size=1, max_size=3)
_WORDS = st.sampled_from(["login", "Login", "lógin", "token", "→", "x" * 50])


def test_only_the_space_is_printable_of_all_that_separates_words() -> None:
    parting = [chr(code) for code in range(sys.maxunicode + 1) if len(f"a{chr(code)}b".split()) > 1]
    assert [char for char in parting if char.isprintable()] == [" "]


@given(st.lists(st.tuples(_WORDS, _SPACES), max_size=30).map(lambda pairs: "".join(map("".join, pairs))))
def test_a_piece_is_one_line_and_its_marks_are_the_words(text: str) -> None:
    snippet = cut(f"{text}login {text}", Marker([("login", False)]), 180)
    assert snippet is not None
    piece = snippet.text.removeprefix("…").removesuffix("…")
    assert piece == " ".join(piece.split())
    assert {snippet.text[start:end].lower() for start, end in snippet.marks} <= {"login", "lógin"}
    assert snippet.marks


@given(st.text())
def test_a_text_is_folded_character_by_character_and_only_once(text: str) -> None:
    folded = fold(text)
    assert folded == "".join(map(fold, text))
    assert len(folded) == len(text)
    assert fold(folded) == folded


@given(
    st.lists(st.sampled_from(["login", "Login", "LÓGIN", "_", "x", "1", "é", " ", ".", "界"]), max_size=12).map("".join)
)
def test_a_word_is_found_where_it_stands_alone(text: str) -> None:
    alone = [match.span() for match in re.finditer(r"(?<![^\W_])login(?![^\W_])", fold(text))]
    assert [(start, end) for start, end, _ in Marker([("Login", False)]).spots(fold(text))] == alone


def test_a_piece_of_parameters_or_of_a_result_is_the_text_that_stands_there(ledger: Ledger) -> None:
    command = 'grep "CommitTree\\|repo" C:\\new\\table a/b\tquickly\r\n&& ls'
    call = Call("Bash", {"command": command}, result=f"{'x ' * 3_000}\\d+ found\nquince {'y ' * 3_000}")
    ledger.append("s", Turn((Message("user", "look"),), (call,)))

    def shown(words: str) -> str:
        return ledger.search(words).groups[0].hits[0].snippet.text

    assert 'grep "CommitTree\\|repo" C:\\new\\table a/b quickly && ls' in shown("tool:Bash grep")
    assert "x \\d+ found quince y" in shown("quince")
