"""What follows from the record, recomputed and compared: tables made of others, and columns that no hash covers."""

import re
from collections.abc import Iterator

from agents_ledger.ledger import evidence, usage
from agents_ledger.model.rows import Record
from agents_ledger.model.rules import RETRACTED
from agents_ledger.store import Tx

_FACTS = ("counted_through", "searchable_through")  # log entries
_FIRST = 5  # rows of each kind: one mistake may be in all of them
_NOT_THERE = "its evidence names bytes that are not there"
_PLACE = re.compile(r"([0-9]{1,18}):([0-9]{1,18})\+([0-9]{1,18})").fullmatch
Wrong = tuple[str, str, str]  # the table, the row's key, what is wrong


def check(tx: Tx) -> Iterator[Wrong]:
    """Homes of turns, what the faces look things up by, sums of tokens, and how far those are counted."""
    for turn_id, label in tx.rows("strange_homes", limit=_FIRST):
        yield "turns", turn_id, f"its session_label {label} is no session"
    for turn_id, label in tx.rows("wrong_homes", limit=_FIRST):
        yield "turns", turn_id, f"its session_label is not {label}, which wrote it"
    for label, segment in tx.rows("unlisted_segments", limit=_FIRST):
        yield "session_segments", f"{label or ''} {segment}", f"is missing: {label or 'no session'} wrote there"
    for label, segment in tx.rows("strange_segments", limit=_FIRST):
        yield "session_segments", f"{label} {segment}", "names a session or a segment that is not there"
    for (segment,) in tx.rows("wrong_paths", limit=_FIRST):
        yield "segment_paths", str(segment), "is not the way from the root to this segment"
    for label, turn_id in tx.rows("retracted_heads", retracted=RETRACTED, limit=_FIRST):
        yield "sessions", label, f"its head {turn_id} was retracted, but its source has other turns: run `ldg rebuild`"
    for (label,) in tx.rows("wrong_ids", limit=_FIRST):
        yield "session_ids", label, "does not follow from the session and its head"
    yield from _check_facts(tx)


def _check_facts(tx: Tx) -> Iterator[Wrong]:
    facts: dict[str, str] = dict(tx.rows("all_facts"))
    last = int(tx.value("last_seq"))
    for name in _FACTS:
        if not facts.get(name, "").isdecimal() or int(facts[name]) > last:
            yield "ledger_facts", name, f"is no entry of the log: {facts.get(name)}"
            return
    if facts.get("noted") not in ("0", "1"):
        yield "ledger_facts", "noted", f"is neither 0 nor 1: {facts.get('noted')}"
    through = usage.counted_through(tx)
    if not through and tx.first("any_slot") is None:
        return  # nothing was ever summed up
    for slot, label, model, *_ in tx.rows("miscounted", after=0, through=through, limit=_FIRST, **usage.NOTHING_ELSE):
        yield "usage_slots", f"{slot} {label} {model}", "is not the sum of its turns' tokens"


class Places:
    """Where rows were read: each place is some bytes of a capture."""

    def __init__(self, tx: Tx) -> None:
        self._sizes: dict[int, int] = dict(tx.rows("capture_sizes"))
        self._slices = evidence.Slices(tx)

    def check(self, record: Record) -> Iterator[Wrong]:
        """The rows of a turn that name bytes which are not there."""
        turn = record.turn
        if turn.evidence is not None and not self._are_there(turn.evidence):
            yield "turns", turn.id, f"{_NOT_THERE}: {turn.evidence}"
        for row in record.messages:
            if row.evidence is not None and not self._are_there(row.evidence):
                yield "messages", row.id, f"{_NOT_THERE}: {row.evidence} (of turn {turn.id})"
        for call in record.calls:
            if call.evidence is not None and not self._are_there(call.evidence):
                yield "tool_calls", call.id, f"{_NOT_THERE}: {call.evidence} (of turn {turn.id})"

    def _are_there(self, text: str) -> bool:
        return all(map(self._is_there, text.split(" ")))

    def _is_there(self, place: str) -> bool:
        told = _PLACE(place)
        if told is None:
            return False
        capture_id, offset, length = map(int, told.groups())
        size = self._sizes.get(capture_id)
        return size is not None and (offset + length <= size or self._slices.is_packed(capture_id))
