"""The store of AgentUse: a folder of small files for each session, each replaced as a whole."""

from agents_ledger.capture.place import root_of
from agents_ledger.stores.agentuse.exchange import Exchange, ToolCall
from agents_ledger.stores.agentuse.session import AgentUseSession
from agents_ledger.stores.agentuse.store import AgentUseStore

__all__ = ["AgentUseSession", "AgentUseStore", "Exchange", "ToolCall", "root_of"]
