"""Cursor: the editor's databases, the command line's stores, and the transcripts that both leave behind."""

from agents_ledger.formats.cursor.format import FORMAT

__all__ = ["FORMAT"]
