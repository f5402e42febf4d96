"""Second thoughts: sources whose order misled the ledger are read anew, all of their family, in one order.

Files come late, a copy before its origin, an archive in pieces: then a turn is sealed that would not be there, had
everything been read at once. Whoever notices puts the source in doubt (`Writer.in_doubt`). Here its family is read
into a ledger of its own, and what it says there stands in this one.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial

from agents_ledger.capture.discover import HEAD_BYTES, Found, began, outlined, recognise
from agents_ledger.capture.families import Family, families
from agents_ledger.capture.links import link_children
from agents_ledger.capture.replaying import copy_bytes, read_copy, share_secret
from agents_ledger.capture.scratch import scratch_folder
from agents_ledger.capture.standing import Standing
from agents_ledger.capture.taking import Taking, inner_first
from agents_ledger.capture.turnstile import IN_DOUBT
from agents_ledger.ledger import Ledger, evidence
from agents_ledger.model.captures import Capture

_USUAL = 50  # the place of what is not recognised any more in the order of reading


def reconsider(taking: Taking) -> None:
    """Reads the families of doubtful sources anew, and lets that stand which they say then."""
    if taking.writer.in_doubt:
        try:
            _reconsider(taking)
        except Exception:  # whatever it is, it is said once: the next sync must not fail by it again
            taking.ledger.database.write(lambda tx: tx.run("put_fact", name=IN_DOUBT, value="[]"))
            raise


def _reconsider(taking: Taking) -> None:
    writer = taking.writer
    with taking.ledger.database.read() as tx:
        found = [family for family in families(tx, writer.in_doubt) if not _is_well_read(family, taking.fresh)]
    for family in found:
        with _read_anew(taking, family) as anew:
            Standing(writer, anew, family).write()
        writer.flush()
    writer.in_doubt.clear()
    writer.add(link_children)
    writer.flush()


def _is_well_read(family: Family, fresh: set[int]) -> bool:
    """Whether a family was read as it would be anew: all of it in this round, or its one file from the beginning on."""
    one, *others = family.captures.values()
    return family.captures.keys() <= fresh or (not others and one.shape == "lines")


@contextmanager
def _read_anew(taking: Taking, family: Family) -> Iterator[Ledger]:
    """A ledger that has read a family and nothing else."""
    ledger = taking.ledger
    with scratch_folder(taking.scratch) as folder, Ledger.open(f"sqlite:///{folder / 'family.db'}") as anew:
        anew.database.ask("PRAGMA synchronous=OFF")  # it lives for a moment
        share_secret(ledger, anew)
        reading = Taking(anew)
        for capture in family.captures.values():
            copy_bytes(ledger, reading.taker, capture)
            if reading.writer.is_full:
                reading.writer.flush()
        reading.writer.flush()
        _read(reading, _in_order(taking, family.captures.values()))
        yield anew


def _read(reading: Taking, captures: list[Capture]) -> None:
    for capture in captures:
        read_copy(reading, capture)
        if reading.writer.is_full:
            reading.writer.flush()
    folders = [capture.bundle for capture in captures if capture.shape == "bundle" and capture.bundle is not None]
    for folder in inner_first(folders):
        if not folder.endswith("#evidence"):
            reading.read_bundle(folder)
    reading.writer.flush()
    reading.read_awaiting()
    reading.writer.flush()


def _in_order(taking: Taking, captures: Iterable[Capture]) -> list[Capture]:
    """As one sync of all of them would read them, with what they were before ahead of what they are."""
    return sorted(captures, key=lambda each: (*_place(taking, each), each.path, each.generation))


def _place(taking: Taking, capture: Capture) -> tuple[int, bytes]:
    form = taking.formats.get(capture.format)
    if form is None or capture.shape not in ("lines", "document"):
        return _USUAL, began(capture.shape, b"")
    with taking.ledger.database.read() as tx:
        head = next(evidence.read(tx, capture.id), b"")[:HEAD_BYTES]
        found = Found(capture.path, capture.size_bytes, capture.modified_ns)
        claim = recognise(found, [form], head)
        if claim is None and (brief := outlined(head, partial(evidence.first_bytes, tx, capture.id))) is not None:
            claim = recognise(found, [form], brief)
    return _USUAL if claim is None else claim[1].order, began(capture.shape, head)
