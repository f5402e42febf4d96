"""`ldg face`: the ledger in the words of other systems."""

from collections.abc import Sequence
from typing import Any

import click
import msgspec

from agents_ledger.cli.completing import complete_tables
from agents_ledger.cli.door import Door, door
from agents_ledger.cli.screen import Part, Screen, cut
from agents_ledger.cli.shapes import answer
from agents_ledger.cli.words import quoted
from agents_ledger.faces import tables
from agents_ledger.faces.tables import TABLES, Table
from agents_ledger.ledger import Ledger

_WIDEST = 60  # characters of a value in the table; --json has all of it


@click.command()
@click.argument("table", required=False, shell_complete=complete_tables)
@click.option("--id", "row_id", metavar="ID", help="The row with this id.")
@click.option("--session", metavar="ID", help="The rows of this session, by its id in that system.")
@click.option("--limit", type=click.IntRange(1, 10_000), default=50, show_default=True, help="Rows on a page.")
@click.option("--after", metavar="CURSOR", help="The next page: the cursor that the last one ended with.")
@door
def face(
    opened: Door, table: str | None, row_id: str | None, session: str | None, limit: int, after: str | None
) -> None:
    """The ledger as Mnemonic (agent_…), its Events Ledger (events, event_threads) and AIX (aix_…) know it.

    Without TABLE: what there is. The same tables are views: `ldg sql "SELECT … FROM agent_sessions"`.
    """
    if table is None:
        _list(opened)
        return
    chosen = tables.table(table)
    if row_id is not None and chosen.find is None:
        raise click.UsageError(f"{table} is read by --session")
    if row_id is None and session is None and chosen.by_session:
        raise click.UsageError(f"of which session? `{opened.ldg} face {_list_of(chosen)}` lists their ids")
    is_known = True
    with opened.reading() as ledger:
        if row_id is not None and chosen.find is not None:
            page, following = chosen.find(ledger, row_id), None
        else:
            found = chosen.page(ledger, session or "", after, limit + 1)
            page, following = found[:limit], chosen.cursor(found[limit - 1]) if len(found) > limit else None
            is_known = bool(found) or not session or _is_known(ledger, chosen, session)
    if is_known or opened.as_json:
        _print(opened, chosen, page, following, session)
    else:
        lists = f"`{opened.ldg} face {_list_of(chosen)}` lists their ids"
        Screen().line(f"there is no session {session!r}: {lists}")
    if not is_known or (row_id is not None and not page):
        raise click.exceptions.Exit(1)


def _is_known(ledger: Ledger, chosen: Table, session: str) -> bool:
    """Whether that system has such a session: one without rows is another thing."""
    find = TABLES[_list_of(chosen)].find
    return find is not None and bool(find(ledger, session))


def _list_of(chosen: Table) -> str:
    return {"mnemonic": "agent_sessions", "events": "event_threads"}.get(chosen.system, "aix_sessions")


def _list(opened: Door) -> None:
    if opened.as_json:
        answer({"tables": {each.name: list(each.columns) for each in TABLES.values()}})
        return
    screen = Screen()
    rows: list[list[Part]] = [[each.system, (each.name, "bold"), ", ".join(each.columns)] for each in TABLES.values()]
    screen.table(("SYSTEM", "TABLE", "COLUMNS"), rows, wrapped=("COLUMNS",))


def _print(
    opened: Door, chosen: Table, page: Sequence[msgspec.Struct], following: str | None, session: str | None
) -> None:
    if opened.as_json:
        answer({"table": chosen.name, "rows": [msgspec.structs.asdict(row) for row in page], "next": following})
        return
    screen = Screen()
    if not page:
        screen.line(("no rows", "dim"))
        return
    if len(page) == 1:
        for name, value in msgspec.structs.asdict(page[0]).items():
            screen.line((f"{name}: ", "dim"), _whole(value))
        return
    rows = [[_short(value) for value in msgspec.structs.astuple(row)] for row in page]
    screen.table(list(chosen.columns), rows)
    if following:
        of = f"--session {quoted(session)} " if session else ""
        screen.line()
        screen.line(("more: ", "dim"), f"{opened.ldg} face {chosen.name} {of}--after {quoted(following)}")


def _whole(value: Any) -> str:
    return "-" if value is None else str(value)


def _short(value: Any) -> str:
    return cut(_whole(value), _WIDEST)
