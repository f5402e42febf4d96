"""What an agent would see at a turn: system prompt, summary, kept turns, query. Nothing of other branches."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from itertools import accumulate
from math import inf
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from agents_ledger.ledger import compact, threads
from agents_ledger.ledger.kept_questions import as_history, is_kept, kept_questions
from agents_ledger.ledger.records import read_turn, spoken
from agents_ledger.model.rows import CallRow, CompactionRow, MessageRow, Record, TurnRow
from agents_ledger.model.texts import json_text, read_json
from agents_ledger.store import Tx

_BATCH = 200  # turns in memory at a time


class ContextTurn(Struct, frozen=True):
    """What one turn contributes."""

    turn_id: str
    messages: list[MessageRow]
    calls: list[CallRow]
    depth: int = 0
    model: str | None = None
    provider: str | None = None


class Context(Struct, frozen=True):
    """The assembled context of a turn."""

    turn_id: str
    system: list[MessageRow]
    summary: str | None
    compaction_turn_id: str | None
    replacement: Any
    turns: list[ContextTurn]
    query: str | None


def assemble(tx: Tx, turn_id: str, query: str | None = None) -> Context:
    """The context after a turn: it depends on the turn's path alone."""
    turn = read_turn(tx, turn_id)
    compaction = compact.newest(tx, turn_id)
    return Context(
        turn_id=turn_id,
        system=system_prompt(tx, turn),
        summary=(compaction.summary or None) if compaction else None,
        compaction_turn_id=compaction.turn_id if compaction else None,
        replacement=None if compaction is None else _replacement(tx, turn, compaction),
        turns=_told(contributions(tx, turn, compaction)),
        query=query,
    )


def contributions(tx: Tx, turn: TurnRow, compaction: CompactionRow | None) -> Iterator[ContextTurn]:
    """What each turn up to one contributes, as far as the newest compaction left it; a few turns in memory at once."""
    if compaction is None:
        yield from _between(tx, turn, 1, turn.depth)
    else:
        yield from _after_compaction(tx, turn, compaction)


def newest(tx: Tx, turn: TurnRow, compaction: CompactionRow | None, most: int) -> list[ContextTurn]:
    """The last turns of a context, at most so many, the oldest first; those before them are not read."""
    found: list[ContextTurn] = []
    first = 1 if compaction is None else _goes_on_at(turn, compaction)
    for last in range(turn.depth, first - 1, -_BATCH):
        found = _told(_between(tx, turn, max(first, last - _BATCH + 1), last)) + found
        if len(found) >= most:
            return found[len(found) - most :]
    if compaction is not None and compaction.replacement_json is None:
        found = _told(_kept(tx, turn, compaction, turn.compaction_depth)) + found
    return found[max(len(found) - most, 0) :]


def is_left_out(row: MessageRow) -> bool:
    """Whether the agent does not tell its model of a message, by its own remarks (pi)."""
    remarks = None if row.metadata_json is None else read_json(row.metadata_json)
    if not isinstance(remarks, dict):
        return False
    return remarks.get("excludeFromContext") is True or remarks.get("stopReason") in ("error", "aborted")


def as_text(context: Context) -> str:
    """The context as a person reads it."""
    lines: list[str] = []
    for message in context.system:
        lines += ["[system]", message.content or "", ""]
    if context.summary is not None:
        lines += ["[summary of earlier turns]", context.summary, ""]
    if context.replacement is not None:
        lines += ["[context as the agent wrote it down]", json_text(context.replacement, "replacement")[0], ""]
    for turn in context.turns:
        for step in in_order(turn.messages, turn.calls):
            lines += _call_lines(step) if isinstance(step, CallRow) else [f"[{step.role}]", step.content or "", ""]
    if context.query is not None:
        lines += ["[user]", context.query, ""]
    return "\n".join(lines).rstrip("\n")


def in_order(messages: list[MessageRow], calls: list[CallRow]) -> list[MessageRow | CallRow]:
    """Messages with their tool calls behind them; a call without a message by its time. Calls keep their order.

    A live turn's call has no message if nothing was answered before it: an answer of the same moment follows it.
    """
    places = {row.id: at for at, row in enumerate(messages)}
    earliest = list(accumulate(reversed([row.created_at for row in messages]), min))[::-1]  # from each message on
    spoken_at = (row.created_at if row.role == "assistant" else -inf for row in messages)
    answers = list(accumulate(spoken_at, max))  # up to each message
    behind: list[list[CallRow]] = [[] for _ in range(len(messages) + 1)]
    at = -1
    for call in calls:
        if call.message_id is None:
            own = min(bisect_right(earliest, call.started_at), bisect_left(answers, call.started_at)) - 1
        else:
            own = places.get(call.message_id, -1)
        at = max(at, own)
        behind[at + 1].append(call)
    steps: list[MessageRow | CallRow] = list(behind[0])
    for message, following in zip(messages, behind[1:], strict=True):
        steps += [message, *following]
    return steps


def _replacement(tx: Tx, turn: TurnRow, row: CompactionRow) -> Any:
    """What stands in place of the turns before a compaction, if the agent goes on with something of its own."""
    if row.replacement_json is not None:
        return read_json(row.replacement_json)
    return as_history(kept_questions(tx, turn), row.summary) if is_kept(row) else None


def _after_compaction(tx: Tx, turn: TurnRow, row: CompactionRow) -> Iterator[ContextTurn]:
    if row.replacement_json is None:
        yield from _kept(tx, turn, row, turn.compaction_depth)
    yield from _between(tx, turn, _goes_on_at(turn, row), turn.depth)


def _goes_on_at(turn: TurnRow, row: CompactionRow) -> int:
    """The depth behind what was kept: what was put before the model around the compaction is in its own turn."""
    return turn.compaction_depth + (row.replacement_json is not None)


def _told(turns: Iterator[ContextTurn]) -> list[ContextTurn]:
    """The turns of which the model is told anything."""
    return [turn for turn in map(_sent, turns) if turn.messages or turn.calls]


def _between(tx: Tx, turn: TurnRow, first: int, last: int) -> Iterator[ContextTurn]:
    for start in range(first, last + 1, _BATCH):
        rows = list(threads.path(tx, turn.id, start, min(start + _BATCH - 1, last)))
        for record in spoken(tx, rows):
            yield _contribution(record)


def _kept(tx: Tx, turn: TurnRow, row: CompactionRow, at: int) -> Iterator[ContextTurn]:
    picked = compact.kept_ids(row)
    if picked is not None:
        turns = sorted((read_turn(tx, turn_id) for turn_id in picked), key=lambda kept: kept.depth)
        for record in spoken(tx, turns):
            yield _contribution(record)
    else:
        first = compact.summarized_depth(tx, row) + 1
        if row.first_kept_turn_id is not None:
            first = read_turn(tx, row.first_kept_turn_id).depth
        for record in spoken(tx, list(threads.path(tx, turn.id, first, at - 1))):
            is_cut = record.turn.id == row.first_kept_turn_id
            yield _contribution(record, row.first_kept_message_id if is_cut else None)


def _contribution(record: Record, from_message_id: str | None = None) -> ContextTurn:
    """A turn's messages without its system prompt (which stands at the top), from a message on."""
    messages = record.messages[len(leading_system(record.messages)) :]
    calls = record.calls
    if from_message_id is not None:
        first = next(row.sequence for row in record.messages if row.id == from_message_id)
        dropped = {row.id for row in messages if row.sequence < first}
        messages = [row for row in messages if row.sequence >= first]
        calls = [call for call in calls if call.message_id not in dropped]
    turn = record.turn
    return ContextTurn(turn.id, messages, calls, turn.depth, turn.model, turn.provider)


def _sent(turn: ContextTurn) -> ContextTurn:
    """A turn without what its agent keeps from the model."""
    kept_back = {row.id for row in turn.messages if is_left_out(row)}
    if not kept_back:
        return turn
    messages = [row for row in turn.messages if row.id not in kept_back]
    calls = [call for call in turn.calls if call.message_id not in kept_back]
    return replace(turn, messages=messages, calls=calls)


def system_prompt(tx: Tx, turn: TurnRow) -> list[MessageRow]:
    """The newest system prompt on the path."""
    if leading := leading_system(spoken(tx, [turn])[0].messages):
        return leading
    if not turn.system_depth or turn.system_depth == turn.depth:
        return []
    carrier = threads.ancestor_at(tx, turn.id, turn.system_depth)
    assert carrier is not None, "every depth up to the turn's has a turn"  # noqa: S101
    return leading_system(spoken(tx, [read_turn(tx, carrier)])[0].messages)


def leading_system(messages: list[MessageRow]) -> list[MessageRow]:
    """The system messages that a turn opens with."""
    count = next((at for at, row in enumerate(messages) if row.role != "system"), len(messages))
    return messages[:count]


def _call_lines(call: CallRow) -> list[str]:
    outcome = [call.result_json] if call.result_json is not None else []
    outcome += [f"error: {call.error}"] if call.error is not None else []
    shown = outcome or [f"({call.status})"]
    return [f"[tool call {call.tool_name}]", call.params_json, f"[tool result {call.tool_name}]", *shown, ""]
