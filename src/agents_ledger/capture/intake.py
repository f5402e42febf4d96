"""Single files on their way into the ledger, as soon as somebody has written them: one commit, no round over sources.

Nothing is held while a file is read: the commit goes through only if no sync is in a round and nobody has taken
anything meanwhile; otherwise it is read once more. So a live writer and `ldg sync --watch` get along.
"""

import random
import time
from collections.abc import Iterable
from functools import partial
from pathlib import Path

from agents_ledger.capture import turnstile
from agents_ledger.capture.discover import HEAD_BYTES, Found, below, is_gone, outlined, recognise
from agents_ledger.capture.files import SourceFile
from agents_ledger.capture.links import link_children
from agents_ledger.capture.taking import Taking
from agents_ledger.errors import LedgerBehind
from agents_ledger.ledger import Ledger
from agents_ledger.model.captures import Capture
from agents_ledger.model.formats import Format
from agents_ledger.store import Tx

PATIENCE_MS = 30_000
_NAP_MS = 20


class _Meanwhile(Exception):
    """Somebody else has taken something since we looked."""


class Intake:
    """Takes files of one format into a ledger, each time that somebody says they have changed."""

    def __init__(self, ledger: Ledger, format_name: str, patience_ms: int = PATIENCE_MS) -> None:
        self._ledger = ledger
        self._name = format_name
        self._patience_ms = patience_ms
        self._taking = self._fresh()

    def take(self, paths: Iterable[str], *, has_subagents: bool = False) -> None:
        """What is new in some files, and which of them are gone, in one commit.

        Subagents are linked with their calls when a file is new, or if it is said that there are some in it.
        """
        wanted = list(dict.fromkeys(paths))
        until = time.monotonic() + self._patience_ms / 1000
        while True:
            try:
                self._take(wanted, has_subagents)
            except _Meanwhile:
                self._taking = self._fresh()  # what it was about to write is not so any more
                if time.monotonic() > until:
                    raise LedgerBehind(
                        f"{wanted[0]} is written, but a sync has kept this ledger busy for "
                        f"{self._patience_ms // 1000} s: the next `ldg sync` takes it"
                    ) from None
                time.sleep(random.uniform(0.1, 1) * _NAP_MS / 1000)  # noqa: S311 - so that two do not meet again
            except BaseException:
                self._taking = self._fresh()
                raise
            else:
                return

    def _take(self, paths: list[str], has_subagents: bool) -> None:
        writer, now = self._taking.writer, self._ledger.env.now()
        with self._ledger.database.read() as tx:
            if turnstile.is_busy(tx, self._ledger.env):
                raise _Meanwhile
            begin = turnstile.taken(tx) - writer.commits
            known = {path: Capture(*row) for path in paths if (row := tx.first("capture_at", path=path)) is not None}

        def guard(tx: Tx) -> None:
            if turnstile.is_busy(tx, self._ledger.env) or turnstile.taken(tx) != begin + writer.commits:
                raise _Meanwhile
            turnstile.take(tx)

        writer.guard = guard
        writer.renumber()
        are_new = [self._take_one(path, known.get(path), now) for path in paths]
        form = self._taking.formats[self._name]
        for folder in dict.fromkeys(folder for path in paths if (folder := form.bundle(path)) is not None):
            self._taking.read_bundle(folder)
        if any(are_new) or has_subagents:
            writer.add(link_children)
        writer.flush()
        if any(are_new) or writer.to_read_again:
            self._taking.read_awaiting()

    def _take_one(self, path: str, known: Capture | None, now: int) -> bool:
        """Takes what is new in a file; whether it was not known before."""
        found = next(below(path), None)
        if found is None:
            if known is not None and known.state != "gone" and is_gone(path):
                self._taking.taker.set_state(known.id, "gone")
            return False
        form = self._taking.formats[self._name]
        if known is not None and known.state == "current" and _is_same(found, known):
            return False
        kind = self._kind(found, form, known)
        if kind is None:
            return False
        name, shape = kind
        if shape == "lines":
            self._taking.taker.lines(found, form, name, known, now)
        else:
            bundle = (form.bundle(found.name) or str(Path(found.name).parent)) if shape == "bundle" else None
            self._taking.taker.document(found, form, name, known, now, bundle=bundle)
        return known is None

    def _kind(self, found: Found, form: Format, known: Capture | None) -> tuple[str, str] | None:
        if known is not None and known.format == self._name:
            return known.kind, known.shape
        with SourceFile(found.path) as file:
            head = file.at(0, HEAD_BYTES)
            claim = recognise(found, [form], head)
            if claim is None and (brief := outlined(head, partial(file.at, 0))) is not None:
                claim = recognise(found, [form], brief)
        return None if claim is None else (claim[1].name, claim[1].shape)

    def _fresh(self) -> Taking:
        return Taking(self._ledger)


def _is_same(found: Found, known: Capture) -> bool:
    return (known.modified_ns, known.size_bytes) == (found.modified_ns, found.size_bytes)
