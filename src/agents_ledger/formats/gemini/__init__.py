"""Gemini CLI: logs in which messages are said, said again and replaced; before 2026 one document a session."""

from agents_ledger.formats.gemini.places import roots
from agents_ledger.model.formats import Format
from agents_ledger.model.later import later

FORMAT = Format(
    name="gemini",
    recognise=later(f"{__name__}.recognise", "recognise"),
    reader=later(f"{__name__}.reader", "reader"),
    roots=roots,
    held=later(f"{__name__}.held", "held"),
    wrote=later(f"{__name__}.written", "wrote"),
)
