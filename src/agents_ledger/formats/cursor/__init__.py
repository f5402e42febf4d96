"""Cursor: the editor's databases, the command line's stores, and the transcripts that both leave behind."""

from agents_ledger.formats.cursor.places import roots
from agents_ledger.model.formats import Format
from agents_ledger.model.later import later

FORMAT = Format(
    name="cursor",
    recognise=later(f"{__name__}.format", "recognise"),
    reader=later(f"{__name__}.format", "reader"),
    roots=roots,
    tables=later(f"{__name__}.tables", "tables"),
)
