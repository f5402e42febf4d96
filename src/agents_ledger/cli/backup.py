"""`ldg backup`: a consistent, verified copy."""

import click

from agents_ledger.cli.door import Door, door
from agents_ledger.cli.progress import progress
from agents_ledger.cli.screen import Screen
from agents_ledger.cli.shapes import answer
from agents_ledger.cli.words import plural, quoted, size
from agents_ledger.ledger.backups import Backup, back_up


@click.command()
@click.argument("target")
@door
def backup(opened: Door, target: str) -> None:
    """Copy the ledger into the new file TARGET while others read and write, and verify the copy.

    Never overwrites a file. Exit code 1 if the copy is not good. `ldg restore TARGET` puts it in the ledger's place.
    """
    with (
        progress("copying", is_wanted=not opened.as_json) as copying,
        progress("verifying", is_wanted=not opened.as_json) as verifying,
    ):
        made = back_up(opened.url, target, copying, verifying)
    if opened.as_json:
        found = {} if made.is_good else {"findings": made.findings}
        moved = {"set_aside": made.set_aside} if made.set_aside else {}
        answer({"target": made.path, "size_bytes": made.size_bytes, **moved, **found})
    else:
        _print(Screen(), opened, made)
    if not made.is_good:
        click.get_current_context().exit(1)


def _print(screen: Screen, opened: Door, made: Backup) -> None:
    for path in made.set_aside:
        screen.line(f"left over from a deleted database, renamed: {path}")
    if not made.is_good:
        first = made.findings[0]
        screen.line(("not good", "bold red"), f": wrote {made.path}, but {first.place} {first.row}: {first.what}")
        screen.line(
            f"{plural(len(made.findings), 'finding')}; `{opened.ldg} verify` shows whether the ledger has the same"
        )
        return
    screen.line(f"wrote {made.path} ({size(made.size_bytes)})" + (", verified" if made.is_file else ""))
    if not made.is_file:
        screen.line((f"`pg_restore --dbname=… {made.path}` brings it back", "dim"))
    elif made.is_old:
        screen.line(("it is of an older version, as the ledger is", "dim"))
    else:
        screen.line((f"`{opened.ldg} restore {quoted(made.path)}` restores it", "dim"))
