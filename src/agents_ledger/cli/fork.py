"""`ldg fork`: a new session at any turn, in the ledger alone or in the files of an agent that resumes it."""

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import click

from agents_ledger.cli.completing import complete_ids
from agents_ledger.cli.door import Door, door
from agents_ledger.cli.screen import Screen
from agents_ledger.cli.shapes import answer
from agents_ledger.cli.terminal import one_line
from agents_ledger.cli.words import number, plural, quoted, short, size

if TYPE_CHECKING:
    from agents_ledger.model.story import Loss


@click.command()
@click.argument("turn", shell_complete=complete_ids)
@click.option("--label", metavar="L", help="The new session's name; made up if not given.")
@click.option(
    "--into",
    metavar="AGENT",
    help="Write it for an agent: claude-code, codex, pi, agentuse …; or tell it: openai, anthropic, gemini-api, html …",
)
@click.option("--to", metavar="DIR", help="With --into: a folder for the file, in place of the agent's own.")
@click.option("--report", is_flag=True, help="With --into: say what could not be carried over as it was.")
@door
def fork(opened: Door, turn: str, label: str | None, into: str | None, to: str | None, report: bool) -> None:
    """A new session at TURN; the original is untouched.

    With --into, the session is written into the agent's own files, with exactly the history up to TURN, and the
    command is printed that resumes it there. What the agent adds is attached to TURN by the next `ldg sync`.
    AGENT is claude-code, codex, pi, openclaw, agentuse, gemini, qwen or opencode. An API (openai, openai-responses,
    anthropic, gemini-api) gets the body of a request, a reader a document (markdown, html, jsonl): printed, or below
    --to.
    """
    if into is None and (to is not None or report):
        raise click.UsageError("--to and --report go with --into AGENT")
    if into is not None and label is not None:
        raise click.UsageError("--label and --into do not go together: the agent gives the session its name")
    if into is None:
        _fork_here(opened, turn, label)
    elif _is_told(into):
        _tell_into(opened, turn, into, to, report=report)
    else:
        _fork_into(opened, turn, into, to, report=report)


def _fork_here(opened: Door, turn: str, label: str | None) -> None:
    with opened.writing() as ledger:
        made = ledger.fork(ledger.find(turn), label)
    if opened.as_json:
        answer({"session": made})
        return
    screen = Screen()
    screen.line("forked: ", (made.label, "bold green"), f" begins at {short(made.thread_id or '')}")
    screen.line((f"its next turn makes a branch; see `ldg tree {quoted(made.label)}`", "dim"))


def _tell_into(opened: Door, turn: str, into: str, to: str | None, *, report: bool) -> None:
    """The same conversation for an API or a reader: nothing is resumed there, so no session is made."""
    from agents_ledger.cli.export import export_thread  # noqa: PLC0415 - only this needs it

    if opened.as_json and to is None:
        raise click.UsageError(f"--json says what was written, and {into} is a document: name a folder with --to")
    if to is not None:
        Path(to).mkdir(parents=True, exist_ok=True)
    with opened.reading() as ledger:
        losses = export_thread(opened, ledger, turn, into, to)
    for loss in losses if report and not opened.as_json else ():
        click.echo(one_line(f"{loss.code}: {loss.detail} (times: {loss.count})"), err=True)


def _is_told(into: str) -> bool:
    from agents_ledger.exports.targets import TARGETS  # noqa: PLC0415 - as above

    return into in TARGETS


def _fork_into(opened: Door, turn: str, into: str, to: str | None, *, report: bool) -> None:
    from agents_ledger import config  # noqa: PLC0415 - loads the formats, which only this needs
    from agents_ledger.capture.forking import fork_into  # noqa: PLC0415 - as above

    with opened.writing() as ledger:
        made = fork_into(ledger, config.machine(), ledger.find(turn), into, to)
    if opened.as_json:
        answer({"fork": made})
        return
    screen = Screen()
    screen.line("forked: ", (made.session, "bold green"), f" begins at {short(made.turn_id)}")
    screen.line(
        f"written: {made.path} ({plural(made.lines, 'file' if made.is_folder else 'line')}, {size(made.size_bytes)})"
    )
    screen.line("resume it: ", (in_folder(made.folder, made.command), "bold"))
    if not made.is_in_place:
        screen.line(
            (f"{made.command[0]} does not look there by itself: put the file where it does, or see `--help`", "dim")
        )
    _tell_losses(screen, made.losses, whole=report)


def in_folder(folder: str | None, command: tuple[str, ...]) -> str:
    """A command as it is typed in a shell, in its folder."""
    typed = shlex.join(command)
    return typed if folder is None else f"cd {shlex.quote(folder)} && {typed}"


def _tell_losses(screen: Screen, losses: "list[Loss]", *, whole: bool) -> None:
    if not losses:
        if whole:
            screen.line(("everything was carried over as it was", "dim"))
        return
    if not whole:
        count = sum(loss.count for loss in losses)
        screen.line((f"{plural(count, 'thing')} could not be carried over as it was: `--report` says what", "dim"))
        return
    rows = [[loss.code, loss.detail, number(loss.count)] for loss in losses]
    screen.table(("NOT AS IT WAS", "WHAT", "TIMES"), rows, right=("TIMES",))
