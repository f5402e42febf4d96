"""What `message` holds, as it is written: what users, models, tools and shells said, and the blocks of it."""

from collections.abc import Sequence
from typing import Any

from agents_ledger.formats.pi.fields import given
from agents_ledger.model.entries import Usage

Json = dict[str, Any]
Content = str | Sequence[Json]


def text(words: str, signature: str | None = None) -> Json:
    """A text."""
    return {"type": "text", "text": words} | given(textSignature=signature)


def thinking(words: str, signature: str | None = None, *, redacted: bool | None = None) -> Json:
    """What the model thought; with the provider's signature, without which it takes nothing back."""
    return {"type": "thinking", "thinking": words} | given(thinkingSignature=signature, redacted=redacted)


def call(call_id: str, tool: str, arguments: Json, signature: str | None = None) -> Json:
    """A tool call."""
    found = {"type": "toolCall", "id": call_id, "name": tool, "arguments": arguments}
    return found | given(thoughtSignature=signature)


def image(base64: str, media_type: str) -> Json:
    """An image, as base64."""
    return {"type": "image", "data": base64, "mimeType": media_type}


def user(content: Content, at: int) -> Json:
    """What a user says."""
    return {"role": "user", "content": _blocks(content), "timestamp": at}


def assistant(
    content: Content,
    at: int,
    *,
    provider: str,
    model: str,
    api: str = "unknown",
    usage: Usage | None = None,
    cost: Json | None = None,
    stop_reason: str | None = None,
    error: str | None = None,
    **more: Any,
) -> Json:
    """What a model answers. Without a stop reason: toolUse if it calls tools, error if it failed, else stop."""
    blocks = _blocks(content)
    reason = stop_reason or ("error" if error is not None else _reason(blocks))
    return {
        "role": "assistant",
        "content": blocks,
        "api": api,
        "provider": provider,
        "model": model,
        "usage": tokens(usage or Usage(), cost),
        "stopReason": reason,
        "timestamp": at,
    } | given(errorMessage=error, **more)


def tool_result(call_id: str, tool: str, content: Content, at: int, *, is_error: bool = False, **more: Any) -> Json:
    """What a tool gave."""
    found = {"role": "toolResult", "toolCallId": call_id, "toolName": tool, "content": _blocks(content)}
    return found | given(**more) | {"isError": is_error, "timestamp": at}


def bash_execution(
    command: str,
    output: str,
    at: int,
    exit_code: int | None = 0,
    *,
    cancelled: bool = False,
    truncated: bool = False,
    full_output_path: str | None = None,
    exclude_from_context: bool | None = None,
) -> Json:
    """A command that the human ran."""
    found: Json = {"role": "bashExecution", "command": command, "output": output, "exitCode": exit_code}
    found |= {"cancelled": cancelled, "truncated": truncated}
    more = given(fullOutputPath=full_output_path, excludeFromContext=exclude_from_context)
    return found | more | {"timestamp": at}


def system(content: str, at: int, sections: dict[str, str | None] | None = None) -> Json:
    """Instructions to the model (pi 0.8x and newer)."""
    return {"role": "system", "content": content} | given(sections=sections) | {"timestamp": at}


def tokens(usage: Usage, cost: Json | None = None) -> Json:
    """What a call to the model used. pi wants every field, and its input is without cache, as ours is."""
    parts = {
        "input": usage.input or 0,
        "output": usage.output or 0,
        "cacheRead": usage.cached or 0,
        "cacheWrite": usage.cache_write or 0,
    }
    free = {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0}
    total = sum(parts.values()) if usage.total is None else usage.total
    return parts | given(reasoning=usage.reasoning) | {"totalTokens": total, "cost": free | (cost or {})}


def _blocks(content: Content) -> list[Json]:
    return [text(content)] if isinstance(content, str) else list(content)


def _reason(blocks: list[Json]) -> str:
    return "toolUse" if any(block["type"] == "toolCall" for block in blocks) else "stop"
