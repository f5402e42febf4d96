"""Messages that were written for Gemini CLI: their ids name the session that they were written for.

Gemini CLI takes a file in under a new id of its own (`--session-file`), and keeps the ids of its messages.
"""

import re

_WRITTEN = re.compile(r"([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})/\d{1,9}")


def wrote(_session: str, native_id: str) -> str | None:
    """The session that a message was written for, if it was."""
    found = _WRITTEN.fullmatch(native_id)
    return None if found is None else found[1]
