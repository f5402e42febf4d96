"""OpenCode: rows of a database since 2026; before that a tree of small files; and what `opencode export` writes."""

from agents_ledger.formats.opencode.places import roots
from agents_ledger.model.formats import Format
from agents_ledger.model.later import later

FORMAT = Format(
    name="opencode",
    recognise=later(f"{__name__}.recognise", "recognise"),
    reader=later(f"{__name__}.reader", "reader"),
    roots=roots,
    bundle=later(f"{__name__}.recognise", "bundle"),
    tables=later(f"{__name__}.tables", "tables"),
    held=later(f"{__name__}.held", "held"),
    wrote=later("agents_ledger.model.opencode_ids", "wrote"),
)
