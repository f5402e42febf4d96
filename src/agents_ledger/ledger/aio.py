"""The ledger for asyncio: the same verbs, run on threads, so that the loop never waits for a disk.

Concurrent tasks share commits, as threads do.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Generator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from functools import partial, wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Self, TypeVar

from agents_ledger.errors import StoreClosed
from agents_ledger.ledger.ledger import Ledger
from agents_ledger.ledger.live import LiveTurn
from agents_ledger.ledger.live_call import LiveCall
from agents_ledger.model.entries import CallStatus, Message, Trigger, Usage

if TYPE_CHECKING:
    from agents_ledger.ledger.compacting import Compactor, Outcome
    from agents_ledger.ledger.context import Context
    from agents_ledger.ledger.env import Env
    from agents_ledger.ledger.policy import Policy
    from agents_ledger.ledger.replay import Event, Replay
    from agents_ledger.model.summary import Summariser

P = ParamSpec("P")
R = TypeVar("R")
_THREADS = 16


def _awaited(
    verb: Callable[Concatenate[Ledger, P], R],
) -> Callable[Concatenate["AsyncLedger", P], Coroutine[Any, Any, R]]:
    """A verb of `Ledger`, awaited."""

    @wraps(verb)
    async def on_thread(ledger: "AsyncLedger", /, *args: P.args, **kwargs: P.kwargs) -> R:
        return await ledger.do(verb, *args, **kwargs)

    return on_thread


def _begun(
    verb: Callable[Concatenate[Ledger, P], LiveTurn],
) -> Callable[Concatenate["AsyncLedger", P], "Beginning"]:
    """A verb of `Ledger` that begins a live turn."""

    @wraps(verb)
    def later(ledger: "AsyncLedger", /, *args: P.args, **kwargs: P.kwargs) -> "Beginning":
        return Beginning(ledger, partial(verb, ledger.ledger, *args, **kwargs))

    return later


class AsyncLedger:
    """A ledger whose verbs are awaited: those of `Ledger`, with the same arguments.

    A live turn is `async with ledger.turn(…) as turn:` or `turn = await ledger.turn(…)`. `do` takes any function of a
    `Ledger`, for several steps on one thread: `await ledger.do(lambda ledger: …)`.
    """

    def __init__(self, ledger: Ledger, threads: ThreadPoolExecutor) -> None:
        self.ledger = ledger
        self._threads = threads
        self._is_closed = False

    @classmethod
    async def open(cls, url: str, *, readonly: bool = False, create: bool = True, env: "Env | None" = None) -> Self:
        """Opens (or makes) a ledger by its URL; closes the turns that dead writers left behind."""
        threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="ledger")
        opening = threads.submit(Ledger.open, url, readonly=readonly, create=create, env=env)
        try:
            return cls(await asyncio.shield(asyncio.wrap_future(opening)), threads)
        except BaseException:
            # cancelled while it was opened: what comes is closed as soon as it is there
            opening.add_done_callback(_close_unwanted)
            threads.shutdown(wait=False)
            raise

    async def do(self, verb: Callable[Concatenate[Ledger, P], R], *args: P.args, **kwargs: P.kwargs) -> R:
        """Any function of a `Ledger`, awaited."""
        return await self.on_thread(verb, self.ledger, *args, **kwargs)

    # writing

    turn = _begun(Ledger.turn)
    append = _awaited(Ledger.append)
    branch = _awaited(Ledger.branch)
    compact = _awaited(Ledger.compact)

    def compact_by(
        self, summariser: "Summariser | None" = None, policy: "Policy | None" = None, **given: Any
    ) -> "AsyncCompactor":
        """Who compacts sessions with a summariser: `await ledger.compact_by().run("main", "manual")`."""
        return AsyncCompactor(self, self.ledger.compact_by(summariser, policy, **given))

    # moving

    fork = _awaited(Ledger.fork)
    rewind = _awaited(Ledger.rewind)
    rollback = _awaited(Ledger.rollback)
    forward = _awaited(Ledger.forward)
    create_session = _awaited(Ledger.create_session)
    archive = _awaited(Ledger.archive)
    unarchive = _awaited(Ledger.unarchive)
    alias = _awaited(Ledger.alias)
    merge = _awaited(Ledger.merge)

    # reading

    sessions = _awaited(Ledger.sessions)
    origins = _awaited(Ledger.origins)
    session = _awaited(Ledger.session)
    head = _awaited(Ledger.head)
    history = _awaited(Ledger.history)
    former = _awaited(Ledger.former)
    live_turns = _awaited(Ledger.live_turns)
    aliases = _awaited(Ledger.aliases)
    subagents = _awaited(Ledger.subagents)
    find = _awaited(Ledger.find)
    get = _awaited(Ledger.get)
    ancestry = _awaited(Ledger.ancestry)
    thread = _awaited(Ledger.thread)
    path = _awaited(Ledger.path)
    children = _awaited(Ledger.children)
    tree = _awaited(Ledger.tree)
    roots = _awaited(Ledger.roots)
    including = _awaited(Ledger.including)
    context = _awaited(Ledger.context)
    tools_outside = _awaited(Ledger.tools_outside)
    search = _awaited(Ledger.search)
    fork_points = _awaited(Ledger.fork_points)
    counts = _awaited(Ledger.counts)

    async def replay(self, turn_id: str, first: int | None = None, *, sees: bool = False) -> "AsyncReplay":
        """A thread once more: `async for event in await ledger.replay(turn_id):`."""
        return AsyncReplay(self, await self.do(Ledger.replay, turn_id, first, sees=sees))

    # caring

    recover = _awaited(Ledger.recover)
    verify = _awaited(Ledger.verify)
    index = _awaited(Ledger.index)

    async def close(self) -> None:
        """Ends everything; a second close does nothing."""
        if self._is_closed:
            return
        self._is_closed = True
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
        try:
            running = loop.run_in_executor(self._threads, partial(work, *args, **kwargs))
        except RuntimeError:  # its threads have been sent home
            raise StoreClosed(f"the ledger {self.ledger.database.url} is closed: open it again") from None
        return await running

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

    @property
    def session(self) -> str:
        """The label of the session that this turn extends."""
        return self.live.session

    @property
    def parent_id(self) -> str | None:
        """The turn before this one."""
        return self.live.parent_id

    @property
    def status(self) -> str:
        """`pending`, `streaming`, `completed` or `failed`."""
        return self.live.status

    async def message(self, message: Message) -> str:
        """Adds a message."""
        return await self._ledger.on_thread(self.live.message, message)

    async def reply(
        self,
        content: str | None = None,
        *,
        thinking: str | None = None,
        usage: Usage | None = None,
        **details: Any,
    ) -> str:
        """The assistant's words."""
        return await self._ledger.on_thread(self.live.reply, content, thinking=thinking, usage=usage, **details)

    async def stream(self, text: str = "", *, thinking: str = "") -> str:
        """Adds to the message that is being spoken."""
        return await self._ledger.on_thread(self.live.stream, text, thinking=thinking)

    async def call(
        self,
        tool: str,
        params: Any = None,
        *,
        id: str | None = None,  # noqa: A002 - the word that people use
        status: CallStatus = "running",
    ) -> "AsyncCall":
        """Records a tool call as it starts; `id` is the model's own id of it."""
        begun = await self._ledger.on_thread(self.live.call, tool, params, id=id, status=status)
        return AsyncCall(self._ledger, begun)

    async def answer(
        self,
        content: str | None = None,
        *,
        thinking: str | None = None,
        usage: Usage | None = None,
        **details: Any,
    ) -> str:
        """The last words and the end of the turn."""
        return await self._ledger.on_thread(self.live.answer, content, thinking=thinking, usage=usage, **details)

    async def count(self, usage: Usage) -> None:
        """Adds to the tokens of this turn (kept when the turn ends)."""
        await self._ledger.on_thread(self.live.count, usage)

    async def use_permissions(self, permissions: Any) -> None:
        """Says which permissions were exercised (kept when the turn ends)."""
        await self._ledger.on_thread(self.live.use_permissions, permissions)

    async def complete(self, usage: Usage | None = None) -> str:
        """Seals the turn and moves the session to it."""
        return await self._ledger.on_thread(self.live.complete, usage)

    async def fail(self, reason: object) -> str:
        """Seals the turn as failed, with the reason (words or an exception)."""
        return await self._ledger.on_thread(self.live.fail, reason)


class AsyncCall:
    """A tool call of a live turn, awaited."""

    def __init__(self, ledger: AsyncLedger, call: LiveCall) -> None:
        self._ledger = ledger
        self._call = call
        self.id = call.id
        self.tool = call.tool

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


class AsyncCompactor:
    """Who compacts, awaited."""

    def __init__(self, ledger: AsyncLedger, compactor: "Compactor") -> None:
        self._ledger = ledger
        self._compactor = compactor

    async def run(self, session: str, trigger: Trigger | None) -> "Outcome | None":
        """Compacts a session; without a trigger only if it is due (None, if it is not)."""
        return await self._ledger.on_thread(self._compactor.run, session, trigger)


class AsyncReplay:
    """A thread event by event, awaited turn by turn."""

    def __init__(self, ledger: AsyncLedger, replay: "Replay") -> None:
        self._ledger = ledger
        self._replay = replay
        self.turn_id = replay.turn_id
        self.first = replay.first
        self.last = replay.last

    async def __aiter__(self) -> "AsyncIterator[Event]":
        before = None
        for depth in range(self.first, self.last + 1):
            for event in await self.turn(depth, before):
                yield event
                before = event

    async def turn(self, depth: int, before: "Event | None" = None) -> "list[Event]":
        """The events of one turn; `before` is the last one of the turn before it."""
        return await self._ledger.on_thread(self._replay.turn, depth, before)

    async def context(self, depth: int) -> "Context | None":
        """The whole context that a turn began with; None for a root."""
        return await self._ledger.on_thread(self._replay.context, depth)


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
        if self._turn.live.status in ("completed", "failed"):
            return
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
