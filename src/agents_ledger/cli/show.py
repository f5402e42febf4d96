"""`ldg show`: a session's last turns, or one turn with everything on it."""

import click

from agents_ledger.capture.catalog import captures_of, details_of
from agents_ledger.capture.details import Details
from agents_ledger.cli import shapes
from agents_ledger.cli.door import Door, door
from agents_ledger.cli.export import put_bytes, records
from agents_ledger.cli.screen import Screen
from agents_ledger.cli.turns import Detail, print_facts, print_turn
from agents_ledger.cli.words import ago, number, plural, quoted
from agents_ledger.errors import BadInput, NotFound
from agents_ledger.ledger import Ledger
from agents_ledger.ledger.evidence import Capture
from agents_ledger.model.rows import AliasRow, Record, SessionRow

_SOURCES = 5


@click.command()
@click.argument("id")
@click.option(
    "--limit", type=click.IntRange(1, 100_000), default=20, show_default=True, help="Of a session: the last N turns."
)
@click.option("--thinking", is_flag=True, help="Show what the model thought.")
@click.option("--full", is_flag=True, help="Show parameters and results whole.")
@click.option("--raw", is_flag=True, help="Of a turn: the bytes that it was read from.")
@door
def show(opened: Door, id: str, limit: int, thinking: bool, full: bool, raw: bool) -> None:  # noqa: A002 - its name on the screen
    """The last turns of a session (label or alias), or one turn (id, or its last characters)."""
    if raw and opened.as_json:
        raise click.UsageError("--raw gives bytes, not JSON: choose one of them")
    detail = Detail(thinking=thinking, full=full)
    with opened.reading() as ledger:
        if raw:
            put_bytes(records(ledger, ledger.find(id)))
            return
        session = _session(ledger, id)
        if session is None:
            _show_turn(opened, ledger.get(ledger.find(id)), detail)
        else:
            _show_session(opened, ledger, session, limit, detail)


def _session(ledger: Ledger, text: str) -> SessionRow | None:
    try:
        return ledger.session(text)
    except (NotFound, BadInput):
        return None


def _show_turn(opened: Door, record: Record, detail: Detail) -> None:
    if opened.as_json:
        shapes.answer({"record": shapes.record(record)})
        return
    screen = Screen()
    print_turn(screen, record, detail)
    screen.line()
    print_facts(screen, record)


def _show_session(opened: Door, ledger: Ledger, session: SessionRow, limit: int, detail: Detail) -> None:
    aliases, subagents = ledger.aliases(session.label), ledger.subagents(session.label)
    details, sources = details_of(ledger, session.label), captures_of(ledger, session.label)
    head = None if session.thread_id is None else ledger.get(session.thread_id)
    depth = 0 if head is None else head.turn.depth
    turns = [] if head is None else ledger.thread(head.turn.id, from_depth=max(1, depth - limit + 1))
    if opened.as_json:
        shapes.answer(
            {
                "session": session,
                "details": details,
                "captures": [shapes.capture(each) for each in sources],
                "aliases": aliases,
                "subagents": subagents,
                "depth": depth,
                "turns": [shapes.record(record) for record in turns],
            }
        )
        return
    screen = Screen()
    _print_session(screen, session, head)
    _print_captured(screen, session, details, sources)
    _print_relatives(screen, session, aliases, subagents)
    if depth > len(turns):
        earlier = f"⋮ {plural(depth - len(turns), 'earlier turn')}: ldg show {quoted(session.label)} --limit {depth}"
        screen.line((earlier, "dim"))
        screen.line()
    for at, record in enumerate(turns):
        if at:
            screen.line()
        print_turn(screen, record, detail)


def _print_session(screen: Screen, session: SessionRow, head: Record | None) -> None:
    turns = 0 if head is None else head.turn.depth
    tokens = [] if head is None else [f"{number(head.turn.thread_tokens)} tokens"]
    said = [plural(turns, "turn"), *tokens, session.status, f"used {ago(session.updated_at)}"]
    screen.line((session.label, "bold green"), "  ", " · ".join(said))


def _print_captured(screen: Screen, session: SessionRow, details: Details | None, sources: list[Capture]) -> None:
    """What its sources say about a session, and where they were."""
    if details is not None:
        facts = (
            ("title", details.title),
            ("project", details.project),
            ("branch", details.git_branch),
            ("agent", " ".join(part for part in (session.origin, details.agent_version) if part)),
            ("forked from", details.forked_from or details.forked_path),
        )
        for name, value in facts:
            if value:
                screen.line((f"{name} ", "dim"), value)
    for each in sources[:_SOURCES]:
        gone = " (no longer there)" if each.state == "gone" else " (replaced)" if each.state == "replaced" else ""
        screen.line(("source ", "dim"), f"{each.path}{gone}")
    if len(sources) > _SOURCES:
        screen.line((f"and {plural(len(sources) - _SOURCES, 'more source')}: --json names them", "dim"))


def _print_relatives(screen: Screen, session: SessionRow, aliases: list[AliasRow], subagents: list[SessionRow]) -> None:
    if aliases:
        screen.line(("also called ", "dim"), ", ".join(row.alias for row in aliases))
    if session.parent_session_label is not None:
        task = f": {session.task_description}" if session.task_description else ""
        status = f" ({session.task_status})" if session.task_status else ""
        screen.line((f"started by {session.parent_session_label}{task}{status}", "dim"))
    if subagents:
        named = (row.label + (f" ({row.task_status})" if row.task_status else "") for row in subagents)
        screen.line(("subagents ", "dim"), ", ".join(named))
    screen.line()
