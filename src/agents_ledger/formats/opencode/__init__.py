"""OpenCode: rows of a database since 2026; before that a tree of small files; and what `opencode export` writes."""

from agents_ledger.formats.opencode.held import held
from agents_ledger.formats.opencode.places import bundle, recognise, roots
from agents_ledger.formats.opencode.reader import reader
from agents_ledger.formats.opencode.tables import TABLES
from agents_ledger.model.formats import Format
from agents_ledger.model.opencode_ids import wrote

FORMAT = Format(
    name="opencode",
    recognise=recognise,
    reader=reader,
    roots=roots,
    bundle=bundle,
    tables=TABLES,
    held=held,
    wrote=wrote,
)
