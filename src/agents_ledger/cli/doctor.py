"""`ldg doctor`: the engine, the file, the settings, the health."""

from typing import Any

import click

from agents_ledger.cli.door import Door, door
from agents_ledger.cli.health import Health, examine
from agents_ledger.cli.screen import Screen
from agents_ledger.cli.shapes import answer
from agents_ledger.cli.words import number, plural, size
from agents_ledger.errors import StoreCorrupt


@click.command()
@door
def doctor(opened: Door) -> None:
    """Looks at the ledger's database and says what is wrong with it. Exit code 1 if something is."""
    found = _examined(opened)
    if opened.as_json:
        answer(
            {
                "good": not found.problems,
                "facts": found.facts,
                "migrations": found.migrations,
                "counts": found.counts,
                "evidence": found.evidence,
                "search": found.search,
                "problems": found.problems,
                "warnings": found.warnings,
            }
        )
    else:
        _print(Screen(), opened, found)
    if found.problems:
        click.get_current_context().exit(1)


def _examined(opened: Door) -> Health:
    try:
        with opened.reading() as ledger:
            return examine(ledger)
    except StoreCorrupt as damage:  # so much that it can't even be opened
        return Health({}, [], {}, {}, {}, [opened.told(damage)], [])


def _print(screen: Screen, opened: Door, found: Health) -> None:
    rows = _rows(found) if found.facts else [("ledger", "can't be read")]
    width = max(len(name) for name, _ in rows)
    for name, value in rows:
        screen.line((f"{name:<{width}}  ", "dim"), value)
    screen.line()
    for warning in found.warnings:
        screen.line(("warning", "bold yellow"), f": {warning}")
    for problem in found.problems:
        screen.line(("wrong", "bold red"), f": {problem}")
    if not found.problems:
        screen.line(("healthy", "bold green"), f": `{opened.ldg} verify` checks every turn, too")


def _rows(found: Health) -> list[tuple[str, str]]:
    facts = dict(found.facts)
    rows = [("engine", f"{facts.pop('engine')} {facts.pop('version')}")]
    if "wal_reset_bug" in facts:
        rows.append(("WAL-reset bug", "yes" if facts.pop("wal_reset_bug") else "no, fixed in this version"))
    rows.append(("size", size(int(facts.pop("size_bytes")))))
    rows += [(name.replace("_", " "), _said(value)) for name, value in facts.items() if name not in _FOR_MACHINES]
    rows.append(("migrations", ", ".join(found.migrations)))
    if counts := found.counts:
        rows.append(("content", f"{plural(counts['sessions'], 'session')}, {plural(counts['turns'], 'turn')}"))
        rows.append(("live turns", number(counts["live"])))
    if evidence := found.evidence:
        kept = f"{size(evidence['source_bytes'])}, kept in {size(evidence['packed_bytes'])}"
        rows.append(("evidence", f"{plural(evidence['captures'], 'capture')}, {kept}"))
    if found.search:
        waiting = found.search["waiting"]
        behind = f"{plural(waiting, 'log record')} wait to be indexed"
        rows.append(("search index", behind if waiting else "up to date"))
    return rows


_FOR_MACHINES = ("source_id",)


def _said(value: Any) -> str:
    if value is None:
        return "unknown"
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)
