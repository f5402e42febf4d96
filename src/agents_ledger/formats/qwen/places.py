"""Where Qwen Code keeps its transcripts."""

from collections.abc import Iterator

from agents_ledger.model.formats import Machine, Root

_PATTERN = r"[^/]+/(?:chats|subagents/[^/]+)/[^/]+\.jsonl"


def roots(machine: Machine) -> Iterator[Root]:
    """`$QWEN_RUNTIME_DIR`, `$QWEN_HOME`, and `~/.qwen`."""
    named = (machine.environ.get(name) for name in ("QWEN_RUNTIME_DIR", "QWEN_HOME"))
    homes = [*named, f"{machine.home}/.qwen"]
    for home in dict.fromkeys(place.rstrip("/\\") for place in homes if place):
        yield Root(f"{home}/projects", _PATTERN)
