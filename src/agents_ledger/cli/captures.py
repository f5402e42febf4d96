"""`ldg captures`, `ldg problems`: what was taken from where, and what was wrong with it."""

import json
import os.path
from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import get_args

import click

from agents_ledger.capture import catalog
from agents_ledger.capture.catalog import ProblemKey, ProblemRow
from agents_ledger.cli import shapes
from agents_ledger.cli.completing import complete_formats
from agents_ledger.cli.door import Door, door
from agents_ledger.cli.options import print_more, with_cursor, with_limit
from agents_ledger.cli.screen import Part, Screen
from agents_ledger.cli.words import number, quoted, size, when
from agents_ledger.model.captures import Capture
from agents_ledger.model.steps import ProblemCode

_DIGITS = 12
_STATES = {"replaced": "dim", "gone": "yellow"}


@click.command()
@click.option(
    "--format", "form", metavar="NAME", shell_complete=complete_formats, help="Only what this format has read."
)
@with_limit("Captures")
@click.option("--cursor", type=click.IntRange(0), default=0, metavar="ID", help="The next page: after this capture.")
@door
def captures(opened: Door, form: str | None, limit: int, cursor: int) -> None:
    """The sources that were captured, in the order in which they came; each rewriting is a capture of its own."""
    with opened.reading() as ledger:
        found = catalog.captures(ledger, form=form, after=cursor, limit=limit + 1)
    page, following = found[:limit], found[limit - 1].id if len(found) > limit else None
    if opened.as_json:
        shapes.answer({"captures": [shapes.capture(each) for each in page], "next": following})
        return
    screen = Screen()
    if not page:
        screen.line(f"Nothing was captured yet. `{opened.ldg} sync` captures the agents' sessions.")
        return
    columns = ("ID", "FORMAT", "KIND", "GEN", "STATE", "SIZE", "DIGEST", "SEEN", "PATH")
    screen.table(
        columns,
        [_capture_row(each, screen) for each in page],
        right=("ID", "GEN", "SIZE"),
        cut=("PATH",),
        optional=("DIGEST", "KIND"),
    )
    if following:
        print_more(screen, opened, "captures", *([f"--format {quoted(form)}"] if form else []), cursor=str(following))


@click.command()
@click.option("--code", type=click.Choice(get_args(ProblemCode)), metavar="CODE", help="Only problems of this kind.")
@with_limit("Problems")
@with_cursor
@door
def problems(opened: Door, code: str | None, limit: int, cursor: str | None) -> None:
    """What was wrong with sources. Nothing was dropped: the bytes are kept, and the rest was read."""
    with opened.reading() as ledger:
        after = None if cursor is None else _parse_cursor(cursor)
        found = catalog.problems(ledger, code=code, after=after, limit=limit + 1)
        counts = catalog.problem_counts(ledger)
    page, following = found[:limit], _cursor_of(found[limit - 1]) if len(found) > limit else None
    if opened.as_json:
        shapes.answer({"problems": page, "counts": counts, "next": following})
        return
    screen = Screen()
    if not page:
        screen.line("There are no problems of this kind." if counts else "There are no problems.")
        return
    screen.line(", ".join(f"{number(count)} {name}" for name, count in counts.items()))
    screen.line()
    screen.table(
        ("CODE", "BYTE", "DETAIL", "PATH"),
        [_problem_row(each, screen) for each in page],
        right=("BYTE",),
        cut=("DETAIL", "PATH"),
    )
    if following:
        print_more(screen, opened, "problems", *([f"--code {code}"] if code else []), cursor=following)
    screen.line()
    screen.line(("what each code means: docs/problems.md", "dim"))


def _cursor_of(row: ProblemRow) -> str:
    key = json.dumps([row.path, row.place, row.code, row.detail], ensure_ascii=False)
    return urlsafe_b64encode(key.encode("utf-8", "surrogatepass")).decode().rstrip("=")


def _parse_cursor(text: str) -> ProblemKey:
    try:
        path, place, code, detail = json.loads(urlsafe_b64decode(text + "=" * (-len(text) % 4)))
        return str(path), int(place), str(code), str(detail)
    except (ValueError, TypeError):
        raise click.BadParameter(f"{text!r} is not a cursor: copy the one that the last page ended with") from None


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
