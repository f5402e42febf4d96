"""What the last turn of a session used, as the index of a chat runtime has it."""

from collections.abc import Sequence
from typing import Any

from agents_ledger.formats.pi.fields import number

Json = dict[str, Any]


def run_of(path: Sequence[Json]) -> Json:
    """Fields of an index entry, from the entries up to the leaf: all calls to the model since the last question."""
    bodies = [entry["message"] for entry in path if entry.get("type") == "message"]
    asked = max((at for at, body in enumerate(bodies) if body.get("role") == "user"), default=-1)
    answers = [body for body in bodies[asked + 1 :] if body.get("role") == "assistant"]
    compactions = sum(entry.get("type") == "compaction" for entry in path)
    if not answers:
        return {"compactionCount": compactions}
    usages = [body.get("usage") or {} for body in answers]
    last = usages[-1]
    return {
        "model": answers[-1].get("model"),
        "modelProvider": answers[-1].get("provider"),
        "inputTokens": _sum(usages, "input"),
        "outputTokens": _sum(usages, "output"),
        "cacheRead": _sum(usages, "cacheRead"),
        "cacheWrite": _sum(usages, "cacheWrite"),
        # how full the context is: what the last call was given
        "totalTokens": sum(number(last.get(name)) or 0 for name in ("input", "cacheRead", "cacheWrite")),
        "compactionCount": compactions,
    }


def _sum(usages: Sequence[Json], name: str) -> int:
    return sum(number(usage.get(name)) or 0 for usage in usages)
