"""`ldg compact`: a summary stands for the earlier turns."""

import sys
from pathlib import Path

import click

from agents_ledger.cli.completing import complete_sessions
from agents_ledger.cli.door import Door, door
from agents_ledger.cli.screen import Screen
from agents_ledger.cli.shapes import answer
from agents_ledger.cli.words import short

_TRIGGERS = click.Choice(["context_limit", "manual", "periodic"])


@click.command()
@click.argument("session", shell_complete=complete_sessions)
@click.option("--summary", required=True, metavar="TEXT|@FILE|-", help="The summary: a text, a file, or stdin.")
@click.option("--keep", type=click.IntRange(min=0), metavar="N", help="The last N turns stay word for word (0).")
@click.option("--trigger", type=_TRIGGERS, default="manual", show_default=True, help="Why it happens.")
@door
def compact(opened: Door, session: str, summary: str, keep: int | None, trigger: str) -> None:
    """Adds a compaction turn to SESSION; the summarised turns stay in the ledger."""
    text = read_text(summary)
    with opened.writing() as ledger:
        turn_id = ledger.compact(session, text, keep=keep, trigger=trigger)
    if opened.as_json:
        answer({"turn_id": turn_id})
        return
    screen = Screen()
    screen.line("compacted: turn ", (short(turn_id), "bold"), f" summarises {session}")
    screen.line((f"`ldg context {short(turn_id)}` shows what the agent sees from here", "dim"))


def read_text(given: str) -> str:
    """A text as it was given, from a file (`@path`), or from standard input (`-`)."""
    if given == "-":
        text = sys.stdin.read()
    elif given.startswith("@"):
        text = Path(given[1:]).read_text("utf-8")
    else:
        text = given
    if not text.strip():
        raise click.BadParameter("it is empty: write a few words", param_hint="'--summary'")
    return text
