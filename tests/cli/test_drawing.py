"""Trees: straight where the thread is, indented where it forks, folded where it is long."""

import pytest

from agents_ledger import Message, Turn
from agents_ledger.cli.drawing import drawn
from agents_ledger.model.overview import Node, Tree
from tests.cli.conftest import Ldg


def node(name: str, parent: str | None, depth: int, **given: str) -> Node:
    kind, status = given.get("kind", "normal"), given.get("status", "completed")
    return Node(name, parent, kind, status, None, 0, 0, depth, 1, f"words of {name}")


def shape(tree: Tree, through: str | None = None) -> list[str]:
    return [line.rails + (line.node.id if line.node else f"+{line.folded}") for line in drawn(tree, through=through)]


FORKED = Tree(
    "a",
    [
        node("a", None, 1),
        node("b", "a", 2),
        node("x", "a", 2),
        node("c", "b", 3),
        node("y", "x", 3),
        node("d", "c", 4),
        node("z", "y", 4),
        node("zz", "y", 4),
        node("e", "d", 5),
    ],
    [("main", "e"), ("other", "z")],
)


def test_the_longest_thread_goes_straight_down() -> None:
    assert shape(FORKED) == ["a", "├─x", "│ y", "│ ├─zz", "│ z", "b", "c", "d", "e"]


def test_the_thread_that_was_asked_for_goes_straight_down() -> None:
    assert shape(FORKED, "zz") == ["a", "├─b", "│ c", "│ d", "│ e", "x", "y", "├─z", "zz"]


def test_sessions_stand_at_their_turns() -> None:
    labels = {line.node.id: line.labels for line in drawn(FORKED) if line.node and line.labels}
    assert labels == {"e": ["main"], "z": ["other"]}


def test_a_thread_of_twenty_thousand_turns_is_folded() -> None:
    nodes = [node(str(n), str(n - 1) if n else None, n + 1) for n in range(20_000)]
    assert shape(Tree("0", nodes, [])) == [*"012345", "+19988", *(str(n) for n in range(19_994, 20_000))]


def test_a_comb_of_forks_is_never_deep() -> None:
    nodes = [node("0", None, 1)]
    for n in range(1, 2000):
        nodes += [node(f"{n}", f"{n - 1}", n + 1), node(f"side{n}", f"{n - 1}", n + 1)]
    lines = drawn(Tree("0", nodes, []), whole=True)
    assert len(lines) == len(nodes)
    assert max(len(line.rails) for line in lines) == 2


def test_marks_are_never_folded_away() -> None:
    nodes = [node("0", None, 1)]
    nodes += [node(str(n), str(n - 1), n + 1, status="failed" if n == 30 else "completed") for n in range(1, 60)]
    assert "30" in shape(Tree("0", nodes, []))


def test_tree_of_three_thousand_turns(empty: Ldg) -> None:
    with empty.open() as ledger:
        ids = [ledger.append("long", Turn((Message("user", f"question {n}"),))) for n in range(3000)]
        ledger.branch(ids[10], Turn((Message("user", "a side"),)))
    said = empty.text("tree", "long").splitlines()
    assert len(said) < 40
    assert any(line == "⋮ 2,978 turns" for line in said)
    assert any(line.startswith("├─○") and line.endswith("a side") for line in said)
    assert said[-1] == f"● {ids[-1][-8:]} [long] question 2999"
    assert len(empty.text("tree", "--all").splitlines()) == 3001
    assert len(empty.json("tree", ids[5])["trees"][0]["nodes"]) == 3001


def test_tree_of_the_demo(ldg: Ldg) -> None:
    said = ldg.text("tree", "fix-login").splitlines()
    assert len(said) == 11
    assert said[2].startswith("├─○")
    assert "[another-way] Then pass the clock" in said[5]
    assert said[8].startswith("✗")
    assert said[8].endswith("failed")
    assert said[9].startswith("◆")
    assert said[9].endswith("compaction")
    assert said[10].startswith("●")
    assert "claude-opus-4 · 3 calls" in said[0]


def test_live_turns_are_marked(ldg: Ldg) -> None:
    with ldg.open() as ledger, ledger.turn("now", "What are you doing?") as turn:
        assert ldg.text("tree", turn.id).startswith(f"◌ {turn.id[-8:]} What are you doing?")
        assert "live" in ldg.text("tree", turn.id)
        assert "1 live now" in ldg.text()
        assert "not sealed yet" in ldg.text("show", turn.id)


def test_without_an_id_the_newest_trees(ldg: Ldg) -> None:
    found = ldg.json("tree", "--limit", "1")
    assert found["trees"][0]["heads"][0]["label"] == "fix-login/search"
    assert f"tree --limit 1 --cursor {found['next']}" in ldg.text("tree", "--limit", "1")
    rest = ldg.json("tree", "--cursor", found["next"])
    assert rest["next"] is None
    assert [each["root_id"] for each in (*found["trees"], *rest["trees"])] == ldg.open().roots()


@pytest.mark.parametrize("name", ["fix-login", "telegram:4711"])
def test_tree_of_a_session_by_its_names(ldg: Ldg, name: str) -> None:
    assert len(ldg.json("tree", name)["trees"]) == 1


def test_a_tree_that_is_cut_says_how_to_see_more(empty: Ldg, monkeypatch: pytest.MonkeyPatch) -> None:
    with empty.open() as ledger:
        ids = [ledger.append("main", Turn((Message("user", "q"),))) for _ in range(40)]
    monkeypatch.setattr("agents_ledger.cli.tree._ABOVE", 20)
    monkeypatch.setattr("agents_ledger.cli.tree._MOST", 10)
    said = empty.text("tree", "main").splitlines()
    assert said[0] == f"⋮ 19 turns above: ldg --db {empty.url} tree {ids[18]}"
    assert said[-1].startswith("⋮ only 10 turns of this tree are drawn")
    assert empty.text("tree", ids[18]).splitlines()[0].startswith("○ ")
