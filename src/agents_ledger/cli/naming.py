"""`ldg archive`, `unarchive`, `alias`, `merge`: what sessions are called, and whether they are in use."""

import click

from agents_ledger.cli.completing import complete_sessions
from agents_ledger.cli.door import Door, door
from agents_ledger.cli.screen import Screen
from agents_ledger.cli.shapes import answer
from agents_ledger.cli.words import named


@click.command()
@click.argument("session", shell_complete=complete_sessions)
@door
def archive(opened: Door, session: str) -> None:
    """Puts SESSION away; its turns stay."""
    with opened.writing() as ledger:
        row = ledger.archive(session)
    if opened.as_json:
        answer({"session": row})
    else:
        Screen().line((row.label, "bold"), f" is archived; `{opened.ldg} unarchive {named(row.label)}` brings it back")


@click.command()
@click.argument("session", shell_complete=complete_sessions)
@door
def unarchive(opened: Door, session: str) -> None:
    """Make an archived SESSION active again."""
    with opened.writing() as ledger:
        row = ledger.unarchive(session)
    if opened.as_json:
        answer({"session": row})
    else:
        Screen().line((row.label, "bold"), " is active")


@click.command()
@click.argument("alias")
@click.argument("session", shell_complete=complete_sessions)
@door
def alias(opened: Door, alias: str, session: str) -> None:
    """Lets the name ALIAS lead to SESSION."""
    with opened.writing() as ledger:
        row = ledger.alias(alias, session)
    if opened.as_json:
        answer({"alias": row})
    else:
        Screen().line((row.alias, "bold"), " leads to ", (row.session_label, "bold"))


@click.command()
@click.argument("session", shell_complete=complete_sessions)
@click.argument("into", shell_complete=complete_sessions)
@door
def merge(opened: Door, session: str, into: str) -> None:
    """Lets SESSION's label and aliases lead to the session INTO; its own turns stay where they are."""
    with opened.writing() as ledger:
        row = ledger.merge(session, into)
    if opened.as_json:
        answer({"session": row})
    else:
        Screen().line((session, "bold"), " and its aliases lead to ", (row.label, "bold"), " from now on")
