"""Agent OS: tasks, calls and messages through a bus of abilities, JSON text in and JSON text out."""

from agents_ledger.faces.agent_os.aio import AsyncBus
from agents_ledger.faces.agent_os.bus import Bus
from agents_ledger.faces.agent_os.streaming import contents

__all__ = ["AsyncBus", "Bus", "contents"]
