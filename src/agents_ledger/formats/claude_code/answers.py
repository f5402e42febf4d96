"""Results of tools, as the model saw them."""

from typing import Any

import msgspec
from msgspec import Raw, Struct

from agents_ledger.formats.claude_code.blocks import source_facts
from agents_ledger.formats.claude_code.lines import Block, plain
from agents_ledger.model.entries import CallStatus
from agents_ledger.model.steps import Problem
from agents_ledger.model.texts import storable

# What 1.0 to 2.1 write instead of a result, when a person or a rule said no …
_REJECTED = (
    "The user doesn't want to proceed with this tool use",
    "User rejected tool use",
    "The agent proposed a plan that was rejected by the user",
    "Permission to use ",
    "Permission for this ",
    "Claude requested permissions to ",
)
# … and when the call was stopped, or never began because another one was.
_CANCELLED = (
    "The user doesn't want to take this action right now",
    "[Request interrupted by user",
    "<tool_use_error>Cancelled:",
    "<tool_use_error>Sibling tool call errored",
)
_PICTURES = ("image", "document")


class Mirror(Struct, frozen=True, gc=False, rename="camel"):
    """The little that is read of `toolUseResult`."""

    agent_id: str | None = None
    status: str | None = None
    interrupted: bool | None = None


_mirror = msgspec.json.Decoder(Mirror).decode
_NO_MIRROR = Mirror()


def mirrored(value: Any) -> Mirror:
    """What `toolUseResult` says about a subagent or an interruption: searched before anything is decoded."""
    if isinstance(value, Raw):
        data = memoryview(value).tobytes()
        if b'"agentId"' not in data and b'"interrupted":true' not in data:
            return _NO_MIRROR
        try:
            return _mirror(data)
        except (msgspec.DecodeError, ValueError, RecursionError):
            return _NO_MIRROR
    if not isinstance(value, dict):
        return _NO_MIRROR
    agent, status = value.get("agentId"), value.get("status")
    return Mirror(
        storable(agent) if isinstance(agent, str) else None,
        storable(status) if isinstance(status, str) else None,
        value.get("interrupted") is True,
    )


def answer(block: Block, mirror: Mirror, decision: Any) -> tuple[dict[str, Any], list[Problem]]:
    """The fields of an `Answered`, but for the call."""
    result, problems = _result(block.content)
    if not block.is_error:
        status: CallStatus = "cancelled" if mirror.interrupted else "completed"
        return {"result": result, "status": status}, problems
    error = result if isinstance(result, str) else _texts(result)
    fields: dict[str, Any] = {"error": error, "status": _failure(error, decision)}
    if result is not None and not isinstance(result, str):
        fields["result"] = result
    return fields, problems


def _failure(error: str, decision: Any) -> CallStatus:
    """How a call failed, by the words of it; by the decision about it where that is kept (2.1.3xx)."""
    if error.startswith(_REJECTED):
        return "rejected"
    if decision and not error.startswith(_CANCELLED):
        decided, _ = plain(decision)
        word = decided.get("decision") if isinstance(decided, dict) else "accept"
        return "failed" if word in ("accept", "allow") else "rejected"
    return "cancelled" if error.startswith(_CANCELLED) else "failed"


def _result(content: Any) -> tuple[Any, list[Problem]]:
    """One text as it is; else the list of blocks, with facts instead of pictures."""
    if not isinstance(content, list):
        return content, []
    blocks, problems = [], []
    for item in content:
        block, wrong = plain(item)
        problems.extend(wrong)
        blocks.append(_small(block))
    if len(blocks) == 1 and isinstance(blocks[0], dict) and set(blocks[0]) == {"type", "text"}:
        return blocks[0]["text"], problems
    return blocks, problems


def _small(block: Any) -> Any:
    """A block of a result without the bytes of a picture."""
    if isinstance(block, dict) and block.get("type") in _PICTURES:
        return {"type": block["type"], **source_facts(block.get("source"))}
    if isinstance(block, dict) and block.get("type") == "text" and isinstance(block.get("text"), str):
        return {"type": "text", "text": block["text"]}
    return block


def _texts(blocks: Any) -> str:
    """The texts of a list of blocks."""
    found = [block["text"] for block in blocks or () if isinstance(block, dict) and isinstance(block.get("text"), str)]
    return "\n".join(found)
