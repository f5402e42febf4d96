"""How Claude Code's files are told from others."""

import msgspec
from msgspec import Raw, Struct

from agents_ledger.formats.claude_code.lines import NOTHING
from agents_ledger.formats.claude_code.states import OTHERS, SILENT, STATES
from agents_ledger.model.formats import Kind
from agents_ledger.model.members import MARKS, Members, lines, only_object

_LINES = 24  # of the head that are looked at
_SURE, _LIKELY, _PERHAPS = 90, 70, 40
_CHAIN = frozenset({"user", "assistant", "system", "attachment", "progress"})
_OWN = (SILENT | STATES | OTHERS) - {"session", "compaction", "result", "started", "summary"}


def recognise(path: str, head: bytes) -> Kind | None:
    """What a file is by its first bytes; the path only makes it surer."""
    path = path.replace("\\", "/")
    score = _score(head)
    if score:
        return Kind("transcript", "lines", score + 5 * ("/.claude/projects/" in path))
    note = only_object(head)
    # (Qwen Code's notes name the subagent's status and parent; they are not for us)
    if note.has("agentType") and not note.has("parentSessionId"):
        return Kind("meta", "document", _SURE) if path.endswith(".meta.json") or note.has("toolUseId") else None
    return None


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
    best = 0
    for number, line in enumerate(head.lstrip(MARKS).split(b"\n", _LINES)[:_LINES]):
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
    if best == 0 and (found := lines(head)) and _is_cut_line(found[-1]):
        return _LIKELY  # a line alone is longer than the head
    return best


def _is_cut_line(line: Members) -> bool:
    """Whether a line that goes on behind the head is one of ours, as far as it goes."""
    message = line.inside("message")
    is_ours = line.has("isSidechain") and (line.has("parentUuid") or message.has("content"))
    return line.is_cut and is_ours and not message.has("parts")


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
