"""Where many turns lie in their trees, and which of them are on the way to which: a few statements for all of them."""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator

import msgspec

from agents_ledger.model.relevance import Step
from agents_ledger.model.texts import read_json
from agents_ledger.store import Tx


class Place(msgspec.Struct, frozen=True):
    """Where a turn lies."""

    turn_id: str
    segment_id: int
    depth: int
    compaction_depth: int


class Cut(msgspec.Struct, frozen=True):
    """What the newest compaction on the way to a turn has left."""

    turn_id: str  # the compaction itself
    through: int  # the depth that it summarised through
    kept: frozenset[str] = frozenset()  # turns that it kept one by one

    def takes(self, place: Place) -> bool:
        """Whether only a summary is left of a turn."""
        return place.depth <= self.through and place.turn_id not in self.kept


class Forest:
    """Some turns, and which of them are on the way to which."""

    def __init__(self, tx: Tx, places: Iterable[Place]) -> None:
        self._runs: dict[int, list[Place]] = defaultdict(list)
        for place in sorted(places, key=lambda each: each.depth):
            self._runs[place.segment_id].append(place)
        self._ways: dict[int, list[tuple[int, int]]] = defaultdict(list)
        for segment_id, on_segment_id, through in tx.rows("fork_ways", segments=as_json(self._runs)):
            self._ways[segment_id].append((through, on_segment_id))
        for way in self._ways.values():
            way.sort(reverse=True)

    def above(self, place: Place) -> Iterator[Place]:
        """The turns on the way to one, the nearest first, itself included; its segment is that of one of them."""
        for through, segment_id in self._ways[place.segment_id]:
            run = self._runs[segment_id]
            yield from reversed(run[: bisect_right(run, min(through, place.depth), key=lambda each: each.depth)])


def places_of(tx: Tx, turn_ids: Iterable[str]) -> dict[str, Place]:
    """Where turns lie; those that are still being written are left out."""
    return {row[0]: Place(*row) for row in tx.rows("fork_places", ids=as_json(turn_ids))}


def cuts_of(tx: Tx, places: Iterable[Place]) -> dict[str, Cut]:
    """What compactions have left on the way to turns, by turn."""
    compacted = [place.turn_id for place in places if place.compaction_depth]
    rows = tx.rows("fork_cuts", ids=as_json(compacted)) if compacted else []
    return {row[0]: Cut(row[1], row[2], frozenset(read_json(row[3]) if row[3] else ())) for row in rows}


def way_to(place: Place, forest: Forest, cut: Cut | None) -> list[Step]:
    """The way to a turn, by the turns of a forest."""
    return [
        Step(each.turn_id, place.depth - each.depth, cut is not None and cut.takes(each))
        for each in forest.above(place)
    ]


def as_json(values: Iterable[str | int]) -> str:
    """A list, as a parameter of a statement."""
    return msgspec.json.encode(list(values)).decode()
