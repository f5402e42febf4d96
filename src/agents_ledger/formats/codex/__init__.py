"""Codex CLI: rollouts (`rollout-….jsonl`, also `.jsonl.zst`), the index of thread names, the history of prompts."""

from agents_ledger.formats.codex.held import held
from agents_ledger.formats.codex.places import recognise, roots
from agents_ledger.formats.codex.reader import reader
from agents_ledger.formats.codex.writing import AGENT, NATIVE
from agents_ledger.model.formats import Format

__all__ = ["FORMAT"]

FORMAT = Format(name="codex", recognise=recognise, reader=reader, roots=roots, held=held, natives={AGENT: NATIVE})
