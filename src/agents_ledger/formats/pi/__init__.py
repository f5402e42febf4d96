"""pi's sessions and those of its descendants: clawdbot, moltbot, openclaw (files), nexus."""

from agents_ledger.formats.pi.form import FORMAT

__all__ = ["FORMAT"]
