"""`ldg rebuild`: the ledger once more, from its evidence alone."""

import click

from agents_ledger import config
from agents_ledger.capture import rebuild as rebuilding
from agents_ledger.cli.door import Door, door
from agents_ledger.cli.progress import progress
from agents_ledger.cli.screen import Screen
from agents_ledger.cli.shapes import answer
from agents_ledger.cli.words import plural


@click.command()
@click.argument("target")
@door
def rebuild(opened: Door, target: str) -> None:
    """Builds a new ledger at TARGET out of the captured bytes, and compares. Exit code 1 if they differ."""
    with opened.reading() as ledger, progress("rebuilding", is_wanted=not opened.as_json) as advance:
        report = rebuilding.rebuild(ledger, target, advance, config.machine())
    for path in report.set_aside:
        click.echo(f"ldg: left over from a deleted ledger, renamed: {path}", err=True)
    if opened.as_json:
        answer(
            {
                "target": target,
                "same": report.same,
                "captures": report.captures,
                "sessions": report.sessions,
                "turns": report.turns,
                "not_rebuilt": report.not_rebuilt,
                "digest_before": report.digest_before,
                "digest_after": report.digest_after,
            }
        )
    else:
        _print(Screen(), report, target)
    if not report.same:
        click.get_current_context().exit(1)


def _print(screen: Screen, report: rebuilding.Report, target: str) -> None:
    built = f"{plural(report.sessions, 'session')}, {plural(report.turns, 'turn')}"
    screen.line(f"{target}: {built}, out of {plural(report.captures, 'capture')}")
    if report.not_rebuilt:
        screen.line(f"{plural(report.not_rebuilt, 'turn')} written here and not read from a source: not rebuilt")
    if report.same:
        screen.line(("the same", "bold green"), f": digest {report.digest_after}")
        return
    screen.line(("not the same", "bold red"), ":")
    screen.line(f"  before  {report.digest_before}")
    screen.line(f"  after   {report.digest_after}")
