"""Work in a child process that is killed when its time is up.

Neither engine's client can stop in the middle of one expensive operation: a `replace` on 100 MB of text looks at no
clock and at no signal. A process can be killed at any time, and its memory goes with it.
"""

import os
import pickle
import select
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from typing import NoReturn, TypeVar

from agents_ledger.errors import BadInput, StoreError

T = TypeVar("T")
CAN_FORK = hasattr(os, "fork")
GRACE_S = 0.5  # work that watches the clock itself may say more precisely that it took too long
_MEMORY_BYTES = 2 << 30
_PIECE = 1 << 20


def within(timeout_s: float, what: str, work: Callable[[], T]) -> T:
    """The result of `work`, or what it raised; after `timeout_s` and a grace of 0.5 s it is killed.

    The work must open its own connections. It may take 2 GB of memory. Where processes cannot be forked (Windows) it
    runs here, and ends as late as it ends.
    """
    if not CAN_FORK:
        return work()
    reading, writing = os.pipe()
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # Ctrl-C comes when we are ready to end the child
    child = os.fork()
    if not child:
        os.close(reading)
        _run(work, writing, timeout_s, mask)
    try:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        os.close(writing)
        answer = _hear(reading, time.monotonic() + timeout_s + GRACE_S)
    finally:  # also when Ctrl-C has come
        os.close(reading)
        with suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
        status = os.waitpid(child, 0)[1]
    if answer is None:
        raise BadInput(f"{what} took too long and was stopped")
    if not answer:
        raise StoreError(f"{what} ended its process ({os.waitstatus_to_exitcode(status)}): it needed too much memory")
    is_good, result = pickle.loads(answer)  # noqa: S301 - made by our own code, in the process that was forked above
    if not is_good:
        raise result
    found: T = result
    return found


def _hear(pipe: int, deadline: float) -> bytes | None:
    """Everything that comes out of a pipe; None if nothing has begun to come until the deadline."""
    if not select.select([pipe], [], [], max(0.0, deadline - time.monotonic()))[0]:
        return None
    pieces = []
    while piece := os.read(pipe, _PIECE):
        pieces.append(piece)
    return b"".join(pieces)


def _run(work: Callable[[], object], pipe: int, timeout_s: float, mask: set[int] | set[signal.Signals]) -> NoReturn:
    """The child: works, says how it went, ends without a word to anybody else."""
    try:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # the parent says what Ctrl-C means
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        signal.setitimer(signal.ITIMER_REAL, timeout_s + 2 * GRACE_S)  # if the parent is not there any more
        _limit_memory()
        try:
            answer = pickle.dumps((True, work()))
        except Exception as problem:  # noqa: BLE001 - it is raised in the parent
            answer = _packed(problem)
        signal.setitimer(signal.ITIMER_REAL, 0)  # it is done: to hand over much may take its time
        with os.fdopen(pipe, "wb") as out:
            out.write(answer)
    finally:
        os._exit(0)


def _packed(problem: Exception) -> bytes:
    """An exception as bytes; one that can't be made again from them, by its words."""
    if isinstance(problem, MemoryError) or "out of memory" in str(problem):
        problem = BadInput("the answer needs more than 2 GB of memory: ask for less of it, or for shorter values")
    try:
        packed = pickle.dumps((False, problem))
        pickle.loads(packed)  # noqa: S301 - as above
    except Exception:  # noqa: BLE001 - whatever it is made of
        packed = pickle.dumps((False, RuntimeError(f"{type(problem).__name__}: {problem}")))
    return packed


def _limit_memory() -> None:
    import resource  # noqa: PLC0415 - not on Windows

    _, most = resource.getrlimit(resource.RLIMIT_DATA)
    wanted = _MEMORY_BYTES if most == resource.RLIM_INFINITY else min(_MEMORY_BYTES, most)
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_DATA, (wanted, most))
