"""`ldg captures`, `ldg problems`: what was taken from where, and what was wrong with it."""

import os.path
from typing import get_args

import click

from agents_ledger.capture import catalog
from agents_ledger.capture.catalog import ProblemRow
from agents_ledger.cli import shapes
from agents_ledger.cli.door import Door, door
from agents_ledger.cli.screen import Part, Screen
from agents_ledger.cli.words import number, quoted, size, when
from agents_ledger.ledger.evidence import Capture
from agents_ledger.model.steps import ProblemCode

_DIGITS = 12
_STATES = {"replaced": "dim", "gone": "yellow"}
_LIMIT = click.IntRange(1, 10_000)


@click.command()
@click.option("--format", "form", metavar="NAME", help="Only what this format has read.")
@click.option("--limit", type=_LIMIT, default=50, show_default=True, help="Captures on a page.")
@click.option("--after", type=click.IntRange(0), default=0, metavar="ID", help="The next page: after this capture.")
@door
def captures(opened: Door, form: str | None, limit: int, after: int) -> None:
    """The sources that were captured, in the order in which they came; each rewriting is a capture of its own."""
    with opened.reading() as ledger:
        found = catalog.captures(ledger, form=form, after=after, limit=limit + 1)
    page, following = found[:limit], found[limit - 1].id if len(found) > limit else None
    if opened.as_json:
        shapes.answer({"captures": [shapes.capture(each) for each in page], "next": following})
        return
    screen = Screen()
    if not page:
        screen.line(f"Nothing was captured yet. `{opened.ldg} sync` captures the agents' sessions.")
        return
    columns = ("ID", "FORMAT", "KIND", "GEN", "STATE", "SIZE", "DIGEST", "SEEN", "PATH")
    screen.table(columns, [_capture_row(each, screen) for each in page], right=("ID", "GEN", "SIZE"))
    if following:
        chosen = f"--format {quoted(form)} " if form else ""
        screen.line()
        screen.line(("more: ", "dim"), f"ldg captures {chosen}--after {following}")


@click.command()
@click.option("--code", type=click.Choice(get_args(ProblemCode)), metavar="CODE", help="Only problems of this kind.")
@click.option("--limit", type=_LIMIT, default=50, show_default=True, help="Problems on a page.")
@click.option("--after", type=click.IntRange(0), default=0, metavar="N", help="The next page: after the first N.")
@door
def problems(opened: Door, code: str | None, limit: int, after: int) -> None:
    """What was wrong with sources. Nothing was dropped: the bytes are kept, and the rest was read."""
    with opened.reading() as ledger:
        found = catalog.problems(ledger, code=code, after=after, limit=limit + 1)
        counts = catalog.problem_counts(ledger)
    page, following = found[:limit], after + limit if len(found) > limit else None
    if opened.as_json:
        shapes.answer({"problems": page, "counts": counts, "next": following})
        return
    screen = Screen()
    if not page:
        screen.line("There are no problems of this kind." if counts else "There are no problems.")
        return
    screen.line(", ".join(f"{number(count)} {name}" for name, count in counts.items()))
    screen.line()
    screen.table(("CODE", "BYTE", "DETAIL", "PATH"), [_problem_row(each, screen) for each in page], right=("BYTE",))
    screen.line()
    if following:
        chosen = f"--code {code} " if code else ""
        screen.line(("more: ", "dim"), f"ldg problems {chosen}--after {following}")
    screen.line(("what each code means: docs/problems.md", "dim"))


def _capture_row(each: Capture, screen: Screen) -> list[Part]:
    return [
        str(each.id),
        (each.format, "cyan"),
        each.kind,
        str(each.generation),
        (each.state, _STATES.get(each.state, "")),
        size(each.size_bytes),
        each.digest.hex()[:_DIGITS] or "-",
        when(each.seen_at, screen),
        _path(each.path, screen),
    ]


def _problem_row(each: ProblemRow, screen: Screen) -> list[Part]:
    place = "-" if each.place < 0 else number(each.place)
    return [(each.code, "yellow"), place, each.detail or "-", _path(each.path, screen)]


def _path(path: str, screen: Screen) -> str:
    """On a terminal the end of a path, which tells more than its beginning; whole in a pipe."""
    return os.path.basename(path) if screen.is_terminal else path  # noqa: PTH119 - may hold anything
