"""Claude Code's transcripts (1.0 to 2.1), those of its SDK, and what it notes about subagents."""

from agents_ledger.formats.claude_code.homes import roots
from agents_ledger.model.formats import Format
from agents_ledger.model.later import later

FORMAT = Format(
    name="claude-code",
    recognise=later(f"{__name__}.finding", "recognise"),
    reader=later(f"{__name__}.opening", "reader"),
    roots=roots,
    held=later(f"{__name__}.held", "held"),
    natives=later(f"{__name__}.writing", "natives"),
)
