"""Search by meaning: turns as vectors of what was asked and answered. Beside the record, made again at will."""

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

import msgspec

from agents_ledger.errors import BadInput
from agents_ledger.ledger import embedding
from agents_ledger.ledger.conditions import Asked
from agents_ledger.model.ids import LENGTH
from agents_ledger.model.ranking import Ranked
from agents_ledger.store import Database, Tx

_BLOCK = 1024  # vectors in a row
_BATCH = 16  # turns that are embedded together
_PAGE = 2000
_ASKED, _ANSWERED = 700, 700  # characters
_NEAREST = 400
_AMONG = 4000  # of which so many are left under conditions

Progress = Callable[[int, int], None]


def require() -> None:
    """Says what to install, if it is not here."""
    if not embedding.is_installed():
        raise BadInput("search by meaning needs the extra `semantic`: pip install 'agents-ledger[semantic]'")


def require_ready(tx: Tx) -> None:
    """Says what to do first, if there is nothing to compare with."""
    require()
    if not is_ready(tx):
        raise BadInput("no turn has been compared yet: `ldg index --semantic` does it (about 50 ms a turn)")


def is_ready(tx: Tx) -> bool:
    """Whether there is something to compare with, and the model to do it."""
    return tx.first("has_vectors", model=embedding.MODEL) is not None and embedding.is_installed()


def feed(database: Database, progress: Progress | None = None) -> int:
    """Makes vectors of all turns that have none; gives how many turns."""
    require()
    with database.read() as tx:
        waiting = list(_waiting(tx))
    for start in range(0, len(waiting), _BATCH):
        batch = waiting[start : start + _BATCH]
        with database.read() as tx:
            texts = _texts(tx, [turn_id for turn_id, _ in batch])
        for is_open in (0, 1):
            wanted = {turn_id for turn_id, sealed in batch if bool(sealed) != bool(is_open)}
            chosen = [(turn_id, text) for turn_id, text in texts if turn_id in wanted]
            if chosen:
                ids = "".join(turn_id for turn_id, _ in chosen)
                made = embedding.packed(embedding.embed([text for _, text in chosen]))
                database.write(lambda tx, ids=ids, made=made, is_open=is_open: _put(tx, ids, made, is_open))  # type: ignore[misc]
        if progress is not None:
            progress(start + len(batch), len(waiting))
    return len(waiting)


def forget(tx: Tx) -> None:
    """Drops all vectors."""
    tx.run("drop_vectors")


def nearest(tx: Tx, text: str, conditions: Asked, unwanted: Collection[str] = ()) -> list[Ranked]:
    """The turns that are most like a question, the best first; without those that are not wanted."""
    vector = embedding.embed([text])[0]
    best: dict[str, float] = {}
    most = _AMONG if conditions.is_bound or unwanted else _NEAREST
    for ids, block in tx.each("vector_blocks", model=embedding.MODEL):
        for place, likeness in _highest(embedding.likenesses(bytes(block), vector), most):
            turn_id = ids[place * LENGTH : (place + 1) * LENGTH]
            best[turn_id] = max(likeness, best.get(turn_id, -1.0))
        if len(best) > 4 * most:
            best = dict(sorted(best.items(), key=lambda each: -each[1])[:most])
    ranked = [
        Ranked(turn_id, None, score) for turn_id, score in sorted(best.items(), key=lambda each: (-each[1], each[0]))
    ]
    if conditions.is_bound:
        kept = {
            row[0]
            for row in tx.rows("found_among", ids=_json([each.turn_id for each in ranked[:most]]), **conditions.params)
        }
        ranked = [each for each in ranked if each.turn_id in kept]
    return [each for each in ranked if each.turn_id not in unwanted][:_NEAREST]


def _highest(scores: Any, most: int) -> Iterator[tuple[int, float]]:
    import numpy as np  # noqa: PLC0415 - optional

    places = np.argpartition(scores, -most)[-most:] if len(scores) > most else range(len(scores))
    return ((int(place), float(scores[place])) for place in places)


def _waiting(tx: Tx) -> Iterator[tuple[str, int]]:
    """Turns without vectors, and whether they are sealed; one that was open is compared anew when it is sealed."""
    known: dict[bool, set[str]] = {False: set(), True: set()}
    for is_open, ids in tx.each("vector_turns", model=embedding.MODEL):
        known[bool(is_open)].update(ids[at : at + LENGTH] for at in range(0, len(ids), LENGTH))
    after = ""
    while page := tx.rows("turns_after", after=after, most=_PAGE):
        after = page[-1][0]
        for turn_id, sealed in page:
            if turn_id not in known[False] and (sealed or turn_id not in known[True]):
                yield turn_id, sealed


def _texts(tx: Tx, turn_ids: Sequence[str]) -> list[tuple[str, str]]:
    """What was asked last, and what was answered last, of each turn."""
    said: dict[str, dict[str, str]] = {turn_id: {} for turn_id in turn_ids}
    for turn_id, role, text in tx.rows("dialogue_of", ids=_json(turn_ids)):
        said[turn_id][role] = text
    found: list[tuple[str, str]] = []
    for turn_id, texts in said.items():
        asked, answered = texts.get("user", "")[:_ASKED], texts.get("assistant", "")[:_ANSWERED]
        found += [(turn_id, text) for text in (asked, answered) if text] or [(turn_id, " ")]
    return found


def _put(tx: Tx, ids: str, made: bytes, is_open: int) -> None:
    last = tx.first("last_vectors", model=embedding.MODEL, is_open=is_open)
    if last is not None and len(last[1]) + len(ids) <= _BLOCK * LENGTH:
        tx.run("replace_vectors", id=last[0], turn_ids=last[1] + ids, vectors=bytes(last[2]) + made)
    else:
        tx.run("insert_vectors", model=embedding.MODEL, is_open=is_open, turn_ids=ids, vectors=made)


def _json(values: Sequence[str]) -> str:
    return msgspec.json.encode(values).decode()
