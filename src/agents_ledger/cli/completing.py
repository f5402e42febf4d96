"""What a shell offers to complete: sessions, turns, names of ours. Quick, and silent whatever goes wrong."""

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

import click

from agents_ledger.cli.door import Door

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from agents_ledger.ledger import Ledger

Offers = Iterator[tuple[str, str]]
_SHORT = 8


def complete_sessions(ctx: click.Context, _: click.Parameter, incomplete: str) -> "list[CompletionItem]":
    """Labels of sessions, the last used first; with a beginning, those that begin like it."""
    return _offered(ctx, lambda ledger: _labels(ledger, incomplete))


def complete_ids(ctx: click.Context, _: click.Parameter, incomplete: str) -> "list[CompletionItem]":
    """Labels of sessions, and the ids of turns (whole, or their last characters)."""

    def offers(ledger: "Ledger") -> Offers:
        yield from _labels(ledger, incomplete)
        if incomplete:
            yield from _turns(ledger, incomplete)

    return _offered(ctx, offers)


def complete_origins(ctx: click.Context, _: click.Parameter, incomplete: str) -> "list[CompletionItem]":
    """The agents that sessions came from."""

    def offers(ledger: "Ledger") -> Offers:
        for name, count in ledger.origins().items():
            if name.startswith(incomplete):
                yield name, f"{count:,} sessions"

    return _offered(ctx, offers)


def complete_formats(_: click.Context, __: click.Parameter, incomplete: str) -> "list[CompletionItem]":
    """The formats that there are readers for."""
    from agents_ledger.formats import formats  # noqa: PLC0415 - only when a shell asks

    return _beginning(incomplete, (form.name for form in formats()))


def complete_dimensions(_: click.Context, __: click.Parameter, incomplete: str) -> "list[CompletionItem]":
    """What tokens are counted by; after a comma, the others."""
    from agents_ledger.ledger.stats import DIMENSIONS  # noqa: PLC0415 - as above

    before = incomplete.rpartition(",")[0]
    given = before.split(",") if before else []
    return _beginning(incomplete, (",".join([*given, each]) for each in DIMENSIONS if each not in given))


def complete_tables(_: click.Context, __: click.Parameter, incomplete: str) -> "list[CompletionItem]":
    """The tables of other systems."""
    from agents_ledger.faces.tables import TABLES  # noqa: PLC0415 - as above

    return _beginning(incomplete, TABLES)


def complete_abilities(_: click.Context, __: click.Parameter, incomplete: str) -> "list[CompletionItem]":
    """The abilities of Agent OS."""
    from agents_ledger.faces.agent_os.schemas import described  # noqa: PLC0415 - as above

    return _beginning(incomplete, described())


def _beginning(incomplete: str, names: Iterable[str]) -> "list[CompletionItem]":
    from click.shell_completion import CompletionItem  # noqa: PLC0415 - only when a shell asks

    return [CompletionItem(name) for name in names if name.startswith(incomplete)]


def _labels(ledger: "Ledger", beginning: str) -> Offers:
    from agents_ledger.ledger import names  # noqa: PLC0415 - only when a shell asks

    for label, title in names.labels(ledger.database, beginning):
        yield label, title or "session"


def _turns(ledger: "Ledger", beginning: str) -> Offers:
    from agents_ledger.ledger import names  # noqa: PLC0415 - only when a shell asks

    for turn_id, opening in names.turns(ledger.database, beginning):
        shown = turn_id if turn_id.startswith(beginning.upper()) else turn_id[-_SHORT:]
        yield shown, opening or "turn"


def _offered(ctx: click.Context, offers: "Callable[[Ledger], Offers]") -> "list[CompletionItem]":
    from click.shell_completion import CompletionItem  # noqa: PLC0415 - only when a shell asks

    from agents_ledger.cli.terminal import one_line  # noqa: PLC0415 - as above

    try:
        with ctx.ensure_object(Door).reading() as ledger:
            # a name with a control character in it can't be typed, and must not be written
            return [
                CompletionItem(name, help=one_line(text)[:60])
                for name, text in offers(ledger)
                if name.isprintable() and one_line(name) == name
            ]
    except Exception:  # noqa: BLE001 - the door: a shell that completes shows no errors
        return []
