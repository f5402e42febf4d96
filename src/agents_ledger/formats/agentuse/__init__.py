"""AgentUse: a folder for each session, of small JSON files that are rewritten in place."""

from agents_ledger.formats.agentuse.copying import AGENT, wrote
from agents_ledger.formats.agentuse.places import bundle, recognise, roots
from agents_ledger.formats.agentuse.reader import reader
from agents_ledger.formats.agentuse.telling import NATIVE
from agents_ledger.model.formats import Format

FORMAT = Format(
    name="agentuse",
    recognise=recognise,
    reader=reader,
    roots=roots,
    bundle=bundle,
    natives={AGENT: NATIVE},
    wrote=wrote,
)
