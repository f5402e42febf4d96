"""The turn that ends at an entry, for the markers of Nexus."""

from collections.abc import Sequence
from typing import Any

from agents_ledger.errors import NotAllowed
from agents_ledger.formats.pi import entries
from agents_ledger.formats.pi.entries import Place

Json = dict[str, Any]


def turn_marker(place: Place, path: Sequence[Json]) -> Json:
    """The marker of the turn that ends with a path: its questions, its last answer, how many calls it took."""
    before = next((entry for entry in reversed(path) if entry["type"] == "turn"), None)
    start = 0 if before is None else path.index(before) + 1
    said = [entry for entry in path[start:] if entry["type"] == "message"]
    queries = [entry["id"] for entry in said if _role(entry) == "user"]
    answers = [entry for entry in said if _role(entry) == "assistant"]
    if not queries or not answers:
        raise NotAllowed("no turn ends here: there must be a question and an answer since the last marker")
    calls = sum(_calls(entry) for entry in answers)
    last = None if before is None else before.get("turnId")
    return entries.turn(place, queries, answers[-1]["id"], calls, last, answers[-1]["message"].get("model"))


def _role(entry: Json) -> str:
    return str((entry.get("message") or {}).get("role"))


def _calls(entry: Json) -> int:
    content = entry["message"].get("content")
    return sum(block.get("type") == "toolCall" for block in content) if isinstance(content, list) else 0
