"""Qwen Code: transcripts in JSON lines, a chain of `parentUuid` with Gemini's messages."""

from agents_ledger.formats.qwen.contents import held
from agents_ledger.formats.qwen.places import recognise, roots
from agents_ledger.formats.qwen.reader import reader
from agents_ledger.model.formats import Format

FORMAT = Format(name="qwen", recognise=recognise, reader=reader, roots=roots, held=held)
