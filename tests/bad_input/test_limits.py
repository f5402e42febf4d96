"""How many of something at most: what is no such number is refused, with the same words on both databases."""

from collections.abc import Callable
from typing import Any

import pytest

from agents_ledger import Ledger, Message, Turn
from agents_ledger.errors import BadInput
from agents_ledger.store import ALL

LIMITED: list[tuple[str, Callable[[Ledger, str, Any], object]]] = [
    ("sessions", lambda ledger, _, limit: ledger.sessions(limit=limit)),
    ("history", lambda ledger, _, limit: ledger.history("main", limit=limit)),
    ("thread", lambda ledger, head, limit: ledger.thread(head, limit=limit)),
    ("tree", lambda ledger, head, limit: ledger.tree(head, limit=limit).nodes),
    ("tree above", lambda ledger, head, limit: ledger.tree(head, above=limit).nodes),
    ("roots", lambda ledger, _, limit: ledger.roots(limit)),
    ("including", lambda ledger, head, limit: ledger.including(head, limit=limit)),
    ("search", lambda ledger, _, limit: ledger.search("x", limit=limit).hits),
    ("search by time", lambda ledger, _, limit: ledger.search("", limit=limit).hits),
    ("fork_points", lambda ledger, _, limit: ledger.fork_points("x", limit=limit)),
    ("verify", lambda ledger, _, limit: ledger.verify(limit=limit)),
]


@pytest.mark.parametrize(("name", "use"), LIMITED, ids=[name for name, _ in LIMITED])
def test_a_limit_is_a_whole_number_of_at_least_0_on_both_databases(
    ledger: Ledger, name: str, use: Callable[[Ledger, str, Any], object]
) -> None:
    head = ledger.append("main", Turn((Message("user", "x"),)))
    for wrong in ("x", "5", -1, -(10**5000), 1.5, True, None, [1]):
        if wrong is None and name == "thread":
            continue  # everything
        with pytest.raises(BadInput, match="must be a whole number of at least 0, not"):
            use(ledger, head, wrong)
    if name == "fork_points":
        return  # from 1 to 50: it has its own words for others
    assert use(ledger, head, 1) == use(ledger, head, ALL) == use(ledger, head, 10**5000)
    if name not in ("tree above", "verify"):
        assert not use(ledger, head, 0)
