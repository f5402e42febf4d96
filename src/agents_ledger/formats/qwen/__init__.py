"""Qwen Code: transcripts in JSON lines, a chain of `parentUuid` with Gemini's messages."""

from agents_ledger.formats.qwen.places import roots
from agents_ledger.model.formats import Format
from agents_ledger.model.later import later

FORMAT = Format(
    name="qwen",
    recognise=later(f"{__name__}.recognise", "recognise"),
    reader=later(f"{__name__}.reader", "reader"),
    roots=roots,
    held=later(f"{__name__}.contents", "held"),
)
