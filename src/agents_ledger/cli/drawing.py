"""The lines of a drawn tree: the main thread straight down, side branches indented beside it.

Where a turn has several followers, one goes on straight below it: the one on the way to the turn that was asked
for, else the one with the most turns. So a branch is at most half of what it leaves, and a tree of n turns is
indented at most log2(n) deep. Nothing here recurses: threads are thousands of turns long.
"""

from collections.abc import Iterable, Iterator

from msgspec import Struct

from agents_ledger.model.overview import Node, Tree

_FOLD_ABOVE = 12
_EDGE = 5  # turns that stay visible at each end of a folded run


class Line(Struct, frozen=True):
    """One line: a turn with the sessions that point at it, or a number of folded turns."""

    rails: str
    node: Node | None
    labels: list[str] = []
    is_plain: bool = False
    folded: int = 0


def drawn(tree: Tree, *, through: str | None = None, whole: bool = False) -> list[Line]:
    """All lines from the root down; long runs of plain turns are folded unless the whole is asked for."""
    lines = list(_lines(tree, through))
    return lines if whole else list(_folded(lines))


def _lines(tree: Tree, through: str | None) -> Iterator[Line]:
    nodes = {node.id: node for node in tree.nodes}
    followers = _followers(tree.nodes, _weights(tree.nodes, nodes, through))
    labels: dict[str, list[str]] = {}
    for label, head in tree.heads:
        labels.setdefault(head, []).append(label)
    tops = [node.id for node in tree.nodes if node.depth == tree.first]
    waiting = [(turn_id, "", "") for turn_id in reversed(tops)]
    while waiting:
        turn_id, rails, joint = waiting.pop()
        node, ahead, here = nodes[turn_id], followers.get(turn_id, []), labels.get(turn_id, [])
        is_plain = not (here or joint) and len(ahead) == 1 and node.status == "completed" and node.turn_type == "normal"
        yield Line(rails[: len(rails) - len(joint)] + joint, node, here, is_plain and node.parent_turn_id is not None)
        if ahead:
            waiting.append((ahead[0], rails, ""))
            waiting += [(side, f"{rails}│ ", "├─") for side in ahead[1:]]


def _weights(ordered: list[Node], nodes: dict[str, Node], through: str | None) -> dict[str, int]:
    """How many turns hang on each turn; those on the way to `through` weigh more than everything else."""
    weights = dict.fromkeys(nodes, 1)
    for node in reversed(ordered):
        if node.parent_turn_id in weights:
            weights[node.parent_turn_id] += weights[node.id]
    at = nodes.get(through or "")
    while at is not None:
        weights[at.id] += len(nodes)
        at = nodes.get(at.parent_turn_id or "")
    return weights


def _followers(ordered: Iterable[Node], weights: dict[str, int]) -> dict[str, list[str]]:
    """The turns after each turn: the heaviest first, then the newest first (they are drawn from the last one on)."""
    found: dict[str, list[str]] = {}
    for node in ordered:
        if node.parent_turn_id is not None:
            found.setdefault(node.parent_turn_id, []).append(node.id)
    for turn_id, ids in found.items():
        if len(ids) > 1:
            main = max(ids, key=lambda each: weights[each])
            found[turn_id] = [main, *sorted((each for each in ids if each != main), reverse=True)]
    return found


def _folded(lines: list[Line]) -> Iterator[Line]:
    run: list[Line] = []
    for line in lines:
        if run and not (line.is_plain and line.rails == run[0].rails):
            yield from _fold(run)
            run = []
        if line.is_plain:
            run.append(line)
        else:
            yield line
    yield from _fold(run)


def _fold(run: list[Line]) -> list[Line]:
    if len(run) <= _FOLD_ABOVE:
        return run
    hidden = len(run) - 2 * _EDGE
    return [*run[:_EDGE], Line(run[0].rails, None, folded=hidden), *run[-_EDGE:]]
