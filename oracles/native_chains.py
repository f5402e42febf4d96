"""The active chain of agents' session files, read by nothing of ours: JSON, and each agent's own links.

An entry is a line (or a message of a document) that holds words, a tool call or a tool's result. The chain runs from
the last entry back over the parents that the agent wrote down; agents without parents continue in file order.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Json = dict[str, Any]
_ID = re.compile(rb'"(uuid|parentUuid|sessionId)"\s*:\s*"([0-9a-zA-Z-]+)"')


@dataclass
class Entry:
    """One entry: where it stands in its file, its id there (or none), and whether it says something."""

    offset: int
    id: str | None = None
    parent: str | None = None
    logical: str | None = None  # the entry before a compaction that hides it
    is_content: bool = False
    session: str | None = None
    is_broken: bool = False
    words: str | None = None  # where an agent writes the same message again under another id


def chain_of(path: Path) -> tuple[str, list[Entry]] | None:  # noqa: PLR0911 - one for each family
    """The family of a file and the entries with content on its active chain; None: a file that is not judged."""
    data = path.read_bytes()
    document = _document(data)
    if isinstance(document, dict) and isinstance(document.get("messages"), list):
        return _of_document(document)
    if isinstance(document, dict) and {"type", "sessionID", "messageID"} <= document.keys():
        return "agentuse", [Entry(0, is_content=True)] if _is_part(document) else []
    if document is not None or (path.suffix not in (".jsonl", ".ndjson") and ".jsonl." not in path.name):
        return None
    lines = list(_lines(data))
    values = [value for _, value, _ in lines if isinstance(value, dict)]
    if any("parentUuid" in value for value in values):
        return "linked by parentUuid", _linked(lines)
    if any(value.get("type") == "session" and "id" in value for value in values[:3]):
        return "pi", _pi(lines)
    if any("payload" in value and "type" in value for value in values):
        return "codex", _codex(lines)
    if any("$set" in value or value.get("kind") == "main" for value in values[:3]):
        return "gemini log", _gemini_log(lines)
    if values and all(value.get("role") in ("user", "assistant") and "message" in value for value in values):
        return "cursor transcript", [
            Entry(offset, is_content=True) for offset, value, _ in lines if _said(value.get("message"))
        ]
    return None


def _document(data: bytes) -> Any:
    try:
        return json.loads(data)
    except ValueError:
        return None


def _lines(data: bytes) -> Iterator[tuple[int, Any, bytes]]:
    """Each line: its offset, its JSON value (None if it is broken), its bytes. What has no line end is not complete."""
    offset = 0
    for line in data.splitlines(keepends=True) if b"\r" not in data else re.findall(rb"[^\n]*\n|[^\n]+$", data):
        if line.strip():
            try:
                yield offset, json.loads(line), line
            except ValueError:
                yield offset, None, line
        offset += len(line)


def _said(message: Any) -> bool:
    """Whether a message of Claude Code or Qwen holds anything."""
    if not isinstance(message, dict):
        return False
    content = message.get("content", message.get("parts"))
    return bool(content)


def _linked(lines: list[tuple[int, Any, bytes]]) -> list[Entry]:
    entries: list[Entry] = []
    for offset, value, line in lines:
        if not isinstance(value, dict):
            found = {name.decode(): text.decode() for name, text in _ID.findall(line)}
            entries.append(Entry(offset, found.get("uuid"), found.get("parentUuid"), is_broken=True))
        elif isinstance(value.get("uuid"), str) and "parentUuid" in value and not value.get("isSidechain"):
            entries.append(
                Entry(
                    offset,
                    value["uuid"],
                    value["parentUuid"],
                    value.get("logicalParentUuid"),
                    value.get("type") in ("user", "assistant", "tool_result") and _said(value.get("message")),
                    value.get("sessionId"),
                )
            )
    if not any(entry.is_content for entry in entries):  # a subagent's file: all of it is beside the main chain
        return []
    return [entry for entry in _walk(entries) if entry.is_content]


def _walk(entries: list[Entry]) -> list[Entry]:
    """From the last entry back to the first."""
    numbers: dict[str, int] = {}
    for number, entry in enumerate(entries):
        if entry.id is not None:
            numbers.setdefault(entry.id, number)
    parents = [_parent(entries, numbers, number) for number in range(len(entries))]
    last = max((number for number, entry in enumerate(entries) if entry.id is not None), default=None)
    if last is None:
        return []
    chain: dict[int, Entry] = {}
    at: int | None = _leaf(parents, last)
    while at is not None and at not in chain:
        chain[at] = entries[at]
        at = parents[at]
    return list(chain.values())[::-1]


def _leaf(parents: list[int | None], last: int) -> int:
    """The last entry, or what follows it although it was written before."""
    while (early := max((at for at, parent in enumerate(parents[:last]) if parent == last), default=None)) is not None:
        last = early
    return last


def _parent(entries: list[Entry], numbers: dict[str, int], number: int) -> int | None:
    """The number of an entry's parent. A compaction and what follows a broken line fall back on the order."""
    entry = entries[number]
    named = entry.parent or entry.logical
    if named in numbers:
        return numbers[named]
    is_behind_damage = any(other.is_broken and other.id is None for other in entries[:number])
    if named is not None and number and (entry.parent is None or entry.is_broken or is_behind_damage):
        return number - 1
    return None


def _pi(lines: list[tuple[int, Any, bytes]]) -> list[Entry]:
    kinds = ("message", "compaction", "branch_summary", "custom_message")
    entries = [
        Entry(offset, value["id"], value.get("parentId"), is_content=value.get("type") in kinds and _is_told(value))
        for offset, value, _ in lines
        if isinstance(value, dict) and isinstance(value.get("id"), str) and value.get("type") != "session"
    ]
    if entries and all(entry.parent is None for entry in entries):  # version 1 and the chat runtimes: in order
        return [entry for entry in entries if entry.is_content]
    if not entries:  # without ids: in order
        return [
            Entry(offset, is_content=True)
            for offset, value, _ in lines
            if isinstance(value, dict) and value.get("type") in kinds and _is_told(value)
        ]
    return [entry for entry in _walk(entries) if entry.is_content]


def _is_told(value: Json) -> bool:
    message = value.get("message")
    if not isinstance(message, dict):
        return bool(value.get("summary") or value.get("content"))
    return bool(message.get("content"))


_CALLS = ("function_call", "custom_tool_call", "function_call_output", "custom_tool_call_output", "local_shell_call")


def _codex(lines: list[tuple[int, Any, bytes]]) -> list[Entry]:
    """Codex continues in file order; a rollback takes away the last questions and what follows them."""
    chain: list[Entry] = []
    questions: list[int] = []  # where the questions begin
    for offset, value, _ in lines:
        if not isinstance(value, dict) or not isinstance(value.get("payload"), dict):
            continue
        kind, payload = value.get("type"), value["payload"]
        if kind == "event_msg" and payload.get("type") == "user_message":
            questions.append(len(chain))
        elif kind == "event_msg" and payload.get("type") == "thread_rolled_back":
            count = min(int(payload.get("num_turns") or 0), len(questions))
            if count:
                start = questions[-count]
                del chain[start:], questions[-count:]
        elif kind == "compacted" and chain and chain[-1].words and chain[-1].words in str(payload.get("message")):
            del chain[-1]  # the answer that is the summary: the compaction holds it
        elif kind == "response_item" and (payload.get("type") in _CALLS or _is_answer(payload)):
            words = "".join(part.get("text") or "" for part in payload.get("content") or ())
            chain.append(Entry(offset, is_content=True, words=words or None))
    return chain


def _is_answer(payload: Json) -> bool:
    """Whether an item of Codex's is an answer with words."""
    parts = payload.get("content") if payload.get("type") == "message" and payload.get("role") == "assistant" else None
    return any(part.get("text") for part in parts or () if isinstance(part, dict))


def _gemini_log(lines: list[tuple[int, Any, bytes]]) -> list[Entry]:
    """A log of changes: a message with the id of another replaces it, `$set` all of them, `$rewindTo` ends earlier."""
    messages: dict[str, tuple[int, Json]] = {}
    for offset, value, _ in lines:
        changed = value.get("$set") if isinstance(value, dict) else None
        if isinstance(changed, dict) and isinstance(changed.get("messages"), list):
            messages = {each["id"]: (offset, each) for each in changed["messages"]}
        elif isinstance(value, dict) and "$rewindTo" in value:
            names = list(messages)
            start = names.index(value["$rewindTo"]) if value["$rewindTo"] in messages else 0
            messages = {name: messages[name] for name in names[:start]}
        elif isinstance(value, dict) and "id" in value and "type" in value:
            messages[value["id"]] = (offset, value)
    told = ((offset, name, _words(each)) for name, (offset, each) in messages.items())
    return [Entry(offset, name, is_content=True, words=words) for offset, name, words in told if words]


def _words(message: Json) -> str:
    """The words of a message of Gemini's; nothing of what the program itself puts in front of a conversation.

    Results of tools stand in the message that made the call, too. Compressing writes a summary, an answer to it that no
    model gave, and the rest of the conversation under new ids: the same words count then.
    """
    content = message.get("content")
    parts = [content] if isinstance(content, str) else [part.get("text") or "" for part in content or ()]
    words = "\n".join(part for part in parts if part)
    is_own = words.startswith(_OWN_WORDS) or "</summary>" in words or "</state_snapshot>" in words
    return "" if is_own or message.get("type") not in ("user", "gemini") else words


_OWN_WORDS = ("[the program's own text, removed]", "<session_context>", "Got it. Thanks for the additional context!")


def _is_part(document: Json) -> bool:
    """Whether a part of AgentUse's holds words or a call."""
    return document["type"] == "tool" or (document["type"] in ("text", "reasoning") and bool(document.get("text")))


def _of_document(document: Json) -> tuple[str, list[Entry]] | None:
    messages = [message for message in document["messages"] if isinstance(message, dict)]
    if messages and all(isinstance(message.get("info"), dict) for message in messages):
        return "opencode", [
            Entry(-1, message["info"].get("id"), is_content=True)
            for message in messages
            if any(part.get("type") != "compaction" for part in message.get("parts") or ())
        ]
    return "gemini", [Entry(-1, message.get("id"), is_content=True) for message in messages if _words(message)]
