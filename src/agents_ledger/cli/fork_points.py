"""`ldg fork --find`: the best turns to ask a question from, and the choice of one of them."""

import sys
from typing import TYPE_CHECKING

import click

from agents_ledger.cli.door import Door
from agents_ledger.cli.filters import chosen
from agents_ledger.cli.screen import Part, Screen
from agents_ledger.cli.search import catching_up, marked
from agents_ledger.cli.shapes import answer, fork_points_page
from agents_ledger.cli.terminal import one_line
from agents_ledger.cli.words import ago, clock, number, plural, quoted, short

if TYPE_CHECKING:
    from agents_ledger.model.filters import Filters
    from agents_ledger.model.fork_points import ForkPoint, ForkPoints


def find_points(opened: Door, question: str, filters: "Filters", limit: int, budget_tokens: int | None) -> "ForkPoints":
    """The points for a question."""
    with catching_up(opened) as ledger:
        return ledger.fork_points(question, filters=filters, limit=limit, budget_tokens=budget_tokens)


def show_points(opened: Door, found: "ForkPoints") -> int:
    """Prints the points; 1 if there is none."""
    if opened.as_json:
        answer(fork_points_page(found))
    else:
        screen = Screen()
        _print(screen, found)
        if found.points:
            _print_next(screen, opened, found)
    return 0 if found.points else 1


def pick_point(opened: Door, found: "ForkPoints", pick: int | None) -> "ForkPoint | None":
    """The point that is meant: by its number, by asking whoever sits at the terminal, else the first."""
    if pick is not None and pick > len(found.points):
        raise click.UsageError(f"--pick {pick}: there are only {plural(len(found.points), 'starting point')}")
    is_asked = pick is None and not opened.as_json and sys.stdin.isatty() and sys.stdout.isatty()
    number_of = _ask(found) if is_asked else pick or 1
    return found.points[number_of - 1] if number_of else None


def say_point(point: "ForkPoint") -> None:
    """Says which turn it is, beside what is written or printed for it."""
    where = f"{short(point.turn_id)} of {point.session or 'no session'}"
    click.echo(one_line(f"starting at {where}: {'; '.join(point.reasons)}"), err=True)


def _ask(found: "ForkPoints") -> int:
    _print(Screen(), found)
    asked: int = click.prompt("Fork at (0: nowhere)", type=click.IntRange(0, len(found.points)), default=1, err=True)
    return asked


def _print(screen: Screen, found: "ForkPoints") -> None:
    if not found.points:
        screen.line("No turn has anything of it. Other words or fewer filters find more; see also `ldg search -h`.")
    for at, point in enumerate(found.points, 1):
        _print_point(screen, at, point)


def _print_point(screen: Screen, at: int, point: "ForkPoint") -> None:
    when = ago(point.started_at) if screen.is_terminal else clock(point.started_at)
    folder = (point.project or "").replace("\\", "/").rstrip("/").rpartition("/")[2]
    about = [point.origin or "", folder, f"turn {number(point.depth)}", when]
    head: list[Part] = [(short(point.turn_id), "cyan"), "  ", (point.session or "(no session)", "bold")]
    if point.title:
        head.append(f"  {point.title}")
    screen.hanging(*head, (f"  {' · '.join(word for word in about if word)}", "dim"), first=f"{at:>2}  ", rest=" " * 9)
    screen.block("; ".join(point.reasons), indent=4, first="why: ", rest=" " * 5)
    stand = point.stands[0]
    where = "here" if not stand.turns_above else f"{plural(stand.turns_above, 'turn')} before"
    screen.hanging((f"{where}: ", "dim"), *marked(point.snippet), first=" " * 4, rest=" " * 9)
    if stand.turns_above and point.opening:
        screen.block(" ".join(point.opening.split()), indent=4, first="asked here: ", rest=" " * 5)
    screen.line()


def _print_next(screen: Screen, opened: Door, found: "ForkPoints") -> None:
    again = " ".join([opened.ldg, "fork", "--find", quoted(found.question), *chosen()])
    seen = f"context {short(found.points[0].turn_id)} --query {quoted(found.question)}"
    screen.unbroken(("go on from the first: ", "dim"), f"{again} --pick 1 --into claude-code")
    screen.unbroken(("what an agent would see: ", "dim"), f"{opened.ldg} {seen}")
