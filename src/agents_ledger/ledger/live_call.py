"""A tool call while it runs: its outcome, or the subagent that it starts."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agents_ledger.ledger.live import LiveTurn


class LiveCall:
    """A tool call of a live turn."""

    def __init__(self, turn: "LiveTurn", call_id: str, tool: str) -> None:
        self._turn = turn
        self.id = call_id
        self.tool = tool

    def complete(self, result: Any = None) -> None:
        """It worked; the result is any JSON value."""
        self._turn.finish_call(self.id, "completed", result, None)

    def fail(self, error: str, result: Any = None) -> None:
        """It did not work."""
        self._turn.finish_call(self.id, "failed", result, error)

    def cancel(self, reason: str | None = None) -> None:
        """It was stopped."""
        self._turn.finish_call(self.id, "cancelled", None, reason)

    def reject(self, reason: str | None = None) -> None:
        """It was not allowed."""
        self._turn.finish_call(self.id, "rejected", None, reason)

    def spawn(self, label: str, task: str | None = None) -> str:
        """Starts a subagent: a session of its own, linked both ways. Gives its label."""
        return self._turn.spawn(self.id, label, task)
