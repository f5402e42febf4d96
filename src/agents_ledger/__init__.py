"""The permanent, full-fidelity record of every AI agent conversation."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agents_ledger.ledger import HEAD, Env, Ledger, LiveCall, LiveTurn, Origin
    from agents_ledger.ledger.aio import AsyncLedger
    from agents_ledger.model.entries import (
        Call,
        CodeBlock,
        Compaction,
        File,
        Lint,
        Message,
        Settings,
        Turn,
        Usage,
    )

__all__ = [
    "HEAD",
    "AsyncLedger",
    "Call",
    "CodeBlock",
    "Compaction",
    "Env",
    "File",
    "Ledger",
    "Lint",
    "LiveCall",
    "LiveTurn",
    "Message",
    "Origin",
    "Settings",
    "Turn",
    "Usage",
]

_LEDGER = {"HEAD", "Env", "Ledger", "LiveCall", "LiveTurn", "Origin"}


def __getattr__(name: str) -> Any:
    """The public names, loaded when first used: `ldg --help` needs none of them."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module  # noqa: PLC0415 - as above

    if name == "AsyncLedger":
        place = "agents_ledger.ledger.aio"
    else:
        place = "agents_ledger.ledger" if name in _LEDGER else "agents_ledger.model.entries"
    return getattr(import_module(place), name)
