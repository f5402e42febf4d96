"""`ldg backup`: a consistent copy."""

from pathlib import Path

import click

from agents_ledger.cli.door import Door, door
from agents_ledger.cli.progress import progress
from agents_ledger.cli.screen import Screen
from agents_ledger.cli.shapes import answer
from agents_ledger.cli.words import size
from agents_ledger.ledger.opening import opened_as_it_is
from agents_ledger.store.migrate import pending


@click.command()
@click.argument("target")
@door
def backup(opened: Door, target: str) -> None:
    """Copies the ledger into the new file TARGET, while others read and write. Never overwrites."""
    database = opened_as_it_is(opened.url)
    try:
        with progress("copying", is_wanted=not opened.as_json) as advance:
            path = Path(database.backup(target, advance))
        is_file, is_old = database.dialect == "sqlite", bool(pending(database))
    finally:
        database.close()
    size_bytes = path.stat().st_size
    if opened.as_json:
        answer({"target": str(path), "size_bytes": size_bytes})
        return
    screen = Screen()
    screen.line(f"wrote {path} ({size(size_bytes)})")
    if not is_file:
        screen.line((f"`pg_restore --dbname=… {path}` brings it back", "dim"))
    elif is_old:
        screen.line(("it is of an older version, as the ledger is", "dim"))
    else:
        screen.line((f"`ldg verify --db {path}` checks it", "dim"))
