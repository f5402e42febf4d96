"""`ldg backup`: a consistent copy."""

from pathlib import Path

import click

from agents_ledger.cli.door import Door, door
from agents_ledger.cli.progress import progress
from agents_ledger.cli.screen import Screen
from agents_ledger.cli.shapes import answer
from agents_ledger.cli.words import size


@click.command()
@click.argument("target")
@door
def backup(opened: Door, target: str) -> None:
    """Copies the ledger into the new file TARGET, while others read and write. Never overwrites."""
    with opened.reading() as ledger, progress("copying", is_wanted=not opened.as_json) as advance:
        ledger.database.backup(target, advance)
        is_file = ledger.database.dialect == "sqlite"
    path = Path(target).absolute()
    size_bytes = path.stat().st_size
    if opened.as_json:
        answer({"target": str(path), "size_bytes": size_bytes})
        return
    screen = Screen()
    screen.line(f"wrote {path} ({size(size_bytes)})")
    check = f"ldg verify --db {path}" if is_file else f"pg_restore --dbname=… {path}"
    screen.line((f"`{check}` checks it" if is_file else f"`{check}` brings it back", "dim"))
