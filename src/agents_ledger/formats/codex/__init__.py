"""Codex CLI: rollouts (`rollout-….jsonl`, also `.jsonl.zst`), the index of thread names, the history of prompts."""

from agents_ledger.formats.codex.places import roots
from agents_ledger.model.formats import Format
from agents_ledger.model.later import later

FORMAT = Format(
    name="codex",
    recognise=later(f"{__name__}.recognise", "recognise"),
    reader=later(f"{__name__}.reader", "reader"),
    roots=roots,
    held=later(f"{__name__}.held", "held"),
    natives=later(f"{__name__}.writing", "natives"),
)
