"""A transcript as a tree: the path to a leaf, and what the model would see there, by the rules of pi 0.73 to 0.87."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from msgspec import Struct

from agents_ledger.formats.pi.fields import moment

Json = dict[str, Any]


class Context(Struct, frozen=True):
    """What the model would see: messages (roles as pi has them), model, how much it thinks."""

    messages: list[Json]
    provider: str | None = None
    model: str | None = None
    thinking_level: str = "off"


def path_to(parents: Mapping[str, str | None], leaf: str | None) -> list[str]:
    """The ids from the root to an entry. One whose parent is not there is a root, a circle is cut."""
    path: dict[str, None] = {}
    while leaf is not None and leaf in parents and leaf not in path:
        path[leaf] = None
        leaf = parents[leaf]
    return list(path)[::-1]


def context_of(path: Iterable[Json]) -> Context:
    """The context at the end of a path of entries."""
    entries = list(path)
    provider, model, level = _settings(entries)
    seen = _selected(entries)
    edits = {entry.get("targetId"): entry for entry in seen if entry.get("type") == "context_edit"}
    messages = [
        message
        for at, entry in enumerate(seen)
        if not (at and entry.get("type") == "compaction")
        for message in _edited(entry, edits.get(entry.get("id")))
    ]
    return Context(messages, provider, model, level)


def _settings(entries: list[Json]) -> tuple[str | None, str | None, str]:
    provider = model = None
    level = "off"
    for entry in entries:
        said = entry.get("message") or {}
        if entry.get("type") == "thinking_level_change":
            level = entry.get("thinkingLevel") or level
        elif entry.get("type") == "model_change":
            provider, model = entry.get("provider"), entry.get("modelId")
        elif entry.get("type") == "message" and said.get("role") == "assistant":
            provider, model = said.get("provider"), said.get("model")
    return provider, model, level


def _selected(entries: list[Json]) -> list[Json]:
    """All entries, or the newest compaction, what it keeps and what came after it."""
    at = max((at for at, entry in enumerate(entries) if entry.get("type") == "compaction"), default=None)
    if at is None:
        return entries
    first = next((n for n in range(at) if entries[n].get("id") == entries[at].get("firstKeptEntryId")), at)
    kept = [entry for entry in entries[first:at] if not _is_system(entry)]
    return [entries[at], *kept, *entries[at + 1 :]]


def _is_system(entry: Json) -> bool:
    return entry.get("type") == "message" and (entry.get("message") or {}).get("role") == "system"


def _edited(entry: Json, edit: Json | None) -> Iterator[Json]:
    """What an entry contributes; something else or nothing, if it was edited."""
    if edit is None:
        yield from _messages(entry)
        return
    replacement = edit.get("replacement")
    if not isinstance(replacement, dict):
        return
    for message in _messages(entry):
        content = replacement.get("content")
        if message["role"] in ("assistant", "toolResult") and isinstance(content, str):
            content = [{"type": "text", "text": content}]
        is_open = message["role"] in ("user", "assistant", "toolResult", "custom")
        yield {**message, "content": content} if is_open else message


def _messages(entry: Json) -> Iterator[Json]:
    """The messages that an entry stands for."""
    kind, at = entry.get("type"), moment(entry.get("timestamp"))
    if kind == "message" and isinstance(entry.get("message"), dict) and entry["message"].get("role"):
        yield entry["message"]
    elif kind == "custom_message":
        told = {key: entry.get(key) for key in ("customType", "content", "display", "details")}
        yield {"role": "custom", **{key: value for key, value in told.items() if value is not None}, "timestamp": at}
    elif kind == "branch_summary" and entry.get("summary"):
        yield {"role": "branchSummary", "summary": entry["summary"], "fromId": entry.get("fromId"), "timestamp": at}
    elif kind == "compaction":
        if isinstance(entry.get("systemMessage"), dict):
            yield entry["systemMessage"]
        tokens = entry.get("tokensBefore")
        summary = entry.get("summary") or ""
        yield {"role": "compactionSummary", "summary": summary, "tokensBefore": tokens, "timestamp": at}
