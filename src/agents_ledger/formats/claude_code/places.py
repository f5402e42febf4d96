"""Where a line stands in the chain, and how several steps share that place."""

from typing import Any

from msgspec import Struct

from agents_ledger.model.steps import AFTER_LAST, Event, Step


class Place(Struct, gc=False):
    """A line's place: its session (a subagent's, if `side`), its id, what it follows and when."""

    session: str
    side: bool
    uuid: str | None
    parent: str | None
    at: int | None
    or_last: bool = False  # if its parent is in no source, it follows the last line of its session


def placed(place: Place, parts: list[tuple[type[Step], dict[str, Any]]], events: list[Event]) -> None:
    """Adds the steps of one line: a chain of which the last one has the line's id, so that others can follow it."""
    parent, last = place.parent, len(parts) - 1
    if place.or_last:
        parts[0][1]["or_last"] = True
    for number, (kind, fields) in enumerate(parts):
        uuid = place.uuid if number == last or place.uuid is None else f"{place.uuid}:{number}"
        step: Any = kind(session=place.session, native_id=uuid, parent=parent, at=place.at, **fields)
        events.append(step)
        parent = AFTER_LAST if uuid is None else uuid
