"""`ldg restore`: replace a ledger by a backup."""

from pathlib import Path

import click

from agents_ledger.cli.door import Door, door
from agents_ledger.cli.progress import progress
from agents_ledger.cli.screen import Screen
from agents_ledger.cli.shapes import answer
from agents_ledger.cli.words import named, plural
from agents_ledger.errors import LedgerError
from agents_ledger.ledger.restore import Restored
from agents_ledger.ledger.restore import restore as restore_file


@click.command()
@click.argument("backup", type=click.Path())
@door
def restore(opened: Door, backup: str) -> None:
    """Replace the ledger with a copy of BACKUP, a file written by `ldg backup`.

    The ledger's own file may be damaged or missing. It is kept under a new name, which is printed. BACKUP is copied
    and verified before anything is replaced. A ledger that another program has open is refused.

    To make an archived session active again, use `ldg unarchive`.
    """
    if not Path(backup).exists() and _is_session(opened, backup):
        raise click.UsageError(
            f"{backup!r} is a session, not a file, and `restore` takes a backup. To make an archived session active "
            f"again, use: {opened.ldg} unarchive {named(backup)}"
        )
    with (
        progress("copying", is_wanted=not opened.as_json) as copying,
        progress("verifying", is_wanted=not opened.as_json) as verifying,
    ):
        done = restore_file(backup, opened.url, copying, verifying)
    if opened.as_json:
        answer(
            {
                "restored": done.path,
                "backup": done.backup,
                "kept": done.kept,
                "set_aside": done.set_aside,
                "migrated": done.migrated,
                "turns": done.report.turns,
                "sessions": done.report.sessions,
            }
        )
    else:
        _print(Screen(), done)


def _print(screen: Screen, done: Restored) -> None:
    counted = f"{plural(done.report.turns, 'turn')}, {plural(done.report.sessions, 'session')}"
    screen.line(("restored", "bold green"), f" {done.path} from {done.backup}: {counted}, verified")
    if done.migrated:
        screen.line(f"the backup was of an older version: {plural(len(done.migrated), 'migration')} applied")
    if done.kept is not None:
        screen.line(f"the replaced file is kept as {done.kept}")
    for path in done.set_aside:
        screen.line(f"left over from a deleted ledger, renamed: {path}")


def _is_session(opened: Door, text: str) -> bool:
    """Whether the ledger, if it can be read at all, has a session of that name."""
    try:
        with opened.reading() as ledger:
            ledger.session(text)
    except LedgerError:
        return False
    return True
