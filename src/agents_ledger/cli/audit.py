"""`ldg audit`: what agents did that they should not have done, in one table."""

from collections import Counter

import click

from agents_ledger.cli.door import Door, door
from agents_ledger.cli.filters import filtered
from agents_ledger.cli.options import with_pager
from agents_ledger.cli.screen import Part, Screen, paged
from agents_ledger.cli.shapes import answer
from agents_ledger.cli.words import number, plural, short, when
from agents_ledger.ledger.audit import RULES, Finding
from agents_ledger.ledger.audit import audit as findings_of
from agents_ledger.model.filters import Filters

_FOUND = 1  # exit code


@click.command()
@click.option("--rule", "rules", type=click.Choice(list(RULES)), multiple=True, help="Only this rule; may be repeated.")
@click.option(
    "--limit",
    type=click.IntRange(1, 100_000),
    default=100,
    show_default=True,
    help="Findings that are shown; all are counted.",
)
@filtered
@with_pager
@door
def audit(opened: Door, filters: Filters, rules: tuple[str, ...], limit: int, pager: bool | None) -> None:
    """What agents did that they should not have done, and secrets that were seen. Ends with 1 if there is any.

    Tools used but not available, permissions used but not granted, files written outside the workspace, commands that
    failed, keys and tokens (shown masked). What is not recorded (which tools there were, where the workspace was) is
    not judged.
    """
    shown: list[Finding] = []
    counts = Counter[str]()
    with opened.reading() as ledger:
        for finding in findings_of(ledger.database, filters, rules=rules or tuple(RULES)):
            counts[finding.rule] += 1
            if len(shown) < limit:
                shown.append(finding)
    if opened.as_json:
        ordered = {rule: counts[rule] for rule in rules or RULES}
        answer({"findings": shown, "counts": ordered, "more": counts.total() > len(shown)})
    else:
        with paged(is_wanted=pager) as screen:
            _print(screen, shown, counts, rules or tuple(RULES))
    click.get_current_context().exit(_FOUND if counts else 0)


def _print(screen: Screen, shown: list[Finding], counts: Counter[str], rules: tuple[str, ...]) -> None:
    if shown:
        rows: list[list[Part]] = [_row(finding, screen) for finding in shown]
        columns = ["RULE", "WHEN", "TURN", "SESSION", "WHAT", "FOUND"]
        screen.table(columns, rows, wrapped=("FOUND",), optional=("SESSION", "WHEN"), elsewhere="--json")
        screen.line()
    for rule in rules:
        style = "yellow" if counts[rule] else "green"
        screen.line((f"{number(counts[rule]):>8}", style), f"  {RULES[rule]} ", (f"--rule {rule}", "dim"))
    if counts.total() > len(shown):
        left = plural(counts.total() - len(shown), "more finding")
        screen.line((f"{left}: --limit and --rule show others", "dim"))


def _row(finding: Finding, screen: Screen) -> list[Part]:
    return [
        (finding.rule, "yellow"),
        (when(finding.at, screen), "dim"),
        short(finding.turn_id),
        finding.session_label or "-",
        finding.what,
        finding.detail,
    ]
