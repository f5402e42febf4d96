"""The ledger for asyncio: the same verbs, run on threads, so that the loop never waits for a disk.

Concurrent tasks share commits, as threads do.
"""

import asyncio
from collections.abc import Callable, Generator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

from agents_ledger.ledger.context import Context
from agents_ledger.ledger.ledger import Ledger
from agents_ledger.ledger.live import LiveCall, LiveTurn
from agents_ledger.model.entries import Message, Turn, Usage
from agents_ledger.model.rows import MoveRow, Record, SessionRow

P = ParamSpec("P")
R = TypeVar("R")
_THREADS = 16


class AsyncLedger:
    """A ledger whose verbs are awaited. `do` reaches every verb of `Ledger`: `await ledger.do(Ledger.alias, …)`."""

    def __init__(self, ledger: Ledger, threads: ThreadPoolExecutor) -> None:
        self._ledger = ledger
        self._threads = threads

    @classmethod
    async def open(cls, url: str, *, readonly: bool = False) -> Self:
        """Opens (or makes) a ledger by its URL."""
        threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="ledger")
        opening = threads.submit(Ledger.open, url, readonly=readonly)
        try:
            return cls(await asyncio.shield(asyncio.wrap_future(opening)), threads)
        except BaseException:
            # cancelled while it was opened: what comes is closed as soon as it is there
            opening.add_done_callback(_close_unwanted)
            threads.shutdown(wait=False)
            raise

    async def do(self, verb: Callable[Concatenate[Ledger, P], R], *args: P.args, **kwargs: P.kwargs) -> R:
        """Any verb of `Ledger`, awaited."""
        return await self.on_thread(verb, self._ledger, *args, **kwargs)

    def turn(self, session: str, query: str | Message | tuple[Message, ...] | None = None, **given: Any) -> "Beginning":
        """A live turn: `async with ledger.turn(…) as turn:` or `turn = await ledger.turn(…)`."""
        return Beginning(self, partial(self._ledger.turn, session, query, **given))

    async def append(self, session: str, turn: Turn, **given: Any) -> str:
        """Appends a finished turn; gives its id."""
        return await self.do(Ledger.append, session, turn, **given)

    async def fork(self, turn_id: str, label: str | None = None) -> SessionRow:
        """A new session at a turn."""
        return await self.do(Ledger.fork, turn_id, label)

    async def rewind(self, session: str, turn_id: str | None = None, **given: Any) -> MoveRow:
        """Moves a session back."""
        return await self.do(Ledger.rewind, session, turn_id, **given)

    async def get(self, turn_id: str) -> Record:
        """One whole turn."""
        return await self.do(Ledger.get, turn_id)

    async def context(self, turn_id: str, query: str | None = None) -> Context:
        """What an agent would see after a turn."""
        return await self.do(Ledger.context, turn_id, query)

    async def close(self) -> None:
        """Ends everything."""
        try:
            await asyncio.shield(asyncio.ensure_future(self.do(Ledger.close)))
        finally:
            self._threads.shutdown(wait=False)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def on_thread(self, work: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """Runs a blocking call on one of the ledger's threads."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, partial(work, *args, **kwargs))

    def later(self, work: Callable[[], object]) -> None:
        """Runs a blocking call that nobody waits for (nothing, if the ledger is closed already)."""
        with suppress(RuntimeError):
            self._threads.submit(work)


def _close_unwanted(opening: "Future[Ledger]") -> None:
    if not opening.cancelled() and opening.exception() is None:
        opening.result().close()


class AsyncTurn:
    """A live turn whose methods are awaited."""

    def __init__(self, ledger: AsyncLedger, turn: LiveTurn) -> None:
        self._ledger = ledger
        self.live = turn
        self.id = turn.id

    async def message(self, message: Message) -> str:
        """Adds a message."""
        return await self._ledger.on_thread(self.live.message, message)

    async def reply(self, content: str | None = None, **given: Any) -> str:
        """The assistant's words."""
        return await self._ledger.on_thread(self.live.reply, content, **given)

    async def stream(self, text: str = "", *, thinking: str = "") -> str:
        """Adds to the message that is being spoken."""
        return await self._ledger.on_thread(self.live.stream, text, thinking=thinking)

    async def call(self, tool: str, params: Any = None, **given: Any) -> "AsyncCall":
        """Records a tool call as it starts."""
        return AsyncCall(self._ledger, await self._ledger.on_thread(self.live.call, tool, params, **given))

    async def answer(self, content: str | None = None, **given: Any) -> str:
        """The last words and the end of the turn."""
        return await self._ledger.on_thread(self.live.answer, content, **given)

    async def count(self, usage: Usage) -> None:
        """Adds to the tokens of this turn (kept when the turn ends)."""
        await self._ledger.on_thread(self.live.count, usage)

    async def use_permissions(self, permissions: Any) -> None:
        """Says which permissions were exercised (kept when the turn ends)."""
        await self._ledger.on_thread(self.live.use_permissions, permissions)

    async def complete(self, usage: Usage | None = None) -> str:
        """Seals the turn and moves the session to it."""
        return await self._ledger.on_thread(self.live.complete, usage)

    async def fail(self, reason: str) -> str:
        """Seals the turn as failed."""
        return await self._ledger.on_thread(self.live.fail, reason)


class AsyncCall:
    """A tool call of a live turn, awaited."""

    def __init__(self, ledger: AsyncLedger, call: LiveCall) -> None:
        self._ledger = ledger
        self._call = call
        self.id = call.id

    async def complete(self, result: Any = None) -> None:
        """It worked."""
        await self._ledger.on_thread(self._call.complete, result)

    async def fail(self, error: str, result: Any = None) -> None:
        """It did not work."""
        await self._ledger.on_thread(self._call.fail, error, result)

    async def cancel(self, reason: str | None = None) -> None:
        """It was stopped."""
        await self._ledger.on_thread(self._call.cancel, reason)

    async def reject(self, reason: str | None = None) -> None:
        """It was not allowed."""
        await self._ledger.on_thread(self._call.reject, reason)

    async def spawn(self, label: str, task: str | None = None) -> str:
        """Starts a subagent's session."""
        return await self._ledger.on_thread(self._call.spawn, label, task)


class Beginning:
    """A live turn that begins when it is awaited or entered."""

    def __init__(self, ledger: AsyncLedger, begin: Callable[[], LiveTurn]) -> None:
        self._ledger = ledger
        self._begin = begin

    def __await__(self) -> Generator[Any, None, AsyncTurn]:
        return self._start().__await__()

    async def __aenter__(self) -> AsyncTurn:
        self._turn = await self._start()
        return self._turn

    async def __aexit__(self, kind: type[BaseException] | None, problem: BaseException | None, trace: object) -> None:
        # Shielded: a cancelled task still leaves a failed turn with its reason, not a live one.
        leaving = self._ledger.on_thread(self._turn.live.__exit__, kind, problem, trace)
        await asyncio.shield(asyncio.ensure_future(leaving))

    async def _start(self) -> AsyncTurn:
        beginning = asyncio.ensure_future(self._ledger.on_thread(self._begin))
        try:
            return AsyncTurn(self._ledger, await asyncio.shield(beginning))
        except asyncio.CancelledError:
            # Its thread may be at the commit: the turn that nobody waits for any more fails as soon as it is there.
            beginning.add_done_callback(self._abandon)
            raise

    def _abandon(self, beginning: "asyncio.Future[LiveTurn]") -> None:
        if not beginning.cancelled() and beginning.exception() is None:
            self._ledger.later(partial(beginning.result().fail, "CancelledError"))
