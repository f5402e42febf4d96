"""A command of the user's that writes memory down before a compaction: the context goes to its standard input."""

import shlex
import subprocess

from agents_ledger.errors import BadInput, NotAllowed
from agents_ledger.ledger.compacting import Flush, FlushHook

TIMEOUT_S = 120.0
_LONGEST = 10_000  # characters of its answer that are recorded


def flush_by(command: str, timeout_s: float = TIMEOUT_S) -> FlushHook:
    """A memory flush that runs a command (no shell); what it prints is recorded."""
    try:
        words = shlex.split(command)
    except ValueError as problem:
        raise BadInput(f"the flush command can't be read: {problem}") from problem
    if not words:
        raise BadInput("the flush command is empty")

    def flush(told: Flush) -> str:
        try:
            done = subprocess.run(  # noqa: S603 - the user's own command, as words
                words, input=told.text, capture_output=True, text=True, timeout=timeout_s, check=False, errors="replace"
            )
        except subprocess.TimeoutExpired as problem:
            raise NotAllowed(f"{words[0]} did not end within {timeout_s:g} s") from problem
        if done.returncode:
            last = done.stderr.strip().splitlines()[-1:] or ["no words on stderr"]
            raise NotAllowed(f"{words[0]} ended with {done.returncode}: {last[0][:200]}")
        return done.stdout[:_LONGEST]

    return flush
