"""`ldg rewind`, `forward`: pointers move, turns stay."""

import click

from agents_ledger.cli.completing import complete_ids, complete_sessions
from agents_ledger.cli.door import Door, door
from agents_ledger.cli.screen import Screen
from agents_ledger.cli.shapes import answer
from agents_ledger.cli.words import named, short
from agents_ledger.model.rows import MoveRow


@click.command()
@click.argument("session", shell_complete=complete_sessions)
@click.argument("turn", required=False, shell_complete=complete_ids)
@click.option("--turns", type=click.IntRange(min=1), metavar="N", help="Go back by N turns (1, if nothing is said).")
@door
def rewind(opened: Door, session: str, turn: str | None, turns: int | None) -> None:
    """Moves SESSION back, to TURN or by a number of turns; nothing is lost."""
    if turn is not None and turns is not None:
        raise click.UsageError("name a TURN or --turns, not both")
    with opened.writing() as ledger:
        move = ledger.rewind(session, None if turn is None else ledger.find(turn), turns=turns)
    _say(opened, move, f"`{opened.ldg} forward {named(move.session_label)}` undoes it")


@click.command()
@click.argument("session", shell_complete=complete_sessions)
@click.argument("turn", required=False, shell_complete=complete_ids)
@door
def forward(opened: Door, session: str, turn: str | None) -> None:
    """Moves SESSION forward again, to where it was before it was rewound (or to TURN on the way)."""
    with opened.writing() as ledger:
        move = ledger.forward(session, None if turn is None else ledger.find(turn))
    _say(opened, move, f"`{opened.ldg} history {named(move.session_label)}` shows every movement")


def _say(opened: Door, move: MoveRow, hint: str) -> None:
    if opened.as_json:
        answer({"move": move})
        return
    screen = Screen()
    origin = short(move.from_thread_id or "")
    screen.line(f"{move.reason}: ", (move.session_label, "bold"), f" moved from {origin} to {short(move.thread_id)}")
    screen.line((hint, "dim"))
