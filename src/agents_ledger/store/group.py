"""Threads that share one commit."""

import threading
from collections.abc import Callable
from contextlib import suppress
from itertools import pairwise
from typing import Any, TypeVar

from agents_ledger.errors import StoreBusy, StoreError
from agents_ledger.store.database import Tx

T = TypeVar("T")
_TRIES = 100  # to leave in order, while one Ctrl-C comes after the other


class Job:
    """One body waiting for its turn in a shared commit."""

    __slots__ = ("_baton", "body", "error", "is_done", "is_kept", "is_left", "is_woken", "next", "result", "taken")

    def __init__(self, body: Callable[[Tx], Any]) -> None:
        self.body = body
        self.is_done = False  # nobody will run it any more
        self.is_kept = False  # committed (or refused, see `error`): without this nothing is acknowledged
        self.is_woken = False
        self.is_left = False  # nobody waits for it any more
        self.next: Job | None = None  # whom to wake after it
        self.taken: list[Job] = []  # those that its thread runs, if it leads
        self.result: Any = None
        self.error: BaseException | None = None
        self._baton = threading.Lock()
        self._baton.acquire()

    def wait(self) -> None:
        """Sleeps until somebody has done it, or hands over the lead."""
        self._baton.acquire()

    def wake(self) -> None:
        """Ends the waiting: it is done, or it leads from now on. A second call does nothing."""
        self.is_woken = True
        with suppress(RuntimeError):
            self._baton.release()


class GroupCommit:
    """Lets threads that wait for the writer share one commit.

    One thread leads: it runs everything that waits, each body in a savepoint, commits once, wakes the others
    and hands the lead to the first that came meanwhile. Where several came together the last time, a leader
    waits a moment for as many. A single thread always leads, and never waits for company.

    Whoever is woken wakes the next: if the leader woke all at once, they would stand in line for Python's lock, and
    each place in that line is a sleep of its own (a tenth to a fifth of the time of sixteen threads).

    Ctrl-C may come between any two steps. Whoever is interrupted leaves: it goes through the same steps once more, each
    of which does nothing the second time.
    """

    LIMIT = 64  # bodies in one commit
    PATIENCE = 4  # times
    PATIENCE_S = 0.001

    def __init__(self, run: Callable[[list[Job]], None]) -> None:
        self._run = run
        self._waiting: list[Job] = []
        self._lock = threading.Lock()
        self._lead: Job | None = None  # whose thread leads: set in one step, so that it is never half true
        self._leader: int | None = None  # the thread that is committing
        self._mine = threading.local()  # each thread's last job
        self._expected = 1
        self._is_complete = threading.Event()

    def is_led_here(self) -> bool:
        """Whether this thread is in the middle of a commit."""
        return self._leader == threading.get_ident()

    def submit(self, body: Callable[[Tx], T]) -> T:
        """The body's result, after its commit."""
        if self.is_led_here() or self._is_waiting_here():
            raise StoreBusy("this thread is in the middle of a commit (a signal handler?): let it finish first")
        job = Job(body)
        try:
            self._mine.job = job
            self._take_part(job)
        except BaseException:
            self._leave(job)
            raise
        finally:
            # what was written is to go at once: a batch of a sync is 100 MB, and this is a circle
            self._mine.job = None
            job.taken = []
        if job.error is not None:
            raise job.error
        if not job.is_kept:
            raise _interrupted()
        result: T = job.result
        return result

    def _is_waiting_here(self) -> bool:
        """Whether this thread waits already: a second job would wait for the first, and that for the second."""
        before: Job | None = getattr(self._mine, "job", None)
        return before is not None and not (before.is_done or before.is_left)

    def _take_part(self, job: Job) -> None:
        with self._lock:
            self._waiting.append(job)
            if self._lead is None:
                self._lead = job
            if len(self._waiting) >= self._expected > 1:
                self._is_complete.set()
        if self._lead is not job:
            job.wait()
            self._wake(job.next)
        if not job.is_done:
            self._work(job)

    def _work(self, mine: Job) -> None:
        """Leads: runs everything that waits, this one included."""
        try:
            if self._expected > 1:
                self._wait_for_company()
            self._take(mine)
            self._run(mine.taken)
            for job in mine.taken:
                job.is_kept = True
        except BaseException as problem:
            for job in mine.taken:
                # A full disk is the answer for everybody. Ctrl-C is the leader's own: the others' work may be done.
                if job is mine or isinstance(problem, Exception):
                    job.error = problem
                elif not job.is_kept:
                    job.error = _interrupted()
            raise
        finally:
            self._hand_over(mine)

    def _wait_for_company(self) -> None:
        """Waits for as many as came together the last time; goes on waiting only while somebody comes."""
        for _ in range(self.PATIENCE):
            here = len(self._waiting)
            if self._is_complete.wait(self.PATIENCE_S) or here == len(self._waiting):
                return

    def _take(self, mine: Job) -> None:
        with self._lock:
            self._leader = threading.get_ident()
            mine.taken = self._waiting[: self.LIMIT]
            del self._waiting[: self.LIMIT]
            # it shrinks slowly: threads that are late once are expected again
            self._expected = max(len(mine.taken) + len(self._waiting), self._expected - 1)
            if self._is_complete.is_set():
                self._is_complete.clear()

    def _hand_over(self, mine: Job) -> None:
        """Ends what was taken, and the lead."""
        others = [job for job in mine.taken if job is not mine]
        for job, following in pairwise(others):
            job.next = following
        for job in mine.taken:
            job.is_done = True
        self._wake(others[0] if others else None)
        with self._lock:
            if self._lead is not mine:
                return
            self._leader = None
            if self._waiting:
                self._waiting = [job for job in self._waiting if not job.is_done and job is not mine]
            follower = self._waiting[0] if self._waiting else None
            if follower is not None:
                follower.wake()
            self._lead = follower

    def _wake(self, job: Job | None) -> None:
        """Wakes the first in a row of jobs that somebody still waits for."""
        if job is None:
            return
        with self._lock:
            while job is not None and job.is_left:
                job = job.next
            if job is not None:
                job.wake()

    def _leave(self, job: Job) -> None:
        """The others must not wait for somebody who is gone: what it would have done for them is done now."""
        for _ in range(_TRIES):
            with suppress(BaseException):
                with self._lock:
                    job.is_left = True
                    if job in self._waiting:
                        self._waiting.remove(job)
                if job.is_woken:
                    self._wake(job.next)
                if self._lead is job:
                    self._hand_over(job)
                return


def _interrupted() -> StoreError:
    return StoreError("the shared commit was interrupted: look whether this is there before you try again")
