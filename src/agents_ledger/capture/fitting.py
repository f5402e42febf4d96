"""A turn that no row can hold as it is (JSON nested deeper than it can be written): it goes in without that."""

from typing import Any

from msgspec.structs import replace

from agents_ledger.model.entries import Turn

_DEPTH = 200
_OMITTED = {"omitted": "can't be written as JSON: see the evidence"}


def fitted(turn: Turn) -> Turn:
    """The turn with a note instead of each value that can't be written."""
    compaction = turn.compaction
    if compaction is not None:
        compaction = replace(
            compaction, replacement=_value(compaction.replacement), metadata=_value(compaction.metadata)
        )
    return replace(
        turn,
        messages=tuple(
            replace(row, context=_value(row.context), metadata=_value(row.metadata), blocks=_value(row.blocks))
            for row in turn.messages
        ),
        calls=tuple(replace(call, params=_value(call.params), result=_value(call.result)) for call in turn.calls),
        settings=replace(turn.settings, permissions_granted=_value(turn.settings.permissions_granted)),
        compaction=compaction,
    )


def _value(value: Any) -> Any:
    """The value, if it is not nested too deep (how deep is too deep for the encoder depends on who calls it)."""
    ahead = [(value, 0)]
    while ahead:
        item, depth = ahead.pop()
        if isinstance(item, dict | list | tuple):
            if depth > _DEPTH:
                return _OMITTED
            ahead += [(inner, depth + 1) for inner in (item.values() if isinstance(item, dict) else item)]
    return value
