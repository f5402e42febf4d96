"""The bus for asyncio."""

from collections.abc import AsyncIterable, Awaitable, Callable
from typing import Any

from agents_ledger.faces.agent_os.bus import Bus
from agents_ledger.faces.agent_os.schemas import described
from agents_ledger.faces.agent_os.streaming import Stream
from agents_ledger.ledger.aio import AsyncLedger


class AsyncBus:
    """The same abilities, awaited: `await bus.invoke("ldg:task:query")('{"limit": 10}')`."""

    def __init__(self, ledger: AsyncLedger) -> None:
        self._ledger = ledger

    def invoke(self, name: str) -> Callable[[str | bytes], Awaitable[str]]:
        """An ability: JSON text in, JSON text out."""

        async def ability(text: str | bytes) -> str:
            return await self._ledger.do(lambda ledger: Bus(ledger).invoke(name)(text))

        return ability

    def describe(self) -> dict[str, Any]:
        """Every ability, with its JSON schemas."""
        return described()

    async def recover(self, *, limit: int = 1000, offset: int = 0) -> dict[str, Any]:
        """The tasks and calls that have not ended, the oldest first."""
        return await self._ledger.do(lambda ledger: Bus(ledger).recover(limit=limit, offset=offset))

    async def stream(
        self,
        task_id: str,
        chunks: AsyncIterable[str],
        *,
        emit: Callable[[str], object] | None = None,
        message_id: str | None = None,
        role: str = "assistant",
    ) -> dict[str, Any]:
        """Gathers a message chunk by chunk, and saves it when it is complete (see `Bus.stream`)."""
        stream = await self._ledger.do(lambda ledger: Stream(ledger.env, task_id, role, message_id))
        async for chunk in chunks:
            stream.add(chunk, emit)
        return await self._ledger.do(lambda ledger: Bus(ledger).save_message(stream.message()))
