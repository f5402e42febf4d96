"""Any story as a rollout that Codex resumes."""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from agents_ledger.formats.codex.copying import again
from agents_ledger.model.ids import uuid7
from agents_ledger.model.retelling import retold
from agents_ledger.model.story import Block, Call, Entry, Image, Result, Story, Text, Thinking
from agents_ledger.model.times import iso
from agents_ledger.model.writing import Fork, Line, Losses, Native

AGENT = "codex"
_VERSION = "0.166.0"  # the newest that was seen to resume what is written here
# Codex's own words around a summary (templates/compact/summary_prefix.md, shortened)
_SUMMARY = "Another language model started to solve this problem and produced a summary of its thinking process:"


def anew(story: Story, fork: Fork, losses: Losses) -> Iterator[Line]:
    """The records: a header, a compaction if there was one, then items with the events that Codex shows them by."""
    yield _record(fork.at, "session_meta", _meta(fork))
    if story.summary is not None:
        text = story.summary.text
        text = text if text.startswith(_SUMMARY[:40]) else f"{_SUMMARY}\n{text}"
        whole = [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}]
        told = {"message": story.summary.text, "replacement_history": whole}
        yield _record(story.summary.at, "compacted", told, story.summary.turn_id)
    for entry in retold(story, AGENT, "openai", losses):
        if any(isinstance(block, Result) and block.is_error for block in entry.blocks):
            losses.note("error-as-text", "Codex has no mark for a call that failed: only its words tell")
        for item in _items(entry):
            yield _record(entry.at, "response_item", item, entry.turn_id)
        if (event := _event(entry)) is not None:
            yield _record(entry.at, "event_msg", event, entry.turn_id)


def _meta(fork: Fork) -> dict[str, Any]:
    return {
        "id": fork.session,
        "timestamp": iso(fork.at),
        "cwd": fork.cwd,
        "originator": "codex_cli_rs",
        "cli_version": _VERSION,
        "source": "cli",
        **({"git": {"branch": fork.git_branch}} if fork.git_branch else {}),
    }


def _record(at: int, kind: str, payload: Mapping[str, Any], turn_id: str | None = None) -> Line:
    return Line(msgspec.json.encode({"timestamp": iso(at), "type": kind, "payload": payload}), None, turn_id)


def _items(entry: Entry) -> Iterator[dict[str, Any]]:
    """The items of a message: its words together, as far as nothing stands between them."""
    words: list[dict[str, Any]] = []
    for block in entry.blocks:
        if isinstance(block, Text | Image):
            words.append(_content(block, "output_text" if entry.role == "assistant" else "input_text"))
            continue
        if words:
            yield _message(entry, words)
            words = []
        yield _item(block)
    if words:
        yield _message(entry, words)


def _message(entry: Entry, words: list[dict[str, Any]]) -> dict[str, Any]:
    role = "assistant" if entry.role == "assistant" else "user"
    return {"type": "message", "role": role, "content": words}


def _item(block: Block) -> dict[str, Any]:
    if isinstance(block, Thinking):
        summary = [{"type": "summary_text", "text": block.text}] if block.text else []
        return {"type": "reasoning", "id": block.id, "summary": summary, "encrypted_content": block.signature}
    if isinstance(block, Call):
        arguments = msgspec.json.encode(block.params).decode()
        return {"type": "function_call", "name": block.tool, "arguments": arguments, "call_id": block.id}
    assert isinstance(block, Result), "texts and pictures stand in messages"  # noqa: S101
    return {"type": "function_call_output", "call_id": block.call, "output": _output(block)}


def _output(block: Result) -> str | list[dict[str, Any]]:
    if all(isinstance(part, Text) for part in block.content):
        return "\n".join(part.text for part in block.content if isinstance(part, Text))
    return [_content(part, "input_text") for part in block.content]


def _content(part: Text | Image, kind: str) -> dict[str, Any]:
    if isinstance(part, Text):
        return {"type": kind, "text": part.text}
    address = part.url if part.data is None else f"data:{part.media_type or 'image/png'};base64,{part.data}"
    return {"type": "input_image", "image_url": address}


def _event(entry: Entry) -> dict[str, Any] | None:
    """What the screen shows of a message."""
    text = "\n".join(block.text for block in entry.blocks if isinstance(block, Text))
    if not text or entry.role == "tool":
        return None
    if entry.role == "assistant":
        return {"type": "agent_message", "message": text}
    return {"type": "user_message", "message": text, "kind": "plain"}


def _file(fork: Fork) -> str:
    stamp = (iso(fork.at) or "")[:19]
    return f"sessions/{stamp[:10].replace('-', '/')}/rollout-{stamp.replace(':', '-')}-{fork.session}.jsonl"


NATIVE = Native(
    program="codex",
    new_session=uuid7,
    file=_file,
    place=lambda environ, home: (environ.get("CODEX_HOME") or f"{home}/.codex").rstrip("/"),
    again=again,
    anew=anew,
    resume=lambda session, _file: ("codex", "resume", session),
)


def natives() -> dict[str, Native]:
    """Who resumes what is written here."""
    return {AGENT: NATIVE}
