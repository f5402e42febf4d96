"""What must hold of a ledger whose writers were killed."""

import json
from collections.abc import Iterator

from msgspec import Struct

from agents_ledger import Ledger
from agents_ledger.model.rows import Record
from tests.crash.writer import is_whole, planned


class Found(Struct):
    """What a ledger holds after its writers were killed."""

    turns: set[str]
    recovered: set[str]
    lost: list[str]
    problems: list[str]


def check(ledger: Ledger, acked: set[str], kills: int, known: set[str]) -> Found:
    """Compares a ledger with what was acknowledged; `known` are turns that were looked at before."""
    _, rows = ledger.database.query("SELECT id, status FROM turns")
    turns = {turn_id for turn_id, _ in rows}
    recovered = {turn_id for turn_id, status in rows if status == "failed"}
    problems = [text for turn_id in sorted(turns - known) for text in _torn(ledger.get(turn_id))]
    problems += _left_open(ledger)
    for line in ledger.sessions(limit=100_000):
        problems += _broken_history(ledger, line.session.label)
    report = ledger.verify()
    problems += [f"verify: {finding}" for finding in report.findings]
    lost = sorted(acked - turns) + sorted(acked & recovered)
    unacknowledged = turns - acked
    if len(unacknowledged) > kills:
        problems.append(f"{len(unacknowledged)} turns that nobody acknowledged, after only {kills} kills")
    return Found(turns, recovered, lost, problems)


def _torn(record: Record) -> Iterator[str]:
    """What is not whole about one turn."""
    turn = record.turn
    if turn.seal_seq is None:
        yield f"turn {turn.id} is still {turn.status} after the recovery"
    texts = [text for row in record.messages for text in (row.content, row.thinking) if text is not None]
    texts += [json.loads(call.params_json) for call in record.calls]
    texts += [json.loads(call.result_json) for call in record.calls if call.result_json is not None]
    if not record.messages or not all(is_whole(text) for text in texts):
        yield f"turn {turn.id} holds a text that is not what was written"
        return
    messages, calls = planned(record.messages[0].content or "")
    if turn.status == "failed":
        if not (turn.error or "").startswith("interrupted"):
            yield f"turn {turn.id} failed for another reason than its writer's death: {turn.error}"
        if len(record.messages) > messages or len(record.calls) > calls:
            yield f"turn {turn.id} has more than was ever written"
    elif (len(record.messages), len(record.calls)) != (messages, calls):
        yield f"turn {turn.id} is {turn.status}, but only a part of it is there"


def _left_open(ledger: Ledger) -> list[str]:
    with ledger.database.read() as tx:
        return [f"a lease on turn {row[0]} is left" for row in tx.rows("all_leases")]


def _broken_history(ledger: Ledger, label: str) -> Iterator[str]:
    before = None
    for move in ledger.history(label):
        if move.from_thread_id != before:
            yield f"session {label}: move {move.id} starts at {move.from_thread_id}, not at {before}"
        before = move.thread_id
    if ledger.head(label) != before:
        yield f"session {label}: its head is not where its history ends"
