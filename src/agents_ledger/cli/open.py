"""`ldg open`: a session in its own agent again."""

import os
import shutil
import subprocess

import click

from agents_ledger.capture.resuming import Opened, opened
from agents_ledger.cli.completing import complete_ids
from agents_ledger.cli.door import Door, door
from agents_ledger.cli.fork import in_folder
from agents_ledger.cli.screen import Screen
from agents_ledger.cli.shapes import answer
from agents_ledger.cli.words import short
from agents_ledger.errors import NotFound


@click.command()
@click.argument("id", shell_complete=complete_ids)
@click.option("--run", is_flag=True, help="Run the command, in the session's folder.")
@door
def open(door_: Door, id: str, run: bool) -> None:  # noqa: A001, A002 - the names on the screen
    """The command that resumes a session in its own agent, at its newest turn.

    ID is a session's label, the agent's own id of it, or a turn in it.
    """
    with door_.reading() as ledger:
        found = opened(ledger, id)
    if door_.as_json:
        answer({"open": found})
    else:
        _say(door_, found)
    if run:
        click.get_current_context().exit(_run(found))


def _say(door_: Door, found: Opened) -> None:
    screen = Screen()
    screen.line((in_folder(found.folder, found.command), "bold"))
    if found.is_elsewhere:
        hint = f"`{door_.ldg} fork {short(found.turn_id)} --into {found.agent}` continues at its head in the ledger"
        screen.line((f"{found.command[0]} goes on at the end of its file; {hint}", "yellow"))


def _run(found: Opened) -> int:
    program = shutil.which(found.command[0])
    if program is None:
        raise NotFound(f"there is no program {found.command[0]!r} here: install {found.agent}, or name it in PATH")
    if found.folder is not None and not os.path.isdir(found.folder):  # noqa: PTH112 - a path as text
        raise NotFound(f"the folder {found.folder} is no longer there: make it again, then run the command above")
    return subprocess.run([program, *found.command[1:]], cwd=found.folder, check=False).returncode  # noqa: S603 - it is what was asked for
