"""Options that several commands have. Loads nothing but click."""

import re
import shlex
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from agents_ledger.cli.door import Door
    from agents_ledger.cli.screen import Screen

F = TypeVar("F", bound=Callable[..., Any])

with_pager: Callable[[F], F] = click.option(
    "--pager/--no-pager",
    default=None,
    help="Through $PAGER (else less), or not; by default if a terminal is too small for it.",
)


def with_limit(what: str, default: int = 50) -> Callable[[F], F]:
    """`--limit`: how much of a list is on a page."""
    return click.option(
        "--limit", type=click.IntRange(1, 10_000), default=default, show_default=True, help=f"{what} on a page."
    )


with_cursor: Callable[[F], F] = click.option(
    "--cursor", metavar="CURSOR", help="The next page: the cursor that the last one ended with."
)


def print_more(
    screen: "Screen", opened: "Door", command: str, *chosen: str, cursor: str, of: str | None = None
) -> None:
    """The command that shows the next page of a list, `of` a session or of what was asked."""
    from agents_ledger.cli.words import named  # noqa: PLC0415 - only where a command is named

    options = [*chosen, f"--cursor {shlex.quote(cursor)}"]
    screen.line()
    screen.unbroken(
        ("more: ", "dim"), f"{opened.ldg} {command} {' '.join(options) if of is None else named(of, *options)}"
    )


def tokens(ctx: click.Context, param: click.Parameter, value: str | None) -> int | None:
    """A number of tokens out of what people write, as the callback of an option: 150000, 150k, 1M."""
    if value is None:
        return None
    found = _TOKENS.fullmatch(value.strip().replace(",", "").lower())
    if found is None:
        raise click.BadParameter(f"{value!r} is no number of tokens: write 150000 or 150k", ctx, param)
    return int(found[1]) * {"": 1, "k": 1000, "m": 1_000_000}[found[2]]


_TOKENS = re.compile(r"([1-9][0-9]{0,11})([km]?)")
