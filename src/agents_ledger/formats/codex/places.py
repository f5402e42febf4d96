"""Where Codex keeps its files."""

from collections.abc import Iterator

from agents_ledger.model.formats import Machine, Root

_PATTERN = r"(?:sessions|archived_sessions)/(?:.*/)?rollout-[^/]*\.jsonl(?:\.zst)?|session_index\.jsonl|history\.jsonl"


def roots(machine: Machine) -> Iterator[Root]:
    """`$CODEX_HOME`, and `~/.codex` (on all systems)."""
    homes = (machine.environ.get("CODEX_HOME"), f"{machine.home}/.codex")
    for home in dict.fromkeys(place.rstrip("/\\") for place in homes if place):
        yield Root(home, _PATTERN)
