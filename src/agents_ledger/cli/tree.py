"""`ldg tree`: the tree of turns, drawn."""

import click

from agents_ledger.cli import shapes
from agents_ledger.cli.completing import complete_ids
from agents_ledger.cli.door import Door, door
from agents_ledger.cli.drawing import Line, drawn
from agents_ledger.cli.options import print_more, with_pager
from agents_ledger.cli.screen import Part, Screen, cell_width, cut, paged
from agents_ledger.cli.terminal import one_line
from agents_ledger.cli.turns import mark_of
from agents_ledger.cli.words import plural, short
from agents_ledger.errors import BadInput, NotFound
from agents_ledger.ledger import Ledger
from agents_ledger.model.ids import LAST, is_ulid
from agents_ledger.model.overview import Tree

_WORDS = 56
_FEWEST_WORDS = 16
_MARK_AND_ID = 11
_TREES = 3
_ABOVE = 5_000  # turns over the one that was asked for
_MOST = 20_000  # turns of one tree
_LEFT = "writer gone"


@click.command()
@click.argument("id", required=False, shell_complete=complete_ids)
@click.option("--all", "whole", is_flag=True, help="Draw every turn; long straight runs are folded otherwise.")
@click.option(
    "--limit", type=click.IntRange(1, 1_000), default=_TREES, show_default=True, help="Without ID: the newest N trees."
)
@click.option("--cursor", default=LAST, show_default=False, metavar="ID", help="Without ID: the trees before this one.")
@with_pager
@door
def tree(opened: Door, id: str | None, whole: bool, limit: int, cursor: str, pager: bool | None) -> None:  # noqa: A002 - its name on the screen
    """The tree that ID (a session or a turn) belongs to; without ID, the newest trees.

    The thread of ID goes straight down, side branches are indented.
    """
    with opened.reading() as ledger:
        roots = ledger.roots(limit + 1, before=_cursor(cursor)) if id is None else [_turn(ledger, id)]
        following = roots[limit - 1] if len(roots) > limit else None
        trees = [ledger.tree(root, above=_ABOVE, limit=_MOST) for root in roots[:limit]]
    if opened.as_json:
        shapes.answer({"trees": [shapes.tree(each) for each in trees], "next": following})
        return
    with paged(is_wanted=pager) as screen:
        if not trees:
            screen.line(f"There are no turns yet. `{opened.ldg} demo` makes some to look at.")
        for at, (root, each) in enumerate(zip(roots, trees, strict=False)):
            if at:
                screen.line()
            _print_tree(screen, opened, each, root if id else None, whole=whole)
        if following:
            print_more(screen, opened, "tree", *([f"--limit {limit}"] if limit != _TREES else []), cursor=following)


def _cursor(text: str) -> str:
    """The id of a turn: in capitals if it is one of ours, others give theirs as they like."""
    return text.upper() if is_ulid(text.upper()) else text


def _turn(ledger: Ledger, text: str) -> str:
    """The turn of an id or of a session (its head, or its first one while that is live); also of an alias."""
    try:
        found = ledger.session(text).thread_id
    except (NotFound, BadInput):
        return ledger.find(text)
    live = ledger.live_turns(text) if found is None else []
    if found is None and not live:
        raise NotFound(f"session {text!r} has no turns yet: there is nothing to draw")
    return found or live[0].turn_id


def _print_tree(screen: Screen, opened: Door, found: Tree, through: str | None, *, whole: bool) -> None:
    if found.first > 1:
        top = found.nodes[0].parent_turn_id or ""
        above = f"⋮ {plural(found.first - 1, 'turn')} above: {opened.ldg} tree {top}"
        screen.unbroken((above, "dim"))
    _print(screen, drawn(found, through=through, whole=whole), found.left_behind)
    if found.left_behind:
        screen.line((f"{_LEFT}: the next command that writes closes the turn as failed", "dim"))
    if len(found.nodes) == _MOST:
        screen.line((f"⋮ only {_MOST:,} turns of this tree are drawn: name a turn to see what is around it", "dim"))


def _print(screen: Screen, lines: list[Line], left_behind: list[str]) -> None:
    facts = [_facts(line, left_behind) for line in lines]
    widest = max((len(line.rails) for line in lines), default=0)
    room = _WORDS
    if screen.width is not None:
        taken = max((sum(cell_width(_plain(part)) for part in parts) for parts in facts), default=0)
        room = max(_FEWEST_WORDS, min(_WORDS, screen.width - taken - widest - _MARK_AND_ID))
    rows = (_row(line, parts, widest + room) for line, parts in zip(lines, facts, strict=True))
    screen.drawing(_fitting(row, len(parts), screen.width) for row, parts in zip(rows, facts, strict=True))


def _fitting(row: list[Part], facts: int, width: int | None) -> list[Part]:
    """A line without its facts, where a long name leaves no room for them."""
    taken = sum(cell_width(_plain(part)) for part in row)
    return row[: len(row) - facts] if width is not None and taken > width else row


def _row(line: Line, facts: list[Part], width: int) -> list[Part]:
    """One line: rails, mark, id, sessions, words, facts."""
    if line.node is None:
        return [(f"{line.rails}⋮ {plural(line.folded, 'turn')}", "dim")]
    labels = " ".join(f"[{label}]" for label in line.labels)
    names = f"{one_line(labels)} " if labels else ""
    words = cut(line.node.opening or "", max(width - len(line.rails) - cell_width(names), _FEWEST_WORDS))
    gap = " " * (width - len(line.rails) - cell_width(names) - cell_width(words))
    mark = mark_of(line.node.status, line.node.turn_type, is_head=bool(line.labels))
    return [
        (line.rails, "dim"),
        mark,
        " ",
        (short(line.node.id), "bold"),
        " ",
        (names, "bold green"),
        words,
        gap,
        *facts,
    ]


def _facts(line: Line, left_behind: list[str]) -> list[Part]:
    node = line.node
    if node is None:
        return []
    calls = plural(node.tool_call_count, "call") if node.tool_call_count else ""
    usual = " · ".join(part for part in (node.model or "", calls) if part)
    parts: list[Part] = [(f"  {usual}", "dim")] if usual else []
    live = _LEFT if node.id in left_behind else "live"
    special = {"failed": "failed", "pending": live, "streaming": live}.get(node.status)
    if special or node.turn_type == "compaction":
        parts.append((f"  {special or 'compaction'}", "red" if special == "failed" else "magenta"))
    return parts


def _plain(part: Part) -> str:
    return part if isinstance(part, str) else part[0]
