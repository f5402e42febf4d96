"""What an agent puts in front of its model: the requests of four APIs as one plain list of items, and their tools."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import groupby
from typing import Any

Json = dict[str, Any]


@dataclass(frozen=True)
class Item:
    """One piece of the history that was sent: a text, a thought, a call, a result, a picture or something else."""

    role: str  # "user", "assistant", "tool", "system" or "developer"
    kind: str  # "text", "thinking", "call", "result", "image" or "other"
    text: str = ""
    name: str = ""
    id: str = ""
    is_error: bool = field(default=False, compare=False)  # of a result, where the API has a mark for it


@dataclass(frozen=True)
class Tool:
    """A tool that the agent offers: the schema of its arguments, and the namespace it is in, if any."""

    name: str
    schema: Json
    namespace: str | None = None


def history(api: str, body: Json) -> list[Item]:
    """The conversation in a request, in order; the system prompt is not part of it."""
    if api == "responses":
        asked = body.get("input", [])
        messages = [{"role": "user", "content": asked}] if isinstance(asked, str) else asked
        return [item for message in messages for item in _responses_items(message)]
    if api == "gemini":
        return [item for message in body.get("contents", []) for item in _gemini_items(message)]
    read = _anthropic_items if api == "anthropic" else _chat_items
    messages = [message for message in body.get("messages", []) if api == "anthropic" or message["role"] != "system"]
    return [item for message in messages for item in read(message)]


def system_prompt(api: str, body: Json) -> str:
    """The instructions in a request."""
    if api == "anthropic":
        return _text(body.get("system"))
    if api == "responses":
        return _text(body.get("instructions"))
    if api == "gemini":
        return _text((body.get("systemInstruction") or {}).get("parts"))
    return "\n".join(_text(message["content"]) for message in body.get("messages", []) if message["role"] == "system")


def tools(api: str, body: Json) -> dict[str, Tool]:
    """The tools that a request offers, by name."""
    found: list[Tool] = []
    for offer in body.get("tools") or []:
        if api == "anthropic":
            found.append(Tool(offer["name"], offer.get("input_schema") or {}))
        elif api == "chat":
            found.append(Tool(offer["function"]["name"], offer["function"].get("parameters") or {}))
        elif api == "gemini":
            found += [
                Tool(one["name"], one.get("parametersJsonSchema") or one.get("parameters") or {})
                for one in offer.get("functionDeclarations", [])
            ]
        elif offer["type"] == "namespace":
            found += [Tool(one["name"], one.get("parameters") or {}, offer["name"]) for one in offer["tools"]]
        else:
            found.append(Tool(offer.get("name") or offer["type"], offer.get("parameters") or {}))
    return {tool.name: tool for tool in found}


def answers(items: list[Item]) -> int:
    """How many answers of the model are in a piece of history: its items stand together until someone else speaks."""
    return sum(is_model for is_model, _ in groupby(items, key=lambda item: item.role == "assistant"))


def _anthropic_items(message: Json) -> Iterator[Item]:
    role, content = message["role"], message["content"]
    for block in [{"type": "text", "text": content}] if isinstance(content, str) else content:
        match block["type"]:
            case "text":
                yield Item(role, "text", block["text"])
            case "thinking" | "redacted_thinking":
                yield Item(role, "thinking", block.get("thinking", ""))
            case "tool_use":
                yield Item(role, "call", json.dumps(block["input"], sort_keys=True), block["name"], block["id"])
            case "tool_result":
                has_failed = block.get("is_error") is True
                yield Item("tool", "result", _text(block.get("content")), id=block["tool_use_id"], is_error=has_failed)
            case "image":
                yield Item(role, "image", _picture(block))
            case _:
                yield Item(role, "other", json.dumps(block))


def _chat_items(message: Json) -> Iterator[Item]:
    role = message["role"]
    if role == "tool":
        yield Item("tool", "result", _text(message["content"]), id=message["tool_call_id"])
        return
    if thought := message.get("reasoning_content"):
        yield Item(role, "thinking", thought)
    content = message.get("content") or []
    for block in [{"type": "text", "text": content}] if isinstance(content, str) else content:
        yield Item(role, "text", block["text"]) if block["type"] == "text" else Item(role, "image", _picture(block))
    for call in message.get("tool_calls") or []:
        yield Item(role, "call", call["function"]["arguments"], call["function"]["name"], call["id"])


def _responses_items(message: Json) -> Iterator[Item]:
    match message.get("type", "message"):
        case "message":
            role, content = message["role"], message["content"]
            for block in [{"text": content}] if isinstance(content, str) else content:
                yield Item(role, "text", block["text"]) if "text" in block else Item(role, "image", _picture(block))
        case "reasoning":
            yield Item("assistant", "thinking", _text(message.get("summary")))
        case "function_call":
            yield Item("assistant", "call", message["arguments"], message["name"], message["call_id"])
        case "function_call_output":
            yield Item("tool", "result", _text(message["output"]), id=message["call_id"])
        case _:
            yield Item(message.get("role", "assistant"), "other", json.dumps(message))


def _gemini_items(message: Json) -> Iterator[Item]:
    role = "assistant" if message.get("role") == "model" else "user"
    for part in message.get("parts", []):
        match part:
            case {"functionCall": call}:
                yield Item(role, "call", json.dumps(call.get("args") or {}), call["name"], call.get("id") or "")
            case {"functionResponse": result}:
                said = result.get("response") or {}
                text = said.get("output", said.get("error", said))
                yield Item(
                    "tool", "result", text if isinstance(text, str) else json.dumps(text), id=result.get("id") or ""
                )
            case {"text": text}:
                yield Item(role, "thinking" if part.get("thought") else "text", text)
            case {"inlineData": data}:
                yield Item(role, "image", _picture({"source": data}))
            case _:
                yield Item(role, "other", json.dumps(part))


def _text(content: Any) -> str:
    """The text of a prompt or a result, which may be a text or a list of blocks."""
    if isinstance(content, list):
        return "\n".join(block["text"] if "text" in block else _picture(block) for block in content)
    return content or ""


def _picture(block: Json) -> str:
    """What stands for a picture: the same for the same bytes, whichever API carries them."""
    source, address = block.get("source") or {}, block.get("image_url")
    data = source.get("data") or (address.get("url") if isinstance(address, dict) else address) or ""
    return f"[image {sha256(data.rpartition(',')[2].encode()).hexdigest()[:12]}]" if data else f"[{block.get('type')}]"
