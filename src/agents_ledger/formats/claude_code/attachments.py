"""Attachments: what the program puts into the prompt between a person's words and the model's."""

import hashlib
from typing import Any

from agents_ledger.formats.claude_code.lines import Block
from agents_ledger.model.entries import File, Lint

# Markers for which the program writes a reminder of its own; the line has only what is filled in.
_MARKERS = frozenset(
    {
        "environment",
        "date",
        "date_change",
        "plan_mode",
        "plan_mode_exit",
        "plan_mode_reentry",
        "auto_mode",
        "auto_mode_exit",
        "ultra_effort_enter",
        "ultra_effort_exit",
        "output_style",
        "selected_lines_in_ide",
        "opened_file_in_ide",
        "compact_file_reference",
        "agent_mention",
        "already_read_file",
    }
)
# For people or for the program: the model does not see them.
_UNSEEN = frozenset({"hook_system_message", "hook_non_blocking_error", "async_hook_response"})
_TEXTS = ("text", "content", "snippet", "message", "addedLines", "addedBlocks", "context")


def seen(attachment: dict[str, Any]) -> dict[str, Any] | None:
    """The fields of the message that the model saw; None if it saw nothing."""
    kind = attachment.get("type")
    if not isinstance(kind, str) or kind in _UNSEEN:
        return None
    if kind in _MARKERS:
        return {"content": _marker(kind, attachment)}
    return _READERS.get(kind, _texts)(attachment)


def rendered(value: Any) -> str:
    """The text of an attachment as the model saw it, where the line keeps it (2.1.3xx); else nothing."""
    items = value if isinstance(value, list) else ()
    return "\n".join(text for item in items if isinstance(item, dict) and (text := _text(item.get("content"))))


def settings(attachment: dict[str, Any]) -> dict[str, Any]:
    """What an attachment that the model does not see says about the turns after it."""
    prompt = attachment.get("systemPrompt")
    texts = [text for text in prompt if isinstance(text, str)] if isinstance(prompt, list) else []
    if not any(texts):
        return {}
    return {"system_prompt_hash": hashlib.sha256("\n".join(texts).encode("utf-8", "surrogatepass")).hexdigest()}


def queued(attachment: dict[str, Any]) -> str | list[Block] | None:
    """What was typed, or told by the program, while the agent was at work; None if this is something else."""
    prompt = attachment.get("prompt")
    if attachment.get("type") != "queued_command":
        return None
    if isinstance(prompt, list):
        return [_block(item) for item in prompt if isinstance(item, dict)]
    return prompt if isinstance(prompt, str) else None


def _block(item: dict[str, Any]) -> Block:
    """A block of a queued prompt."""
    kind, text = item.get("type"), item.get("text")
    return Block(
        type=kind if isinstance(kind, str) else "",
        text=text if isinstance(text, str) else None,
        source=item.get("source"),  # type: ignore[arg-type] # JSON where others have Raw: both are read
    )


def _hook(attachment: dict[str, Any]) -> dict[str, Any] | None:
    """What a hook printed: for the model only where `content` repeats it (SessionStart, UserPromptSubmit)."""
    text = attachment.get("content")
    return {"content": text} if isinstance(text, str) and text else None


def _texts(attachment: dict[str, Any]) -> dict[str, Any] | None:
    """Whatever texts an attachment holds, with the file that they are about."""
    text = "\n".join(part for word in _TEXTS if (part := _text(attachment.get(word))))
    path = attachment.get("filename")
    if text and isinstance(path, str):
        return {"content": f"{path}\n{text}", "files": (File(path, "attached"),)}
    return {"content": text} if text else None


def _file(attachment: dict[str, Any]) -> dict[str, Any]:
    """A file that was read for the model, with its path."""
    path = attachment.get("filename")
    content = attachment.get("content")
    inner = content.get("file") if isinstance(content, dict) else None
    text = inner.get("content") if isinstance(inner, dict) else None
    parts = [part for part in (path, text) if isinstance(part, str)]
    fields: dict[str, Any] = {"content": "\n".join(parts)}
    if isinstance(path, str):
        fields["files"] = (File(path, "attached"),)
    if isinstance(content, dict) and not isinstance(text, str):
        fields["blocks"] = ({"type": "text", "from": 0, "to": len(fields["content"])}, _picture(content, inner))
    return fields


def _picture(content: dict[str, Any], inner: Any) -> dict[str, Any]:
    """Small facts about an attached file that is no text."""
    kind = content.get("type")
    found: dict[str, Any] = {"type": kind if isinstance(kind, str) else "unknown"}
    if isinstance(inner, dict):
        if isinstance(inner.get("type"), str):
            found["media_type"] = inner["type"]
        if isinstance(inner.get("originalSize"), int):
            found["size_bytes"] = inner["originalSize"]
    return found


def _diagnostics(attachment: dict[str, Any]) -> dict[str, Any] | None:
    """What an editor's linters found, as text and as lints."""
    files = attachment.get("files")
    lints = [
        _lint(file.get("uri"), item)
        for file in (files if isinstance(files, list) else ())
        if isinstance(file, dict) and isinstance(file.get("diagnostics"), list)
        for item in file["diagnostics"]
        if isinstance(item, dict)
    ]
    if not lints:
        return None
    lines = [f"{lint.file_path}:{lint.start_line}: {lint.severity}: {lint.message}" for lint in lints]
    return {"content": "\n".join(lines), "lints": tuple(lints)}


def _lint(path: Any, item: dict[str, Any]) -> Lint:
    """One finding. Positions count from 0 in the source, from 1 here."""
    span = item.get("range")
    start, end = (span.get("start"), span.get("end")) if isinstance(span, dict) else (None, None)
    words = [path, item.get("message"), item.get("source"), item.get("severity")]
    path, message, source, severity = (word if isinstance(word, str) else None for word in words)
    return Lint(
        path,
        message,
        source,
        _position(start, "line"),
        _position(start, "character"),
        _position(end, "line"),
        _position(end, "character"),
        severity,
    )


def _position(place: Any, word: str) -> int | None:
    number = place.get(word) if isinstance(place, dict) else None
    return number + 1 if type(number) is int and 0 <= number < 1 << 31 else None


def _marker(kind: str, attachment: dict[str, Any]) -> str:
    """A marker in words: its type, and what is filled in."""
    inner = attachment.get("snapshot")
    facts = inner if isinstance(inner, dict) else attachment
    simple = [f"{key}: {value}" for key, value in facts.items() if key != "type" and isinstance(value, str | bool)]
    return "\n".join([kind, *simple])


def _text(value: Any) -> str:
    """The texts of a value: one, a list of them, or those that an object holds (git status, items of a list)."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "\n".join(part for item in value if (part := _item(item)))
    if isinstance(value, dict):
        return "\n".join(part for part in value.values() if isinstance(part, str))
    return ""


def _item(item: Any) -> str:
    """One item of a list: a text, or the first text of an object (todos, tasks) with its state."""
    if isinstance(item, str):
        return item
    if not isinstance(item, dict):
        return ""
    words = [item.get(word) for word in ("status", "content", "subject", "text", "description")]
    return " ".join(word for word in words if isinstance(word, str))


_READERS = {"file": _file, "diagnostics": _diagnostics, "hook_success": _hook}
