"""AgentUse: a folder for each session, of small JSON files that are rewritten in place."""

from agents_ledger.formats.agentuse.places import roots
from agents_ledger.model.formats import Format
from agents_ledger.model.later import later

FORMAT = Format(
    name="agentuse",
    recognise=later(f"{__name__}.belonging", "recognise"),
    reader=later(f"{__name__}.reader", "reader"),
    roots=roots,
    bundle=later(f"{__name__}.belonging", "bundle"),
    natives=later(f"{__name__}.telling", "natives"),
    wrote=later(f"{__name__}.copying", "wrote"),
)
