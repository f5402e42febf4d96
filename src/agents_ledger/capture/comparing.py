"""Turns beside each other: which of two that were read from different sources tells more."""

from collections import Counter

from agents_ledger.ledger.records import said_digest
from agents_ledger.model.rows import CallRow, MessageRow, Record

_FACTS = ("model", "input_tokens", "output_tokens", "cached_input_tokens", "cache_write_tokens", "reasoning_tokens")


def is_told_otherwise(record: Record, other: Record) -> bool:
    """Whether one of two turns that say the same tells a model or tokens that the other one does not."""
    one, two = record.turn, other.turn
    return any((getattr(two, name) is None) != (getattr(one, name) is None) for name in _FACTS)


def is_beginning(record: Record, whole: Record) -> bool:
    """Whether a turn says what another one says, as far as it goes, and stops before its end."""
    said, kept = record.messages, whole.messages
    if not said or record.compaction is not None or whole.compaction is not None:
        return False
    if len(said) > len(kept) or len(record.calls) > len(whole.calls) or said_digest(record) == said_digest(whole):
        return False
    *before, last = said
    ends = zip(_words(last), _words(kept[len(before)]), strict=True)
    return (
        all(_words(one) == _words(other) for one, other in zip(before, kept, strict=False))
        and all(there.startswith(here) for here, there in ends)
        and _has_calls_of(record, whole)
    )


def _has_calls_of(record: Record, whole: Record) -> bool:
    """Whether another turn has each call of a turn, in whatever order."""
    exact = Counter((*_asked(call), call.result_json) for call in record.calls if call.status != "abandoned")
    asked = Counter(_asked(call) for call in record.calls)  # the result of an abandoned call may not be there yet
    there = Counter((*_asked(call), call.result_json) for call in whole.calls)
    return exact <= there and asked <= Counter(_asked(call) for call in whole.calls)


def _words(row: MessageRow) -> tuple[str, ...]:
    return row.role, row.content or "", row.thinking or ""


def _asked(row: CallRow) -> tuple[str, str]:
    return row.tool_name, row.params_json
