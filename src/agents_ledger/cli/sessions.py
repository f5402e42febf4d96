"""`ldg sessions`: the list, page by page."""

import click

from agents_ledger.cli.door import Door, door
from agents_ledger.cli.screen import Part, Screen
from agents_ledger.cli.shapes import answer, session_line
from agents_ledger.cli.words import number, quoted, when
from agents_ledger.ledger.ledger import SessionLine

_COLUMNS = ("SESSION", "TURNS", "TOKENS", "MODEL", "LAST USED", "STATUS")


@click.command()
@click.option("--status", type=click.Choice(["active", "archived", "all"]), default="all", show_default=True)
@click.option("--limit", type=click.IntRange(1, 10_000), default=50, show_default=True, help="Sessions on a page.")
@click.option("--after", metavar="CURSOR", help="The next page: the cursor that the last one ended with.")
@door
def sessions(opened: Door, status: str, limit: int, after: str | None) -> None:
    """The sessions, the last used first."""
    cursor = None if after is None else parse_cursor(after)
    with opened.reading() as ledger:
        found = ledger.sessions(status=None if status == "all" else status, limit=limit + 1, after=cursor)
    page, following = found[:limit], cursor_of(found[limit - 1]) if len(found) > limit else None
    if opened.as_json:
        answer({"sessions": [session_line(line) for line in page], "next": following})
        return
    screen = Screen()
    if not page:
        screen.line("No sessions here. `ldg demo` makes some to look at.")
        return
    print_sessions(screen, page)
    if following:
        screen.line()
        screen.line(("more: ", "dim"), f"ldg sessions --after {quoted(following)}")


def print_sessions(screen: Screen, found: list[SessionLine]) -> None:
    """The table of sessions."""
    screen.table(_COLUMNS, [_row(line, screen) for line in found], right=("TURNS", "TOKENS"))


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
    status = f"{session.status}, subagent" if session.is_subagent else session.status
    return [
        (session.label, label_style),
        number(line.depth or 0),
        number(line.thread_tokens),
        (line.model or "-", "cyan"),
        when(session.updated_at, screen),
        (status, "" if session.status == "active" else "dim"),
    ]
