"""How large a context is: as the last call to a model reported it, and roughly for what came after."""

from collections.abc import Iterable, Sequence
from typing import Literal

from msgspec import Struct

from agents_ledger.ledger.context import Context, ContextTurn
from agents_ledger.ledger.records import read_turn
from agents_ledger.model.estimates import A_PICTURE, AROUND_A_MESSAGE, estimate
from agents_ledger.model.rows import CallRow, MessageRow
from agents_ledger.model.texts import json_text
from agents_ledger.store import Tx

How = Literal["recorded", "mixed", "estimated"]
_IMAGE = '"type":"image"'


class Tokens(Struct, frozen=True):
    """A number of tokens and where it is from.

    `recorded` were counted by the provider, in the last call to a model (with everything that it was sent, tools as
    well); `estimated` are what the record has behind that call.
    """

    count: int
    how: How
    recorded: int = 0
    estimated: int = 0
    turn_id: str | None = None  # the turn with that call


def count(tx: Tx, context: Context) -> Tokens:
    """The tokens of a context: recorded where a call after its compaction says so, else estimated."""
    turn = read_turn(tx, context.turn_id)
    row = tx.first("newest_usage", id=turn.id, after=turn.compaction_depth)
    asked = 0 if context.query is None else estimate(context.query) + AROUND_A_MESSAGE
    if row is None:
        total = estimate_context(context)
        return Tokens(total, "estimated", estimated=total)
    turn_id, depth, message_id, recorded = row
    behind = sum(estimate_turn(each) for each in context.turns if each.depth > depth) + asked
    last = next((each for each in context.turns if each.turn_id == turn_id), None)
    if last is not None and message_id is not None:
        behind += _after(last, message_id)
    return Tokens(recorded + behind, "mixed" if behind else "recorded", recorded, behind, turn_id)


def estimate_context(context: Context) -> int:
    """The tokens of a whole context, roughly."""
    total = estimate_rows(context.system, ()) + sum(estimate_turn(turn) for turn in context.turns)
    for text in (context.summary, context.query):
        total += estimate(text) + AROUND_A_MESSAGE if text else 0
    if context.replacement is not None:
        total += estimate(json_text(context.replacement, "replacement")[0])
    return total


def estimate_turn(turn: ContextTurn) -> int:
    """The tokens that a turn takes in a context, roughly."""
    return estimate_rows(turn.messages, turn.calls)


def estimate_rows(messages: Iterable[MessageRow], calls: Iterable[CallRow]) -> int:
    """The tokens of messages (without what was thought: few models are shown that again) and of calls, roughly."""
    said = sum(
        estimate(row.content) + A_PICTURE * (row.blocks_json or "").count(_IMAGE) + AROUND_A_MESSAGE for row in messages
    )
    return said + sum(estimate(call.tool_name) + estimate(call.params_json) + _outcome(call) for call in calls)


def _outcome(call: CallRow) -> int:
    return estimate(call.result_json) + estimate(call.error) + AROUND_A_MESSAGE


def _after(turn: ContextTurn, message_id: str) -> int:
    """What a turn has behind an answer of the model: the results of its calls, and all that follows."""
    at = next((row.sequence for row in turn.messages if row.id == message_id), None)
    if at is None:
        return 0
    later = [row for row in turn.messages if row.sequence > at]
    behind = {row.id for row in later}
    own: Sequence[CallRow] = [call for call in turn.calls if call.message_id == message_id]
    follow = [call for call in turn.calls if call.message_id in behind]
    return estimate_rows(later, follow) + sum(_outcome(call) for call in own)
