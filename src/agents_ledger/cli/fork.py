"""`ldg fork`: a new session at any turn, in the ledger alone or in the files of an agent that resumes it."""

import shlex
from typing import TYPE_CHECKING

import click
from msgspec import Struct
from msgspec.structs import replace

from agents_ledger.cli.completing import complete_ids
from agents_ledger.cli.door import Door, door
from agents_ledger.cli.filters import chosen, filtered
from agents_ledger.cli.options import tokens
from agents_ledger.cli.screen import Screen
from agents_ledger.cli.shapes import answer
from agents_ledger.cli.terminal import one_line
from agents_ledger.cli.words import named, number, plural, short, size

if TYPE_CHECKING:
    from agents_ledger.model.filters import Filters
    from agents_ledger.model.fork_points import ForkPoints
    from agents_ledger.model.story import Loss

_POINTS = click.IntRange(1, 60)
_LIMIT = 10


@click.command()
@click.argument("turn", required=False, shell_complete=complete_ids)
@click.option("--label", metavar="L", help="The new session's name; made up if not given.")
@click.option(
    "--into",
    metavar="AGENT",
    help="Write it for an agent: claude-code, codex, pi, agentuse …; or tell it: openai, anthropic, gemini-api, html …",
)
@click.option("--to", metavar="DIR", help="With --into: a folder for the file, in place of the agent's own.")
@click.option("--report", is_flag=True, help="With --into: say what could not be carried over as it was.")
@click.option("--find", metavar="QUESTION", help="In place of TURN: the best turns to ask this from, and why.")
@click.option("--pick", type=_POINTS, help="With --find: fork at this one of them.")
@click.option("--limit", type=_POINTS, help="With --find: so many of them; 10 if not given.")
@click.option(
    "--budget", metavar="TOKENS", callback=tokens, help="With --find: how large a context may be; 183,616 if not given."
)
@filtered
@door
def fork(
    opened: Door,
    turn: str | None,
    label: str | None,
    into: str | None,
    to: str | None,
    report: bool,
    find: str | None,
    pick: int | None,
    limit: int | None,
    budget: int | None,
    filters: "Filters",
) -> int:
    """A new session at TURN; the original is untouched.

    With --into, the session is written into the agent's own files, with exactly the history up to TURN, and the
    command is printed that resumes it there. What the agent adds is attached to TURN by the next `ldg sync`.
    AGENT is claude-code, codex, pi, openclaw, agentuse, gemini, qwen or opencode. An API (openai, openai-responses,
    anthropic, gemini-api) gets the body of a request, a reader a document (markdown, html, jsonl): printed, or below
    --to.

    With --find, the turns of all history (or under the filters) are ranked by how well QUESTION is asked from there:
    by what stands in the turn and on the way to it, whether the subject has changed since, the size of the context, and
    age. With --into, --label or --pick it goes on from the first or the picked one; on a terminal you are asked which.
    """
    if into is None and (to is not None or report):
        raise click.UsageError("--to and --report go with --into AGENT")
    if into is not None and label is not None:
        raise click.UsageError("--label and --into do not go together: the agent gives the session its name")
    if (turn is None) == (find is None):
        raise click.UsageError("name a TURN, or let one be found: --find QUESTION")
    if find is None and (pick or limit or budget or chosen()):
        raise click.UsageError("--pick, --limit, --budget and the filters go with --find QUESTION")
    start = Start(turn=turn or "", into=into, to=to, report=report, label=label)
    if find is None:
        _fork_at(opened, start)
        return 0
    from agents_ledger.cli.fork_points import find_points  # noqa: PLC0415 - only this needs it

    return _fork_found(opened, start, find_points(opened, find, filters, max(limit or _LIMIT, pick or 1), budget), pick)


class Start(Struct, frozen=True, kw_only=True):
    """Where to fork, and into what."""

    turn: str
    into: str | None
    to: str | None
    report: bool
    label: str | None
    question: str | None = None  # that was looked for
    found: dict[str, object] = {}  # what the answer says beside the fork


def _fork_found(opened: Door, start: Start, found: "ForkPoints", pick: int | None) -> int:
    """Forks at one of the points, if that is asked for; else shows them."""
    from agents_ledger.cli import fork_points  # noqa: PLC0415 - as above

    if not found.points or (start.into is None and start.label is None and pick is None):
        return fork_points.show_points(opened, found)
    point = fork_points.pick_point(opened, found, pick)
    if point is None:
        return 1
    if not opened.as_json:
        fork_points.say_point(point)
    beside = {"question": found.question, "point": point}
    _fork_at(opened, replace(start, turn=point.turn_id, question=found.question, found=beside))
    return 0


def _fork_at(opened: Door, start: Start) -> None:
    if start.into is None:
        _fork_here(opened, start)
    elif _is_told(start.into):
        _tell_into(opened, start, start.into)
    else:
        _fork_into(opened, start, start.into)


def _fork_here(opened: Door, start: Start) -> None:
    with opened.writing() as ledger:
        made = ledger.fork(ledger.find(start.turn), start.label)
    if opened.as_json:
        answer({**start.found, "session": made})
        return
    screen = Screen()
    screen.line("forked: ", (made.label, "bold green"), f" begins at {short(made.thread_id or '')}")
    screen.line((f"its next turn makes a branch; see `{opened.ldg} tree {named(made.label)}`", "dim"))


def _tell_into(opened: Door, start: Start, into: str) -> None:
    """The same conversation for an API or a reader: nothing is resumed there, so no session is made."""
    from agents_ledger.cli.export import export_thread  # noqa: PLC0415 - only this needs it

    if opened.as_json and start.to is None:
        raise click.UsageError(f"--json says what was written, and {into} is a document: name a folder with --to")
    if start.to is not None:
        from agents_ledger.store.files import make_private_folder  # noqa: PLC0415 - as above

        make_private_folder(start.to)
    with opened.reading() as ledger:
        losses = export_thread(opened, ledger, start.turn, into, start.to, start.question)
    for loss in losses if start.report and not opened.as_json else ():
        click.echo(one_line(f"{loss.code}: {loss.detail} (times: {loss.count})"), err=True)


def _is_told(into: str) -> bool:
    from agents_ledger.exports.targets import TARGETS  # noqa: PLC0415 - as above

    return into in TARGETS


def _fork_into(opened: Door, start: Start, into: str) -> None:
    from agents_ledger import config  # noqa: PLC0415 - loads the formats, which only this needs
    from agents_ledger.capture.forking import fork_into  # noqa: PLC0415 - as above

    with opened.writing() as ledger:
        made = fork_into(ledger, config.machine(), ledger.find(start.turn), into, start.to)
    if opened.as_json:
        answer({**start.found, "fork": made})
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
    _tell_losses(screen, made.losses, whole=start.report)


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
