"""`ldg sql`: everybody's own questions, answered read-only."""

import csv
import sys
from typing import Any

import click

from agents_ledger.cli.door import Door, door
from agents_ledger.cli.screen import Screen
from agents_ledger.cli.shapes import answer, cell
from agents_ledger.cli.terminal import clean
from agents_ledger.store import Row
from agents_ledger.store.killable import within


@click.command()
@click.argument("query")
@click.option("--limit", type=click.IntRange(1, 1_000_000), default=1000, show_default=True, help="Rows at the most.")
@click.option("--timeout", type=click.FloatRange(0.001, 86_400), default=30.0, show_default=True, help="Seconds.")
@click.option("--csv", "as_csv", is_flag=True, help="Comma-separated; --json keeps invisible characters too.")
@door
def sql(opened: Door, query: str, limit: int, timeout: float, as_csv: bool) -> None:
    """Runs QUERY (or standard input, with `-`) on the ledger's tables. It can read and nothing else."""
    text = sys.stdin.read() if query == "-" else query
    if not text.strip():
        some = '"SELECT tool_name, count(*) FROM tool_calls GROUP BY 1"'
        raise click.UsageError(f"there is no query: try {opened.ldg} sql {some}")
    columns, found, opened.has_shown_damage = within(
        timeout, "the query", lambda: _asked(opened, text, limit + 1, timeout)
    )
    if any(len(row) != len(columns) for row in found):
        raise click.UsageError("these are several queries: ask one at a time")
    rows, is_more = found[:limit], len(found) > limit
    if opened.as_json:
        answer({"columns": columns, "rows": [[cell(value) for value in row] for row in rows], "more": is_more})
    elif as_csv:
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow([clean(name) for name in columns])
        writer.writerows([["" if value is None else _shown(value) for value in row] for row in rows])
    else:
        _print(Screen(), columns, rows)
    if is_more and not opened.as_json:
        click.echo(f"ldg: only the first {limit:,} rows; --limit gives more", err=True)


def _asked(opened: Door, query: str, limit: int, timeout: float) -> tuple[list[str], list[Row], bool]:
    """Columns, rows, and whether a text among them is damaged."""
    with opened.reading() as ledger:
        columns, found = ledger.database.query(query, limit=limit, timeout_s=timeout)
    return columns, found, opened.has_shown_damage


def _print(screen: Screen, columns: list[str], rows: list[tuple[Any, ...]]) -> None:
    if not rows:
        screen.line(("no rows", "dim"))
        return
    numbers = [
        name
        for at, name in enumerate(columns)
        if all(isinstance(row[at], int | float) or row[at] is None for row in rows)
    ]
    screen.table(columns, [["-" if value is None else _shown(value) for value in row] for row in rows], right=numbers)


def _shown(value: object) -> str:
    return clean(str(cell(value)))
