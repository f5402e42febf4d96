"""Where Gemini CLI keeps its sessions."""

from collections.abc import Iterator

from agents_ledger.model.formats import Machine, Root

_PATTERN = r"[^/]+/chats/(?:[^/]+/)*[^/]+\.jsonl?|[^/]+/logs\.json|[^/]+/checkpoint-[^/]*\.json"


def roots(machine: Machine) -> Iterator[Root]:
    """`.gemini/tmp` below `$GEMINI_CLI_HOME` and the home; in `.cache` where macOS keeps it in a sandbox."""
    homes = (machine.environ.get("GEMINI_CLI_HOME"), machine.home)
    for home in dict.fromkeys(place.rstrip("/\\") for place in homes if place):
        yield Root(f"{home}/.gemini/tmp", _PATTERN)
        yield Root(f"{home}/.cache/.gemini/tmp", _PATTERN)
