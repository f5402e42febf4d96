"""An answer of the fake model in the words of four APIs: the events of its stream, in order."""

import json
from base64 import b64encode
from collections.abc import Iterator
from dataclasses import dataclass, field

from oracles.conversation import Json

Event = tuple[str | None, Json]  # the event's name, if the API names its events, and its data


@dataclass(frozen=True)
class Call:
    """A call of a tool."""

    id: str
    name: str
    arguments: Json
    namespace: str | None = None


@dataclass(frozen=True)
class Reply:
    """One answer: what the model thinks, says and calls, and what it says to have cost."""

    id: str
    model: str
    thinking: str
    text: str
    calls: list[Call] = field(default_factory=list)
    input: int = 0  # all of it: uncached, cached and written to the cache
    cached: int = 0
    cache_write: int = 0
    output: int = 0  # with reasoning
    reasoning: int = 0


def events(api: str, reply: Reply) -> list[Event]:
    """The stream of one answer."""
    return {"anthropic": _anthropic, "chat": _chat, "responses": _responses, "gemini": _gemini}[api](reply)


def _anthropic(reply: Reply) -> list[Event]:
    usage = {
        "input_tokens": reply.input - reply.cached - reply.cache_write,
        "cache_creation_input_tokens": reply.cache_write,
        "cache_read_input_tokens": reply.cached,
        "cache_creation": {"ephemeral_5m_input_tokens": reply.cache_write, "ephemeral_1h_input_tokens": 0},
        "output_tokens": reply.output,
        "service_tier": "standard",
    }
    message: Json = {
        "id": f"msg_{reply.id}",
        "type": "message",
        "role": "assistant",
        "model": reply.model,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {**usage, "output_tokens": 1},
    }
    end = {"stop_reason": "tool_use" if reply.calls else "end_turn", "stop_sequence": None}
    stream: list[Event] = [("message_start", {"message": message})]
    for index, (block, deltas) in enumerate(_anthropic_blocks(reply)):
        stream.append(("content_block_start", {"index": index, "content_block": block}))
        stream += [("content_block_delta", {"index": index, "delta": delta}) for delta in deltas]
        stream.append(("content_block_stop", {"index": index}))
    stream += [("message_delta", {"delta": end, "usage": usage}), ("message_stop", {})]
    return [(name, {"type": name, **data}) for name, data in stream]


def _anthropic_blocks(reply: Reply) -> Iterator[tuple[Json, list[Json]]]:
    if reply.thinking:
        deltas = [{"type": "thinking_delta", "thinking": half} for half in _halves(reply.thinking)]
        signature = {"type": "signature_delta", "signature": f"sig{reply.id}"}
        yield {"type": "thinking", "thinking": "", "signature": ""}, [*deltas, signature]
    if reply.text:
        yield {"type": "text", "text": ""}, [{"type": "text_delta", "text": half} for half in _halves(reply.text)]
    for call in reply.calls:
        block = {"type": "tool_use", "id": f"toolu_{call.id}", "name": call.name, "input": {}}
        halves = _halves(json.dumps(call.arguments))
        yield block, [{"type": "input_json_delta", "partial_json": half} for half in halves]


def whole_chat(reply: Reply) -> Json:
    """An answer in words at once, as Qwen Code asks for a summary."""
    choice = {"index": 0, "message": {"role": "assistant", "content": reply.text}, "finish_reason": "stop"}
    shared = {"id": f"chatcmpl-{reply.id}", "object": "chat.completion", "created": 0, "model": reply.model}
    return {**shared, "choices": [choice], "usage": _chat_usage(reply)}


def _chat_usage(reply: Reply) -> Json:
    return {
        "prompt_tokens": reply.input,
        "completion_tokens": reply.output,
        "total_tokens": reply.input + reply.output,
        "prompt_tokens_details": {"cached_tokens": reply.cached},
        "completion_tokens_details": {"reasoning_tokens": reply.reasoning},
    }


def _chat(reply: Reply) -> list[Event]:
    shared: Json = {"id": f"chatcmpl-{reply.id}", "object": "chat.completion.chunk", "created": 0, "model": reply.model}
    deltas: list[Json] = [{"role": "assistant", "content": ""}]
    deltas += [{"reasoning_content": half} for half in _halves(reply.thinking)]
    deltas += [{"content": half} for half in _halves(reply.text)]
    for index, call in enumerate(reply.calls):
        function = {"name": call.name, "arguments": json.dumps(call.arguments)}
        whole = {"index": index, "id": f"call_{call.id}", "type": "function", "function": function}
        deltas.append({"tool_calls": [whole]})
    choices: list[Json] = [{"index": 0, "delta": delta, "finish_reason": None} for delta in deltas]
    choices.append({"index": 0, "delta": {}, "finish_reason": "tool_calls" if reply.calls else "stop"})
    return [
        *((None, {**shared, "choices": [one]}) for one in choices),
        (None, {**shared, "choices": [], "usage": _chat_usage(reply)}),
    ]


def _responses(reply: Reply) -> list[Event]:
    usage = {
        "input_tokens": reply.input,
        "input_tokens_details": {"cached_tokens": reply.cached},
        "output_tokens": reply.output,
        "output_tokens_details": {"reasoning_tokens": reply.reasoning},
        "total_tokens": reply.input + reply.output,
    }
    items = list(_responses_items(reply))
    whole: Json = {"id": f"resp_{reply.id}", "object": "response", "created_at": 0, "model": reply.model, "error": None}
    start = {"response": {**whole, "status": "in_progress", "output": [], "usage": None}}
    stream: list[Event] = [("response.created", start)]
    for index, item in enumerate(items):
        place = {"item_id": item["id"], "output_index": index}
        stream.append(("response.output_item.added", {"output_index": index, "item": _begun(item)}))
        stream += [(name, {**place, **data}) for name, data in _responses_deltas(item)]
        stream.append(("response.output_item.done", {"output_index": index, "item": item}))
    done = {"response": {**whole, "status": "completed", "output": items, "usage": usage}}
    stream.append(("response.completed", done))
    return [(name, {"type": name, "sequence_number": n, **data}) for n, (name, data) in enumerate(stream)]


def _responses_items(reply: Reply) -> Iterator[Json]:
    if reply.thinking:
        summary = [{"type": "summary_text", "text": reply.thinking}]
        yield {"type": "reasoning", "id": f"rs_{reply.id}", "summary": summary, "encrypted_content": f"enc{reply.id}"}
    if reply.text:
        content = [{"type": "output_text", "text": reply.text, "annotations": []}]
        message = {"type": "message", "id": f"msg_{reply.id}", "role": "assistant", "content": content}
        yield {**message, "status": "completed"}
    for call in reply.calls:
        made = {"type": "function_call", "id": f"fc_{call.id}", "call_id": f"call_{call.id}", "name": call.name}
        where = {"namespace": call.namespace} if call.namespace else {}
        yield {**made, **where, "arguments": json.dumps(call.arguments), "status": "completed"}


def _begun(item: Json) -> Json:
    empty: Json = {"reasoning": {"summary": []}, "message": {"content": []}, "function_call": {"arguments": ""}}
    return {**item, **empty[item["type"]]}


def _responses_deltas(item: Json) -> Iterator[tuple[str, Json]]:
    match item["type"]:
        case "reasoning":
            part = {"summary_index": 0}
            yield "response.reasoning_summary_part.added", {**part, "part": {"type": "summary_text", "text": ""}}
            for half in _halves(item["summary"][0]["text"]):
                yield "response.reasoning_summary_text.delta", {**part, "delta": half}
            yield "response.reasoning_summary_part.done", {**part, "part": item["summary"][0]}
        case "message":
            part = {"content_index": 0}
            empty = {"type": "output_text", "text": "", "annotations": []}
            yield "response.content_part.added", {**part, "part": empty}
            for half in _halves(item["content"][0]["text"]):
                yield "response.output_text.delta", {**part, "delta": half}
            yield "response.content_part.done", {**part, "part": item["content"][0]}
        case _:
            yield "response.function_call_arguments.delta", {"delta": item["arguments"]}
            yield "response.function_call_arguments.done", {"arguments": item["arguments"]}


def whole_gemini(reply: Reply) -> Json:
    """An answer in words at once, as Gemini CLI asks for a summary."""
    candidate = {"index": 0, "content": {"role": "model", "parts": [{"text": reply.text}]}, "finishReason": "STOP"}
    shared = {"modelVersion": reply.model, "responseId": reply.id}
    return {**shared, "candidates": [candidate], "usageMetadata": _gemini_usage(reply)}


def _gemini_usage(reply: Reply) -> Json:
    return {
        "promptTokenCount": reply.input,
        "cachedContentTokenCount": reply.cached,
        "candidatesTokenCount": reply.output - reply.reasoning,
        "thoughtsTokenCount": reply.reasoning,
        "totalTokenCount": reply.input + reply.output,
    }


def _gemini(reply: Reply) -> list[Event]:
    parts: list[Json] = [{"text": half, "thought": True} for half in _halves(reply.thinking)]
    parts += [{"text": half} for half in _halves(reply.text)]
    for call in reply.calls:
        made = {"name": call.name, "args": call.arguments, "id": call.id}
        parts.append({"functionCall": made, "thoughtSignature": b64encode(f"seal{call.id}".encode()).decode()})
    shared = {"modelVersion": reply.model, "responseId": reply.id}
    stream: list[Event] = [
        (None, {**shared, "candidates": [{"index": 0, "content": {"role": "model", "parts": [part]}}]})
        for part in parts
    ]
    end = {"index": 0, "content": {"role": "model", "parts": [{"text": ""}]}, "finishReason": "STOP"}
    return [*stream, (None, {**shared, "candidates": [end], "usageMetadata": _gemini_usage(reply)})]


def _halves(text: str) -> list[str]:
    """A text in two pieces, so that there is always a middle of a stream to be killed in."""
    middle = (len(text) + 1) // 2
    return [half for half in (text[:middle], text[middle:]) if half]
