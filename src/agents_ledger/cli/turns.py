"""A turn on the screen: who said what, which tools ran, what it cost."""

from msgspec import Struct

from agents_ledger.cli.calls import Changes, print_call, print_parts
from agents_ledger.cli.folding import folded, thing
from agents_ledger.cli.screen import Part, Screen, cell_width
from agents_ledger.cli.terminal import one_line
from agents_ledger.cli.words import clock, number, plural, short, took
from agents_ledger.ledger.context import in_order
from agents_ledger.ledger.sealing import OPEN
from agents_ledger.model.pieces import Piece, pieces
from agents_ledger.model.rows import CallRow, CompactionRow, MessageRow, Record, TurnRow

INDENT = 4
_MARK_AND_ID = 12
_THOUGHT_LINES = 2
_OWN_LINES = 30  # of what a person wrote, or pasted
_OWN_WIDTH = 4000
_GIVEN_WIDTH = 200
_GIVEN_LINES = 3  # of what programs put in: system prompts, contexts, reminders
_STYLES = {"user": "bold yellow", "assistant": "bold cyan", "system": "bold magenta"}
MARKS = {
    "failed": ("✗", "bold red"),
    "pending": ("◌", "bold yellow"),
    "streaming": ("◌", "bold yellow"),
    "superseded": ("⊘", "dim"),
}


LEFT_BEHIND = "its writer is gone: the next command that writes closes it as failed"


class Detail(Struct, frozen=True):
    """How much of a turn is shown."""

    thinking: bool = False
    full: bool = False
    ldg: str = "ldg"  # the command as it is typed, for what is shown elsewhere


def mark_of(status: str, turn_type: str, *, is_head: bool = False) -> tuple[str, str]:
    """The sign of a turn, with its style."""
    if status in MARKS:
        return MARKS[status]
    if turn_type == "compaction":
        return "◆", "bold magenta"
    return ("●", "bold green") if is_head else ("○", "")


def print_turn(screen: Screen, record: Record, detail: Detail, changes: Changes) -> None:
    """One turn as a conversation."""
    print_headline(screen, record.turn)
    if record.compaction is not None:
        print_compaction(screen, record.compaction)
    own = _own_calls(record)
    for part in in_order(record.messages, record.calls):
        if isinstance(part, MessageRow):
            _print_said(screen, record, part, detail, own[part.id], changes)
        elif part.message_id not in own:
            print_call(screen, part, changes(part), full=detail.full)
    print_error(screen, record.turn)


def print_headline(screen: Screen, turn: TurnRow) -> None:
    """A turn's sign, its id, when it was, what it cost."""
    known = _headline(turn, None if screen.width is None else screen.width - _MARK_AND_ID)
    screen.line(mark_of(turn.status, turn.turn_type), " ", (short(turn.id), "bold"), "  ", (known, "dim"))


def print_error(screen: Screen, turn: TurnRow) -> None:
    """Why a turn failed."""
    if turn.error is not None:
        screen.line("  ", ("failed", "bold red"))
        screen.block(turn.error, indent=INDENT, style="red")


def print_message(screen: Screen, record: Record, row: MessageRow, detail: Detail) -> None:
    """A message without its calls."""
    _print_said(screen, record, row, detail, [], lambda _: [])


def _own_calls(record: Record) -> dict[str, list[CallRow]]:
    found: dict[str, list[CallRow]] = {row.id: [] for row in record.messages}
    for call in record.calls:
        if call.message_id in found:
            found[call.message_id].append(call)
    return found


def _print_said(
    screen: Screen, record: Record, row: MessageRow, detail: Detail, calls: list[CallRow], changes: Changes
) -> None:
    """A message with its calls, where they were made."""
    name: list[Part] = ["  ", (row.role, _STYLES.get(row.role, "bold"))]
    if row.source and row.source != "human":
        name.append((f" ({row.source})", "dim"))
    left, parts = dict(enumerate(calls)), pieces(row)
    if row.role != "assistant" or any(piece.kind != "call" for piece in parts):
        screen.line(*name)
    for piece in parts:
        if piece.kind != "call":
            _print_piece(screen, row, piece, detail)
        elif (call := left.pop(piece.at, None)) is not None:
            print_call(screen, call, changes(call), full=detail.full)
    print_parts(screen, record, row.id, with_touched=not calls or detail.full, full=detail.full)
    for call in left.values():
        print_call(screen, call, changes(call), full=detail.full)


def _print_piece(screen: Screen, row: MessageRow, piece: Piece, detail: Detail) -> None:
    if piece.kind == "thinking":
        lines = None if detail.thinking or detail.full else _THOUGHT_LINES
        thought = folded(piece.text.strip("\n"), lines, "--thinking shows them")
        screen.block(thought, indent=INDENT, style="italic dim", first="┊ ", rest="┊ ")
    elif piece.kind == "thing":
        has_it = f"`{detail.ldg} export {row.id}` has it"
        place = f"in the evidence at {row.evidence}; {has_it}" if row.evidence else "not kept"
        known = thing(piece.facts) or str(piece.facts.get("type") or "something")
        screen.line(" " * INDENT, (f"[{known}]", "magenta"), (f"  {place}", "dim"))
    elif row.role == "assistant":
        screen.markdown(piece.text, indent=INDENT)
    else:
        lines = _OWN_LINES if row.role == "user" and row.source in (None, "human") else _GIVEN_LINES
        width = _OWN_WIDTH if lines == _OWN_LINES else _GIVEN_WIDTH
        style = "" if lines == _OWN_LINES else "dim"
        screen.block(folded(piece.text, None if detail.full else lines, width=width), indent=INDENT, style=style)


def print_facts(screen: Screen, record: Record) -> None:
    """What else is known about a turn: its place, its settings, its seal."""
    turn = record.turn
    seal = "not sealed yet: it has not ended"
    if turn.seal_seq == OPEN:
        seal = "open: its source may go on; it is sealed when another turn follows"
    elif turn.turn_hash is not None:
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
            screen.hanging(value, first=f"{name:<12}", rest=" " * 12)


def _headline(turn: TurnRow, room: int | None) -> str:
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
    found = ""
    for part in (one_line(part) for part in said if part):
        longer = f"{found} · {part}" if found else part
        if room is None or cell_width(longer) <= room:  # what has no room is left out: it stands below a single turn
            found = longer
    return found


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


def print_compaction(screen: Screen, row: CompactionRow) -> None:
    """The summary that stands for earlier turns."""
    counted = "" if row.turns_summarized is None else f" of {plural(row.turns_summarized, 'turn')}"
    kept = f", kept from {short(row.first_kept_turn_id)}" if row.first_kept_turn_id else ""
    why = f" ({row.trigger})" if row.trigger else ""
    screen.line("  ", (f"summary{counted}{kept}{why}", "bold magenta"))
    screen.markdown(row.summary, indent=INDENT)
