"""`verify`: recomputes everything that can be, and names the first bad row of each kind."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from itertools import islice
from typing import Any

import msgspec
from msgspec import Struct

from agents_ledger.errors import NotFound, StoreCorrupt, StoreError
from agents_ledger.ledger import compact, derived, evidence, sessions, threads
from agents_ledger.ledger.records import complete_all, read_turn, spoken
from agents_ledger.model import hashes, rules, zstd
from agents_ledger.model.captures import Capture
from agents_ledger.model.rows import LogRow, MoveRow, Record, SaveRow, SessionRow, TurnRow
from agents_ledger.store import Database, Tx, damage, guards

_PAGE = 200
_TURN_FIELDS = len(TurnRow.__struct_fields__)


# What a damaged value may lead to: a number where a text belongs, JSON that is none, a row that is gone.
_UNREADABLE = (TypeError, ValueError, AttributeError, LookupError, AssertionError, msgspec.MsgspecError, NotFound)


class Finding(Struct, frozen=True):
    """One thing that is not as it must be."""

    place: str  # the table; "trigger" or "view" for one of the schema's
    row: str  # the row's key; its name
    what: str


class Report(Struct, frozen=True):
    """What was checked and what was found."""

    turns: int  # that are sealed
    log_entries: int
    sessions: int
    findings: list[Finding]
    open_turns: int = 0  # whose source may go on, or that are being written: they have no hash yet
    live_turns: int = 0  # of them: that are being written

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
    messages: int | None  # of the thread, up to the parent


class _Sealed(Struct, frozen=True):
    turn: TurnRow
    parent: _Parent
    parent_segment_id: int | None
    fork_depth: int | None
    segment_root: str | None
    has_children: bool
    log_seq: int


def verify(database: Database, *, limit: int = 20, progress: Callable[[int], None] | None = None) -> Report:
    """Checks the whole ledger in one snapshot; stops after `limit` findings (at least one: is all of it good?)."""
    tally = _Tally(max(1, limit), progress)
    lost: list[Finding] = []
    try:
        for text in database.check():
            tally.take(Finding("storage", "", text))
        lost = [Finding(each.kind, each.name, each.what) for each in guards.lost(database)]
        with database.read() as tx:
            tx.on_damaged_text = tally.meet_damage
            tally.sessions = len(tx.rows("all_sessions"))
            tally.open_turns, tally.live_turns = int(tx.value("open_turn_count")), len(tx.rows("all_leases"))
            _check_all(tx, tally)
        if tally.has_met_damage:
            tally.put_first(_damaged(each) for each in damage.damaged_texts(database))
        for each in islice(damage.broken_references(database), tally.left):
            tally.take(Finding(each.table, each.key, f"its {each.column} names what is not there: {each.value}"))
    except StoreCorrupt as problem:
        tally.take(Finding("storage", "", str(problem)))
    except StoreError as problem:
        if not lost:
            raise
        lost.append(Finding("storage", "", f"a check stopped, it needs what is lost ({problem})"))
    # (last: rows that were changed are named first, however many triggers are gone)
    for finding in lost[: tally.left]:
        tally.take(finding)
    return Report(tally.turns, tally.entries, tally.sessions, tally.findings, tally.open_turns, tally.live_turns)


def _check_all(tx: Tx, tally: "_Tally") -> None:
    """Every check, also after one that had to give up."""
    checks = (
        _check_log, _check_turns, _check_structure, _check_sessions, _check_evidence, _check_chains, _check_derived,
    )  # fmt: skip
    for check in checks:
        try:
            for step in check(tx):
                if tally.take(step):
                    return
        except _UNREADABLE as problem:
            tally.take(Finding("storage", "", f"a check stopped at a value of a wrong kind ({problem!r})"))


def _damaged(text: damage.Damaged) -> Finding:
    return Finding(
        text.table,
        text.key,
        f"its {text.column} is damaged, it is no text any more: restore a backup (`ldg restore BACKUP`)",
    )


class _Tally:
    """What has been seen so far."""

    def __init__(self, limit: int, progress: Callable[[int], None] | None) -> None:
        self.turns = self.entries = self.sessions = self.open_turns = self.live_turns = 0
        self.findings: list[Finding] = []
        self.has_met_damage = False
        self._limit = limit
        self._progress = progress

    @property
    def left(self) -> int:
        """How many more findings are wanted."""
        return max(0, self._limit - len(self.findings))

    def meet_damage(self) -> None:
        """Remembers that a text could not be read as it is."""
        self.has_met_damage = True

    def put_first(self, findings: Iterable[Finding]) -> None:
        """Puts causes before what follows from them."""
        self.findings = [*islice(findings, self._limit), *self.findings][: self._limit]

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
            elif not _is_as_saved(tx, entry):
                yield Finding("saves", str(entry.seq), "is not there, or differs from what was logged")
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


def _is_as_saved(tx: Tx, entry: LogRow) -> bool:
    """Whether an entry that stands for a save finds it as it was."""
    if entry.kind != "task" or entry.body is None:
        return True
    try:
        logged = msgspec.json.decode(entry.body, type=dict[str, Any]).get("save")
    except msgspec.MsgspecError:
        return True  # a damaged body: its leaf tells
    row = None if logged is None else tx.first("save_by_id", id=entry.seq)
    return logged is None or (row is not None and hashes.save_commitment(SaveRow(*row)) == logged)


def _check_turns(tx: Tx) -> Iterator[Finding | str]:
    after, places = 0, derived.Places(tx)
    while page := tx.rows("sealed_page", after=after, limit=_PAGE):
        found = [_sealed(row) for row in page]
        for sealed, record in zip(found, complete_all(tx, [each.turn for each in found]), strict=True):
            try:
                for what in _check_turn(tx, sealed, record):
                    yield Finding("turns", sealed.turn.id, what)
            except _UNREADABLE as problem:
                yield Finding("turns", sealed.turn.id, f"it, or something on it, is of a wrong kind ({problem})")
            yield from (Finding(*wrong) for wrong in places.check(record))
            yield "turn"
        after = found[-1].log_seq
    yield from _check_open(tx, places)


def _check_open(tx: Tx, places: derived.Places) -> Iterator[Finding]:
    """Turns that are not sealed yet have no hash, but they can be read."""
    last = ""
    while page := [TurnRow(*row) for row in tx.rows("open_page", after=last, limit=_PAGE)]:
        for record in spoken(tx, page):
            yield from (Finding(*wrong) for wrong in places.check(record))
        last = page[-1].id


def _sealed(row: tuple[Any, ...]) -> _Sealed:
    turn = TurnRow(*row[:_TURN_FIELDS])
    rest = row[_TURN_FIELDS:]
    parent = _Parent(*rest[:9])
    parent_segment, fork_depth, segment_root, children, log_seq = rest[9:]
    return _Sealed(turn, parent, parent_segment, fork_depth, segment_root, bool(children), log_seq)


def _check_turn(tx: Tx, sealed: _Sealed, record: Record) -> Iterator[str]:
    yield from _check_hash(sealed, record)
    yield from _check_place(sealed)
    yield from _check_counters(sealed, record)
    yield from _check_parts(record)
    if record.turn.turn_type == "compaction":
        yield from _check_compaction(tx, record)


def _check_hash(sealed: _Sealed, record: Record) -> Iterator[str]:
    seed = record.turn.seal_salt
    if seed is None:
        yield "has no seal"
        return
    parts = hashes.parts(record)
    if hashes.turn_hash(record, sealed.parent.hash, parts, hashes.commit_all(parts, seed)) != record.turn.turn_hash:
        yield "it, or something that hangs on it, differs from what was sealed (hash)"


def _check_place(sealed: _Sealed) -> Iterator[str]:
    turn, parent = sealed.turn, sealed.parent
    if sealed.segment_root != turn.root_id:
        yield "its segment belongs to another tree"
    if turn.parent_turn_id is None:
        if (turn.root_id, turn.depth, sealed.parent_segment_id, sealed.fork_depth) != (turn.id, 1, None, 0):
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
    if turn.messages_before != (parent.messages or 0):
        yield "messages_before is not its parent's and the parent's own"
    if turn.has_children != int(sealed.has_children):
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
    try:
        named = [row.summarized_through_turn_id, row.first_kept_turn_id, *(compact.kept_ids(row) or ())]
        if turn.parent_turn_id is None:
            if any(fact is not None for fact in (*named, row.first_kept_message_id, row.turns_summarized)):
                yield "its compaction names turns, but there are none before it"
            return
        if named[0] is None or not all(_is_behind(tx, turn_id, turn.id) for turn_id in named):
            yield "its compaction names a turn that is not in its thread"
            return
        depths = [read_turn(tx, turn_id).depth for turn_id in named[:2] if turn_id is not None]
        done = compact.summarized_depth(tx, compact.newest(tx, turn.parent_turn_id))
    except _UNREADABLE:
        yield "its compaction, or the one before it, names turns that are not there"
        return
    if depths != sorted(set(depths)) and (depths != sorted(depths) or row.first_kept_message_id is None):
        yield "its first kept turn does not come after the summarised ones"
    if row.turns_summarized != depths[0] - done:
        yield f"turns_summarized is {row.turns_summarized}, not {depths[0] - done}"


def _is_behind(tx: Tx, turn_id: str | None, of: str) -> bool:
    return turn_id is None or threads.is_ancestor(tx, turn_id, of)


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
        ("stray_saves", "saves", "is not in the log, or not followed by the save after it"),
        ("empty_segments", "segments", "holds no turn"),
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
    found = [SessionRow(*row) for row in tx.rows("all_sessions")]
    for session in found:
        for what in _check_session(tx, session, logged):
            yield Finding("sessions", session.label, what)
    marked = {row[0]: (row[1], row[2]) for row in tx.rows("superseded_turns")}
    for turn_id in sorted(marked | logged.superseded):
        if marked.get(turn_id) != logged.superseded.get(turn_id):
            yield Finding("superseded", turn_id, "differs from what was logged")
    for label in sorted(logged.fixed.keys() - {session.label for session in found}):
        yield Finding("sessions", label, "is in the log, but not there")
    aliases = {row[0]: (row[1], row[3], row[2]) for row in tx.rows("all_aliases")}
    for alias in logged.alias | aliases:
        if aliases.get(alias) != logged.alias.get(alias):
            yield Finding("session_aliases", alias, "differs from what was logged")


def _check_session(tx: Tx, session: SessionRow, logged: "_Logged") -> Iterator[str]:
    last = tx.first("last_move", label=session.label)
    if session.thread_id != (None if last is None else last[2]):
        yield "its head is not where its history ends"
    if logged.fixed.get(session.label) != sessions.fixed_facts(session):
        yield "differs from what was logged when it was made"
    if logged.status.get(session.label, "active") != session.status:
        yield f"its status {session.status} was never logged"
    if logged.task.get(session.label) != session.task_status:
        yield f"its task status {session.task_status} was never logged"
    if logged.changed.get(session.label) != session.updated_at:
        yield "updated_at is not the time of its last log entry"


def _check_chains(tx: Tx) -> Iterator[Finding | str]:
    """Whether the entries on each source's active chain are under the head that was imported."""
    for capture_id, path, entries, under_head in tx.rows("chains_off_the_head"):
        what = f"{under_head} of the {entries} entries on the active chain of {path} are under its imported head"
        yield Finding("captures", str(capture_id), what)


def _check_evidence(tx: Tx) -> Iterator[Finding | str]:
    """Every block is what it was, and every capture is made of its blocks."""
    checked: set[int] = set()
    after = 0
    while page := [Capture(*row) for row in tx.rows("captures_page", after=after, format=None, limit=_PAGE)]:
        for capture in page:
            blocks = tx.rows("blocks_of", capture_id=capture.id)
            for what in _check_capture(capture, blocks):
                yield Finding("captures", str(capture.id), what)
            for _, block_id, _, _ in blocks:
                if block_id not in checked:
                    checked.add(block_id)
                    yield from _check_block(tx, block_id)
        after = page[-1].id
    loose = tx.first("loose_block")
    if loose is not None:
        yield Finding("blocks", str(loose[0]), "belongs to no capture")
    lost = tx.first("lost_blocks")
    if lost is not None:
        yield Finding("capture_blocks", str(lost[0]), "names a capture or a block that is not there")


def _check_capture(capture: Capture, blocks: list[tuple[Any, ...]]) -> Iterator[str]:
    if [row[0] for row in blocks] != list(range(len(blocks))):
        yield "its blocks are not numbered 0, 1, 2 …"
    if sum(row[3] for row in blocks) != capture.size_bytes:
        yield f"its blocks do not have {capture.size_bytes} bytes"
    if capture.size_bytes and evidence.digest_of(row[2] for row in blocks) != capture.digest:
        yield "its blocks are not those that were captured (digest)"


def _check_block(tx: Tx, block_id: int) -> Iterator[Finding]:
    row = tx.first("packed_block", id=block_id)
    try:
        if row is not None:
            evidence.unpack(*row)
    except (StoreCorrupt, zstd.ZstdError):
        yield Finding("blocks", str(block_id), "differs from what was captured")


def _check_derived(tx: Tx) -> Iterator[Finding]:
    for _ in tx.each("told_of_sessions"):
        pass  # that it can be read is all there is to check
    yield from (Finding(*wrong) for wrong in derived.check(tx))


class _Logged:
    """What the log says about sessions and aliases."""

    def __init__(self, tx: Tx) -> None:
        self.fixed: dict[str, dict[str, Any]] = {}
        self.status: dict[str, str] = {}
        self.task: dict[str, str] = {}
        self.changed: dict[str, int] = {}
        self.superseded: dict[str, tuple[str | None, int]] = {}  # turns: what stands for them, and since when
        self.alias: dict[str, tuple[str, str, int]] = {}  # label, reason, and when it was made first
        after = 0
        while page := tx.rows("log_page", after=after, limit=_PAGE):
            for row in page:
                with suppress(msgspec.MsgspecError, KeyError):  # a damaged body: the check of the log has named it
                    self._take(LogRow(*row))
            after = page[-1][0]

    def _take(self, entry: LogRow) -> None:
        body = {} if entry.body is None else msgspec.json.decode(entry.body, type=dict[str, Any])
        if entry.kind in ("session", "move", "status") or "task_status" in body:
            self.changed[entry.ref] = entry.at
        if not body or "save" in body:
            return
        if entry.kind == "session":
            self.fixed[entry.ref] = body
        elif entry.kind == "status" and "by" in body:
            self.superseded.pop(entry.ref, None)
            if body["status"] == rules.SUPERSEDED:
                self.superseded[entry.ref] = (body["by"], entry.at)
        elif entry.kind == "status":
            self.status[entry.ref] = body["status"]
        elif entry.kind == "task":
            self.task[entry.ref] = body["task_status"]
        elif entry.kind == "alias":
            made = self.alias[entry.ref][2] if entry.ref in self.alias else entry.at
            self.alias[entry.ref] = (body["session_label"], body["reason"], made)
