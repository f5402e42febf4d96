"""`ldg verify`: whether everything is as it was written."""

import click
from msgspec import structs

from agents_ledger import config
from agents_ledger.capture.check_sources import SourceReport, check_sources
from agents_ledger.cli.door import Door, door
from agents_ledger.cli.progress import progress
from agents_ledger.cli.screen import Part, Screen
from agents_ledger.cli.shapes import answer
from agents_ledger.cli.words import plural
from agents_ledger.errors import StoreCorrupt
from agents_ledger.ledger.verify import Finding, Report

_COUNTED = ("captures", "chain_entries", "chain_under_head")


@click.command()
@click.option("--limit", type=click.IntRange(1, 100_000), default=20, show_default=True, help="Stop after N findings.")
@click.option("--sources", is_flag=True, help="Also read all captured bytes again and compare the result.")
@door
def verify(opened: Door, limit: int, sources: bool) -> None:
    """Recompute every hash, the tree, the heads, the counters and the log. Exit code 1 if anything differs."""
    found = None
    try:
        report = _verified(opened, limit)
        if sources and report.is_good:
            found = _sources(opened)
            report = structs.replace(report, findings=found.findings[:limit])
    except StoreCorrupt as damage:
        # damage so deep that the engine itself gives up is an answer, too
        report = Report(0, 0, 0, [Finding("storage", "", opened.told(damage))])
    if opened.as_json:
        answer(
            {
                "good": report.is_good,
                "turns": report.turns,
                "open_turns": report.open_turns,
                "live_turns": report.live_turns,
                "log_entries": report.log_entries,
                "sessions": report.sessions,
                "sources": found and {name: getattr(found, name) for name in _COUNTED},
                "findings": report.findings,
            }
        )
    else:
        _print(Screen(), report, limit)
        if found is not None:
            _say_sources(Screen(), found)
    if not report.is_good:
        click.get_current_context().exit(1)


def _sources(opened: Door) -> SourceReport:
    with opened.reading() as ledger, progress("reading sources", is_wanted=not opened.as_json) as advance:
        return check_sources(ledger, advance, config.machine())


def _say_sources(screen: Screen, found: SourceReport) -> None:
    counted = f"{found.chain_under_head:,} of {found.chain_entries:,} entries"
    captures = plural(found.captures, "capture")
    screen.line(f"{captures} read again: {counted} on their active chains are under the heads of their sessions")


def _verified(opened: Door, limit: int) -> Report:
    with opened.reading() as ledger, progress("verifying", is_wanted=not opened.as_json) as advance:
        turns = ledger.counts()["turns"]
        return ledger.verify(limit=limit, progress=advance and (lambda done: advance(done, turns)))


def _print(screen: Screen, report: Report, limit: int) -> None:
    counted = (plural(report.turns, "turn"), plural(report.sessions, "session"))
    entries = "1 log entry" if report.log_entries == 1 else f"{report.log_entries:,} log entries"
    checked = f"{counted[0]}, {entries}, {counted[1]}"
    if report.is_good:
        screen.line(("good", "bold green"), f": {checked}; everything is as it was written")
        _say_open(screen, report)
        return
    first = report.findings[0]
    screen.line(("not good", "bold red"), f": {_named(first)}")
    screen.line()
    rows: list[list[Part]] = [[finding.place, finding.row or "-", (finding.what, "red")] for finding in report.findings]
    screen.table(("TABLE", "ROW", "WHAT"), rows, wrapped=("WHAT",))
    screen.line()
    stopped = f"; stopped at {plural(limit, 'finding')}" if len(report.findings) >= limit else ""
    screen.line(f"checked {checked}{stopped}. Keep this file as it is, and compare with a backup.")
    _say_open(screen, report)


def _named(first: Finding) -> str:
    if first.place in ("trigger", "view"):
        return f"the {first.place} {first.row} is not as the schema makes it"
    return f"the first bad row is {first.place} {first.row}" if first.row else f"the {first.place} itself is damaged"


def _say_open(screen: Screen, report: Report) -> None:
    going_on = report.open_turns - report.live_turns
    if going_on > 0:
        screen.line(f"{_are(going_on)} not sealed yet and could not be checked: a source may go on there")
    if report.live_turns:
        screen.line(f"{_are(report.live_turns)} live and could not be checked: a turn is sealed when it ends")


def _are(turns: int) -> str:
    return "1 turn is" if turns == 1 else f"{turns:,} turns are"
