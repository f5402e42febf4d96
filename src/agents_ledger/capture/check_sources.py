"""`verify --sources`: read all captured bytes again and compare what they contain with the ledger.

Only where sessions point and which entries their sources hold is compared here; `ldg rebuild` compares everything.
What was moved, forked or written in this ledger itself is no finding.
"""

from collections.abc import Callable, Iterator, Sequence

from msgspec import Struct

from agents_ledger.capture.rebuild import read_again
from agents_ledger.capture.scratch import place_for, scratch_folder
from agents_ledger.capture.standing import MOVED_HERE
from agents_ledger.ledger import Ledger
from agents_ledger.ledger.digest import content_of
from agents_ledger.ledger.records import read_record, read_turn
from agents_ledger.ledger.verify import Finding
from agents_ledger.model.formats import Machine
from agents_ledger.model.rows import MoveRow
from agents_ledger.store import Tx
from agents_ledger.store.database import Row


class SourceReport(Struct, frozen=True):
    """What was read again and what differs."""

    captures: int
    chain_entries: int  # on the active chains of all captures
    chain_under_head: int  # of them: in turns on the path to the head of their session
    findings: list[Finding]


def check_sources(
    ledger: Ledger, progress: Callable[[int, int], None] | None = None, machine: Machine | None = None
) -> SourceReport:
    """Read the captured bytes into a temporary ledger and compare the active chains and the imported heads."""
    place = place_for(ledger, machine)
    with scratch_folder(place) as folder, Ledger.open(f"sqlite:///{folder / 'again.db'}") as again:
        again.database.ask("PRAGMA synchronous=OFF")  # it is thrown away
        captures = read_again(ledger, again, progress, machine)
        with ledger.database.read() as here, again.database.read() as there:
            rows = there.rows("chains")
            off_head = {row[0] for row in there.rows("chains_off_the_head")}
            findings = [*_chains(here, rows, off_head), *_heads(here, there)]
    known = [row for row in rows if row[2] is not None]
    return SourceReport(len(captures), sum(row[2] for row in known), sum(row[3] for row in known), findings)


def _chains(here: Tx, rows: Sequence[Row], off_head: set[int]) -> Iterator[Finding]:
    """Captures whose chain is not under their head, or has other counts than when it was captured."""
    kept = {row[0]: row[2:] for row in here.rows("chains")}
    for capture_id, path, entries, under_head in rows:
        if capture_id in off_head:
            what = f"read again, {under_head} of {entries} entries on the active chain of {path} are under its head"
            yield Finding("captures", str(capture_id), what)
        elif entries is not None and kept.get(capture_id) not in (None, (None, None), (entries, under_head)):
            what = f"read again, the active chain of {path} has {entries} entries, not {kept[capture_id][0]}"
            yield Finding("captures", str(capture_id), what)


def _heads(here: Tx, there: Tx) -> Iterator[Finding]:
    """Sessions that do not point at the turn with which their sources end, although nobody moved them since."""
    for row in there.rows("all_sessions"):
        label, wanted = row[0], row[1]
        move = here.first("last_move", label=label)
        if wanted is None or here.first("session_by_label", label=label) is None:
            continue  # it is empty, or was merged into another one
        if move is None:
            yield Finding("sessions", label, f"points at no turn; its captured bytes end with {wanted}")
            continue
        head = MoveRow(*move)
        is_moved_here = head.reason in MOVED_HERE or read_turn(here, head.thread_id).evidence is None
        heads = [each[0] for each in here.rows("heads_ever", label=label)] if is_moved_here else [head.thread_id]
        if wanted not in heads and not _is_among(here, heads, content_of(read_record(there, wanted))):
            yield Finding("sessions", label, f"its captured bytes end with {wanted}, where it does not point")


def _is_among(here: Tx, turns: list[str], content: bytes) -> bool:
    return any(content_of(read_record(here, turn_id)) == content for turn_id in turns)
