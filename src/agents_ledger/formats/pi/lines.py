"""Lines of a transcript as typed values: only what is used is decoded, and no odd field loses a line."""

from collections.abc import Iterator
from typing import Any, TypeVar

import msgspec
from msgspec import UNSET, Raw, Struct, field

from agents_ledger.model.lines import values
from agents_ledger.model.steps import Problem

T = TypeVar("T", bound=Struct)


class Block(Struct, rename="camel"):
    """A part of a message: text, thinking, a call, an image (also as Anthropic writes them, in the seed's shape)."""

    type: Any = None
    text: Any = None
    thinking: Any = None
    redacted: Any = None
    id: Any = None
    name: Any = None
    arguments: Raw = Raw()
    mime_type: Any = None
    data: Raw = Raw()
    input: Raw = Raw()
    tool_use_id: Any = field(default=None, name="tool_use_id")
    content: Any = None
    is_error: Any = field(default=None, name="is_error")


Content = list[Block] | str | None


class Message(Struct, rename="camel"):
    """What `message` holds, for all roles."""

    role: Any = None
    content: Content = None
    timestamp: Any = None
    api: Any = None
    provider: Any = None
    model: Any = None
    response_model: Any = None
    response_id: Any = None
    usage: Any = None
    stop_reason: Any = None
    raw_stop_reason: Any = None
    error_message: Any = None
    thinking_level: Any = None
    tool_call_id: Any = None
    tool_name: Any = None
    is_error: Any = None
    command: Any = None
    output: Any = None
    exit_code: Any = None
    cancelled: Any = None
    truncated: Any = None
    full_output_path: Any = None
    exclude_from_context: Any = None
    custom_type: Any = None
    display: Any = None
    details: Raw = Raw()
    sections: Any = None
    tools_added: Any = None
    tools_removed: Any = None
    idempotency_key: Any = None
    openclaw: Any = field(default=None, name="__openclaw")


class Entry(Struct, rename="camel"):
    """A line that is no header, of any type and version."""

    type: Any = None
    id: Any = None
    parent_id: Any = UNSET
    timestamp: Any = None
    message: Message | None = None
    provider: Any = None
    model_id: Any = None
    model: Any = None
    thinking_level: Any = None
    summary: Any = None
    first_kept_entry_id: Any = None
    first_kept_entry_index: Any = None
    tokens_before: Any = None
    tokens_after: Any = None
    details: Raw = Raw()
    from_hook: Any = None
    from_id: Any = None
    usage: Any = None
    system_message: Message | None = None
    custom_type: Any = None
    data: Raw = Raw()
    content: Content = None
    display: Any = None
    target_id: Any = None
    label: Any = None
    name: Any = None
    kind: Any = None
    reason: Any = None
    append_mode: Any = None
    # the seed's shape and the extended fields of Nexus
    uuid: Any = None
    session_id: Any = None
    checkpoint_id: Any = None
    context: Any = None
    is_agentic: Any = None
    is_plan_execution: Any = None
    tool_calls: Any = None
    tool_result: Any = None
    token_count: Any = None
    active_rules: Any = None


_decoder = msgspec.json.Decoder(Entry)


def entries(record: bytes) -> Iterator[Entry | dict[str, Any] | Problem]:
    """The entries of a line (one, as a rule); a header as the JSON object that it is."""
    try:
        entry = _decoder.decode(record)
        if entry.type != "session":
            yield entry
            return
    except (msgspec.DecodeError, RecursionError, ValueError):
        pass  # not JSON, or a field of another type: with patience, then
    for value in values(record):
        if isinstance(value, Problem):
            yield value
        elif not isinstance(value, dict):
            yield Problem("not-an-object", type(value).__name__)
        elif value.get("type") == "session":
            yield value
        else:
            yield from _patient(value)


def _patient(value: dict[str, Any]) -> Iterator[Entry | Problem]:
    """An entry with fields of wrong types: they are left out, and named."""
    entry = _filled(Entry, value)
    for name in ("message", "system_message"):
        inner = getattr(entry, name)
        if isinstance(inner, dict):
            message = _filled(Message, inner)
            yield from _mend(message)
            setattr(entry, name, message)
        elif inner is not None:
            setattr(entry, name, None)  # a message without one is a problem where it is read
    yield from _mend(entry)
    yield entry


def _mend(holder: Entry | Message) -> Iterator[Problem]:
    """Its content as text or blocks."""
    content: Any = holder.content
    if isinstance(content, list):
        blocks = [_filled(Block, block) for block in content if isinstance(block, dict)]
        if len(blocks) < len(content):
            yield Problem("bad-field", "content")
        holder.content = blocks
    elif content is not None and not isinstance(content, str):
        yield Problem("bad-field", "content")
        holder.content = None


def _filled(kind: type[T], value: dict[str, Any]) -> T:
    """The struct with those fields that the object has."""
    names = zip(kind.__struct_fields__, kind.__struct_encode_fields__, strict=True)
    return kind(**{name: value[key] for name, key in names if key in value})
