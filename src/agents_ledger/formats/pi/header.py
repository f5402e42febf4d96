"""The first line of a transcript."""

import msgspec

from agents_ledger.formats.pi.names import marker
from agents_ledger.model.times import iso
from agents_ledger.model.writing import Fork, Line


def header(fork: Fork, version: int) -> Line:
    """A new session's; `parentSession` names what it was forked from."""
    value = {"type": "session", "version": version, "id": fork.session, "timestamp": iso(fork.at), "cwd": fork.cwd}
    if fork.forked_path is not None:
        value["parentSession"] = marker(fork.forked_path)
    return Line(msgspec.json.encode(value))
