"""`ldg sources`: where the agents keep their sessions on this machine, and what of it is here."""

import click

from agents_ledger import config
from agents_ledger.capture.catalog import SourceLine
from agents_ledger.capture.catalog import sources as all_sources
from agents_ledger.cli.door import Door, door
from agents_ledger.cli.screen import Part, Screen
from agents_ledger.cli.shapes import answer
from agents_ledger.cli.words import at_home, number, plural, size
from agents_ledger.errors import NotFound
from agents_ledger.model.captures import UNRECOGNISED

_COLUMNS: tuple[str, ...] = ("SOURCE", "CAPTURED", "MISSING", "FILES", "SIZE", "PLACE")
_NAMED = 5


@click.command()
@click.option("-v", "--verbose", is_flag=True, help="Name the files that are captured, and no longer there.")
@door
def sources(opened: Door, verbose: bool) -> None:
    """Each agent's places on this machine, what of it was captured, and what is no longer there."""
    lines = _lines(opened)
    if opened.as_json:
        answer({"sources": lines})
        return
    screen = Screen()
    missing = [path for line in lines for path in line.missing]
    rows = [row for line in lines for row in _rows(screen, line, verbose=verbose)]
    columns = _COLUMNS
    if screen.is_terminal and not missing:  # room for the places
        at = _COLUMNS.index("MISSING")
        columns, rows = _COLUMNS[:at] + _COLUMNS[at + 1 :], [row[:at] + row[at + 1 :] for row in rows]
    screen.table(
        columns, rows, right=("FILES", "SIZE", "CAPTURED", "MISSING"), wrapped=("PLACE",), optional=("FILES", "SIZE")
    )
    if missing:
        screen.line()
        gone = plural(len(missing), "captured file")
        kept = f"the bytes are kept, `{opened.ldg} export` has them"
        screen.line((f"{gone} no longer at the source: {kept}", "yellow"))
        for path in missing if verbose else missing[:_NAMED]:
            screen.line("  ", (path, "dim"))
        if not verbose and len(missing) > _NAMED:
            screen.line((f"  and {number(len(missing) - _NAMED)} more: -v names them all", "dim"))


def _lines(opened: Door) -> list[SourceLine]:
    try:
        ledger = opened.reading()
    except NotFound:
        return list(all_sources(config.machine(), None))
    with ledger:
        return list(all_sources(config.machine(), ledger))


def _rows(screen: Screen, line: SourceLine, *, verbose: bool) -> list[list[Part]]:
    """One row for each place that is there; one for a format that has none."""
    places = line.places if verbose else [place for place in line.places if place.exists]
    totals: list[Part] = [
        f"{number(line.captured)} ({size(line.captured_bytes)})" if line.captured else "-",
        (number(len(line.missing)), "yellow") if line.missing else "-",
    ]
    rows: list[list[Part]] = []
    for at, place in enumerate(places):
        name: Part = (line.format, "bold") if at == 0 else ""
        counted = [number(place.files), size(place.size_bytes)] if place.exists else ["-", "-"]
        path = at_home(place.path) if screen.is_terminal else place.path
        rows.append([name, *(totals if at == 0 else ("", "")), *counted, (path, "" if place.exists else "dim")])
    why = "kept as evidence" if line.format == UNRECOGNISED else "not on this machine"
    return rows or [[(line.format, "bold"), *totals, "-", "-", (why, "dim")]]
