"""Ranking: what is made of one turn after the other is what all of them at once would be."""

from hypothesis import given
from hypothesis import strategies as st

from agents_ledger.model.ranking import Newness, Ranked, by_turn, fused, raised, told

_TURNS = [f"01K5XYZ{number:019}" for number in range(12)]
_ROWS = st.lists(
    st.tuples(st.integers(0, 99), st.sampled_from(_TURNS), st.floats(0.01, 20)),
    max_size=30,
    unique_by=lambda row: row[0],
)
_FEW = st.lists(
    st.builds(Ranked, st.sampled_from(_TURNS), st.none(), st.just(0.0), st.sampled_from(["title", "path"]), st.text()),
    max_size=6,
    unique_by=lambda each: each.turn_id,
)


@given(_ROWS, _FEW, st.sampled_from([0.8, 1.0, 1.5]))
def test_few_turns_among_many_stand_where_all_of_them_together_would_stand(
    rows: list[tuple[int, str, float]], few: list[Ranked], weight: float
) -> None:
    keys = by_turn(rows, Newness(1_790_000_000_000))
    assert list(raised(keys, few, weight)) == fused((1.0, told(keys)), (weight, few))


@given(_ROWS)
def test_a_turn_is_there_once_with_its_best_part_and_the_best_turn_comes_first(
    rows: list[tuple[int, str, float]],
) -> None:
    found = list(told(by_turn(rows, Newness(1_790_000_000_000))))
    assert sorted(each.turn_id for each in found) == sorted({turn_id for _, turn_id, _ in rows})
    assert [each.score for each in found] == sorted((each.score for each in found), reverse=True)
    best = {turn_id: max(score for _, other, score in rows if other == turn_id) for _, turn_id, _ in rows}
    assert all((each.number, each.turn_id, best[each.turn_id]) in rows for each in found)
