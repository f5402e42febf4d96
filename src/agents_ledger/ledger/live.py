"""Live turns: a runtime writes while it works, readers see it at once, a crash leaves nothing hanging."""

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeVar

import msgspec

from agents_ledger.errors import (
    BadInput,
    HeadMoved,
    LeaseLost,
    LedgerError,
    NotAllowed,
    ReadOnlyStore,
    SessionArchived,
    StoreBusy,
    StoreClosed,
    StoreError,
    StoreFull,
    TurnIsSealed,
    UnresolvedCalls,
)
from agents_ledger.ledger import append, closing, given, sessions
from agents_ledger.ledger.beginning import Wanted, begin
from agents_ledger.ledger.build import Builder
from agents_ledger.ledger.draft import Draft, no_text
from agents_ledger.ledger.live_call import LiveCall
from agents_ledger.ledger.records import read_turn
from agents_ledger.model.entries import Call, CallStatus, Message, Spawn, Usage
from agents_ledger.model.rows import CallRow, MessageRow
from agents_ledger.model.texts import integer, json_text
from agents_ledger.store import Tx

if TYPE_CHECKING:
    from agents_ledger.ledger.ledger import Ledger

T = TypeVar("T")
_NOTHING_WRITTEN = (ReadOnlyStore, StoreBusy, StoreClosed, StoreFull)  # other errors of a store may come after a commit


class Next(NamedTuple):
    """The numbers of a turn's next message and its next call."""

    message: int
    call: int


class LiveTurn:
    """A turn that is being written.

    Every method returns after its change is durable and visible to readers; only `stream` gathers words for a
    quarter of a second or 8 KB. As a context manager the turn completes at the end of the block, or fails with
    the reason if the block raises; what the block raised is what comes out of it.
    """

    def __init__(self, ledger: "Ledger", wanted: Wanted) -> None:
        self._ledger = ledger
        self._env = ledger.env
        self._lock = threading.RLock()
        self._usage = Usage()
        self._permissions_used: str | None = None
        self._draft: Draft | None = None
        self._lost: NotAllowed | None = None  # somebody else has ended it, and no call of its writer knows
        self._status = "pending"
        self._last_assistant: str | None = None
        # Nobody else adds to this turn. None: how a write has ended is not known, so the database is asked.
        self._next: Next | None = None
        self.id = self._env.new_id(None)
        self._is_begun = False
        ledger.watch(self)  # before it is written: whatever interrupts the beginning, the ledger can end it
        try:
            self._held, begun = ledger.database.write(lambda tx: begin(tx, self._env, ledger.writer, self.id, wanted))
            self._row, self._place = begun.row, begun.place
            self._is_plain = begun.is_plain  # nothing but messages and calls hangs on it
            self._is_begun = True
        except BaseException as problem:
            self._give_up(problem)
            raise
        self._next = Next(len(wanted.messages), 0)

    @property
    def session(self) -> str:
        """The label of the session that this turn extends."""
        return self._held.session_label

    @property
    def parent_id(self) -> str | None:
        """The turn before this one."""
        return self._place.parent_turn_id

    @property
    def status(self) -> str:
        """`pending`, `streaming`, `completed` or `failed`."""
        return self._status

    def message(self, message: Message) -> str:
        """Adds a message; gives its id."""
        with self._lock:
            return self._add_message(message).id

    def reply(
        self,
        content: str | None = None,
        *,
        thinking: str | None = None,
        usage: Usage | None = None,
        **details: Any,
    ) -> str:
        """The assistant's words: a message of their own, or the end of what was streamed. Gives its id.

        Without content they are what was streamed, if that has not ended; `thinking` is added to it then.
        """
        with self._lock:
            total = self._with(usage)
            if content is None and not details and self._draft is not None:
                message_id = self._end_draft(self._draft, thinking or "")
            else:
                message_id = self.message(Message("assistant", content, thinking=thinking, **details))
            self._usage = total
            return message_id

    def stream(self, text: str = "", *, thinking: str = "") -> str:
        """Adds to the message that is being spoken, until another one comes; gives its id.

        What is said is written after a quarter of a second, or 8 KB.
        """
        if not (isinstance(text, str) and isinstance(thinking, str)):
            raise no_text(thinking if isinstance(text, str) else text)
        with self._lock:
            draft = self._draft
            if draft is None:
                row = self._add_message(Message("assistant", text, thinking=thinking or None))
                self._draft = Draft(row.id, text, thinking)
                return row.id
            known = draft.due_at
            if draft.add(text, thinking):
                try:
                    self._write(_nothing)
                except BaseException:
                    draft.take_back(text, thinking)  # whoever tries again says it again
                    raise
            elif known is None and draft.due_at is not None:
                self._ledger.remind(draft.due_at)
            return draft.message_id

    def call(
        self,
        tool: str,
        params: Any = None,
        *,
        id: str | None = None,  # noqa: A002 - the word that people use
        status: CallStatus = "running",
    ) -> LiveCall:
        """Records a tool call as it starts; `id` is the model's own id of it."""
        with self._lock:
            made = given.check_call(Call(tool, params, status=status, native_id=id))
            row = self._write(lambda tx, next_: self._insert_call(tx, made, next_), calls=1, is_guarded=True)
            return LiveCall(self, row.id, row.tool_name)

    def count(self, usage: Usage) -> None:
        """Adds to the tokens of this turn (kept when the turn ends)."""
        with self._lock:
            self._usage = self._with(usage)

    def use_permissions(self, permissions: Any) -> None:
        """Says which permissions were exercised (kept when the turn ends)."""
        text, lost = json_text(permissions, "permissions")
        if lost is not None:
            raise BadInput("permissions must be plain JSON")
        self._permissions_used = text

    def answer(
        self,
        content: str | None = None,
        *,
        thinking: str | None = None,
        usage: Usage | None = None,
        **details: Any,  # the other fields of Message
    ) -> str:
        """The last words and the end of the turn, in one durable step; gives the turn's id (see `complete`).

        Without content they are what was streamed, if that has not ended; `thinking` is added to it then.
        """
        with self._lock:
            total = self._with(usage)
            if content is None and not details and self._draft is not None:
                return self._complete_draft(self._draft, thinking or "", total)
            return self._complete(total, Message("assistant", content, thinking=thinking, **details))

    def complete(self, usage: Usage | None = None) -> str:
        """Seals the turn and moves the session to it; gives its id.

        Raises HeadMoved if the session moved meanwhile: the turn is kept as a branch then.
        """
        with self._lock:
            return self._complete(self._with(usage))

    def fail(self, reason: object) -> str:
        """Seals the turn as failed, with the reason (words or an exception); abandons open calls. Gives its id."""
        words = closing.words_of(reason)
        with self._lock:
            if self._is_begun:
                self._finish("failed", words, self._usage)
            else:
                self._ledger.database.write(lambda tx: closing.abandon(tx, self._env, self.id, words))
                self._end("failed")
            return self.id

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, problem: BaseException | None, trace: object) -> None:
        with self._lock:
            if self._status in ("completed", "failed") and self._lost is None:
                return
            if problem is not None:
                self._fail_by(problem)
                return
            try:
                self.complete()
            except UnresolvedCalls as unresolved:
                self._fail_by(unresolved, str(unresolved))
                raise
            except (KeyboardInterrupt, SystemExit) as interrupt:
                self._fail_by(interrupt)
                raise

    # what the ledger's own thread does

    def write_due(self, now: float) -> float | None:
        """Writes the words that have waited long enough; gives when others are due."""
        draft = self._draft
        if draft is None or draft.due_at is None or draft.due_at > now:
            return None if draft is None else draft.due_at
        if self._lock.acquire(blocking=False):
            try:
                self._write_waiting(draft)
            finally:
                self._lock.release()
        else:
            return now  # somebody is at work on it: other turns must not wait for that
        return draft.due_at

    def _write_waiting(self, draft: Draft) -> None:
        if self._draft is not draft or not draft.is_changed:
            return
        try:
            self._write(_nothing)
        except NotAllowed as lost:
            self._lost = lost
        except Exception:  # noqa: BLE001 - the words still wait: the turn's next call tries it too, and tells
            draft.put_off()

    # how it ends

    def _give_up(self, problem: BaseException) -> None:
        """It could not be begun: it fails if it is there; where nobody can tell, the ledger ends it later."""
        is_told = isinstance(problem, LedgerError) and not isinstance(problem, StoreError)
        if is_told or isinstance(problem, _NOTHING_WRITTEN):
            self._end("failed")
        else:
            self._fail_by(problem)

    def _fail_by(self, problem: BaseException, words: str | None = None) -> None:
        """Lets the turn fail; whatever keeps it from that is a note at the problem, which is the one to come out."""
        try:
            self.fail(words or problem)
        except BaseException as worse:
            if isinstance(problem, Exception) and not isinstance(worse, Exception):
                raise  # an interrupt is never lost
            problem.add_note(f"turn {self.id} could not be failed: {closing.words_of(worse)}")

    def _with(self, usage: Usage | None) -> Usage:
        """The tokens so far and these."""
        if usage is None:
            return self._usage
        total = self._usage + given.check_usage(usage)
        # Refused here, where it is given: at the end of the turn it would keep it from ending at all.
        for name, value in msgspec.structs.asdict(total).items():
            integer(value, f"{name} tokens")
        return total

    def _add_message(self, message: Message) -> MessageRow:
        row = self._write(lambda tx, next_: self._insert_message(tx, message, next_), messages=1, is_guarded=True)
        if message.role == "assistant":
            self._last_assistant = row.id
        return row

    # what LiveCall does

    def finish_call(self, call_id: str, status: CallStatus, result: Any, error: str | None) -> None:
        """The outcome of one tool call."""
        with self._lock:
            self._write(lambda tx, _: self._finish_call(tx, call_id, status, result, error), is_guarded=True)

    def spawn(self, call_id: str, label: str, task: str | None) -> str:
        """A subagent's session, linked with the call that starts it, both ways."""
        with self._lock:
            return self._write(lambda tx, _: self._spawn(tx, label, call_id, task))

    # inside a transaction

    def _write(
        self, body: Callable[[Tx, Next], T], messages: int = 0, calls: int = 0, *, is_guarded: bool = False
    ) -> T:
        """One durable step of this turn, if the lease is still ours; it adds so many messages and calls.

        Whoever takes the lease away seals the turn, so a body that writes to its messages or calls needs not ask
        first: the database refuses that (`is_guarded`). A server would let it wait for the answer.
        """
        self._require_open()
        known, self._next = self._next, None

        def step(tx: Tx) -> tuple[T, Next]:
            next_ = known if is_guarded and known is not None else self._hold(tx, known)
            if self._status == "pending":
                tx.run("start_streaming", id=self.id)
            self._flush_draft(tx)
            return body(tx, next_), next_

        try:
            done, used = self._ledger.database.write(step)
        except TurnIsSealed:
            self._say_who_ended_it()
            raise
        self._next = Next(used.message + messages, used.call + calls)
        self._status = "streaming"
        if messages:
            self._draft = None  # what is streamed from now on comes after them
        elif self._draft is not None:
            self._draft.flushed()
        return done

    def _hold(self, tx: Tx, known: Next | None) -> Next:
        """Makes sure that the lease is still ours; gives the numbers of what is added next."""
        held = tx.first("held_turn" if known is None else "held_lease", turn_id=self.id, token=self._held.token)
        if held is not None:
            return Next(*held) if known is None else known
        raise self._ended(tx)

    def _say_who_ended_it(self) -> None:
        """Raises how the turn has ended, if it has (otherwise it is a call that has)."""
        with self._ledger.database.read() as tx:
            if tx.first("lease_of", turn_id=self.id) is None:
                raise self._ended(tx) from None

    def _ended(self, tx: Tx) -> NotAllowed:
        turn = read_turn(tx, self.id)
        self._end(turn.status)
        if turn.status == "completed" or not (turn.error or "").startswith("interrupted: its writer"):
            return TurnIsSealed(f"turn {self.id} is {turn.status} already: begin a new one")
        words = "was closed by another process, which took this one for dead: begin a new turn"
        return LeaseLost(f"turn {self.id} {words}")

    def _insert_message(self, tx: Tx, message: Message, next_: Next) -> MessageRow:
        builder = Builder(self.id, self._place.root_id, self._env)
        row = builder.message(given.check_message(message), next_.message, self._env.now())
        self._insert(tx, builder)
        return row

    def _insert_call(self, tx: Tx, call: Call, next_: Next) -> CallRow:
        builder = Builder(self.id, self._place.root_id, self._env)
        row = builder.call(call, next_.call, self._last_assistant, self._env.now())
        self._insert(tx, builder)
        return row

    def _insert(self, tx: Tx, builder: Builder) -> None:
        self._is_plain = self._is_plain and builder.is_plain
        append.insert_parts(tx, builder)

    def _finish_call(self, tx: Tx, call_id: str, status: CallStatus, result: Any, error: str | None) -> None:
        builder = Builder(self.id, self._place.root_id, self._env)
        result_json = builder.json(call_id, "result_json", result)
        text = builder.text(call_id, "error", error)
        changed = tx.first(
            "finish_call",
            id=call_id,
            status=status,
            result_json=result_json,
            error=text,
            completed_at=self._env.now(),
            lossy=int(bool(builder.originals)),
        )
        if changed is None:
            raise TurnIsSealed(f"tool call {call_id} has its outcome already")
        self._insert(tx, builder)
        if changed[0] is not None:
            outcome = "completed" if status == "completed" else "failed"
            sessions.set_task_status(tx, self._env, changed[0], outcome)

    def _spawn(self, tx: Tx, label: str, call_id: str, task: str | None) -> str:
        builder = Builder(self.id, self._place.root_id, self._env)
        view = builder.text(call_id, "task_description", task)  # a session has no bytes beside it, the call has
        link = Spawn(self.session, self.id, call_id, view)
        made = sessions.create(tx, self._env, label, sessions.Origin(spawn=link))
        self._insert(tx, builder)
        return made.label

    def _flush_draft(self, tx: Tx) -> None:
        if self._draft is not None and self._draft.is_changed:
            self._is_plain = False  # it may leave the bytes of its text behind
            self._draft.write(tx, self.id, self._place.root_id)

    def _end_draft(self, draft: Draft, thinking: str) -> str:
        with draft.with_thinking(thinking):
            self._write(_nothing)
        self._draft = None
        return draft.message_id

    def _complete(self, usage: Usage, last: Message | None = None) -> str:
        if not self._finish("completed", None, usage, last):
            self._say_why_not_moved()
        return self.id

    def _complete_draft(self, draft: Draft, thinking: str, usage: Usage) -> str:
        with draft.with_thinking(thinking):
            return self._complete(usage)

    def _say_why_not_moved(self) -> None:
        with self._ledger.database.read() as tx:
            row = tx.first("session_by_label", label=self.session)
        if row is not None and row[-1] != "active":
            raise SessionArchived(
                f"session {self.session!r} was put away meanwhile; your turn is kept as a branch: "
                f"continue it with fork({self.id!r})"
            )
        raise HeadMoved(self.session, self.parent_id, None if row is None else row[1], self.id)

    def _finish(self, status: str, error: str | None, usage: Usage, last: Message | None = None) -> bool:
        self._require_open()
        known, self._next = self._next, None

        def body(tx: Tx) -> bool:
            next_ = self._hold(tx, known)
            self._flush_draft(tx)
            if last is not None:
                self._insert_message(tx, last, next_)
            begun = closing.Begun(self._row, self._place, self._is_plain)
            return closing.finish(tx, self._env, self._held, status, error, usage, self._permissions_used, begun=begun)

        moved = self._ledger.database.write(body)
        self._end(status)
        return moved

    def _end(self, status: str) -> None:
        self._status = status
        self._draft = None
        self._ledger.unwatch(self)

    def _require_open(self) -> None:
        if self._lost is not None:
            lost, self._lost = self._lost, None
            raise lost
        if self._status in ("completed", "failed"):
            raise TurnIsSealed(f"turn {self.id} is {self._status}: begin a new one")


def _nothing(_: Tx, __: Next) -> None:
    """Nothing but what was streamed."""
