"""The turns of a context as a summariser reads them."""

from typing import Any

from agents_ledger.ledger.context import ContextTurn, in_order
from agents_ledger.model.rows import CallRow
from agents_ledger.model.summary import Done, Passage, Said
from agents_ledger.model.texts import read_json


def passage(turn: ContextTurn) -> Passage:
    """One turn, its messages and calls in order."""
    steps: list[Said | Done] = []
    for step in in_order(turn.messages, turn.calls):
        if isinstance(step, CallRow):
            steps.append(_done(step))
        elif step.content:
            steps.append(Said(step.role, step.content, step.source))
    return Passage(turn.turn_id, tuple(steps))


def _done(call: CallRow) -> Done:
    result = None if call.result_json is None else _readable(read_json(call.result_json), call.result_json)
    return Done(call.tool_name, read_json(call.params_json), result, call.error, call.status)


def _readable(value: Any, written: str) -> str:
    """A result as a text: what it says, where it is a text or a list of texts, else its JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        found = [item.get("text") if isinstance(item, dict) else item for item in value]
        texts = [text for text in found if isinstance(text, str)]
        if len(texts) == len(found):
            return "\n".join(texts)
    return written
