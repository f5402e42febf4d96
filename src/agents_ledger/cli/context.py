"""`ldg context`: what an agent would see."""

import click

from agents_ledger.cli.completing import complete_ids
from agents_ledger.cli.door import Door, door
from agents_ledger.cli.options import with_pager
from agents_ledger.cli.screen import paged
from agents_ledger.cli.shapes import answer
from agents_ledger.ledger.context import as_text


@click.command()
@click.argument("turn", shell_complete=complete_ids)
@click.option("--query", metavar="TEXT", help="The question that comes next.")
@with_pager
@door
def context(opened: Door, turn: str, query: str | None, pager: bool | None) -> None:
    """What an agent would see after TURN (or a session's head): system prompt, summary, kept turns, query."""
    with opened.reading() as ledger:
        seen = ledger.context(ledger.find(turn), query)
    if opened.as_json:
        answer({"context": seen})
    else:
        with paged(is_wanted=pager) as screen:
            screen.block(as_text(seen))
