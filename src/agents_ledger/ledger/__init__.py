"""What one can do: append, stream, fork, rewind, compact, read, verify."""

from agents_ledger.ledger.env import Env
from agents_ledger.ledger.ledger import Ledger
from agents_ledger.ledger.live import LiveCall, LiveTurn
from agents_ledger.ledger.moves import HEAD
from agents_ledger.ledger.sessions import Origin

__all__ = ["HEAD", "Env", "Ledger", "LiveCall", "LiveTurn", "Origin"]
