"""`ldg migrate`: brings an older ledger up to date."""

import click

from agents_ledger.cli.door import Door, door
from agents_ledger.cli.screen import Screen
from agents_ledger.cli.shapes import answer
from agents_ledger.cli.words import plural
from agents_ledger.ledger.opening import require_there
from agents_ledger.store import Database, open_database
from agents_ledger.store import migrate as steps


@click.command()
@click.option("--check", is_flag=True, help="Only say what would be done; exit code 1 if there is something.")
@door
def migrate(opened: Door, check: bool) -> None:
    """Applies the migrations that the ledger does not have yet, each in one transaction."""
    require_there(opened.url)
    database = open_database(opened.url, readonly=True)
    try:
        names = [step.name for step in steps.pending(database)]
    finally:
        database.close()
    if check:
        _say(opened, "pending", names)
        if names:
            click.get_current_context().exit(1)
        return
    _say(opened, "applied", _apply(opened.url) if names else [])


def _apply(url: str) -> list[str]:
    database: Database = open_database(url)
    try:
        return steps.migrate(database)
    finally:
        database.close()


def _say(opened: Door, what: str, names: list[str]) -> None:
    if opened.as_json:
        answer({what: names})
    elif names:
        Screen().line(f"{plural(len(names), 'migration')} {what}: {', '.join(names)}")
    else:
        Screen().line("the ledger is up to date")
