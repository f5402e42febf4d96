"""Every list comes in pages that together are the list, and no page costs more at the end than at the beginning."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from agents_ledger import Ledger, Message, Turn
from agents_ledger.capture import catalog
from agents_ledger.cli.drawing import drawn
from agents_ledger.ledger import names
from agents_ledger.model.ids import LAST

TURN = Turn((Message("user", "q"), Message("assistant", "a")))


def test_histories_and_sessions_of_a_turn_page_by_page(ledger: Ledger) -> None:
    first = ledger.append("main", TURN)
    for number in range(7):
        ledger.fork(first, f"fork-{number}")
        ledger.append("main", TURN)
    ledger.rewind("main", turns=3)
    assert _paged(lambda last: ledger.history("main", after=last.id if last else 0, limit=2)) == ledger.history("main")
    every = ledger.including(first)
    assert len(every) == 8
    assert _paged(lambda last: ledger.including(first, after=last or "", limit=3)) == every


def test_sessions_and_trees_page_by_page(ledger: Ledger) -> None:
    roots = [ledger.append(f"s{number}", TURN) for number in range(9)]
    side = ledger.fork(roots[4], "side")
    ledger.append(side.label, TURN)
    ledger.append("s4", TURN)  # the tree has several segments: it is still one tree
    assert ledger.roots() == sorted(roots, reverse=True)
    assert _paged(lambda last: ledger.roots(2, before=last or LAST)) == ledger.roots()
    lines = ledger.sessions()
    assert len(lines) == 10
    paged = _paged(
        lambda last: ledger.sessions(limit=3, after=(last.session.updated_at, last.session.label) if last else None)
    )
    assert paged == lines
    assert {line.opening for line in lines} == {"q"}


def test_a_long_tree_is_drawn_from_near_the_turn_that_was_asked_for(ledger: Ledger) -> None:
    ids = [ledger.append("main", TURN) for _ in range(30)]
    ledger.fork(ids[19], "side")
    other = ledger.append("side", TURN)
    found = ledger.tree(ids[-1], above=12)
    assert (found.first, len(found.nodes)) == (18, 14)
    lines = drawn(found, through=ids[-1], whole=True)
    assert [line.node.id for line in lines if line.node] == [*ids[17:20], other, *ids[20:]]
    assert len(ledger.tree(ids[-1], limit=5).nodes) == 5
    assert len(drawn(ledger.tree(ids[-1], limit=5), through=ids[-1])) == 5


def test_names_that_begin_like_something(ledger: Ledger) -> None:
    ids = [ledger.append(label, TURN) for label in ("codex:1", "codex:2", "pi:1%_")]
    assert names.labels(ledger.database, "codex:") == [("codex:1", None), ("codex:2", None)]
    assert sorted(names.labels(ledger.database, "")) == [("codex:1", None), ("codex:2", None), ("pi:1%_", None)]
    assert names.labels(ledger.database, "pi:1%_") == [("pi:1%_", None)]
    for beginning in (ids[0][:-1], ids[1][-8:-1], ids[2][-8:]):  # (ids of one millisecond differ at their end only)
        like = [each for each in reversed(ids) if each.startswith(beginning) or each[-8:].startswith(beginning)]
        assert names.turns(ledger.database, beginning.lower()) == [(each, "q") for each in like]
    assert names.turns(ledger.database, "%") == []


def test_problems_page_by_page(ledger: Ledger) -> None:
    def put(path: str, place: int) -> None:
        ledger.database.write(
            lambda tx: tx.run(
                "put_problem", path=path, place=place, code="bad-field", detail="ü'\"", capture_id=None, seen_at=1
            )
        )

    for number in range(7):
        put(f"/a/{number % 3}", number - 1)
    every = catalog.problems(ledger)
    assert len(every) == 7

    def page(last: catalog.ProblemRow | None) -> list[catalog.ProblemRow]:
        after = None if last is None else (last.path, last.place, last.code, last.detail)
        return catalog.problems(ledger, after=after, limit=2)

    assert _paged(page) == every


def test_the_last_page_of_sessions_costs_what_the_first_does(tmp_path: Path) -> None:
    with Ledger.open(f"sqlite:///{tmp_path / 'many.db'}") as ledger:
        ledger.database.write(lambda tx: [tx.run("insert_session", **_session(number)) for number in range(20_000)])
        last = ledger.sessions(limit=1, after=(60, ""))[0].session
        first_s = min(_took(lambda: ledger.sessions(limit=20)) for _ in range(5))
        last_s = min(_took(lambda: ledger.sessions(limit=20, after=(last.updated_at, last.label))) for _ in range(5))
        assert last_s < 5 * first_s + 0.002


def _session(number: int) -> dict[str, object]:
    names = ("parent_session_label", "parent_turn_id", "spawn_tool_call_id", "task_description", "task_status")
    nothing = dict.fromkeys((*names, "routing_key", "origin", "origin_session_id"))
    return nothing | {
        "label": f"s{number:05}",
        "persona_id": "default",
        "is_subagent": 0,
        "created_at": number,
        "updated_at": number,
        "status": "active",
    }


def _took(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def _paged(page: Callable[[Any], list[Any]]) -> list[Any]:
    """All pages, one after the other."""
    found: list[Any] = []
    while more := page(found[-1] if found else None):
        found += more
    return found
