"""Contents of messages and outputs: lists of texts, images and files, or one string."""

import re
from typing import Any

from msgspec import Struct

from agents_ledger.formats.codex.fields import Item, text
from agents_ledger.model.entries import File

_TEXTS = ("input_text", "output_text", "text", "summary_text", "reasoning_text")
_HEAVY = ("image_url", "file_data", "audio_url", "audio_data", "encrypted_content")
_DATA = re.compile(r"data:([\w.+-]++/[\w.+-]++)?[^,]{0,100},")
_ATTACHED = re.compile(r'<image [^<>\n]*path="([^"\n]+)"')


class Content(Struct, frozen=True):
    """A message's text, what else stands in it and where."""

    text: str | None
    parts: tuple[str, ...] = ()
    blocks: tuple[dict[str, Any], ...] | None = None
    files: tuple[File, ...] = ()


def contents(value: object) -> Content:
    """The content of a message: its texts, joined by line ends, and the order of blocks if some are no texts."""
    if isinstance(value, str):
        return Content(value, (value,))
    if not isinstance(value, list):
        return Content(None)
    parts: list[str] = []
    blocks: list[dict[str, Any]] = []
    at = 0
    for item in value:
        words = words_of(item)
        if words is None:
            blocks.append(brief(item))
            continue
        at += 1 if parts else 0
        blocks.append({"type": "text", "from": at, "to": at + len(words)})
        at += len(words)
        parts.append(words)
    plain = len(parts) == len(blocks)
    files = tuple(File(path, "attached") for part in parts for path in _ATTACHED.findall(part[:2000]))
    return Content("\n".join(parts) if parts else None, tuple(parts), None if plain else tuple(blocks), files)


def words_of(item: object) -> str | None:
    """The text of a content item; None if it is something else."""
    if isinstance(item, str):
        return item
    if isinstance(item, dict) and item.get("type") in _TEXTS and isinstance(item.get("text"), str):
        return str(item["text"])
    return None


def _light(item: object) -> object:
    """An item of content; in few words if it holds bytes."""
    return brief(item) if isinstance(item, dict) and any(key in item for key in _HEAVY) else item


def brief(item: object) -> Item:
    """What an item that is no text is, in few words: its bytes stay where they are."""
    if not isinstance(item, dict):
        return {"type": "unknown"}
    kind = (text(item, "type") or "unknown")[:60]
    for key in _HEAVY:
        if isinstance(value := item.get(key), str):
            return _measured(kind, value)
    return {"type": kind}


def _measured(kind: str, value: str) -> Item:
    """An image or a file by media type and size, or by its address."""
    name = "image" if "image" in kind else kind
    if found := _DATA.match(value):
        size = (len(value) - found.end()) * 3 // 4 - value[-2:].count("=")
        return {"type": name, "media_type": found[1], "size_bytes": max(size, 0)}
    if value.startswith(("http://", "https://", "file:", "sediment:")):
        return {"type": name, "url": value[:2000]}
    return {"type": name, "size_bytes": len(value)}


def result(output: object) -> Any:
    """A tool's output as the model saw it: one text, or a list of texts and of what is no text."""
    if not isinstance(output, list):
        return output
    if len(output) == 1 and (words := words_of(output[0])) is not None:
        return words
    return [_light(item) for item in output]


def replacement(history: list[Any]) -> list[Any]:
    """A history that a compaction put in place of another, without the bytes of images and encrypted reasoning."""
    return [_slim(item) for item in history]


def _slim(item: object) -> object:
    if not isinstance(item, dict):
        return item
    slim = {key: value for key, value in item.items() if not key.startswith("internal_chat_message_metadata")}
    if isinstance(sealed := slim.get("encrypted_content"), str):
        slim["encrypted_content"] = {"size_bytes": len(sealed)}
    if slim.get("type") == "image_generation_call" and isinstance(image := slim.get("result"), str):
        slim["result"] = {"size_bytes": len(image) * 3 // 4}
    for key in ("content", "output"):
        if isinstance(parts := slim.get(key), list):
            slim[key] = [_light(part) for part in parts]
    return slim
