"""Pages of a search: each session once, and every turn shown or counted, whatever the limit."""

from collections import Counter
from collections.abc import Iterator

import pytest

from agents_ledger import Ledger, Message, Turn
from agents_ledger.model.hits import Group

SESSIONS, TURNS, PARTS = 12, 5, 10  # more parts than are ranked together


def pages(ledger: Ledger, query: str, limit: int) -> Iterator[tuple[Group, ...]]:
    cursor = None
    while True:
        page = ledger.search(query, limit=limit, cursor=cursor)
        yield page.groups
        cursor = page.next
        if cursor is None:
            return


@pytest.fixture
def crowd(ledger: Ledger) -> Ledger:
    """Sessions that took turns: the newest matches are of all of them, and so are the oldest, but for the loners."""
    for turn in range(TURNS):
        for session in range(SESSIONS):
            said = tuple(Message("assistant", f"walrus {part} of {turn}") for part in range(PARTS))
            label = f"old-{session}" if not turn and session % 2 else f"session-{session}"
            ledger.append(label, Turn((Message("user", "Tell me"), *said)))
    return ledger


@pytest.mark.parametrize("query", ["walrus", "walrus role:assistant"])
def test_no_session_and_no_turn_comes_twice_whatever_the_limit(crowd: Ledger, query: str) -> None:
    counted = []
    for limit in (1, 5, 100):
        found = [group for page in pages(crowd, query, limit) for group in page]
        assert max(Counter(group.session for group in found).values()) == 1
        assert max(Counter(hit.turn_id for group in found for hit in group.hits).values()) == 1
        counted.append({group.session: (len(group.hits) + group.more, group.is_least) for group in found})
    *_, most = counted  # on one page all that are ranked together are looked at
    assert len(most) == SESSIONS + SESSIONS // 2
    for each in counted:
        assert each.keys() == most.keys()
        assert all(
            known == most[label][0] or (known < most[label][0] and least) for label, (known, least) in each.items()
        )
    assert sum(known for known, _ in most.values()) == SESSIONS * TURNS or any(least for _, least in most.values())
    assert most["old-1"] == (1, False)


@pytest.mark.parametrize("query", ["", "role:assistant", "-role:user", "session:session-*", "-nowhere"])
def test_without_words_a_limit_counts_sessions_and_all_their_turns_are_counted(crowd: Ledger, query: str) -> None:
    for limit in (1, 5, 100):
        found = list(pages(crowd, query, limit))
        groups = [group for page in found for group in page]
        assert {len(page) for page in found[:-1]} <= {limit}
        assert 0 < len(found[-1]) <= limit
        assert max(Counter(group.session for group in groups).values()) == 1
        old = 0 if query.startswith("session:") else SESSIONS // 2
        assert len(groups) == SESSIONS + old
        assert sum(len(group.hits) + group.more for group in groups) == SESSIONS * TURNS - SESSIONS // 2 + old
        assert not any(group.is_least for group in groups)


def test_of_a_session_that_is_asked_for_more_turns_are_shown(crowd: Ledger) -> None:
    for query in ("session:session-0", "walrus session:session-0"):
        (group,) = crowd.search(query).groups
        assert (len(group.hits), group.more, group.is_least) == (TURNS, 0, False)
    found = crowd.search("walrus session:session-*", limit=50)  # all that were known as such, and more than are ranked
    assert (
        sum(len(group.hits) + group.more for group in crowd.search("walrus session:*", limit=50).groups)
        == SESSIONS * TURNS
    )
    assert not any(group.is_least for group in found.groups)


def test_a_page_has_as_many_sessions_as_it_may_until_matches_are_ranked_anew(crowd: Ledger) -> None:
    sizes = [len(page) for page in pages(crowd, "walrus", 5)]
    assert max(sizes) == 5
    assert 0 not in sizes


def test_what_was_not_counted_is_said_to_be_so_and_what_was_is_right(crowd: Ledger) -> None:
    group = crowd.search("walrus", limit=1).groups[0]
    assert group.is_least
    alone = crowd.search(f"walrus session:{group.session}").groups[0]
    assert not alone.is_least
    assert len(alone.hits) + alone.more >= len(group.hits) + group.more
    assert len(alone.hits) + alone.more == TURNS if group.session == "session-0" else TURNS - 1
