"""`ldg show`: a session's last turns, or one turn with everything on it."""

from collections.abc import Iterator
from functools import partial
from itertools import chain

import click
from msgspec import Struct

from agents_ledger.capture.catalog import captures_of, details_of, fallen
from agents_ledger.capture.details import Details
from agents_ledger.capture.patches import changes_of
from agents_ledger.cli import shapes
from agents_ledger.cli.completing import complete_ids
from agents_ledger.cli.door import Door, door
from agents_ledger.cli.export import put_bytes, records
from agents_ledger.cli.options import with_pager
from agents_ledger.cli.screen import Screen, paged
from agents_ledger.cli.turns import LEFT_BEHIND, Detail, print_facts, print_turn
from agents_ledger.cli.words import ago, at_home, named, number, plural, short
from agents_ledger.errors import BadInput, NotFound
from agents_ledger.ledger import Ledger
from agents_ledger.model.captures import Capture
from agents_ledger.model.overview import Live, used_at
from agents_ledger.model.rows import AliasRow, Record, SessionRow

_SOURCES = 5
_SUBAGENTS = 8
_AT_ONCE = 8  # turns that are read while others are shown


@click.command()
@click.argument("id", shell_complete=complete_ids)
@click.option(
    "--limit", type=click.IntRange(1, 10_000), default=20, show_default=True, help="Of a session: the last N turns."
)
@click.option(
    "--cursor", type=click.IntRange(1), metavar="N", help="The page before: the cursor that this one ended with."
)
@click.option("--thinking", is_flag=True, help="Show all of what the model thought.")
@click.option("--full", is_flag=True, help="Show everything whole: parameters, results, diffs, system prompts.")
@click.option("--raw", is_flag=True, help="Of a turn: the bytes that it was read from.")
@with_pager
@door
def show(
    opened: Door,
    id: str,  # noqa: A002 - its name on the screen
    limit: int,
    cursor: int | None,
    thinking: bool,
    full: bool,
    raw: bool,
    pager: bool | None,
) -> None:
    """The last turns of a session (label or alias), or one turn (id, or its last characters).

    The id that an agent gave to a session, a message or a call leads there, too, if only one has it.
    """
    if raw and opened.as_json:
        raise click.UsageError("--raw gives bytes, not JSON: choose one of them")
    detail = Detail(thinking=thinking, full=full, ldg=opened.ldg)
    with opened.reading() as ledger:
        if raw:
            put_bytes(records(ledger, ledger.find(id)))
            return
        session = _session(ledger, id)
        if session is None:
            _show_turn(opened, ledger, ledger.find(id), detail, pager)
        elif opened.as_json:
            _answer_session(ledger, session, ledger.former(id), _Page.of(ledger, session, limit, cursor))
        else:
            page = _Page.of(ledger, session, limit, cursor)
            with paged(is_wanted=pager) as screen:
                _print_former(screen, opened, ledger.former(id), session)
                _print_page(screen, opened, ledger, session, page, detail)


class _Page(Struct, frozen=True):
    """Which turns of a session's thread are shown."""

    head: Record | None
    first: int
    last: int
    live: list[Live]  # behind them

    @classmethod
    def of(cls, ledger: Ledger, session: SessionRow, limit: int, cursor: int | None) -> "_Page":
        head = None if session.thread_id is None else ledger.get(session.thread_id)
        depth = 0 if head is None else head.turn.depth
        last = depth if cursor is None else min(depth, cursor - 1)
        return cls(head, max(1, last - limit + 1), last, ledger.live_turns(session.label) if cursor is None else [])

    @property
    def earlier(self) -> int:
        """How many turns there are before the page."""
        return self.first - 1 if self.last else 0

    def turns(self, ledger: Ledger) -> Iterator[Record]:
        """The turns, a few at a time."""
        if self.head is None:
            return
        for first in range(self.first, self.last + 1, _AT_ONCE):
            yield from ledger.thread(self.head.turn.id, from_depth=first, limit=min(_AT_ONCE, self.last - first + 1))


def _session(ledger: Ledger, text: str) -> SessionRow | None:
    try:
        return ledger.session(text)
    except (NotFound, BadInput):
        return None


def _show_turn(opened: Door, ledger: Ledger, turn_id: str, detail: Detail, pager: bool | None) -> None:
    record, mark = ledger.get(turn_id), fallen(ledger, turn_id)
    is_left = record.turn.seal_seq is None and turn_id in _left_behind(ledger.live_turns())
    if opened.as_json:
        more = ({} if mark is None else {"superseded": mark}) | ({"left_behind": True} if is_left else {})
        shapes.answer({"record": shapes.record(record)} | more)
        return
    with paged(is_wanted=pager) as screen:
        if is_left:
            screen.line((f"◌ {LEFT_BEHIND}", "bold yellow"))
        if mark is not None:
            by = "" if mark.by is None else f", as {short(mark.by)}"
            screen.line((f"⊘ superseded: its sources tell it otherwise by now{by}", "dim"))
        print_turn(screen, record, detail, partial(changes_of, ledger))
        screen.line()
        print_facts(screen, record)


def _answer_session(ledger: Ledger, session: SessionRow, former: SessionRow | None, page: _Page) -> None:
    shapes.answer(
        ({} if former is None else {"former": former})
        | {
            "session": session,
            "details": details_of(ledger, session.label),
            "captures": [shapes.capture(each) for each in captures_of(ledger, session.label)],
            "aliases": ledger.aliases(session.label),
            "subagents": ledger.subagents(session.label),
            "depth": 0 if page.head is None else page.head.turn.depth,
            "turns": [shapes.record(record) for record in page.turns(ledger)],
            "live": [shapes.record(ledger.get(each.turn_id)) for each in page.live],
            "left_behind": _left_behind(page.live),
            "next": page.first if page.earlier else None,
        }
    )


def _print_page(screen: Screen, opened: Door, ledger: Ledger, session: SessionRow, page: _Page, detail: Detail) -> None:
    details = details_of(ledger, session.label)
    _print_session(screen, session, page, details)
    _print_captured(screen, session, details, captures_of(ledger, session.label))
    _print_relatives(screen, session, ledger.aliases(session.label), ledger.subagents(session.label))
    if page.earlier:
        before = f"{opened.ldg} show {named(session.label, f'--cursor {page.first}')}"
        screen.unbroken((f"⋮ {plural(page.earlier, 'earlier turn')}: {before}", "dim"))
        screen.line()
    left = _left_behind(page.live)
    for at, record in enumerate(chain(page.turns(ledger), (ledger.get(each.turn_id) for each in page.live))):
        if at:
            screen.line()
        print_turn(screen, record, detail, partial(changes_of, ledger))
        if record.turn.id in left:
            screen.line("  ", (LEFT_BEHIND, "bold yellow"))


def _left_behind(live: list[Live]) -> list[str]:
    return [each.turn_id for each in live if each.is_left_behind]


def _print_former(screen: Screen, opened: Door, former: SessionRow | None, session: SessionRow) -> None:
    """Where the turns of a session are whose label leads to the one that is shown."""
    if former is not None:
        ways = [f"history {named(former.label)}", *([f"show {short(former.thread_id)}"] if former.thread_id else [])]
        own = " and ".join(f"`{opened.ldg} {way}`" for way in ways)
        screen.line((f"{former.label} leads to {session.label} now, which is shown here; its own: {own}", "dim"))


def _print_session(screen: Screen, session: SessionRow, page: _Page, details: Details | None) -> None:
    head = page.head
    turns = plural(0 if head is None else head.turn.depth, "turn")
    left = len(_left_behind(page.live))
    live = [f"{count} {what}" for count, what in ((len(page.live) - left, "live"), (left, "left behind")) if count]
    known = None if head is None else head.turn.thread_tokens
    tokens = [] if known is None else [f"{number(known)} tokens"]
    used = used_at(session, None if details is None else details.last_at or details.started_at)
    said = [", ".join([turns, *live]), *tokens, session.status, *([f"used {ago(used)}"] if used else [])]
    screen.line((session.label, "bold green"))
    screen.line((" · ".join(said), "dim"))


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
                _print_fact(screen, name, value)
    for each in sources[:_SOURCES]:
        gone = " (no longer there)" if each.state == "gone" else " (replaced)" if each.state == "replaced" else ""
        _print_fact(screen, "source", f"{at_home(each.path) if screen.is_terminal else each.path}{gone}")
    if len(sources) > _SOURCES:
        screen.line((f"and {plural(len(sources) - _SOURCES, 'more source')}: --json names them", "dim"))


def _print_fact(screen: Screen, name: str, value: str) -> None:
    screen.block(value.replace("\n", " "), first=f"{name} ", rest=" " * (len(name) + 1))


def _print_relatives(screen: Screen, session: SessionRow, aliases: list[AliasRow], subagents: list[SessionRow]) -> None:
    if aliases:
        screen.line(("also called ", "dim"), ", ".join(row.alias for row in aliases))
    if session.parent_session_label is not None:
        task = f": {session.task_description}" if session.task_description else ""
        status = f" ({session.task_status})" if session.task_status else ""
        screen.line((f"started by {session.parent_session_label}{task}{status}", "dim"))
    if subagents:
        labels = [row.label + (f" ({row.task_status})" if row.task_status else "") for row in subagents[:_SUBAGENTS]]
        more = f" and {len(subagents) - _SUBAGENTS} more: --json names them" if len(subagents) > _SUBAGENTS else ""
        screen.line(("subagents ", "dim"), ", ".join(labels) + more)
    screen.line()
