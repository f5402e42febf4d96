"""What Cursor really sent to the model: messages kept by their hash, with tool results in full."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal

from msgspec import Struct

from agents_ledger.formats.cursor.loose import as_json, decoded, lighter, mapping, objects, text
from agents_ledger.model.entries import CallStatus

QUERY, NOTICE = "<user_query>", "<system_notification>"


class Outcome(Struct, frozen=True):
    """The result of a tool call as the model saw it."""

    result: Any
    status: CallStatus = "completed"
    error: str | None = None
    spawned: str | None = None  # the session of the subagent that a task started


def message(blob: bytes) -> dict[str, Any] | None:
    """The message in a blob; None for index nodes, files and whatever else is kept there."""
    if blob[:1] != b"{":
        return None
    value = decoded(blob)[0]
    return value if value is not None and text(value.get("role")) and "content" in value else None


def said_text(content: object) -> str | None:
    """The texts of a message, joined by line ends."""
    if isinstance(content, str):
        return content
    parts = [part["text"] for part in objects(content) if part.get("type") == "text" and text(part.get("text"))]
    return "\n".join(parts) if parts else None


def kind_of_user(words: str | None) -> Literal["human", "event", "context"]:
    """Who speaks in a message of role user: a person, an event that woke the agent, or Cursor's own context."""
    if words is None or QUERY in words:
        return "human"
    if NOTICE in words:
        return "event"
    return "context" if words.lstrip().startswith("<") else "human"


def options(value: Mapping[str, Any]) -> dict[str, Any]:
    """Cursor's own facts about a message."""
    return mapping(mapping(value.get("providerOptions")).get("cursor"))


def outcomes(value: Mapping[str, Any]) -> Iterator[tuple[str, Outcome]]:
    """Call id and outcome of each result in a message of role tool."""
    high = mapping(options(value).get("highLevelToolCallResult"))
    for part in objects(value.get("content")):
        call = text(part.get("toolCallId"))
        if part.get("type") == "tool-result" and call is not None:
            status = _status(high, part)
            result = _result(part)
            error = result if status == "failed" and isinstance(result, str) else None
            yield call, Outcome(result, status, error, _spawned(high, part))


def all_outcomes(blobs: Iterable[bytes]) -> dict[str, Outcome]:
    """The outcomes of all calls that some blob tells of."""
    found: dict[str, Outcome] = {}
    for blob in blobs:
        value = message(blob)
        if value is not None and value["role"] == "tool":
            found.update(outcomes(value))
    return found


def opening(names: Iterable[str], blobs: Mapping[str, bytes]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Hash and message of what stood before the first question: the system prompt and injected context."""
    for name in names:
        value = message(blobs.get(name, b""))
        if value is None or value["role"] not in ("system", "user"):
            return
        if value["role"] == "user" and kind_of_user(said_text(value["content"])) != "context":
            return
        yield name, value


def _status(high: Mapping[str, Any], part: Mapping[str, Any]) -> CallStatus:
    output = mapping(high.get("output"))
    if "rejected" in output:
        return "rejected"
    failed = (high.get("isError"), output.get("isError"), part.get("isError"), part.get("is_error"))
    return "failed" if True in failed or "error" in output else "completed"


def _spawned(high: Mapping[str, Any], part: Mapping[str, Any]) -> str | None:
    if part.get("toolName") not in ("Task", "task", "task_v2"):
        return None
    return text(mapping(mapping(high.get("output")).get("success")).get("agentId"))


def _result(part: Mapping[str, Any]) -> Any:
    """One text as text, several blocks as JSON, images by their size."""
    result = part.get("result", part.get("output"))
    if isinstance(result, str):
        return lighter(result)
    if result is not None:
        return as_json(result)
    blocks = list(objects(part.get("experimental_content")))
    if len(blocks) == 1 and text(blocks[0].get("text")):
        return blocks[0]["text"]
    return [_block(block) for block in blocks] or None


def _block(block: Mapping[str, Any]) -> Any:
    if block.get("type") != "image":
        return lighter(dict(block))
    data = block.get("data", block.get("image"))
    size = len(data) * 3 // 4 if isinstance(data, str) else None
    return {"type": "image", "media_type": text(block.get("mimeType")), "size_bytes": size}
