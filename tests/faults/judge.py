"""What must hold of a ledger after a fault or a power cut, whatever was under way."""

import hashlib
import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from agents_ledger import Ledger
from agents_ledger.errors import LedgerError
from agents_ledger.ledger.digest import digest
from agents_ledger.model.rows import Record
from tests.faults.actions import Action, texts_of
from tests.faults.operations import Ack
from tests.faults.places import Place
from tests.faults.runs import run


class Reference(Struct, frozen=True):
    """What a run without faults leads to."""

    turns: frozenset[str]  # what each turn says, at its end and at any moment at which something was acknowledged
    digest: str


def reference_of(action: Action, place: Place, template: Place, rounds: int) -> Reference:
    """What it leads to, and what is there on the way: before it, and after each of its rounds."""
    turns: set[str] = set()
    last = ""
    for count in range(rounds + 1):
        place.fill(template)
        if count:
            done = run(action, place, count)
            assert not done.error, done.error
            assert not done.bug, done.bug
        elif not action.has_ledger:
            continue
        with Ledger.open(place.url) as ledger:
            turns.update(_said(record) for record in _records(ledger))
            last = digest(ledger.database)
    return Reference(frozenset(turns), last)


def problems(action: Action, place: Place, acks: Sequence[Ack], reference: Reference) -> list[str]:
    """Everything that is wrong with what is on a disk: nothing, if all is as it must be."""
    if not place.ledger.exists() and (acks or action.has_ledger):
        return [f"{LOST}: the ledger"]
    try:
        with Ledger.open(place.url) as ledger:
            return list(_all(action, place, ledger, acks, reference))
    except LedgerError as problem:
        return [f"it can't be opened or used: {type(problem).__name__}: {problem}"]


def _all(action: Action, place: Place, ledger: Ledger, acks: Sequence[Ack], reference: Reference) -> Iterator[str]:
    yield from (f"verify: {finding}" for finding in ledger.verify().findings)
    found = {record.turn.id: record for record in _records(ledger)}
    yield from _half_written(found, reference)
    with ledger.database.read() as tx:
        yield from (f"a lease on turn {row[0]} is left" for row in tx.rows("all_leases"))
    for ack in acks:
        yield from _lost(ack, place, ledger, found)
    yield from action.look(place, ledger, acks)
    yield from action.repeat(place, ledger, reference.digest)


def _half_written(found: dict[str, Record], reference: Reference) -> Iterator[str]:
    for turn_id, record in found.items():
        said = _said(record)
        if said in reference.turns:
            continue
        if record.turn.status == "failed" and record.turn.error:  # by its writer, or by who found it without one
            if not _is_beginning(record, reference):
                yield f"turn {turn_id} has failed, and holds what it was never given: {said[:200]}"
        else:
            yield f"turn {turn_id} is {record.turn.status}, but not whole: {said[:200]}"


def _lost(ack: Ack, place: Place, ledger: Ledger, found: dict[str, Record]) -> Iterator[str]:
    """What was acknowledged and is not there."""
    if not _is_kept(ack, place, ledger, found.get(ack.key)):
        yield f"{LOST}: {ack.kind} {ack.key} {str(ack.value or '')[:40]}"


def _is_kept(ack: Ack, place: Place, ledger: Ledger, record: Record | None) -> bool:
    match ack.kind:
        case "turn":
            return record is not None and record.turn.status == "completed" and texts_of(record) == ack.value
        case "step":
            results = [] if record is None else [json.loads(row.result_json or "null") for row in record.calls]
            return record is not None and ack.value in [*texts_of(record), *results]
        case "compaction":
            return record is not None and record.compaction is not None and record.compaction.summary == ack.value
        case "session":
            return (ack.key,) in ledger.database.ask("SELECT label FROM sessions")
        case "file":
            path = Path(place.disk, ack.key)
            return path.exists() and hashlib.sha256(path.read_bytes()).hexdigest() == ack.value
    return True  # that something was opened or synced: the other checks are about that


LOST = "acknowledged, but lost"


def _records(ledger: Ledger) -> list[Record]:
    return [ledger.get(row[0]) for row in ledger.database.ask("SELECT id FROM turns ORDER BY id")]


def _said(record: Record) -> str:
    """What a turn says, as text: two turns that say the same are equal."""
    return json.dumps([record.turn.status, *_parts(record)])


def _parts(record: Record) -> tuple[list[list[str | None]], list[list[str | None]], str | None]:
    messages = [[row.role, row.content, row.thinking] for row in record.messages]
    calls = [[row.tool_name, row.params_json, row.result_json, row.status] for row in record.calls]
    return messages, calls, None if record.compaction is None else record.compaction.summary


def _is_beginning(record: Record, reference: Reference) -> bool:
    """Whether an interrupted turn holds the first part of a turn that was being written."""
    messages, calls, _ = _parts(record)
    for said in reference.turns:
        _, whole, whole_calls, _ = json.loads(said)
        if messages[:-1] != whole[: len(messages) - 1] or len(messages) > len(whole) or len(calls) > len(whole_calls):
            continue
        last, planned = messages[-1], whole[len(messages) - 1]
        is_prefix = last[0] == planned[0] and (planned[1] or "").startswith(last[1] or "")
        if is_prefix and all(call[:2] == other[:2] for call, other in zip(calls, whole_calls, strict=False)):
            return True
    return False
