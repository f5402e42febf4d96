"""When a session is to be compacted, and where it is cut: decided from its context alone."""

from collections.abc import Iterator, Sequence
from typing import Any, Literal

from msgspec import Struct, structs

from agents_ledger.errors import BadInput, NotAllowed
from agents_ledger.ledger import compact, context, threads
from agents_ledger.ledger.context import Context, ContextTurn
from agents_ledger.ledger.records import read_turn
from agents_ledger.ledger.selection import pick
from agents_ledger.ledger.tokens import Tokens, count, estimate_rows, estimate_turn
from agents_ledger.model.rows import CallRow, CompactionRow
from agents_ledger.model.texts import integer
from agents_ledger.store import Tx

Mode = Literal["default", "safeguard"]
Strategy = Literal["summary", "sliding_window", "selective"]
_QUARTER = 4
_SPEAKING = ("text", "content", "summary", "output", "arguments", "message", "parts")


class Policy(Struct, frozen=True, kw_only=True):
    """How a session is compacted. All sizes in tokens.

    The context limit is reached when less than `reserve_tokens` of the window are left for the answer. Kept are the
    last `keep` turns; without it, as many of the newest as fit in `keep_tokens` and in a quarter of the context. A turn
    that is longer than `keep_tokens` by itself is cut inside, before an answer of the model.
    """

    mode: Mode = "default"
    strategy: Strategy = "summary"
    window_tokens: int = 200_000
    reserve_tokens: int = 16_384
    keep_tokens: int = 20_000
    keep: int | None = None
    every_turns: int | None = None  # periodic: when so many turns have come since the last compaction
    flush_tokens: int = 4_000  # memory is due to be written down when so little is left before the limit
    limit_tokens: int = 4_000  # of the summary
    select_tokens: int = 8_000  # of older turns that a selective compaction keeps
    instructions: str | None = None

    def __post_init__(self) -> None:
        """Refuses sizes that make no sense."""
        sizes = {name: value for name, value in structs.asdict(self).items() if isinstance(value, int)}
        if wrong := [name for name, value in sizes.items() if value < 0]:
            raise BadInput(f"{wrong[0]} of a policy can't be less than 0")
        if self.reserve_tokens >= self.window_tokens:
            raise BadInput(f"a reserve of {self.reserve_tokens:,} tokens leaves nothing of {self.window_tokens:,}")


class Due(Struct, frozen=True):
    """Whether a session is to be compacted now, and why."""

    trigger: Literal["context_limit", "periodic"] | None
    tokens: Tokens
    left_tokens: int  # before the limit; below 0 if it is passed
    turns: int  # since the last compaction
    is_flush_due: bool


class Plan(Struct, frozen=True, kw_only=True):
    """What a compaction would summarise and keep."""

    head: str
    tokens: Tokens
    compaction_turn_id: str | None  # the one that holds now
    earlier: str | None  # what stands now for the turns before the context's
    dropped: tuple[ContextTurn, ...]
    kept: tuple[ContextTurn, ...]
    through: str
    first_kept: str | None = None
    first_kept_message_id: str | None = None
    picked: tuple[str, ...] | None = None  # the kept turns, where they were picked one by one


def due(tx: Tx, head: str, policy: Policy) -> Due:
    """Whether a thread is to be compacted now."""
    turn = read_turn(tx, head)
    tokens = count(tx, context.assemble(tx, head))
    left, turns = policy.window_tokens - policy.reserve_tokens - tokens.count, turn.depth - turn.compaction_depth
    trigger: Literal["context_limit", "periodic"] | None = None
    if turns and left < 0:
        trigger = "context_limit"
    elif turns and policy.every_turns is not None and turns >= policy.every_turns:
        trigger = "periodic"
    return Due(trigger, tokens, left, turns, left < policy.flush_tokens)


def plan(tx: Tx, head: str, policy: Policy) -> Plan:
    """Where a thread would be cut."""
    seen = context.assemble(tx, head)
    cut = _cut(seen.turns, policy)
    chosen: list[ContextTurn] = []
    if policy.strategy == "selective":
        chosen = pick(cut.dropped, cut.kept, policy.select_tokens, policy.instructions)
    dropped = tuple(turn for turn in cut.dropped if turn not in chosen)
    kept = (*chosen, *cut.kept)
    if not dropped:
        raise NotAllowed(
            f"there is nothing to compact: all {plural(len(seen.turns))} of the context would be kept. "
            "Wait for more of them, or keep fewer (`--keep N`)"
        )
    return Plan(
        head=head,
        tokens=count(tx, seen),
        compaction_turn_id=seen.compaction_turn_id,
        earlier=_earlier(seen),
        dropped=dropped,
        kept=kept,
        **_place(tx, head, kept, cut.message_id, is_picked=bool(chosen)),
    )


def keep_last(tx: Tx, head: str, keep: int) -> dict[str, Any]:
    """The cut that keeps the last `keep` turns of the context, as a compaction says it.

    What an earlier compaction kept can be kept again; what it summarised is no turn of the context any more.
    """
    keep = integer(keep, "keep") or 0
    turn, before = read_turn(tx, head), compact.newest(tx, head)
    seen = context.newest(tx, turn, before, max(keep, 0) + 1)
    if not 0 <= keep <= _room(len(seen), before):
        there = len(context.newest(tx, turn, before, turn.depth))
        raise BadInput(
            f"the agent sees {plural(there)} of this session: keep 0 to {_room(there, before)} of them, not {keep}"
        )
    found = _place(tx, head, seen[len(seen) - keep :])
    found["kept"] = found.pop("picked", None)
    return found


def _room(turns: int, before: CompactionRow | None) -> int:
    """How many turns can be kept: all of them only if there is an earlier summary to be replaced."""
    return turns if before is not None else max(turns - 1, 0)


def plural(turns: int) -> str:
    """`1 turn`, `2 turns`."""
    return f"{turns} turn" if turns == 1 else f"{turns} turns"


class _Cut(Struct, frozen=True):
    """The context in two: what goes and what stays; inside a turn, if there is a message to begin with."""

    dropped: list[ContextTurn]
    kept: list[ContextTurn]
    message_id: str | None = None


def _cut(turns: list[ContextTurn], policy: Policy) -> _Cut:
    if policy.keep is not None:
        at = max(len(turns) - policy.keep, 0)
        return _Cut(turns[:at], turns[at:])
    sizes = [estimate_turn(turn) for turn in turns]
    at, room = len(turns), min(policy.keep_tokens, sum(sizes) // _QUARTER)
    while at and sizes[at - 1] <= room:
        at -= 1
        room -= sizes[at]
    if at < len(turns) or not turns:
        return _Cut(turns[:at], turns[at:])
    if policy.strategy != "selective" and sizes[-1] > policy.keep_tokens:
        return _cut_inside(turns, policy.keep_tokens)
    return _Cut(turns[:-1], turns[-1:])


def _cut_inside(turns: list[ContextTurn], room: int) -> _Cut:
    """The newest turn is too long: its last messages stay, from an answer of the model on, with their calls."""
    last = turns[-1]
    start = None
    calls: dict[str | None, list[CallRow]] = {}
    for call in last.calls:
        calls.setdefault(call.message_id, []).append(call)
    for at in range(len(last.messages) - 1, 0, -1):
        row = last.messages[at]
        room -= estimate_rows([row], calls.get(row.id, []))
        if room < 0 and start is not None:
            break
        if row.role == "assistant":
            start = at
    if start is None:
        return _Cut(turns[:-1], turns[-1:])
    gone = {row.id for row in last.messages[:start]}
    calls_gone = [call for call in last.calls if call.message_id in gone]
    calls_kept = [call for call in last.calls if call.message_id not in gone]
    head = structs.replace(last, messages=last.messages[:start], calls=calls_gone)
    tail = structs.replace(last, messages=last.messages[start:], calls=calls_kept)
    return _Cut([*turns[:-1], head], [tail], last.messages[start].id)


def _place(
    tx: Tx, head: str, kept: Sequence[ContextTurn], message_id: str | None = None, *, is_picked: bool = False
) -> dict[str, Any]:
    """The cut as a compaction says it: by the first kept turn, or by all of them where no range would do."""
    before = compact.newest(tx, head)
    if not kept:
        return {"through": head}
    since = read_turn(tx, head).compaction_depth
    was_picked = before is not None and before.kept_json is not None and kept[0].depth < since
    if is_picked or was_picked:
        return {"through": head, "picked": tuple(turn.turn_id for turn in kept)}
    through = _last_before(tx, head, kept[0], before)
    if message_id is None and before is not None and before.first_kept_turn_id == kept[0].turn_id:
        message_id = before.first_kept_message_id  # what was cut off there stays summarised
    return {"through": through, "first_kept": kept[0].turn_id, "first_kept_message_id": message_id}


def _last_before(tx: Tx, head: str, first: ContextTurn, before: CompactionRow | None) -> str:
    """The last turn that is summarised whole; never one before those that were summarised already."""
    done = compact.summarized_depth(tx, before)
    depth = max(first.depth - 1, done)
    found = threads.ancestor_at(tx, head, depth) if depth else first.turn_id
    assert found is not None, "every depth up to the head's has a turn"  # noqa: S101
    return found


def _earlier(seen: Context) -> str | None:
    """What stands for the turns before the context's: the summary, and what an agent wrote down beside it."""
    told = [text for text in _texts(seen.replacement) if not (seen.summary and seen.summary in text)]
    return "\n\n".join(text for text in (seen.summary, *told) if text) or None


def _texts(value: Any) -> Iterator[str]:
    """The words in a context of whatever shape: what stands under names that agents use for words."""
    if isinstance(value, list):
        for item in value:
            yield from _texts(item)
    elif isinstance(value, dict):
        for name in _SPEAKING:
            found = value.get(name)
            if isinstance(found, str):
                yield found
            else:
                yield from _texts(found)
