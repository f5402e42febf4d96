"""Instructions to the model: pi's system messages (since 0.8x), which change the prompt section by section."""

import hashlib
from typing import Any

from agents_ledger.formats.pi.content import text_of
from agents_ledger.formats.pi.fields import present, word
from agents_ledger.formats.pi.lines import Message


def prompt_of(message: Message) -> str:
    """The text of a system message, as pi puts it together (1.5: getSystemMessageText)."""
    sections = message.sections.values() if isinstance(message.sections, dict) else ()
    texts = [text_of(message.content), *(text for text in sections if isinstance(text, str))]
    return "\n\n".join(text for text in texts if text)


def prompt_hash(text: str) -> str:
    """What tells one prompt from another."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def changed(tools: list[str], message: Message) -> list[str]:
    """The names of the tools after a system message that added and removed some."""
    gone = _names(message.tools_removed)
    added = _names(message.tools_added)
    return list(dict.fromkeys([name for name in tools if name not in gone] + added))


def remarks(message: Message) -> dict[str, Any] | None:
    """What a system message changed, by name."""
    sections = message.sections if isinstance(message.sections, dict) else {}
    return present(
        sections=[name for name, text in sections.items() if text is not None] or None,
        sectionsRemoved=[name for name, text in sections.items() if text is None] or None,
        toolsAdded=_names(message.tools_added) or None,
        toolsRemoved=_names(message.tools_removed) or None,
    )


def _names(tools: object) -> list[str]:
    """Names of tools, given as declarations or as names."""
    if not isinstance(tools, list):
        return []
    named = (word(tool.get("name")) if isinstance(tool, dict) else word(tool) for tool in tools)
    return [name for name in named if name]
