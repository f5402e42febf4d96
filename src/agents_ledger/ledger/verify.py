"""`verify`: recomputes everything that can be, and names the first bad row of each kind."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import chain
from typing import Any

import msgspec
from msgspec import Struct

from agents_ledger.errors import StoreCorrupt
from agents_ledger.ledger import compact, sessions, threads
from agents_ledger.ledger.records import complete_all, read_turn
from agents_ledger.model import hashes, rules
from agents_ledger.model.rows import LogRow, MoveRow, Record, SessionRow, TurnRow
from agents_ledger.store import Database, Tx

_PAGE = 200
_TURN_FIELDS = len(TurnRow.__struct_fields__)


class Finding(Struct, frozen=True):
    """One thing that is not as it must be."""

    place: str  # the table
    row: str  # the row's key
    what: str


class Report(Struct, frozen=True):
    """What was checked and what was found."""

    turns: int
    log_entries: int
    sessions: int
    findings: list[Finding]

    @property
    def is_good(self) -> bool:
        """Whether nothing was found."""
        return not self.findings


class _Parent(Struct, frozen=True):
    hash: bytes | None
    depth: int | None
    segment: int | None
    root: str | None
    tokens: int | None
    system: int | None
    compaction: int | None
    seal: int | None


class _Sealed(Struct, frozen=True):
    turn: TurnRow
    salts: bytes | None
    commitments: bytes | None
    parent: _Parent
    parent_segment_id: int | None
    fork_depth: int | None
    segment_root: str | None
    has_children: bool
    log_ref: str | None


def verify(database: Database, *, limit: int = 20, progress: Callable[[int], None] | None = None) -> Report:
    """Checks the whole ledger in one snapshot; stops after `limit` findings."""
    tally = _Tally(limit, progress)
    try:
        for text in database.check():
            tally.take(Finding("storage", "", text))
        with database.read() as tx:
            tally.sessions = len(tx.rows("all_sessions"))
            steps = chain(_check_log(tx), _check_turns(tx), _check_structure(tx), _check_sessions(tx))
            for step in steps:
                if tally.take(step):
                    break
    except StoreCorrupt as damage:
        tally.take(Finding("storage", "", str(damage)))
    return Report(tally.turns, tally.entries, tally.sessions, tally.findings)


class _Tally:
    """What has been seen so far."""

    def __init__(self, limit: int, progress: Callable[[int], None] | None) -> None:
        self.turns = self.entries = self.sessions = 0
        self.findings: list[Finding] = []
        self._limit = limit
        self._progress = progress

    def take(self, step: Finding | str) -> bool:
        """Counts one step of a check; True when it is enough."""
        if isinstance(step, Finding):
            self.findings.append(step)
        elif step == "turn":
            self.turns += 1
            if self._progress:
                self._progress(self.turns)
        else:
            self.entries += 1
        return len(self.findings) >= self._limit


def _check_log(tx: Tx) -> Iterator[Finding | str]:
    expected = 1
    while page := tx.rows("log_page", after=expected - 1, limit=_PAGE):
        for row in page:
            entry = LogRow(*row)
            if entry.seq != expected:
                yield Finding("log", str(expected), f"is missing: the log goes on with {entry.seq}")
                expected = entry.seq
            facts = _facts_of(tx, entry)
            if facts is _MISSING:
                yield Finding("log", str(entry.seq), f"stands for a {entry.kind} that is not there ({entry.ref})")
            elif hashes.leaf(entry, facts) != entry.leaf:
                yield Finding("log", str(entry.seq), f"the {entry.kind} of {entry.ref} differs from what was logged")
            expected += 1
            yield "entry"


_MISSING = object()


def _facts_of(tx: Tx, entry: LogRow) -> object:
    """The facts of the row that an entry stands for."""
    if entry.kind == "seal":
        row = tx.first("turn_by_id", id=entry.ref)
        return _MISSING if row is None else TurnRow(*row).turn_hash
    if entry.kind == "move":
        row = tx.first("move_by_id", id=entry.seq)
        return _MISSING if row is None else hashes.move_facts(MoveRow(*row))
    return None


def _check_turns(tx: Tx) -> Iterator[Finding | str]:
    after = 0
    while page := tx.rows("sealed_page", after=after, limit=_PAGE):
        found = [_sealed(row) for row in page]
        for sealed, record in zip(found, complete_all(tx, [each.turn for each in found]), strict=True):
            for what in _check_turn(tx, sealed, record):
                yield Finding("turns", sealed.turn.id, what)
            yield "turn"
        after = page[-1][_TURN_FIELDS - 1]


def _sealed(row: tuple[Any, ...]) -> _Sealed:
    turn = TurnRow(*row[:_TURN_FIELDS])
    salts, commitments, *rest = row[_TURN_FIELDS:]
    parent = _Parent(*rest[:8])
    parent_segment, fork_depth, segment_root, children, log_ref = rest[8:]
    return _Sealed(turn, salts, commitments, parent, parent_segment, fork_depth, segment_root, bool(children), log_ref)


def _check_turn(tx: Tx, sealed: _Sealed, record: Record) -> Iterator[str]:
    yield from _check_hash(sealed, record)
    yield from _check_place(sealed)
    yield from _check_counters(sealed, record)
    yield from _check_parts(record)
    if record.turn.turn_type == "compaction":
        yield from _check_compaction(tx, record)


def _check_hash(sealed: _Sealed, record: Record) -> Iterator[str]:
    if sealed.salts is None or sealed.commitments is None:
        yield "has no seal"
        return
    size = hashes.DIGEST_BYTES
    kept = [sealed.commitments[at : at + size] for at in range(0, len(sealed.commitments), size)]
    parts = hashes.parts(record)
    if len(parts) != len(kept):
        yield f"has {len(parts)} parts, but {len(kept)} were sealed"
        return
    for index, part in enumerate(parts):
        salt = sealed.salts[index * hashes.SALT_BYTES : (index + 1) * hashes.SALT_BYTES]
        if hashes.commit(salt, part.raw) != kept[index]:
            yield f"{part.place} differs from what was sealed"
    if hashes.turn_hash(record, sealed.parent.hash, parts, kept) != record.turn.turn_hash:
        yield "its facts differ from what was sealed (hash)"


def _check_place(sealed: _Sealed) -> Iterator[str]:
    turn, parent = sealed.turn, sealed.parent
    if sealed.segment_root != turn.root_id:
        yield "its segment belongs to another tree"
    if turn.parent_turn_id is None:
        if (turn.root_id, turn.depth, sealed.parent_segment_id) != (turn.id, 1, None):
            yield "is a root, but its place says otherwise"
        return
    if parent.depth is None or parent.seal is None or turn.seal_seq is None:
        yield f"its parent {turn.parent_turn_id} is not there or not sealed"
        return
    if parent.seal >= turn.seal_seq:
        yield "was sealed before its parent"
    if turn.root_id != parent.root or turn.depth != parent.depth + 1:
        yield "its root or depth does not follow from its parent"
    follows = turn.segment_id == parent.segment
    forks = (sealed.parent_segment_id, sealed.fork_depth) == (parent.segment, parent.depth)
    if not follows and not forks:
        yield "its segment does not follow from its parent"


def _check_counters(sealed: _Sealed, record: Record) -> Iterator[str]:
    turn, parent = sealed.turn, sealed.parent
    if turn.thread_tokens != rules.thread_total(parent.tokens, turn.total_tokens):
        yield "thread_tokens is not its parent's plus its own"
    if bool(turn.has_children) != sealed.has_children:
        yield f"has_children says {turn.has_children}"
    if turn.tool_call_count != len(record.calls):
        yield f"tool_call_count is {turn.tool_call_count}, but there are {len(record.calls)}"
    carries = rules.has_system_prompt(record.messages)
    if turn.system_depth != (turn.depth if carries else parent.system or 0):
        yield "system_depth is wrong"
    compacts = turn.turn_type == "compaction"
    if turn.compaction_depth != (turn.depth if compacts else parent.compaction or 0):
        yield "compaction_depth is wrong"
    if turn.query_message_ids != rules.query_ids(record.messages):
        yield "query_message_ids is wrong"
    if turn.response_message_id != rules.response_id(record.messages):
        yield "response_message_id is wrong"


def _check_parts(record: Record) -> Iterator[str]:
    if [row.sequence for row in record.messages] != list(range(len(record.messages))):
        yield "its messages are not numbered 0, 1, 2 …"
    if [call.sequence for call in record.calls] != list(range(len(record.calls))):
        yield "its tool calls are not numbered 0, 1, 2 …"
    if rules.open_calls(record.calls):
        yield "is sealed with open tool calls"
    own = {row.id for row in record.messages}
    if any(call.message_id is not None and call.message_id not in own for call in record.calls):
        yield "has a tool call of another turn's message"


def _check_compaction(tx: Tx, record: Record) -> Iterator[str]:
    row, turn = record.compaction, record.turn
    if row is None:
        yield "is a compaction without a compactions row"
        return
    named = [row.summarized_through_turn_id, row.first_kept_turn_id, *(compact.kept_ids(row) or ())]
    for turn_id in named:
        if turn_id is not None and not threads.is_ancestor(tx, turn_id, turn.id):
            yield f"its compaction names {turn_id}, which is not in its thread"
            return
    depths = [read_turn(tx, turn_id).depth for turn_id in named[:2] if turn_id is not None]
    if depths != sorted(set(depths)):
        yield "its first kept turn does not come after the summarised ones"
    assert turn.parent_turn_id is not None, "a foreign key and its ancestry say so"  # noqa: S101
    before = compact.newest(tx, turn.parent_turn_id)
    done = 0 if before is None else read_turn(tx, before.summarized_through_turn_id).depth
    if row.turns_summarized is not None and row.turns_summarized != depths[0] - done:
        yield f"turns_summarized is {row.turns_summarized}, not {depths[0] - done}"


def _check_structure(tx: Tx) -> Iterator[Finding | str]:
    for turn_id, status, lease in tx.rows("unsealed_turns"):
        if lease is None:
            yield Finding("turns", turn_id, f"is {status}, but nobody is writing it")
    single = (
        ("sealed_outside_log", "turns", "its seal is not in the log"),
        ("moves_outside_log", "session_history", "is not in the log"),
        ("broken_chain", "session_history", "does not start where the move before it ended"),
        ("alias_chains", "session_aliases", "hides a live session or leads to another alias"),
        ("unlinked_subagents", "sessions", "and its spawning call do not name each other"),
        ("stray_compactions", "compactions", "belongs to a turn that is no compaction"),
    )
    for name, place, what in single:
        row = tx.first(name)
        if row is not None:
            yield Finding(place, str(row[0]), what)
    stray = tx.first("stray_roots")
    if stray is not None:
        yield Finding(stray[0], stray[1], "carries another root than its turn")


def _check_sessions(tx: Tx) -> Iterator[Finding | str]:
    logged = _Logged(tx)
    for row in tx.rows("all_sessions"):
        session = SessionRow(*row)
        last = tx.first("last_move", label=session.label)
        if session.thread_id != (None if last is None else last[2]):
            yield Finding("sessions", session.label, "its head is not where its history ends")
        if logged.fixed.get(session.label) != sessions.fixed_facts(session):
            yield Finding("sessions", session.label, "differs from what was logged when it was made")
        if logged.status.get(session.label, "active") != session.status:
            yield Finding("sessions", session.label, f"its status {session.status} was never logged")
        if logged.task.get(session.label) != session.task_status:
            yield Finding("sessions", session.label, f"its task status {session.task_status} was never logged")
    for alias, label, _, reason in tx.rows("all_aliases"):
        if logged.alias.get(alias) != (label, reason):
            yield Finding("session_aliases", alias, "leads elsewhere than was logged")


class _Logged:
    """What the log says about sessions and aliases."""

    def __init__(self, tx: Tx) -> None:
        self.fixed: dict[str, dict[str, Any]] = {}
        self.status: dict[str, str] = {}
        self.task: dict[str, str] = {}
        self.alias: dict[str, tuple[str, str]] = {}
        after = 0
        while page := tx.rows("log_page", after=after, limit=_PAGE):
            for row in page:
                with suppress(msgspec.MsgspecError, KeyError):  # a damaged body: the check of the log has named it
                    self._take(LogRow(*row))
            after = page[-1][0]

    def _take(self, entry: LogRow) -> None:
        if entry.body is None:
            return
        body = msgspec.json.decode(entry.body, type=dict[str, Any])
        if entry.kind == "session":
            self.fixed[entry.ref] = body
        elif entry.kind == "status":
            self.status[entry.ref] = body["status"]
        elif entry.kind == "task":
            self.task[entry.ref] = body["task_status"]
        elif entry.kind == "alias":
            self.alias[entry.ref] = (body["session_label"], body["reason"])
