"""`ldg sessions`: the list, page by page."""

import click

from agents_ledger.cli.door import Door, door
from agents_ledger.cli.filters import chosen, filtered
from agents_ledger.cli.options import print_more, with_cursor, with_limit, with_pager
from agents_ledger.cli.screen import Part, Screen, cell_width, cut, paged
from agents_ledger.cli.shapes import answer, session_line
from agents_ledger.cli.terminal import one_line
from agents_ledger.cli.words import number, plural, when
from agents_ledger.model.filters import EVERYTHING, Filters
from agents_ledger.model.overview import SessionLine

_COLUMNS = ("SESSION", "TURNS", "TOKENS", "MODEL", "LAST USED", "STATUS")
_TITLE = 40
_GAP = 2
_SHORTEST_TITLE = 24
_BESIDE = 44  # columns of a terminal that turns, time and title need beside the name
_CAPTURED = ("TITLE", "PROJECT")  # shown where a session has one


@click.command()
@with_limit("Sessions")
@with_cursor
@filtered
@with_pager
@door
def sessions(opened: Door, filters: Filters, limit: int, cursor: str | None, pager: bool | None) -> None:
    """The sessions, the last used first."""
    after = None if cursor is None else parse_cursor(cursor)
    with opened.reading() as ledger:
        found = ledger.sessions(filters, limit=limit + 1, after=after)
    page, following = found[:limit], cursor_of(found[limit - 1]) if len(found) > limit else None
    if opened.as_json:
        answer({"sessions": [session_line(line) for line in page], "next": following})
        return
    if not page and filters != EVERYTHING:
        Screen().line(f"No session fits these filters: `{opened.ldg} sessions` alone shows all.")
        return
    if not page:
        Screen().line(
            f"No sessions here. `{opened.ldg} sync` captures the agents' sessions, "
            f"`{opened.ldg} demo` makes some to look at."
        )
        return
    with paged(is_wanted=pager) as screen:
        print_sessions(screen, page)
        if following:
            print_more(screen, opened, "sessions", *chosen(), cursor=following)


def print_sessions(screen: Screen, found: list[SessionLine]) -> None:
    """The sessions as a table; on a terminal that is too small for their names and titles, in two lines each."""
    widest = max((cell_width(one_line(line.session.label)) for line in found), default=0)
    if screen.width is not None and widest + _BESIDE > screen.width:
        _print_narrow(screen, found, screen.width)
        return
    more = [name for name in _CAPTURED if any(_captured(line, name, screen) for line in found)]
    rows = [_row(line, screen) + [_captured(line, name, screen) or "-" for name in more] for line in found]
    screen.table(
        [*_COLUMNS, *more],
        rows,
        right=("TURNS", "TOKENS"),
        cut=("TITLE",),
        optional=("STATUS", "PROJECT", "TOKENS", "MODEL"),
    )


def _print_narrow(screen: Screen, found: list[SessionLine], width: int) -> None:
    for line in found:
        used, label = when(line.used_at, screen), one_line(line.session.label)
        gap = " " * max(width - cell_width(label) - cell_width(used), _GAP)
        style = "bold" if line.session.status == "active" else "dim"
        screen.line((line.session.label, style), gap, (used, "dim"))
        facts = _facts(line, width - _SHORTEST_TITLE)
        title = cut(line.title or line.opening or "", max(width - cell_width(facts) - 2 * _GAP, _GAP))
        screen.line("  ", title, "  " if title else "", (facts, "dim"))


def _facts(line: SessionLine, room: int) -> str:
    """What there is to say about a session, as far as there is room; how many turns it has in any case."""
    tokens = None if line.thread_tokens is None else f"{number(line.thread_tokens)} tokens"
    status = None if line.session.status == "active" else _status(line)
    said = plural(line.depth or 0, "turn")
    for part in (status, "subagent" if line.session.is_subagent else None, tokens, line.model):
        if part and cell_width(f"{said} · {one_line(part)}") <= room:
            said += f" · {one_line(part)}"
    return said


def cursor_of(line: SessionLine) -> str:
    """Where the next page begins."""
    return f"{line.session.updated_at}:{line.session.label}"


def parse_cursor(text: str) -> tuple[int, str]:
    """The (updated_at, label) of a cursor."""
    at, colon, label = text.partition(":")
    if not colon or not at.isdecimal() or not label:
        raise click.BadParameter(f"{text!r} is not a cursor: copy the one that the last page ended with")
    return int(at), label


def _row(line: SessionLine, screen: Screen) -> list[Part]:
    session = line.session
    label_style = "bold" if session.status == "active" else "dim"
    status = f"{_status(line)}, subagent" if session.is_subagent else _status(line)
    return [
        (session.label, label_style),
        number(line.depth or 0),
        number(line.thread_tokens),
        (line.model or "-", "cyan"),
        when(line.used_at, screen),
        (status, "" if session.status == "active" else "dim"),
    ]


def _status(line: SessionLine) -> str:
    return line.session.status if line.leads_to is None else f"{line.session.status}, leads to {line.leads_to}"


def _captured(line: SessionLine, name: str, screen: Screen) -> str | None:
    """What a source says about its session; on a terminal a project is the last part of its path."""
    if name == "TITLE":
        words = line.title or line.opening
        return cut(words, _TITLE) if words else None
    if line.project and screen.is_terminal:
        return line.project.replace("\\", "/").rstrip("/").rpartition("/")[2]
    return line.project
