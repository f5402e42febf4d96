"""Recognise Qwen Code's transcripts by their keys, wherever they lie."""

import re

from agents_ledger.model.formats import Kind
from agents_ledger.model.members import Members, lines

_NAME = re.compile(r"(?:chats/[^/]+|subagents/[^/]+/agent-[^/]+)\.jsonl$")
_LINES = 5


def recognise(path: str, head: bytes) -> Kind | None:
    """Give the kind of a transcript by its first lines; a known name only raises the score."""
    if any(_is_ours(line) for line in lines(head, _LINES)):
        return Kind("transcript", "lines", 95 if _NAME.search(path.replace("\\", "/")) else 90)
    return None


def _is_ours(line: Members) -> bool:
    """Whether a line has a place in the chain, and content that no line of Claude Code has, whose chain is the same."""
    if not (line.text("uuid") and line.text("sessionId") and line.values.get("parentUuid", b"")[:1] in (b"n", b'"')):
        return False
    message = line.inside("message")
    return (message.text("role") in ("user", "model") and message.is_list("parts")) or line.is_object("systemPayload")
