"""Claude Code's transcripts (1.0 to 2.1), those of its SDK, and what it notes about subagents."""

from agents_ledger.formats.claude_code.finding import recognise, roots
from agents_ledger.formats.claude_code.held import held
from agents_ledger.formats.claude_code.opening import reader
from agents_ledger.formats.claude_code.writing import AGENT, NATIVE
from agents_ledger.model.formats import Format

FORMAT = Format(name="claude-code", recognise=recognise, reader=reader, roots=roots, held=held, natives={AGENT: NATIVE})

__all__ = ["FORMAT"]
