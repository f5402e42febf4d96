"""The whole ledger once more, from its evidence alone."""

from collections.abc import Callable

from msgspec import Struct

from agents_ledger.capture import turnstile
from agents_ledger.capture.links import link_children
from agents_ledger.capture.reconsidering import reconsider
from agents_ledger.capture.replaying import copy_bytes, read_copy, share_secret
from agents_ledger.capture.taking import Taking, inner_first
from agents_ledger.errors import BadInput
from agents_ledger.ledger import Ledger, moves, written
from agents_ledger.ledger.digest import digest
from agents_ledger.ledger.sessions import Origin
from agents_ledger.model.captures import Capture
from agents_ledger.model.formats import Machine
from agents_ledger.model.rows import SessionRow
from agents_ledger.model.rules import RETRACTED
from agents_ledger.store import Tx

_PAGE = 500


class Report(Struct, frozen=True):
    """What was built, and whether it says the same."""

    captures: int
    sessions: int
    turns: int
    not_rebuilt: int  # turns that were written here: there is no evidence of them
    digest_before: str
    digest_after: str
    set_aside: tuple[str, ...] = ()  # what a deleted ledger had left where the new one is, by its new names

    @property
    def same(self) -> bool:
        """Whether both ledgers say the same."""
        return self.digest_before == self.digest_after


def rebuild(
    ledger: Ledger,
    target_url: str,
    progress: Callable[[int, int], None] | None = None,
    machine: Machine | None = None,
) -> Report:
    """A new ledger at another place, out of this one's evidence."""
    with Ledger.open(target_url) as target:
        if target.counts()["sessions"] or target.database.url == ledger.database.url:
            raise BadInput(f"{target.database.url} is not empty: name a new place for the rebuilt ledger")
        captures = read_again(ledger, target, progress, machine)
        target.index()
        counts = target.counts()
        _fork_again(ledger, target)
        with ledger.database.read() as tx:
            without_evidence = int(tx.value("turns_without_evidence", retracted=RETRACTED))
        return Report(
            captures=len(captures),
            sessions=counts["sessions"],
            turns=counts["turns"],
            not_rebuilt=without_evidence,
            digest_before=digest(ledger.database),
            digest_after=digest(target.database),
            set_aside=target.database.set_aside,
        )


def read_again(
    ledger: Ledger,
    target: Ledger,
    progress: Callable[[int, int], None] | None = None,
    machine: Machine | None = None,
) -> list[Capture]:
    """Read all captured bytes of a ledger into an empty one; gives the captures."""
    _take_over(ledger, target)
    captures = _captures(ledger)
    with turnstile.alone(target):
        _replay(ledger, Taking(target, machine=machine), captures, progress)
    return captures


def _take_over(ledger: Ledger, target: Ledger) -> None:
    """What salts are made from, and what was written from here."""
    share_secret(ledger, target)
    with ledger.database.read() as tx:
        forks = written.every(tx)
    target.database.write(lambda tx: written.keep(tx, forks))


def _fork_again(ledger: Ledger, target: Ledger) -> None:
    """Forks that were written for an agent which has not gone on with them yet: there is no evidence of them."""
    with ledger.database.read() as tx:
        rows = [(row, tx.first("session_by_label", label=row.session_label)) for row in written.every(tx)]

    def body(tx: Tx) -> None:
        for row, known in rows:
            session = None if known is None else SessionRow(*known)
            is_here = tx.first("session_by_label", label=row.session_label) is not None
            if session is not None and not is_here and tx.first("turn_by_id", id=row.turn_id) is not None:
                origin = Origin(origin=session.origin, origin_session_id=session.origin_session_id)
                moves.fork(tx, target.env, row.turn_id, row.session_label, origin)

    target.database.write(body)


def _captures(ledger: Ledger) -> list[Capture]:
    found: list[Capture] = []
    after = 0
    while True:
        with ledger.database.read() as tx:
            page = [Capture(*row) for row in tx.rows("captures_page", after=after, format=None, limit=_PAGE)]
        if not page:
            return found
        found += page
        after = page[-1].id


def _replay(
    ledger: Ledger, taking: Taking, captures: list[Capture], progress: Callable[[int, int], None] | None
) -> None:
    """Every capture in the order in which it came, and what belongs together as it was together."""
    total = sum(capture.size_bytes for capture in captures)
    done = 0
    bundles: dict[str, list[Capture]] = {}
    for capture in captures:
        copy_bytes(ledger, taking.taker, capture)
        if capture.shape == "bundle":
            bundles.setdefault(capture.bundle or capture.path, []).append(capture)
        taking.writer.flush()
        read_copy(taking, capture)
        done += capture.size_bytes
        if progress:
            progress(done, total)
    for folder in inner_first(bundles):
        taking.read_bundle(folder)
    taking.writer.flush()
    taking.read_awaiting()
    reconsider(taking)
    taking.writer.add(link_children)
    taking.writer.flush()
