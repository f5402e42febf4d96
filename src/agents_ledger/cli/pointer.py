"""`ldg head`, `history`, `including`: where sessions point, and pointed."""

import click

from agents_ledger.cli.completing import complete_ids, complete_sessions
from agents_ledger.cli.door import Door, door
from agents_ledger.cli.options import print_more, with_limit
from agents_ledger.cli.screen import Part, Screen
from agents_ledger.cli.shapes import answer
from agents_ledger.cli.words import clock, short
from agents_ledger.model.rows import MoveRow
from agents_ledger.model.times import iso, now_ms, parse

_STYLES = {"rewind": "yellow", "replay": "yellow", "fork": "green", "recover": "red"}


@click.command()
@click.argument("session", shell_complete=complete_sessions)
@click.option("--at", metavar="TIME", help="A time: 2026-11-15, 2026-11-15T20:53, 90m, '2d ago', Unix seconds.")
@door
def head(opened: Door, session: str, at: str | None) -> None:
    """The id of the turn that SESSION points at, now or at a time."""
    moment = None if at is None else parse(at, now_ms())
    with opened.reading() as ledger:
        found = ledger.head(session, at=moment)
    if opened.as_json:
        answer({"session": session, "turn_id": found, "at": moment})
    elif found is not None:
        Screen().line(found)
    else:
        point = f" at {clock(moment) if moment else at}"  # a clock shows no 0: it is an unknown time elsewhere
        click.echo(
            f"ldg: session {session!r} had no turns{point}" if at else f"ldg: {session!r} has no turns", err=True
        )
    if found is None:
        click.get_current_context().exit(1)


@click.command()
@click.argument("session", shell_complete=complete_sessions)
@with_limit("Movements", 200)
@click.option("--cursor", type=click.IntRange(0), default=0, metavar="SEQ", help="The next page: after this movement.")
@door
def history(opened: Door, session: str, limit: int, cursor: int) -> None:
    """Every movement of SESSION's pointer, oldest first."""
    with opened.reading() as ledger:
        leads_to, former = ledger.session(session).label, ledger.former(session)
        label = leads_to if former is None else former.label
        found = ledger.history(session, after=cursor, limit=limit + 1)
    moves, following = found[:limit], found[limit - 1].id if len(found) > limit else None
    if opened.as_json:
        answer({"session": label, "moves": moves, "next": following})
        return
    screen = Screen()
    if former is not None:
        screen.line((f"{label} leads to {leads_to} now; these are its own movements", "dim"))
    if not moves:
        screen.line("There are no more." if cursor else f"{label} has not moved yet: it has no turns.")
        return
    screen.table(("SEQ", "WHEN", "WHY", "FROM", "TO"), [_row(move, screen) for move in moves], right=("SEQ",))
    if following:
        print_more(screen, opened, "history", of=label, cursor=str(following))


@click.command()
@click.argument("turn", shell_complete=complete_ids)
@with_limit("Sessions", 200)
@click.option("--cursor", default="", metavar="LABEL", help="The next page: after this session.")
@door
def including(opened: Door, turn: str, limit: int, cursor: str) -> None:
    """The sessions that have ever had TURN in their thread, also those that were rewound."""
    with opened.reading() as ledger:
        turn_id = ledger.find(turn)
        found = ledger.including(turn_id, after=cursor, limit=limit + 1)
        is_live = not found and ledger.get(turn_id).turn.seal_seq is None
    labels, following = found[:limit], found[limit - 1] if len(found) > limit else None
    if opened.as_json:
        answer({"turn_id": turn_id, "sessions": labels, "next": following})
    else:
        screen = Screen()
        for label in labels:
            screen.line(label)
        if following:
            print_more(screen, opened, "including", short(turn_id), cursor=following)
    if not labels and not cursor:
        if not opened.as_json:
            hint = "it is still being written" if is_live else f"`{opened.ldg} fork {short(turn_id)}` makes one"
            click.echo(f"ldg: no session has had turn {turn_id}: {hint}", err=True)
        click.get_current_context().exit(1)


def _row(move: MoveRow, screen: Screen) -> list[Part]:
    origin = short(move.from_thread_id) if move.from_thread_id else "-"
    return [
        str(move.id),
        clock(move.changed_at) if screen.is_terminal else iso(move.changed_at or None) or "-",
        (move.reason, _STYLES.get(move.reason, "")),
        origin,
        (short(move.thread_id), "bold"),
    ]
