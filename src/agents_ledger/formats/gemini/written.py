"""Messages that were written for Gemini CLI: their ids name the session that they were written for.

Gemini CLI takes a file in under a new id of its own (`--session-file`), and keeps the ids of its messages.
"""

import re

from agents_ledger.model.gemini_api import WRITTEN_ACKNOWLEDGED, WRITTEN_SUMMARY

_NAMES = f"{WRITTEN_SUMMARY}|{WRITTEN_ACKNOWLEDGED}"
_WRITTEN = re.compile(rf"([0-9a-f]{{8}}(?:-[0-9a-f]{{4}}){{3}}-[0-9a-f]{{12}})/(\d{{1,9}}|{_NAMES})")


def wrote(_session: str, native_id: str) -> str | None:
    """The session that a message was written for, if it was."""
    found = _WRITTEN.fullmatch(native_id)
    return None if found is None else found[1]


def written_as(native_id: str) -> str | None:
    """What a message was written as: WRITTEN_SUMMARY or WRITTEN_ACKNOWLEDGED; None for all others."""
    found = _WRITTEN.fullmatch(native_id)
    return None if found is None or found[2].isdigit() else found[2]
