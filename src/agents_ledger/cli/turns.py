"""A turn on the screen: who said what, which tools ran, what it cost."""

from collections.abc import Iterator

from msgspec import Struct

from agents_ledger.cli.calls import print_call, print_parts
from agents_ledger.cli.screen import Part, Screen
from agents_ledger.cli.words import clock, number, plural, short, took
from agents_ledger.model.rows import CallRow, CompactionRow, MessageRow, Record, TurnRow

INDENT = 4
_STYLES = {"user": "bold yellow", "assistant": "bold cyan", "system": "bold magenta"}
MARKS = {"failed": ("✗", "bold red"), "pending": ("◌", "bold yellow"), "streaming": ("◌", "bold yellow")}


class Detail(Struct, frozen=True):
    """How much of a turn is shown."""

    thinking: bool = False
    full: bool = False


def mark_of(status: str, turn_type: str, *, is_head: bool = False) -> tuple[str, str]:
    """The sign of a turn, with its style."""
    if status in MARKS:
        return MARKS[status]
    if turn_type == "compaction":
        return "◆", "bold magenta"
    return ("●", "bold green") if is_head else ("○", "")


def print_turn(screen: Screen, record: Record, detail: Detail) -> None:
    """One turn as a conversation."""
    turn = record.turn
    screen.line(mark_of(turn.status, turn.turn_type), " ", (short(turn.id), "bold"), "  ", (_headline(turn), "dim"))
    if record.compaction is not None:
        _print_compaction(screen, record.compaction)
    for part in in_order(record):
        if isinstance(part, MessageRow):
            _print_message(screen, record, part, detail)
        else:
            print_call(screen, part, full=detail.full)
    if turn.error is not None:
        screen.line("  ", ("failed", "bold red"))
        screen.block(turn.error, indent=INDENT, style="red")


def in_order(record: Record) -> Iterator[MessageRow | CallRow]:
    """Messages and calls as they came: a call follows the message that asked for it, or stands by its time."""
    ids = {message.id for message in record.messages}
    loose = [call for call in record.calls if call.message_id not in ids]
    for message in record.messages:
        if message.role not in ("system", "user"):
            yield from (call for call in loose if call.started_at <= message.created_at)
            loose = [call for call in loose if call.started_at > message.created_at]
        yield message
        yield from (call for call in record.calls if call.message_id == message.id)
    yield from loose


def print_facts(screen: Screen, record: Record) -> None:
    """What else is known about a turn: its place, its settings, its seal."""
    turn = record.turn
    seal = "not sealed yet: it is still being written"
    if turn.turn_hash is not None:
        seal = f"{turn.turn_hash.hex()} at log entry {turn.seal_seq}"
    facts: list[tuple[str, str | None]] = [
        ("turn", turn.id),
        ("parent", turn.parent_turn_id or "none: it is a root"),
        ("depth", number(turn.depth)),
        ("began", clock(turn.started_at)),
        ("role", turn.role),
        ("provider", turn.provider),
        ("tools", turn.tools_available),
        ("permissions", turn.permissions_granted),
        ("used", turn.permissions_used),
        ("workspace", turn.workspace_path),
        ("tokens", _token_facts(turn)),
        ("thread", f"{number(turn.thread_tokens)} tokens"),
        ("originals", plural(len(record.originals), "original") if record.originals else None),
        ("seal", seal),
    ]
    for name, value in facts:
        if value is not None:
            screen.line((f"{name:<12}", "dim"), value)


def _headline(turn: TurnRow) -> str:
    tokens = None if turn.total_tokens is None else f"{turn.total_tokens:,} tokens"
    live = f"{turn.status} …" if turn.completed_at is None else None
    said = (
        f"turn {turn.depth:,}",
        clock(turn.started_at),
        turn.model,
        tokens,
        took(turn.started_at, turn.completed_at),
        live,
    )
    return " · ".join(part for part in said if part)


def _token_facts(turn: TurnRow) -> str | None:
    named = (
        ("in", turn.input_tokens),
        ("cached", turn.cached_input_tokens),
        ("cache written", turn.cache_write_tokens),
        ("out", turn.output_tokens),
        ("of it reasoning", turn.reasoning_tokens),
    )
    known = [f"{value:,} {name}" for name, value in named if value is not None]
    return " · ".join(known) or None


def _print_compaction(screen: Screen, row: CompactionRow) -> None:
    counted = "" if row.turns_summarized is None else f" of {plural(row.turns_summarized, 'turn')}"
    kept = f", kept from {short(row.first_kept_turn_id)}" if row.first_kept_turn_id else ""
    why = f" ({row.trigger})" if row.trigger else ""
    screen.line("  ", (f"summary{counted}{kept}{why}", "bold magenta"))
    screen.block(row.summary, indent=INDENT)


def _print_message(screen: Screen, record: Record, row: MessageRow, detail: Detail) -> None:
    name: list[Part] = ["  ", (row.role, _STYLES.get(row.role, "bold"))]
    if row.source and row.source != "human":
        name.append((f" ({row.source})", "dim"))
    if row.thinking and not detail.thinking:
        name.append((f"  thought {plural(len(row.thinking.split()), 'word')}, --thinking shows them", "dim"))
    screen.line(*name)
    if row.thinking and detail.thinking:
        screen.block(row.thinking, indent=INDENT, style="italic dim")
    if row.content:
        screen.block(row.content, indent=INDENT)
    print_parts(screen, record, row.id, full=detail.full)
