"""How a command that failed ends: one message that says what to do next, one exit code, never a traceback."""

import json
import sys

import click

from agents_ledger import config
from agents_ledger.cli.door import Door
from agents_ledger.cli.terminal import clean, json_safe
from agents_ledger.errors import LedgerError

BAD = 2
INTERRUPTED = 130


def ending_of(problem: Exception, *, as_json: bool, opened: Door) -> int:
    """Says what went wrong, on stderr (or as JSON on stdout); gives the exit code."""
    if isinstance(problem, click.Abort):
        return INTERRUPTED
    if config.is_debugging() and not isinstance(problem, LedgerError | click.ClickException):
        raise problem
    kind, message = _described(problem, opened)
    if as_json:
        sys.stdout.write(json_safe(json.dumps({"error": {"kind": kind, "message": message}})) + "\n")
    else:
        sys.stderr.write(f"ldg: {clean(message)}\n")
    return BAD


def _described(problem: Exception, opened: Door) -> tuple[str, str]:
    if isinstance(problem, LedgerError):
        return type(problem).__name__, opened.told(problem)
    if isinstance(problem, click.UsageError):
        command = problem.ctx.command_path if problem.ctx else "ldg"
        return "Usage", f"{problem.format_message().rstrip('.')} (`{command} --help` explains)"
    if isinstance(problem, click.ClickException):
        return "Usage", problem.format_message()
    if isinstance(problem, OSError) and problem.strerror:
        named = f"{problem.filename}: " if problem.filename else ""
        return "System", f"{named}{problem.strerror}"
    return "Bug", (
        f"this is a bug ({type(problem).__name__}: {problem}); nothing half-done was written. "
        "Please report it; AGENTS_LEDGER_DEBUG=1 shows where it happened"
    )
