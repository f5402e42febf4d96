"""Gemini CLI: logs in which messages are said, said again and replaced; before 2026 one document a session."""

from agents_ledger.formats.gemini.held import held
from agents_ledger.formats.gemini.places import recognise, roots
from agents_ledger.formats.gemini.reader import reader
from agents_ledger.formats.gemini.written import wrote
from agents_ledger.model.formats import Format

FORMAT = Format(name="gemini", recognise=recognise, reader=reader, roots=roots, held=held, wrote=wrote)
