"""The stores of the pi family: pi's own sessions, and the chat runtimes' folders with their index of session keys."""

from agents_ledger.stores.pi.embedded import EmbeddedSession
from agents_ledger.stores.pi.extended import Extended
from agents_ledger.stores.pi.folder import PiFolder
from agents_ledger.stores.pi.session import PiSession
from agents_ledger.stores.pi.store import PiStore, topic_file

__all__ = ["EmbeddedSession", "Extended", "PiFolder", "PiSession", "PiStore", "topic_file"]
