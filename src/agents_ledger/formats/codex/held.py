"""What a record holds besides its text: sealed reasoning, pictures, the context after a compaction."""

import re
from typing import Any

from agents_ledger.formats.codex.contents import contents, words_of
from agents_ledger.formats.codex.fields import rows, text
from agents_ledger.formats.codex.texts import injected, meant
from agents_ledger.model.lines import values
from agents_ledger.model.story import Block, Held, Image, Text, Thinking, Told, held_together

_DATA = re.compile(r"data:([\w.+-]+/[\w.+-]+);base64,")


def held(record: bytes) -> Held:
    """The seals and pictures of one record."""
    return held_together(_held(value) for value in values(record) if isinstance(value, dict))


def _held(entry: dict[str, Any]) -> Held:
    item = entry.get("payload", entry)
    if not isinstance(item, dict):
        return Held()
    if entry.get("type") == "compacted":
        history = [_told(each) for each in rows(item, "replacement_history") if isinstance(each, dict)]
        return Held(context=tuple(told for told in history if told is not None))
    kind = item.get("type")
    if kind == "reasoning":
        return Held(thoughts=(_thought(item),))
    if kind == "message":
        return Held(images=tuple(part for part in _parts(item.get("content")) if isinstance(part, Image)))
    if isinstance(kind, str) and kind.endswith("_output"):
        return Held(results={text(item, "call_id") or "": _parts(item.get("output"))})
    return Held()


def _told(item: dict[str, Any]) -> Told | None:
    """A message of a context that Codex wrote down."""
    if item.get("type", "message") != "message":
        return None
    blocks: tuple[Block, ...] = _parts(item.get("content"))
    if item.get("role") == "assistant":
        return Told("assistant", blocks)
    parts = contents(item.get("content")).parts
    is_own = item.get("role") == "user" and (not any(map(injected, parts)) or any(map(meant, parts)))
    return Told("user" if item.get("role") == "user" else "system", blocks, is_injected=not is_own)


def _thought(item: dict[str, Any]) -> Thinking:
    words = contents(rows(item, "summary")).parts + contents(rows(item, "content")).parts
    told = "\n".join(words)
    return Thinking(told, text(item, "encrypted_content"), text(item, "id"), "openai", is_hidden=not told)


def _parts(content: object) -> tuple[Text | Image, ...]:
    if not isinstance(content, list):
        return (Text(content),) if isinstance(content, str) else ()
    found: list[Text | Image] = []
    for item in content:
        words = words_of(item)
        if words is not None:
            found.append(Text(words))
        elif isinstance(item, dict):
            address = item.get("image_url")
            found.append(_image(address) if isinstance(address, str) else Text(f"[{item.get('type', 'unknown')}]"))
    return tuple(found)


def _image(address: str) -> Image:
    head = _DATA.match(address)
    return Image(url=address) if head is None else Image(head[1], address[head.end() :])
