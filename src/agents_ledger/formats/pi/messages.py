"""Messages of a transcript as steps, role by role."""

from collections.abc import Iterator
from typing import Any, TypedDict

from msgspec.structs import replace

from agents_ledger.formats.pi import nexus
from agents_ledger.formats.pi.content import Parts, parts_of, result_of, text_of
from agents_ledger.formats.pi.fields import digest, moment, number, plain, present, usage_key, usage_of, word
from agents_ledger.formats.pi.lines import Block, Content, Entry, Message
from agents_ledger.model.steps import AFTER_LAST, Answered, Event, Problem, Said, Spent

_SHOWN = 500  # of a tool's result that is an error, as the call's error
_SPAWN = "sessions_spawn"  # the tool of openclaw (and clawdbot) that starts a subagent
_CALL_IDS = ("toolCallId", "toolUseId", "tool_call_id", "id")


class Where(TypedDict):
    """A step's place in its session."""

    session: str
    native_id: str | None
    parent: str | None
    at: int | None


def after(where: Where) -> Where:
    """The place behind a step that the same entry gave."""
    return Where(session=where["session"], native_id=None, parent=AFTER_LAST, at=where["at"])


def asked(entry: Entry, message: Message, where: Where, source: str) -> Iterator[Event]:
    """A user's message: it begins a turn, unless it only brings results of tools (the seed's shape)."""
    parts = parts_of(message.content)
    if parts.bad:
        yield Problem("bad-field", "content")
    answers = list(_answers(entry, parts))
    if not answers or parts.content is not None or parts.images:
        yield Said(
            **where,
            role="user",
            content=parts.content,
            blocks=parts.blocks,
            source=source,
            starts_turn=True,
            context=entry.context,
            metadata=_remarks(entry, message),
            files=nexus.files_of(entry),
            identity=digest("user", where["at"], parts.content, parts.images),
        )
        where = after(where)
    for call, result, failed in answers:
        yield _answered(where, call, result, failed=failed)
        where = after(where)


def replied(entry: Entry, message: Message, where: Where) -> Iterator[Event]:
    """An assistant's message, with its calls and what it cost."""
    parts = parts_of(message.content)
    if parts.bad:
        yield Problem("bad-field", "content")
    usage = usage_of(message.usage) or nexus.tokens(entry)
    model, response = word(message.model), word(message.response_id)
    calls = nexus.calls_of(entry, parts.calls)
    names = ",".join(call.native_id or call.tool for call in calls)
    sent = number(message.timestamp)
    yield Said(
        **where,
        role="assistant",
        content=parts.content,
        thinking=parts.thinking,
        calls=calls,
        blocks=parts.blocks,
        model=model,
        provider=word(message.provider),
        usage=usage,
        usage_key=usage_key(usage, where["at"], sent, model, response, parts.content, parts.thinking, names),
        context=entry.context,
        metadata=_remarks(entry, message),
        files=nexus.files_of(entry),
        error=_failure(message),
    )
    if isinstance(entry.tool_result, dict):
        for call, result, failed in _answers(entry, parts):
            yield _answered(after(where), call, result, failed=failed)


def returned(entry: Entry, message: Message, where: Where) -> Iterator[Event]:
    """A tool's result; one that does not say of which call is a message at least."""
    call, failed = word(message.tool_call_id), message.is_error is True
    if call is None:
        yield Problem("bad-field", "toolCallId")
        parts = parts_of(message.content)
        remarks = present(toolName=word(message.tool_name), isError=failed)
        yield Said(**where, role="tool", content=parts.content, blocks=parts.blocks, metadata=remarks)
    else:
        answer = _answered(where, call, result_of(message.content), failed=failed, text=text_of(message.content))
        yield answer if message.tool_name != _SPAWN else replace(answer, spawned=_spawned(message))
    usage = usage_of(message.usage)  # a tool that asked a model itself (0.8x)
    if usage:
        key = usage_key(usage, where["at"], "toolResult", call)
        yield Spent(**after(where), usage=usage, usage_key=key, model=word(message.model))
    if isinstance(entry.tool_result, dict) and call is None:
        for name, result, bad in _answers(entry, Parts()):
            yield _answered(after(where), name, result, failed=bad)


def ran(message: Message, where: Where, *, first: bool) -> Iterator[Event]:
    """A command that the human ran: the model is told, but not asked."""
    if not isinstance(message.command, str):
        yield Problem("bad-field", "command")
    content = _command_text(message)
    yield Said(
        **where,
        role="user",
        content=content,
        source="human",
        starts_turn=first,
        metadata=present(
            kind="bashExecution",
            command=message.command,
            exitCode=message.exit_code,
            cancelled=message.cancelled,
            truncated=message.truncated,
            fullOutputPath=message.full_output_path,
            excludeFromContext=message.exclude_from_context,
        ),
        identity=digest("bashExecution", where["at"], content),
    )


def _command_text(message: Message) -> str:
    """As pi tells it to the model (0.73 to 1.5: bashExecutionToText)."""
    command = message.command if isinstance(message.command, str) else ""
    output = message.output if isinstance(message.output, str) else ""
    text = f"Ran `{command}`\n" + (f"```\n{output}\n```" if output else "(no output)")
    code = message.exit_code
    if message.cancelled is True:
        text += "\n\n(command cancelled)"
    elif isinstance(code, int) and code != 0 and abs(code) < 1 << 63:
        text += f"\n\nCommand exited with code {code}"
    if message.truncated is True and isinstance(message.full_output_path, str):
        text += f"\n\n[Output truncated. Full output: {message.full_output_path}]"
    return text


def injected(holder: Entry | Message, content: Content, where: Where) -> Iterator[Event]:
    """What an extension put into the conversation: the model sees it as a user's message."""
    parts = parts_of(content)
    if parts.bad:
        yield Problem("bad-field", "content")
    yield Said(
        **where,
        role="user",
        content=parts.content,
        blocks=parts.blocks,
        source="context",
        metadata=present(
            kind="custom",
            customType=word(holder.custom_type),
            display=holder.display,
            details=plain(holder.details),
        ),
    )


def _answers(entry: Entry, parts: Parts) -> Iterator[tuple[str, Any, bool]]:
    """Results of tools inside other messages: call, result, whether it failed (the seed's shape only)."""
    for block in parts.answers:
        if call := word(block.tool_use_id):
            yield call, _inner_result(block), block.is_error is True
    result = entry.tool_result
    if isinstance(result, dict):
        call = next((call for key in _CALL_IDS if (call := word(result.get(key)))), None)
        value = next((result[key] for key in ("result", "content", "output") if key in result), None)
        if call:
            yield call, value, result.get("isError") is True or result.get("status") == "failed"


def _inner_result(block: Block) -> Any:
    """The content of a `tool_result` block, without the bytes of images."""
    content = block.content
    if not isinstance(content, list):
        return content
    blocks = [item for item in content if isinstance(item, dict)]
    return result_of([Block(type=item.get("type"), text=item.get("text")) for item in blocks])


def _answered(where: Where, call: str, result: Any, *, failed: bool, text: str | None = None) -> Answered:
    if not failed:
        return Answered(**where, call=call, result=result)
    shown = text if text is not None else result if isinstance(result, str) else ""
    shown = shown if len(shown) <= _SHOWN else shown[:_SHOWN] + "…"
    return Answered(**where, call=call, result=result, error=shown or "failed", status="failed")


def _spawned(message: Message) -> str | None:
    """The session key of the subagent that a call has started."""
    details = plain(message.details)
    is_accepted = isinstance(details, dict) and details.get("status") == "accepted"
    return word(details.get("childSessionKey")) if is_accepted else None


def _failure(message: Message) -> str | None:
    """Why the call to the model failed, if it did."""
    if message.stop_reason not in ("error", "aborted"):
        return None
    reason = message.error_message
    return reason if isinstance(reason, str) and reason else str(message.stop_reason)


def _remarks(entry: Entry, message: Message) -> dict[str, Any] | None:
    """What else is said about a message, in the source's own words."""
    usage = message.usage if isinstance(message.usage, dict) else {}
    found = present(
        api=word(message.api),
        stopReason=word(message.stop_reason),
        rawStopReason=message.raw_stop_reason,
        responseId=word(message.response_id),
        responseModel=word(message.response_model),
        thinkingLevel=word(message.thinking_level),
        cost=usage.get("cost"),
        cacheWrite1h=number(usage.get("cacheWrite1h")),
        excludeFromContext=message.exclude_from_context,
        idempotencyKey=word(message.idempotency_key),
        openclaw=message.openclaw,
        sentAt=_sent(message, entry),
    )
    return {**(found or {}), **nexus.remarks(entry)} or None


def _sent(message: Message, entry: Entry) -> int | None:
    """When the message began, where that is not when it was written down."""
    sent = moment(message.timestamp) if not isinstance(message.timestamp, str) else None
    return sent if sent != moment(entry.timestamp) else None
