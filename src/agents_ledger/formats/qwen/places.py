"""Where Qwen Code keeps its transcripts, and what they look like wherever they are."""

import re
from collections.abc import Iterator

from agents_ledger.model.formats import Kind, Machine, Root

_PATTERN = r"[^/]+/(?:chats|subagents/[^/]+)/[^/]+\.jsonl"
_NAME = re.compile(r"(?:chats/[^/]+|subagents/[^/]+/agent-[^/]+)\.jsonl$")
_CHAIN = re.compile(
    rb'\s*\{\s*"uuid"\s*:\s*"[^"]{1,100}"\s*,\s*"parentUuid"\s*:\s*(?:null|"[^"]{1,100}")\s*,\s*"sessionId"\s*:'
)
# what stands in its lines, and in no line of Claude Code, whose chain is the same
_OWN = re.compile(
    rb'"message"\s*:\s*\{\s*"role"\s*:\s*"(?:user|model)"\s*,\s*"parts"\s*:\s*\[|"systemPayload"\s*:\s*\{'
)


def roots(machine: Machine) -> Iterator[Root]:
    """`$QWEN_RUNTIME_DIR`, `$QWEN_HOME`, and `~/.qwen`."""
    named = (machine.environ.get(name) for name in ("QWEN_RUNTIME_DIR", "QWEN_HOME"))
    homes = [*named, f"{machine.home}/.qwen"]
    for home in dict.fromkeys(place.rstrip("/\\") for place in homes if place):
        yield Root(f"{home}/projects", _PATTERN)


def recognise(path: str, head: bytes) -> Kind | None:
    """A transcript, by its first lines; the name only makes us surer."""
    for line in head.split(b"\n", 5)[:5]:
        if _CHAIN.match(line) and _OWN.search(line):
            return Kind("transcript", "lines", 95 if _NAME.search(path.replace("\\", "/")) else 90)
    return None
