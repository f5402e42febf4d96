"""The filters, as options of any command."""

import os
from collections.abc import Callable
from datetime import UTC
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar

import click

from agents_ledger.cli.completing import complete_origins

if TYPE_CHECKING:
    from agents_ledger.model.filters import Filters

R = TypeVar("R")
_STATUSES = ["active", "archived", "deleted", "pending", "streaming", "completed", "failed", "all"]
_OPTIONS = (
    click.option(
        "--origin",
        metavar="NAME",
        shell_complete=complete_origins,
        help="Only of this agent: claude-code, codex …; `*` stands for anything.",
    ),
    click.option("--channel", metavar="NAME", help="Only of this channel: telegram, slack …"),
    click.option(
        "--project", metavar="FOLDER", help="Only of this working folder, those in it, or those of this name."
    ),
    click.option("--model", metavar="NAME", help="Only of this model: 'claude-opus-*'."),
    click.option("--since", metavar="TIME", help="From then on: 2026-11-01, 7d, yesterday …"),
    click.option("--until", metavar="TIME", help="Up to then; a day counts whole."),
    click.option("--subagents/--no-subagents", default=None, help="Only what subagents did, or nothing of it."),
    click.option(
        "--status", type=click.Choice(_STATUSES), help="Only sessions (active …) or turns (failed …) of this status."
    ),
    click.option("--persona", metavar="NAME", help="Only on this persona's behalf."),
)
_NAMES = ("origin", "channel", "project", "model", "since", "until", "subagents", "status", "persona")


def filtered(body: Callable[..., R]) -> Callable[..., R]:
    """Gives a command all filters, and hands them to it as one value, `filters`; with `--utc`, days are UTC's."""

    @wraps(body)
    def command(*args: Any, **kwargs: Any) -> R:
        given = {name: kwargs.pop(name) for name in _NAMES}
        return body(*args, filters=_filters(given, is_utc=bool(kwargs.get("utc"))), **kwargs)

    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def chosen() -> list[str]:
    """The filters of this command, as they are typed: for the command that shows the next page."""
    import shlex  # noqa: PLC0415 - only on a page that has a next one

    given = {name: value for name in _NAMES if (value := click.get_current_context().params.get(name)) is not None}
    flags = {True: "--subagents", False: "--no-subagents"}
    return [
        flags[value] if value in (True, False) else f"--{name} {shlex.quote(value)}" for name, value in given.items()
    ]


def _filters(given: dict[str, Any], *, is_utc: bool) -> "Filters":
    from agents_ledger.model.filters import parsed  # noqa: PLC0415 - `ldg --help` is instant
    from agents_ledger.model.times import now_ms  # noqa: PLC0415 - as above

    if given["status"] == "all":
        given["status"] = None
    project = given["project"]
    if project is not None and project.startswith("."):
        given["project"] = os.path.abspath(project)  # noqa: PTH100 - no link is followed: it is only a name
    return parsed(now=now_ms(), zone=UTC if is_utc else None, **given)
