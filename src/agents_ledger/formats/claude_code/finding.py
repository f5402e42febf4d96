"""How Claude Code's files are told from others."""

import re

import msgspec
from msgspec import Raw, Struct

from agents_ledger.formats.claude_code.lines import NOTHING
from agents_ledger.formats.claude_code.states import OTHERS, SILENT, STATES
from agents_ledger.model.formats import Kind

_LINES = 24  # of the head that are looked at
_SURE, _LIKELY, _PERHAPS = 90, 70, 40
_CHAIN = frozenset({"user", "assistant", "system", "attachment", "progress"})
_OWN = (SILENT | STATES | OTHERS) - {"session", "compaction", "result", "started", "summary"}
_META = re.compile(rb"\s*\{[^{}]*\}\s*")
_AGENT_TYPE = re.compile(rb'"agentType"\s*:')
_CUT = (b'"parentUuid"', b'"isSidechain"')


def recognise(path: str, head: bytes) -> Kind | None:
    """What a file is by its first bytes; the path only makes it surer."""
    name = path.replace("\\", "/").rpartition("/")[2]
    is_meta = _META.fullmatch(head) is not None and _AGENT_TYPE.search(head) is not None
    if is_meta and (name.endswith(".meta.json") or b'"toolUseId"' in head):
        # Qwen Code's notes name the subagent's status and parent; they are not for us.
        return None if b'"parentSessionId"' in head else Kind("meta", "document", _SURE)
    score = _score(head)
    if score == 0:
        return None
    return Kind("transcript", "lines", score + 5 * ("/.claude/projects/" in path.replace("\\", "/")))


class Probe(Struct, frozen=True, gc=False, rename="camel"):
    """What tells a line of ours from that of another agent."""

    type: str = ""
    uuid: str | None = None
    session_id: str | None = None
    parent_uuid: Raw = NOTHING
    is_sidechain: bool | None = None
    leaf_uuid: str | None = None
    message_id: str | None = None
    provenance: Raw = NOTHING
    message: Raw = NOTHING


class Shape(Struct, frozen=True, gc=False):
    """How a message holds its content."""

    content: Raw = NOTHING
    parts: Raw = NOTHING


_probe = msgspec.json.Decoder(Probe).decode
_shape = msgspec.json.Decoder(Shape).decode


def _score(head: bytes) -> int:
    """How sure the first lines are; 0 for another agent's."""
    lines = head.split(b"\n", _LINES)
    best = 0
    for number, line in enumerate(lines[:_LINES]):
        try:
            probe = _probe(line)
        except (msgspec.DecodeError, ValueError, RecursionError):
            continue
        score = _line_score(probe)
        if score is None:
            return 0
        best = max(best, score if number or probe.type != "session" else 0)
        if best == _SURE:
            return best
    if best == 0 and len(lines) == 1 and all(word in head for word in _CUT) and b'"parts"' not in head:
        return _LIKELY  # the first line alone is longer than the head
    return best


def _line_score(probe: Probe) -> int | None:
    """How sure one line is; None if it is another agent's for certain."""
    if probe.provenance:
        return None  # Qwen Code, whose lines are like ours but for this and `parts`
    if probe.type in _CHAIN and probe.uuid is not None:
        return _chain_score(probe, _message(probe.message))
    if probe.type == "summary":
        return _LIKELY if probe.leaf_uuid is not None else 0
    own = probe.type in _OWN and (probe.session_id is not None or probe.message_id is not None)
    return _LIKELY if own else 0


def _chain_score(probe: Probe, shape: Shape) -> int | None:
    """The same for a line with a place in the chain."""
    if shape.parts and not shape.content:
        return None
    rooted = bool(probe.parent_uuid)
    if rooted and probe.is_sidechain is not None:
        return _SURE
    if rooted and shape.content:
        return _LIKELY
    return _PERHAPS if probe.session_id is not None and (rooted or shape.content) else 0


def _message(raw: Raw) -> Shape:
    """The shape of a message; empty if it has none."""
    try:
        return _shape(raw) if raw else Shape()
    except (msgspec.DecodeError, ValueError, RecursionError):
        return Shape()
