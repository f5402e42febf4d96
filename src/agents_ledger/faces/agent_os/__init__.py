"""Agent OS: tasks, calls and messages through a bus of abilities, JSON text in and JSON text out."""

from typing import TYPE_CHECKING, Any

from agents_ledger.faces.agent_os.bus import Bus
from agents_ledger.faces.agent_os.streaming import contents

if TYPE_CHECKING:
    from agents_ledger.faces.agent_os.aio import AsyncBus

__all__ = ["AsyncBus", "Bus", "contents"]


def __getattr__(name: str) -> Any:
    """The bus for asyncio, loaded when it is used: the command line needs no event loop."""
    if name != "AsyncBus":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from agents_ledger.faces.agent_os.aio import AsyncBus  # noqa: PLC0415 - as above

    return AsyncBus
