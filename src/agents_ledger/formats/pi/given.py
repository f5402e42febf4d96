"""Ids that are given to entries which are written from the ledger: they follow from the session's, and are known again.

pi takes eight digits. openclaw has whole UUIDs, and takes entries into a database, where no file shows what was
written: there the first digits are the entry's number, and the others prove it.
"""

import re
from hashlib import sha256

_UUID = re.compile(r"([0-9a-f]{8})-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


def short_id(session: str, count: int) -> str:
    """The id of the n-th entry that is written for a session, as pi has them."""
    return sha256(f"{session}/{count}".encode()).hexdigest()[:8]


def long_id(session: str, count: int) -> str:
    """The same as openclaw has them."""
    proof = sha256(f"{session}/{count}".encode()).hexdigest()
    return f"{count:08x}-{proof[:4]}-{proof[4:8]}-{proof[8:12]}-{proof[12:24]}"


def wrote(session: str, native_id: str) -> str | None:
    """The session, if an id is one that was given here to an entry of it in openclaw."""
    match = _UUID.fullmatch(native_id)
    return session if match is not None and long_id(session, int(match[1], 16)) == native_id else None
