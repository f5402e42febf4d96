"""How large the contexts of many turns are: as calls to models reported it, and roughly for what came after."""

from collections.abc import Iterable, Mapping
from itertools import takewhile

from msgspec import Struct

from agents_ledger.ledger.ancestors import Forest, Place, as_json
from agents_ledger.model.estimates import BYTES_A_TOKEN
from agents_ledger.store import Tx

_WINDOW = 24  # turns upwards in which a call is looked for that says it


class Size(Struct, frozen=True):
    """So many tokens; estimated, if no call to a model in the turn itself has said it."""

    tokens: int
    is_estimated: bool


class _Near(Struct, frozen=True):
    """A turn near one whose context is measured."""

    place: Place
    recorded: int | None
    left: int | None  # by a compaction
    size_bytes: int


def context_sizes(tx: Tx, places: Iterable[Place]) -> dict[str, Size]:
    """How large the context of each turn is, roughly; `tokens.count` says it exactly for one."""
    wanted = list(places)
    rows = tx.rows("fork_contexts", ids=as_json(each.turn_id for each in wanted), most=_WINDOW)
    near = {row[0]: _Near(Place(*row[:4]), *row[4:]) for row in rows}
    forest = Forest(tx, (each.place for each in near.values()))
    return {each.turn_id: _size(each, forest, near) for each in wanted}


def _size(place: Place, forest: Forest, near: Mapping[str, _Near]) -> Size:
    """Upwards from a turn, until a call or a compaction says how large everything before was."""
    behind, counted, last = 0, 0, max(place.depth - _WINDOW + 1, place.compaction_depth)
    for each in takewhile(lambda above: above.depth >= last, forest.above(place)):
        found, counted = near[each.turn_id], counted + 1
        before = found.recorded if found.recorded is not None else found.left
        if before is not None:
            return Size(before + behind // BYTES_A_TOKEN, is_estimated=each.turn_id != place.turn_id)
        behind += found.size_bytes
    turns = place.depth - max(place.compaction_depth - 1, 0)
    return Size(behind // BYTES_A_TOKEN * turns // max(counted, 1), is_estimated=True)
