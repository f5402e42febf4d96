"""What agents keep beside a tool call's result, read from the evidence: it is too much for a column, and tells most.

Claude Code keeps a `structuredPatch` in a line's `toolUseResult`, pi a `diff` in a result's `details`.
"""

import json
from typing import Any

from agents_ledger.errors import LedgerError
from agents_ledger.ledger import Ledger, evidence
from agents_ledger.model.changes import Change, changes
from agents_ledger.model.rows import CallRow
from agents_ledger.model.texts import read_json

_HINTS = (b'"structuredPatch"', b'"diff"')
_MOST_BYTES = 4 * 1024 * 1024  # of the records behind one call


def changes_of(ledger: Ledger, call: CallRow) -> list[Change]:
    """What a call changed in files, with line numbers where its agent kept them; nothing if it did not work."""
    if call.status not in ("completed", "running", "pending"):
        return []
    params = _value(call.params_json)
    found = changes(call.tool_name, params, _value(call.result_json))
    if not found or call.evidence is None:
        return found
    return changes(call.tool_name, params, None, _beside(ledger, call)) or found


def _beside(ledger: Ledger, call: CallRow) -> Any:
    places = evidence.places(call.evidence)
    if sum(length for _, _, length in places) > _MOST_BYTES:
        return None
    try:
        with ledger.database.read() as tx:
            records = (evidence.slice_of(tx, *place) for place in reversed(places))  # the result stands last
            kept = (_kept(record) for record in records if any(hint in record for hint in _HINTS))
            return next((each for each in kept if each is not None), None)
    except LedgerError:
        return None  # `ldg verify` says what is wrong; the parameters are there all the same


def _kept(record: bytes) -> Any:
    try:
        line = json.loads(record)
    except (ValueError, RecursionError):
        return None
    if not isinstance(line, dict):
        return None
    message = line.get("message")
    return line.get("toolUseResult") or (message if isinstance(message, dict) and "details" in message else None)


def _value(text: str | None) -> Any:
    return None if text is None else read_json(text)
