"""The ledger: what one can do with it. Each verb is one transaction or one snapshot."""

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Self

from agents_ledger.errors import BadInput, LedgerError
from agents_ledger.ledger import lease
from agents_ledger.ledger.env import Env
from agents_ledger.ledger.head import HEAD, Head
from agents_ledger.ledger.opening import opened
from agents_ledger.model.filters import EVERYTHING, Filters
from agents_ledger.model.ids import LAST
from agents_ledger.model.later import Later
from agents_ledger.store import ALL, Database, Tx

if TYPE_CHECKING:
    from agents_ledger.ledger import (
        append,
        beginning,
        build,
        closing,
        compact,
        compacting,
        context,
        finding,
        fork_points,
        given,
        live,
        moves,
        policy,
        records,
        replay,
        search,
        sessions,
        threads,
        usage,
        verify,
    )
    from agents_ledger.ledger.policy import Policy
    from agents_ledger.model import entries, hits, overview, rows, texts
    from agents_ledger.model.fork_points import ForkPoints
    from agents_ledger.model.summary import Summariser
else:  # no program needs all of it, and `ldg` is to answer at once: each is loaded when it is asked for
    append = Later("agents_ledger.ledger.append")
    beginning = Later("agents_ledger.ledger.beginning")
    build = Later("agents_ledger.ledger.build")
    closing = Later("agents_ledger.ledger.closing")
    compact = Later("agents_ledger.ledger.compact")
    compacting = Later("agents_ledger.ledger.compacting")
    context = Later("agents_ledger.ledger.context")
    finding = Later("agents_ledger.ledger.finding")
    fork_points = Later("agents_ledger.ledger.fork_points")
    given = Later("agents_ledger.ledger.given")
    live = Later("agents_ledger.ledger.live")
    moves = Later("agents_ledger.ledger.moves")
    policy = Later("agents_ledger.ledger.policy")
    records = Later("agents_ledger.ledger.records")
    replay = Later("agents_ledger.ledger.replay")
    search = Later("agents_ledger.ledger.search")
    sessions = Later("agents_ledger.ledger.sessions")
    threads = Later("agents_ledger.ledger.threads")
    usage = Later("agents_ledger.ledger.usage")
    verify = Later("agents_ledger.ledger.verify")
    entries = Later("agents_ledger.model.entries")
    overview = Later("agents_ledger.model.overview")
    rows = Later("agents_ledger.model.rows")
    texts = Later("agents_ledger.model.texts")


class Ledger:
    """The record of all conversations, in one database. Safe to use from several threads and processes."""

    def __init__(self, database: Database, env: Env | None = None) -> None:
        self.database = database
        self.env = env or Env()
        self.writer = lease.writer_name()
        self._live: dict[str, live.LiveTurn] = {}
        self._unindexed = 0
        self._heartbeat = lease.Heartbeat(self._renew, self._live)
        self.recovered: list[str] = [] if database.readonly else self.recover()

    @classmethod
    def open(cls, url: str, *, readonly: bool = False, create: bool = True, env: Env | None = None) -> Self:
        """Opens (or makes) a ledger by its URL; closes the turns that dead writers left behind."""
        database = opened(url, readonly=readonly, create=create)
        try:
            return cls(database, env)
        except BaseException:
            database.close()
            raise

    def close(self) -> None:
        """Ends everything: live turns of this object fail as interrupted. What went wrong is raised after all of it."""
        if self.database.is_carried:
            self.database.close()
            return  # the turns are the parent's, and a thread that is not here may hold their locks
        ends: list[Callable[[], None]] = [partial(self._interrupt, turn) for turn in list(self._live.values())]
        ends += [self._heartbeat.stop, partial(lease.retire, self.writer), self.database.close]
        first: BaseException | None = None
        for end in ends:
            try:
                end()
            except BaseException as problem:  # noqa: BLE001 - raised below
                first = problem if first is None else first
        if first is not None:
            raise first

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # writing

    def turn(
        self,
        session: str,
        query: "str | entries.Message | tuple[entries.Message, ...] | None" = None,
        *,
        model: str | None = None,
        provider: str | None = None,
        role: "entries.Role" = "unified",
        toolset: str | None = None,
        tools: list[str] | tuple[str, ...] | None = None,
        permissions: Any = None,
        workspace: str | None = None,
        source_event_id: str | None = None,
        system: str | None = None,
        system_prompt_hash: str | None = None,
        persona: str | None = None,
        thread_key: str | None = None,
        origin: "sessions.Origin | None" = None,
        expect: str | Head | None = HEAD,
    ) -> "live.LiveTurn":
        """Begins a live turn on a session (found by label, then by alias, else made)."""
        settings = entries.Settings(
            model=model,
            provider=provider,
            role=role,
            toolset=toolset,
            tools=texts.names(tools),
            permissions_granted=permissions,
            source_event_id=source_event_id,
            workspace_path=workspace,
            persona_id=persona,
            system_prompt_hash=system_prompt_hash,
            thread_key=thread_key,
        )
        opening = () if system is None else (entries.Message("system", system),)
        made = sessions.Origin(persona_id=persona) if origin is None else given.check_origin(origin)
        return live.LiveTurn(self, beginning.Wanted(session, opening + given.asked(query), settings, made, expect))

    def append(
        self,
        session: str,
        turn: "entries.Turn",
        *,
        origin: "sessions.Origin | None" = None,
        expect: str | Head | None = HEAD,
    ) -> str:
        """Appends a finished turn, all of it or nothing; gives its id.

        The same turn again adds nothing, if it was given an id (`Turn(id=…)`); without one it is another turn.
        """
        ready = build.prepare(given.check(turn), self.env)
        persona = turn.settings.persona_id
        where = sessions.Origin(persona_id=persona) if origin is None else given.check_origin(origin)
        turn_id = self.database.write(lambda tx: append.append(tx, self.env, session, ready, where, expect))
        self._sealed_one()
        return turn_id

    def branch(self, parent_turn_id: str | None, turn: "entries.Turn") -> str:
        """Adds a finished turn to the tree without moving any session; gives its id."""
        ready = build.prepare(given.check(turn), self.env)
        turn_id = self.database.write(lambda tx: append.branch(tx, self.env, parent_turn_id, ready))
        self._sealed_one()
        return turn_id

    def compact(
        self,
        /,
        session: str,
        summary: str,
        *,
        keep: int | None = None,
        through: str | None = None,
        settings: "entries.Settings | None" = None,
        expect: str | Head | None = HEAD,
        **details: Any,
    ) -> str:
        """Adds a compaction turn: `summary` stands for everything but the last `keep` turns. Gives its id.

        Kept are turns that the agent sees now; compactions are not counted. While a turn of the session is being
        written it is refused (`TurnIsLive`): `compact_by` waits for that.
        """
        if keep is not None and through is not None:
            raise BadInput("a compaction keeps a number of turns, or what comes after a turn: pass `keep` or `through`")

        def body(tx: Tx) -> str:
            known = sessions.require_active(tx, session)
            head, cut = known.thread_id, details
            compact.refuse_live(tx, known.label, head)
            if through is not None:
                cut = {"through": through, **details}
            elif head is not None:
                cut = {**policy.keep_last(tx, head, 0 if keep is None else keep), **details}
            made = entries.Compaction(summary, **{"through": "", **cut})
            in_effect = settings or entries.Settings(model=made.model, provider=made.provider)
            turn = given.check(entries.Turn(compaction=made, settings=in_effect))
            return append.append(tx, self.env, session, build.prepare(turn, self.env), sessions.Origin(), expect)

        return self.database.write(body)

    def compact_by(
        self,
        summariser: "Summariser | None" = None,
        policy: "Policy | None" = None,
        **given: Any,
    ) -> "compacting.Compactor":
        """Who compacts sessions with a summariser (without one: by their own words), by a policy.

        `ledger.compact_by().run("main", "manual")`; without a trigger (None) only if the session is due.
        """
        chosen = {"summariser": summariser, "policy": policy}
        given |= {name: value for name, value in chosen.items() if value is not None}
        return compacting.Compactor(database=self.database, env=self.env, **given)

    # moving

    def fork(self, turn_id: str, label: str | None = None) -> "rows.SessionRow":
        """A new session at a turn; the original is untouched."""
        return self.database.write(lambda tx: moves.fork(tx, self.env, turn_id, label))

    def rewind(
        self, session: str, turn_id: str | None = None, *, turns: int | None = None, expect: str | Head | None = HEAD
    ) -> "rows.MoveRow":
        """Moves a session back, to an earlier turn or by a number of turns (1); nothing is lost."""
        return self.database.write(lambda tx: moves.rewind(tx, self.env, session, turn_id, turns, expect))

    rollback = rewind

    def forward(self, session: str, turn_id: str | None = None) -> "rows.MoveRow":
        """Moves a session forward again, to where it was before it was rewound."""
        return self.database.write(lambda tx: moves.forward(tx, self.env, session, turn_id))

    def create_session(self, label: str, origin: "sessions.Origin | None" = None) -> "rows.SessionRow":
        """A new session without turns."""
        where = sessions.Origin() if origin is None else given.check_origin(origin)
        return self.database.write(lambda tx: sessions.create(tx, self.env, label, where))

    def archive(self, session: str) -> "rows.SessionRow":
        """Puts a session away; its turns stay."""
        return self.database.write(lambda tx: sessions.set_status(tx, self.env, session, "archived"))

    def unarchive(self, session: str) -> "rows.SessionRow":
        """Makes an archived session active again."""
        return self.database.write(lambda tx: sessions.set_status(tx, self.env, session, "active"))

    def alias(self, alias: str, session: str, reason: str = "manual") -> "rows.AliasRow":
        """Another key for a session (`identity_promotion`, `identity_merge`, `manual`)."""
        return self.database.write(lambda tx: sessions.add_alias(tx, self.env, alias, session, reason))

    def merge(self, session: str, into: str) -> "rows.SessionRow":
        """Lets a session's label and aliases lead to another session; its own turns stay where they are."""
        return self.database.write(lambda tx: sessions.merge(tx, self.env, session, into))

    # reading

    def sessions(
        self,
        filters: Filters = EVERYTHING,
        *,
        limit: int = 50,
        after: tuple[int, str] | None = None,
    ) -> "list[overview.SessionLine]":
        """Sessions, the last used first; `after` is the (updated_at, label) of the last one seen.

        Times are those of the last use, the turn status is that of the head or of a live turn; a model is one that any
        of its turns used.
        """
        most = texts.limit(limit)
        at, label = after or (ALL, "")
        if filters.until is not None and filters.until <= at:
            at, label = filters.until - 1, ""  # one bound: it is where the index is entered
        with self.database.read() as tx:
            found = tx.rows("session_list", before_at=at, after_label=label, limit=most, **filters.bound())
            openings = threads.openings(tx, [row[1] for row in found if row[1] is not None])
        width = len(rows.SessionRow.__struct_fields__)
        lines: list[overview.SessionLine] = []
        for row in found:
            session = rows.SessionRow(*row[:width])
            known = [openings.get(session.thread_id or ""), overview.used_at(session, row[-2]), row[-1]]
            lines.append(overview.SessionLine(session, *row[width:-2], *known))
        return lines

    def origins(self) -> dict[str, int]:
        """How many sessions came from each agent."""
        with self.database.read() as tx:
            return {row[0]: row[1] for row in tx.rows("session_origins")}

    def session(self, label: str) -> "rows.SessionRow":
        """One session, by its label, an alias, or the id that its agent gave it."""
        with self.database.read() as tx:
            return sessions.require(tx, label)

    def former(self, label: str) -> "rows.SessionRow | None":
        """The session that a label meant before it led to another one, by a merge."""
        with self.database.read() as tx:
            return sessions.former(tx, texts.label(label, "session label"))

    def head(self, session: str, *, at: int | None = None, seq: int | None = None) -> str | None:
        """The turn a session points at: now, at a time (as claimed by the clock), or after a commit (exact).

        A label that leads to another session since a merge has its own past.
        """
        with self.database.read() as tx:
            if at is None and seq is None:
                return sessions.require(tx, session).thread_id
            label = sessions.own(tx, session).label
            if seq is not None:
                move = tx.first("head_at_seq", label=label, seq=texts.integer(seq, "seq"))
            else:
                move = tx.first("head_at_time", label=label, at=texts.integer(at, "at"))
            return None if move is None else str(move[2])

    def history(self, session: str, *, after: int = 0, limit: int = ALL) -> "list[rows.MoveRow]":
        """Every movement of a session's pointer, oldest first; a page: those after a number.

        A label that leads to another session since a merge has its own.
        """
        most = texts.limit(limit)
        with self.database.read() as tx:
            label = sessions.own(tx, session).label
            return [rows.MoveRow(*row) for row in tx.rows("moves_of", label=label, after=after, limit=most)]

    def aliases(self, session: str) -> "list[rows.AliasRow]":
        """The other keys of a session."""
        with self.database.read() as tx:
            label = sessions.require(tx, session).label
            return [rows.AliasRow(*row) for row in tx.rows("aliases_of", label=label)]

    def subagents(self, session: str) -> "list[rows.SessionRow]":
        """The sessions that a session's tool calls started."""
        with self.database.read() as tx:
            label = sessions.require(tx, session).label
            return [rows.SessionRow(*row) for row in tx.rows("subagents_of", label=label)]

    def find(self, text: str) -> str:
        """A turn's id from an id, its end or beginning, or a session's label."""
        with self.database.read() as tx:
            return threads.find(tx, text)

    def live_turns(self, session: str | None = None) -> "list[overview.Live]":
        """The turns that are being written, of a session or of all, and those that dead writers left behind."""
        with self.database.read() as tx:
            label = None if session is None else sessions.require(tx, session).label
            return closing.live_turns(tx, self.env, label)

    def get(self, turn_id: str) -> "rows.Record":
        """One whole turn."""
        with self.database.read() as tx:
            return records.read_record(tx, turn_id)

    def ancestry(self, turn_id: str) -> list[str]:
        """The ids from the root to a turn."""
        with self.database.read() as tx:
            return threads.ancestry(tx, turn_id)

    def thread(self, turn_id: str, *, from_depth: int = 1, limit: int | None = None) -> "list[rows.Record]":
        """The whole turns from the root (or a depth) to a turn; at most `limit` of them."""
        last = None if limit is None else from_depth + texts.limit(limit) - 1
        with self.database.read() as tx:
            return records.complete_all(tx, list(threads.path(tx, turn_id, from_depth, last)))

    def path(self, turn_id: str) -> "list[rows.TurnRow]":
        """The turns from the root to a turn, without what hangs on them."""
        with self.database.read() as tx:
            return list(threads.path(tx, turn_id))

    def children(self, turn_id: str) -> "list[rows.TurnRow]":
        """The turns that follow a turn directly."""
        with self.database.read() as tx:
            records.read_turn(tx, turn_id)
            return [rows.TurnRow(*row) for row in tx.rows("children", id=turn_id)]

    def tree(self, turn_id: str, *, above: int = ALL, limit: int = ALL) -> "overview.Tree":
        """The tree that a turn belongs to, and its sessions; from so many turns `above` it on, at most `limit`."""
        before, most = texts.limit(above, "number of turns above"), texts.limit(limit)
        with self.database.read() as tx:
            turn = records.read_turn(tx, turn_id)
            first = max(1, turn.depth - before)
            nodes = [
                overview.Node(*row) for row in tx.rows("tree_turns", root_id=turn.root_id, first=first, limit=most)
            ]
            heads = [(row[0], row[1]) for row in tx.rows("sessions_at", root_id=turn.root_id)]
            is_live = any(node.status in ("pending", "streaming") for node in nodes)
            left = [each.turn_id for each in closing.live_turns(tx, self.env) if each.is_left_behind] if is_live else []
            own = {node.id for node in nodes}.intersection(left)
            return overview.Tree(turn.root_id, nodes, heads, first, sorted(own))

    def roots(self, limit: int = 50, *, before: str = LAST) -> list[str]:
        """The first turns of all trees, newest first; a page: those before one."""
        most = texts.limit(limit)
        with self.database.read() as tx:
            if before != LAST:
                records.require_cursor(tx, before)
            return [row[0] for row in tx.rows("roots", limit=most, before=before)]

    def including(self, turn_id: str, *, after: str = "", limit: int = ALL) -> list[str]:
        """Every session that has ever had a turn in its thread, by name; a page: those after a label."""
        most = texts.limit(limit)
        with self.database.read() as tx:
            return threads.including(tx, turn_id, after, most)

    def context(self, turn_id: str, query: str | None = None) -> "context.Context":
        """What an agent would see after a turn."""
        with self.database.read() as tx:
            return context.assemble(tx, turn_id, query)

    def replay(self, turn_id: str, first: int | None = None, *, sees: bool = False) -> "replay.Replay":
        """A thread once more, event by event, from a depth on; `sees`: with what the model saw. Moves nothing."""
        return replay.replay(self.database, turn_id, first, sees=sees)

    def tools_outside(self, turn_id: str | None = None) -> "list[rows.CallRow]":
        """The calls of tools that their turn did not have, by its own toolset snapshot."""
        with self.database.read() as tx:
            if turn_id is not None:
                texts.turn_name(turn_id)
            found = [
                row[0] for row in tx.rows("tools_outside", turn_id=turn_id) if row[2] not in texts.read_json(row[5])
            ]
            return [rows.CallRow(*row) for call_id in found for row in tx.rows("call_by_id", id=call_id)]

    def search(
        self,
        text: str,
        *,
        filters: Filters = EVERYTHING,
        limit: int = 10,
        cursor: str | None = None,
        by: "finding.By | None" = None,
    ) -> "hits.Found":
        """Turns by what was said and done in them, grouped by session; at most `limit` sessions on a page."""
        wanted, most = texts.question(text, "query"), texts.limit(limit)
        self._catch_up()
        return finding.search(self.database, wanted, filters, limit=most, cursor=cursor, now=self.env.now(), by=by)

    def fork_points(
        self, question: str, *, filters: Filters = EVERYTHING, limit: int = 10, budget_tokens: int | None = None
    ) -> "ForkPoints":
        """The turns of all history from which a question is best asked, and why, the best first."""
        wanted, most = texts.question(question, "question"), texts.limit(limit)
        self._catch_up()
        return fork_points.fork_points(
            self.database, wanted, filters, limit=most, budget_tokens=budget_tokens, now=self.env.now()
        )

    def counts(self) -> dict[str, int]:
        """How much is in here."""
        with self.database.read() as tx:
            row = tx.first("counts")
        names = ("sessions", "turns", "messages", "tool_calls", "live", "seq")
        return dict(zip(names, row or (), strict=True))

    # caring

    def recover(self) -> list[str]:
        """Closes the live turns whose writers died, as failed; gives their ids."""
        with self.database.read() as tx:
            if not tx.rows("all_leases"):
                return []
        return self.database.write(lambda tx: closing.recover(tx, self.env))

    def verify(self, *, limit: int = 20, progress: Callable[[int], None] | None = None) -> "verify.Report":
        """Recomputes hashes, tree, heads, counters and sequences."""
        return verify.verify(self.database, limit=texts.limit(limit), progress=progress)

    def index(self) -> None:
        """Brings the search index and the sums of tokens up to date with everything that is sealed."""

        def body(tx: Tx) -> None:
            usage.catch_up(tx)
            search.catch_up(tx)

        self.database.write(body)

    def watch(self, turn: "live.LiveTurn") -> None:
        """Takes care of a live turn from just before it is written (called by the turn itself)."""
        self._live[turn.id] = turn
        self._heartbeat.start()

    def remind(self, due_at: float) -> None:
        """A live turn has words that are to be written by then, whatever it does (called by the turn itself)."""
        self._heartbeat.remind(due_at)

    def unwatch(self, turn: "live.LiveTurn") -> None:
        """A live turn has ended (called by the turn itself)."""
        if self._live.pop(turn.id, None) is not None:
            self._sealed_one()

    def _interrupt(self, turn: "live.LiveTurn") -> None:
        with suppress(LedgerError):  # its lease is left behind; the next opener closes the turn
            turn.fail("interrupted: the ledger was closed")

    def _catch_up(self) -> None:
        """Lets the search index have everything, if this can write."""
        if not self.database.readonly and finding.is_behind(self.database):
            self.index()

    def _sealed_one(self) -> None:
        """Feeds the search index from time to time: by itself, so that no word can keep a turn from being sealed."""
        self._unindexed += 1
        if self._unindexed >= search.BATCH:
            self._unindexed = 0
            with suppress(LedgerError):  # the next batch or a search takes it up again
                self.database.write(_feed)

    def _renew(self) -> None:
        if self._live:
            now = self.env.now()
            renewed = {"writer": self.writer, "now": now, "expires_at": now + lease.TTL_MS}
            self.database.write(lambda tx: tx.run("renew_leases", **renewed))


def _feed(tx: Tx) -> None:
    """The search index and the sums of tokens, after a batch of turns."""
    usage.catch_up_in_time(tx)
    search.catch_up(tx)
