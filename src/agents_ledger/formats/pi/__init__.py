"""pi's sessions and those of its descendants: clawdbot, moltbot, openclaw (files and its database), nexus."""

from agents_ledger.formats.pi.places import roots
from agents_ledger.model.formats import Format
from agents_ledger.model.later import later

FORMAT = Format(
    name="pi",
    recognise=later(f"{__name__}.recognise", "recognise"),
    reader=later(f"{__name__}.reader", "reader"),
    roots=roots,
    tables=later(f"{__name__}.tables", "tables"),
    held=later(f"{__name__}.held", "held"),
    natives=later(f"{__name__}.writing", "natives"),
    wrote=later(f"{__name__}.given", "wrote"),
)
