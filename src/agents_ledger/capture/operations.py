"""What a batch is made of: small values that each write one thing in its transaction."""

import msgspec
from msgspec import Struct

from agents_ledger.capture.details import Details, merge
from agents_ledger.capture.native_chain import Counts
from agents_ledger.errors import LedgerError
from agents_ledger.ledger import captured, evidence, notes, sessions
from agents_ledger.ledger.bulk import Batch
from agents_ledger.ledger.env import Env
from agents_ledger.model.captures import Capture
from agents_ledger.model.steps import Problem
from agents_ledger.store import Tx


class PutCapture(Struct, frozen=True):
    """What is known about a capture."""

    capture: Capture
    resume: bytes | None
    awaits: str | None
    chain: Counts | None = None

    def __call__(self, tx: Batch) -> None:
        """Writes it."""
        values = msgspec.structs.asdict(self.capture)
        del values["can_resume"], values["is_awaiting"]
        entries, under_head = (None, None) if self.chain is None else (self.chain.entries, self.chain.under_head)
        values |= {"resume": self.resume, "awaits": self.awaits}
        tx.beside.run("put_capture", **values, chain_entries=entries, chain_under_head=under_head)


class PutBlock(Struct, frozen=True):
    """A block of a capture."""

    capture_id: int
    idx: int
    block: evidence.Block

    def __call__(self, tx: Batch) -> None:
        """Writes it."""
        evidence.put_blocks(tx.beside, self.capture_id, self.idx, [self.block])


class Grow(Struct, frozen=True):
    """A capture is as long as this by now."""

    capture_id: int
    size_bytes: int
    digest: bytes

    def __call__(self, tx: Batch) -> None:
        """Writes it."""
        tx.beside.run("grow_capture", id=self.capture_id, size_bytes=self.size_bytes, digest=self.digest)


class PutProblem(Struct, frozen=True):
    """Something wrong with a source."""

    path: str
    place: int
    problem: Problem
    capture_id: int | None
    at: int

    def __call__(self, tx: Batch) -> None:
        """Writes it."""
        detail = self.problem.detail.encode("utf-8", "replace").decode().replace("\x00", "␀")
        tx.beside.run(
            "put_problem",
            path=self.path,
            place=self.place,
            code=self.problem.code,
            detail=detail[:500],
            capture_id=self.capture_id,
            seen_at=self.at,
        )


class Forget(Struct, frozen=True):
    """What was wrong with a source and is no longer so."""

    path: str
    code: str

    def __call__(self, tx: Batch) -> None:
        """Writes it."""
        tx.beside.run("drop_problems", path=self.path, code=self.code)


class ForgetAll(Struct, frozen=True):
    """What was wrong with a source, or with the files of a bundle, when it was read before: it is read anew."""

    path: str
    capture_id: int
    bundle: str | None

    def __call__(self, tx: Batch) -> None:
        """Writes it."""
        if self.bundle is None:
            tx.beside.run("drop_told_problems", path=self.path, capture_id=self.capture_id)
        else:
            tx.beside.run("drop_told_problems_in", bundle=self.bundle)


class Touch(Struct, frozen=True):
    """A source with the same bytes and another time."""

    capture_id: int
    modified_ns: int

    def __call__(self, tx: Batch) -> None:
        """Writes it."""
        tx.beside.run("touch_capture", id=self.capture_id, modified_ns=self.modified_ns)


class SetState(Struct, frozen=True):
    """A capture is gone, or replaced."""

    capture_id: int
    state: str

    def __call__(self, tx: Batch) -> None:
        """Writes it."""
        tx.beside.run("set_capture_state", id=self.capture_id, state=self.state)


class WasRead(Struct, frozen=True):
    """All of a capture is in the record."""

    capture_id: int

    def __call__(self, tx: Batch) -> None:
        """Writes it."""
        tx.beside.run("capture_was_read", id=self.capture_id)


class Belongs(Struct, frozen=True):
    """A session was read from a capture, too."""

    label: str
    capture_id: int

    def __call__(self, tx: Batch) -> None:
        """Writes it."""
        args = {"session_label": self.label, "capture_id": self.capture_id}
        tx.tell(self.label, lambda beside: beside.run("put_session_capture", **args))


class Begin(Struct, frozen=True):
    """Notes where a session points before a source is read."""

    label: str
    heads: dict[str, str | None]

    def __call__(self, tx: Batch) -> None:
        """Looks it up."""
        if self.label not in self.heads:  # (a batch may be tried again)
            self.heads[self.label] = tx.head(self.label)


class Point(Struct, frozen=True):
    """A session points at a turn."""

    label: str
    turn_id: str
    at: int
    reason: str

    def __call__(self, tx: Batch) -> None:
        """Writes it."""
        tx.point(self.label, self.turn_id, self.at, self.reason)


class End(Struct, frozen=True):
    """A session points at the turn that a source ends with, unless another one has led it further, or later elsewhere.

    So it does not matter which of two files that tell a session differently is read first.
    """

    label: str
    turn_id: str
    at: int
    owners: frozenset[int]
    by: int  # only what it has led to may it lead back
    heads: dict[str, str | None]  # where sessions pointed before it was read

    def __call__(self, tx: Batch) -> None:
        """Writes it."""
        head = tx.head(self.label)
        if head != self.turn_id and captured.is_behind_head(tx, self.label, self.turn_id, self.by):
            return
        before = self.heads.get(self.label)
        is_later = before is not None and captured.is_later_elsewhere(tx, before, self.turn_id, self.owners)
        tx.point(self.label, before if before is not None and is_later else self.turn_id, self.at, "import")


class Retract(Struct, frozen=True):
    """Open turns of a source that it does not tell any more, now that more of it is known."""

    capture_id: int
    owners: frozenset[int]
    seen: frozenset[str]

    def __call__(self, tx: Batch) -> None:
        """Writes it."""
        for owner in sorted(self.owners):
            for (turn_id,) in tx.rows("open_turns_of", first=f"{owner}:", last=f"{owner};"):
                if turn_id not in self.seen:
                    captured.retract(tx, tx.env, turn_id)


class RetractOne(Struct, frozen=True):
    """An open turn that turned out to be another one."""

    turn_id: str

    def __call__(self, tx: Batch) -> None:
        """Writes it."""
        captured.retract(tx, tx.env, self.turn_id)


class LookBack(Struct, frozen=True):
    """Sealed turns of files that were read together, and do not tell them any more: then these are in doubt."""

    labels: frozenset[str]
    owners: frozenset[int]
    seen: frozenset[str]
    in_doubt: set[tuple[int, int]]

    def __call__(self, tx: Batch) -> None:
        """Looks."""
        roots = {row[0] for label in self.labels for row in tx.rows("roots_of_session", label=label)}
        for turn_id, where in [row for root in sorted(roots) for row in tx.rows("sealed_of_root", root_id=root)]:
            if turn_id not in self.seen and self.owners.issuperset(place[0] for place in evidence.places(where)):
                self.in_doubt.update((owner, owner) for owner in self.owners)


class Supersede(Struct, frozen=True):
    """A turn that does not stand any more, now that more of what tells of it is known."""

    turn_id: str
    by: str | None
    at: int

    def __call__(self, tx: Batch) -> None:
        """Writes it."""
        captured.supersede(tx, self.turn_id, self.by, self.at)


class Reinstate(Struct, frozen=True):
    """A turn that stands again."""

    turn_id: str
    at: int

    def __call__(self, tx: Batch) -> None:
        """Writes it."""
        captured.reinstate(tx, self.turn_id, self.at)


class SetReading(Struct, frozen=True):
    """Where the reading of a source goes on, and what it waits for."""

    capture_id: int
    resume: bytes | None
    awaits: str | None

    def __call__(self, tx: Batch) -> None:
        """Writes it."""
        tx.beside.run("set_reading", id=self.capture_id, resume=self.resume, awaits=self.awaits)


class PutChain(Struct, frozen=True):
    """The counts of a capture's active chain, after its family was read anew."""

    capture_id: int
    entries: int | None
    under_head: int | None

    def __call__(self, tx: Batch) -> None:
        """Write them."""
        counts = {"chain_entries": self.entries, "chain_under_head": self.under_head}
        tx.beside.run("put_chain", id=self.capture_id, **counts)


class Remember(Struct, frozen=True):
    """What is known about a session."""

    label: str
    details: Details

    def __call__(self, tx: Batch) -> None:
        """Writes it."""
        tx.tell(self.label, self._write)

    def _write(self, tx: Tx) -> None:
        row = tx.first("details_of", label=self.label)
        kept = Details(self.label) if row is None else Details(*row)
        merged = merge(kept, self.details)
        tx.run_all("put_details", [merged])
        notes.note_title(tx, self.label, merged.title)
        if merged.routing_key is not None:
            captured.set_routing_key(tx, self.label, merged.routing_key)


class Alias(Struct, frozen=True):
    """Another name of a session; one that is taken stays with whom it has."""

    alias: str
    label: str
    at: int

    def __call__(self, tx: Batch) -> None:
        """Writes it."""
        try:
            sessions.add_alias(tx, Env(now=lambda: self.at), self.alias, self.label, "routing_key")
        except LedgerError:
            return
