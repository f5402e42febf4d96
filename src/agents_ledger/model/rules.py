"""The rules of the tree that need no database: what is derived, and how."""

from collections.abc import Sequence

import msgspec

from agents_ledger.model.entries import OPEN_CALLS
from agents_ledger.model.rows import CallRow, MessageRow

RETRACTED = "retracted: its source does not tell it any more"  # the error of a turn that was emptied
SUPERSEDED = "superseded"  # the status of a turn in the log that its sources tell otherwise by now
LARGEST = (1 << 63) - 1  # what a column holds


def query_ids(messages: Sequence[MessageRow]) -> str:
    """JSON array of the messages that ask: everything of the user's before the first answer."""
    asked: list[str] = []
    for row in messages:
        if row.role == "assistant":
            break
        if row.role == "user":
            asked.append(row.id)
    return msgspec.json.encode(asked).decode()


def response_id(messages: Sequence[MessageRow]) -> str | None:
    """The last message of the assistant."""
    return next((row.id for row in reversed(messages) if row.role == "assistant"), None)


def has_system_prompt(messages: Sequence[MessageRow]) -> bool:
    """Whether the turn opens with the system prompt (a system message before anything else)."""
    return bool(messages) and messages[0].role == "system"


def open_calls(calls: Sequence[CallRow]) -> list[CallRow]:
    """The tool calls that have no outcome yet."""
    return [call for call in calls if call.status in OPEN_CALLS]


def thread_total(parent_total: int | None, own: int | None) -> int | None:
    """Tokens of a thread: its parent's and its own; unknown only when nothing is known, at most 64 bits."""
    if parent_total is None or own is None:
        return own if parent_total is None else parent_total
    return min(parent_total + own, LARGEST)
