"""What Qwen Code's transcripts look like, wherever they are."""

import re

from agents_ledger.model.formats import Kind

_NAME = re.compile(r"(?:chats/[^/]+|subagents/[^/]+/agent-[^/]+)\.jsonl$")
_CHAIN = re.compile(
    rb'\s*\{\s*"uuid"\s*:\s*"[^"]{1,100}"\s*,\s*"parentUuid"\s*:\s*(?:null|"[^"]{1,100}")\s*,\s*"sessionId"\s*:'
)
# what stands in its lines, and in no line of Claude Code, whose chain is the same
_OWN = re.compile(
    rb'"message"\s*:\s*\{\s*"role"\s*:\s*"(?:user|model)"\s*,\s*"parts"\s*:\s*\[|"systemPayload"\s*:\s*\{'
)


def recognise(path: str, head: bytes) -> Kind | None:
    """A transcript, by its first lines; the name only makes us surer."""
    for line in head.split(b"\n", 5)[:5]:
        if _CHAIN.match(line) and _OWN.search(line):
            return Kind("transcript", "lines", 95 if _NAME.search(path.replace("\\", "/")) else 90)
    return None
