"""`ldg stats`: tokens and cost, tools, files, turns, contexts."""

import sys
from collections.abc import Callable, Sequence
from datetime import UTC
from typing import Any

import click
import msgspec

from agents_ledger import config
from agents_ledger.cli.completing import complete_dimensions
from agents_ledger.cli.door import Door, door
from agents_ledger.cli.filters import filtered
from agents_ledger.cli.options import with_pager
from agents_ledger.cli.screen import Screen, paged
from agents_ledger.cli.shapes import Shape, answer
from agents_ledger.cli.stats_tables import print_contexts, print_files, print_tokens, print_tools, print_turns
from agents_ledger.cli.terminal import clean
from agents_ledger.ledger import Ledger
from agents_ledger.ledger.stats import DIMENSIONS, Report, Sums, contexts, tokens
from agents_ledger.model.filters import EVERYTHING, Filters
from agents_ledger.store import Database

_WHAT = ["tokens", "tools", "files", "turns", "contexts"]
_TABLES: dict[str, Callable[[Screen, list[Any], int], None]] = {
    "tools": print_tools,
    "files": print_files,
    "turns": print_turns,
    "contexts": print_contexts,
}
# Where there is nothing: what is said without filters, and what they have left nothing of.
_NOTHING = {
    "tokens": ("No tokens are known here.", "No tokens fit"),
    "tools": ("No tool was called.", "No tool call fits"),
    "files": ("No file was edited.", "No edited file fits"),
    "turns": ("No turn took any time.", "No turn fits"),
    "contexts": ("No tokens are known here.", "No tokens fit"),
}
_ALL = 1_000_000  # lines of CSV and JSON


def _dimensions(_: click.Context, __: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:
    """`--by day,model` and `--by day --by model` are the same."""
    parts = [part.strip() for value in values for part in value.split(",")]
    if wrong := [part for part in parts if part not in DIMENSIONS]:
        raise click.BadParameter(f"{wrong[0]!r} is none of {', '.join(DIMENSIONS)}")
    return tuple(dict.fromkeys(parts))


@click.command()
@click.argument("what", type=click.Choice(_WHAT), default="tokens")
@click.option(
    "--by",
    multiple=True,
    metavar="WORD",
    callback=_dimensions,
    shell_complete=complete_dimensions,
    help=f"Of tokens: {', '.join(DIMENSIONS)}; several by commas.  [default: day]",
)
@click.option(
    "--limit",
    type=click.IntRange(1, 100_000),
    default=30,
    show_default=True,
    help="Lines: the last days, else the largest.",
)
@click.option("--utc", is_flag=True, help="Days begin at midnight in UTC, not here.")
@click.option("--csv", "as_csv", is_flag=True, help="Answer with CSV, all lines of it.")
@click.option("--sync", "is_fresh", is_flag=True, help="Take what is new in the agents' sessions first.")
@filtered
@with_pager
@door
def stats(
    opened: Door,
    filters: Filters,
    what: str,
    by: tuple[str, ...],
    limit: int,
    utc: bool,
    as_csv: bool,
    is_fresh: bool,
    pager: bool | None,
) -> None:
    """What was used: tokens and cost by day (or --by others); tools, files, turns, contexts.

    Every call to a model counts once, however many sessions share or copy it. Cost is by list prices; models without
    a known price are named, not guessed. Times of tokens are counted in quarters of an hour.
    """
    if as_csv and opened.as_json:
        raise click.UsageError("--csv and --json are two answers: choose one of them")
    if by and what != "tokens":
        raise click.UsageError("--by is for tokens: leave it out")
    kept_in = config.prices_file()
    with _opened(opened, is_fresh=is_fresh) as ledger:
        if what == "tokens":
            zone = UTC if utc else None
            report = tokens(ledger.database, filters, by=by or ("day",), zone=zone, prices_kept_in=kept_in)
            _tell_tokens(opened, filters, report, limit, as_csv=as_csv, pager=pager)
            return
        lines = _lines(ledger.database, filters, what, _ALL if as_csv or opened.as_json else limit)
    _tell(opened, filters, what, lines, limit, as_csv=as_csv, pager=pager)


def _opened(opened: Door, *, is_fresh: bool) -> Ledger:
    if not is_fresh:
        return opened.reading()
    from agents_ledger.cli.sync import freshen  # noqa: PLC0415 - only here

    ledger = opened.writing(create=True)
    try:
        freshen(opened, ledger)
    except BaseException:
        ledger.close()
        raise
    return ledger


def _tell_tokens(
    opened: Door, filters: Filters, report: Report, limit: int, *, as_csv: bool, pager: bool | None
) -> None:
    if as_csv:
        names = [*report.by, *Sums.__struct_fields__]
        _write_csv(names, [[*line.key, *msgspec.structs.astuple(line.sums)] for line in report.lines])
    elif opened.as_json:
        lines = [
            {"key": dict(zip(report.by, line.key, strict=True)), **msgspec.structs.asdict(line.sums)}
            for line in report.lines
        ]
        answer({**msgspec.structs.asdict(report), "lines": lines})
    elif report.lines:
        with paged(is_wanted=pager) as screen:
            print_tokens(screen, report, limit)
    else:
        _tell_nothing(opened, filters, "tokens")


def _lines(database: Database, filters: Filters, what: str, limit: int) -> list[Any]:
    """The values of one of the other statistics."""
    from agents_ledger.ledger import activity  # noqa: PLC0415 - tokens are asked for most, and need nothing of it

    if what == "tools":
        return activity.tools(database, filters)
    if what == "files":
        return activity.files(database, filters, limit=limit)
    if what == "turns":
        return activity.longest(database, filters, limit=limit)
    return contexts(database, filters, config.prices_file())


def _tell(
    opened: Door, filters: Filters, what: str, lines: list[Any], limit: int, *, as_csv: bool, pager: bool | None
) -> None:
    rows = [_row(line) for line in lines] if as_csv or opened.as_json else []
    if as_csv:
        _write_csv(list(rows[0]) if rows else [], [list(row.values()) for row in rows])
    elif opened.as_json:
        answer({what: rows})
    elif lines:
        with paged(is_wanted=pager) as screen:
            _TABLES[what](screen, lines, limit)
    else:
        _tell_nothing(opened, filters, what)


def _tell_nothing(opened: Door, filters: Filters, what: str) -> None:
    """Whether there is nothing at all, or nothing that the filters let through."""
    known, fits = _NOTHING[what]
    said = known if filters == EVERYTHING else f"{fits} these filters."
    Screen().line(f"{said} `{opened.ldg} sync` captures the agents' sessions.")


def _row(line: msgspec.Struct) -> Shape:
    """A line's fields, and what follows from them."""
    derived = [name for name, value in vars(type(line)).items() if isinstance(value, property) and name != "state"]
    return msgspec.structs.asdict(line) | {name: getattr(line, name) for name in derived}


def _write_csv(names: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    import csv  # noqa: PLC0415 - only here
    import io  # noqa: PLC0415 - as above

    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(names)
    writer.writerows([_cell(value) for value in row] for row in rows)
    sys.stdout.write(text.getvalue())


def _cell(value: object) -> object:
    """A cell that no terminal and no spreadsheet acts on: a formula begins with a quote."""
    if not isinstance(value, str):
        return value
    text = clean(value)
    return f"'{text}" if text[:1] in ("=", "+", "-", "@", "\t") else text
