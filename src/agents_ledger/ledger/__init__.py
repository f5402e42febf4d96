"""What one can do: append, stream, fork, rewind, compact, read, verify."""

from typing import TYPE_CHECKING, Any

from agents_ledger.ledger.env import Env
from agents_ledger.ledger.head import HEAD
from agents_ledger.ledger.ledger import Ledger

if TYPE_CHECKING:
    from agents_ledger.ledger.live import LiveTurn
    from agents_ledger.ledger.live_call import LiveCall
    from agents_ledger.ledger.sessions import Origin

__all__ = ["HEAD", "Env", "Ledger", "LiveCall", "LiveTurn", "Origin"]

_PLACES = {"LiveCall": "live_call", "LiveTurn": "live", "Origin": "sessions"}


def __getattr__(name: str) -> Any:
    """What only those need who write turns, loaded when it is first used."""
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module  # noqa: PLC0415 - as above

    return getattr(import_module(f"{__name__}.{_PLACES[name]}"), name)
