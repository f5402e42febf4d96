"""Search by meaning, with the real model. Without the extra `semantic` it says what to install."""

from collections.abc import Iterator

import pytest

from agents_ledger import Ledger
from agents_ledger.errors import BadInput
from agents_ledger.ledger import embedding, meaning
from agents_ledger.ledger.finding import By
from tests.search.conftest import fill, said

needs_model = pytest.mark.skipif(not embedding.is_installed(), reason="the extra `semantic` is not installed")


@pytest.fixture
def compared(url: str) -> Iterator[Ledger]:
    with fill(url) as ledger:
        meaning.feed(ledger.database)
        yield ledger


@needs_model
def test_a_question_in_other_words_finds_the_turn(compared: Ledger) -> None:
    question = "authenticating crashes my website"
    assert "shop" not in {group.session for group in compared.search(question, by="words").groups}
    assert compared.search(question, by="meaning").groups[0].session == "shop"
    found = compared.search(question)
    assert (found.by, found.groups[0].session) == ("both", "shop")


@needs_model
def test_a_single_word_is_looked_for_as_a_word(compared: Ledger) -> None:
    assert compared.search("zebra").by == "words"


@needs_model
def test_filters_hold_for_meaning_too(compared: Ledger) -> None:
    found = compared.search("an animal with stripes origin:claude-code", by="meaning")
    assert {group.origin for group in found.groups} == {"claude-code"}


@needs_model
@pytest.mark.parametrize("by", ["meaning", "both"])
def test_what_must_not_be_there_is_not_found_by_meaning_either(compared: Ledger, by: By) -> None:
    question = "an animal with stripes"
    assert "zoo" in {group.session for group in compared.search(question, by=by).groups}
    for exclusion in ("-zebra", '-"zebra has"', "-zeb*"):
        found = compared.search(f"{question} {exclusion}", by=by)
        assert found.groups
        assert "zoo" not in {group.session for group in found.groups}, exclusion


@needs_model
def test_every_turn_is_compared_once(compared: Ledger) -> None:
    assert meaning.feed(compared.database) == 0
    compared.append("zoo", said("What do giraffes eat?", "Leaves of the acacia."))
    seen: list[tuple[int, int]] = []
    assert meaning.feed(compared.database, lambda done, of_all: seen.append((done, of_all))) == 1
    assert seen == [(1, 1)]
    hits = compared.search("food of animals with a long neck", by="meaning").hits
    assert hits[0].turn_id == compared.session("zoo").thread_id


@needs_model
def test_vectors_are_packed_without_changing_the_order() -> None:
    import numpy as np  # noqa: PLC0415 - only with the extra

    vectors = embedding.embed(["a red car", "a crimson automobile", "tax law of Portugal"])
    exact, rough = vectors @ vectors[0], embedding.likenesses(embedding.packed(vectors), vectors[0])
    assert exact[1] > exact[2] + 0.3
    assert np.abs(exact - rough).max() < 0.02


def test_without_vectors_it_says_what_to_do(ledger: Ledger) -> None:
    with pytest.raises(BadInput, match=r"ldg index --semantic|pip install"):
        ledger.search("anything at all here", by="both")
    assert ledger.search("anything at all here").by == "words"
