"""`ldg timeline`: what happened, by day, project and session."""

import sys
from collections.abc import Callable, Iterable

import click

from agents_ledger.cli.door import Door, door
from agents_ledger.cli.ending import INTERRUPTED
from agents_ledger.cli.filters import chosen, filtered
from agents_ledger.cli.options import print_more, with_cursor, with_limit, with_pager
from agents_ledger.cli.screen import Part, Screen, cell_width, cut, paged
from agents_ledger.cli.shapes import answer
from agents_ledger.cli.terminal import one_line
from agents_ledger.cli.turns import mark_of
from agents_ledger.cli.words import clock, number, plural, short, took
from agents_ledger.ledger import Ledger
from agents_ledger.ledger.timeline import Moment, follow, page
from agents_ledger.model.filters import EVERYTHING, Filters

_PLAIN_WIDTH = 160
_FEWEST_WORDS = 20
_WORDS = 40
_DAY = 10  # of 2026-11-15 20:53:02
_INDENT = "    "
Groups = tuple[str, str, str]


@click.command()
@with_limit("Turns")
@with_cursor
@click.option("--follow", "-f", "is_following", is_flag=True, help="Go on: each turn as it comes; Ctrl-C ends it.")
@filtered
@with_pager
@door
def timeline(
    opened: Door, filters: Filters, limit: int, cursor: str | None, is_following: bool, pager: bool | None
) -> None:
    """Everything that the agents did, newest first, by day, project and session.

    With --follow the last turns come in the order of time, then those that happen from now on; with --json, one
    document on each line.
    """
    if is_following and cursor is not None:
        raise click.UsageError("--follow begins at the end: leave --cursor out")
    with opened.reading() as ledger:
        if is_following:
            _follow(opened, ledger, filters, limit)
        else:
            found = page(ledger.database, filters, before=cursor, limit=limit + 1)
    if not is_following:
        _show_page(opened, found, filters, limit, pager)


def _show_page(opened: Door, found: list[Moment], filters: Filters, limit: int, pager: bool | None) -> None:
    shown, following = found[:limit], found[limit - 1].id if len(found) > limit else None
    if opened.as_json:
        answer({"turns": shown, "next": following})
        return
    if not shown:
        fits = "No turn fits these filters" if filters != EVERYTHING else "Nothing has happened yet"
        Screen().line(f"{fits}. `{opened.ldg} sync` captures the agents' sessions.")
        return
    with paged(is_wanted=pager) as screen:
        tell = _teller(screen)
        for moment in _grouped(shown):
            tell(moment)
        if following:
            print_more(screen, opened, "timeline", *chosen(), cursor=following)


def _follow(opened: Door, ledger: Ledger, filters: Filters, limit: int) -> None:
    tell = _as_line if opened.as_json else _teller(Screen())
    try:
        for moment in follow(ledger.database, filters, last=limit):
            tell(moment)
            sys.stdout.flush()
    except KeyboardInterrupt:
        click.get_current_context().exit(INTERRUPTED)


def _as_line(moment: Moment) -> None:
    answer({"turn": moment})


def _grouped(moments: list[Moment]) -> Iterable[Moment]:
    """By day, project and session, each where its newest turn is."""
    places: dict[tuple[str, ...], int] = {}
    keys = []
    for at, moment in enumerate(moments):
        groups = _groups(moment)
        keys.append(tuple(places.setdefault(groups[:depth], at) for depth in (1, 2, 3)))
    return [moment for _, _, moment in sorted(zip(keys, range(len(moments)), moments, strict=True))]


def _groups(moment: Moment) -> Groups:
    return clock(moment.started_at)[:_DAY], moment.project or "", moment.session_label or ""


def _teller(screen: Screen) -> Callable[[Moment], None]:
    """Prints turns, and above them what they belong to where it differs from the last one's."""
    last: list[str] = []

    def tell(moment: Moment) -> None:
        groups = list(_groups(moment))
        if groups[:1] != last[:1]:
            if last:
                screen.line()
            screen.line((groups[0], "bold"))
        if groups[:2] != last[:2]:
            style = "bold cyan" if moment.project else "dim"
            screen.hanging((moment.project or "no project", style), first="  ", rest=_INDENT)
        if groups != last:
            screen.hanging(*_session(moment), first=_INDENT, rest=f"{_INDENT}    ")
        last[:] = groups
        screen.drawing([_turn(moment, screen.width or _PLAIN_WIDTH)])

    return tell


def _session(moment: Moment) -> list[Part]:
    label: Part = (moment.session_label, "green") if moment.session_label else ("a branch of no session", "dim")
    said = [moment.title] if moment.title else []
    said += ["subagent"] if moment.is_subagent else []
    return [label, ("".join(f"  {part}" for part in said), "dim")]


def _turn(moment: Moment, width: int) -> list[Part]:
    mark, style = mark_of(moment.status, moment.turn_type)
    time = clock(moment.started_at)[_DAY + 1 :]
    room = width - cell_width(f"{_INDENT}  {time} {mark} {short(moment.id)}  ") - 1
    facts, opening = _facts(moment), one_line(moment.opening or "")
    # its words say more than its facts
    while facts and room - cell_width("  ".join(["", *facts])) < min(_WORDS, cell_width(opening)):
        facts.pop(0)
    said = "  ".join(facts)
    words = cut(opening, max(_FEWEST_WORDS, room - cell_width(said) - 2))
    parts: list[Part] = [_INDENT, "  ", (time, "dim"), " ", (mark, style), " ", (short(moment.id), "dim"), "  ", words]
    return [*parts, "  ", (said, "dim")] if said else parts


def _facts(moment: Moment) -> list[str]:
    """What else there is to say, the least important first."""
    calls = plural(moment.tool_call_count, "call") if moment.tool_call_count else None
    tokens = None if not moment.total_tokens else f"{number(moment.total_tokens)} tokens"
    state = moment.status if moment.status != "completed" else None
    facts = (moment.model, calls, tokens, took(moment.started_at, moment.completed_at), state)
    return [fact for fact in facts if fact]
