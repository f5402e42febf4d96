"""Sync: everything that is new in the sources goes into the ledger; what is there already costs a look."""

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import chain
from typing import TYPE_CHECKING

from agents_ledger.capture import refusals, turnstile
from agents_ledger.capture.discover import SCRATCH, Found, below, in_named, in_places, is_gone, stamp
from agents_ledger.capture.summary import Progress, Summary
from agents_ledger.errors import BadInput
from agents_ledger.formats import asked, formats
from agents_ledger.ledger import Ledger
from agents_ledger.model.captures import UNRECOGNISED, Capture
from agents_ledger.model.formats import Format, Machine
from agents_ledger.store.database import is_file, sqlite_path

if TYPE_CHECKING:  # what reads and writes is loaded when something has changed
    from agents_ledger.capture.taking import Taking

_TICK_MS = 2000  # the clocks of file systems may be this coarse
Changed = list[tuple[Found, Capture | None]]


class Sync:
    """Takes everything new from the agents' places, or from below given paths."""

    def __init__(self, ledger: Ledger, machine: Machine) -> None:
        self.ledger = ledger
        self.machine = machine
        self.formats = {form.name: form for form in formats()}
        self._known: dict[str, Capture] = {}
        self._refused: dict[str, int] = {}  # paths of what could not be captured: see `refusals`
        self._own = sqlite_path(ledger.database.url) if is_file(ledger.database.url) else ""  # the ledger's own file
        self._passed: set[str] = set()  # of those, what has not changed since
        self._asks_others = False  # there are other formats than when files were looked at that none recognised
        self._taking: Taking | None = None
        self._is_alone = False
        self._has_doubts = False  # somebody was stopped before second thoughts
        self._before: tuple[int, int] | None = None  # sessions and turns, when the round began
        self._taken = -1  # how often something was taken when all that is known was so

    @contextmanager
    def alone(self) -> Iterator[None]:
        """The right to sync this ledger for many rounds, of which nobody else has one; between them it rests."""
        with turnstile.alone(self.ledger, rests=True):
            self._is_alone = True
            try:
                yield
            finally:
                self._is_alone = False

    def has_kept(self) -> bool:
        """Whether something of a round that was stopped is in the ledger: it is written in batches."""
        if self._before is None or self._taking is None:
            return False
        # (a commit that was interrupted is one, or none)
        return self._taking.writer.commits > 0 or self._counts() != self._before

    def run(
        self,
        paths: Iterable[str] = (),
        sources: Iterable[str] = (),
        progress: Progress | None = None,
        *,
        is_full: bool = False,
    ) -> Summary:
        """One round over all sources; gives what was done.

        A source whose size and time are as before counts as unchanged. A full round compares the bytes of all of them.
        """
        chosen = self._chosen(sources)
        roots = [os.path.abspath(path) for path in paths]  # noqa: PTH100 - links stay as they are
        for root in roots:
            if not os.path.lexists(root):
                raise BadInput(f"{root} does not exist: name a folder or a file with sessions")
        places = self._places(roots, chosen)
        return self._round(places, chosen, roots, progress, is_full=is_full)

    def run_changed(self, changed: set[str], paths: Iterable[str], sources: Iterable[str]) -> Summary:
        """A round over files that are said to have changed, and nothing else."""
        chosen = self._chosen(sources)
        files = {path.removesuffix("-wal") for path in changed if SCRATCH not in path}
        near = chain.from_iterable(below(path, self._own) for path in sorted(files))
        places = near if paths else in_named(sorted(files), chosen, self.machine)
        return self._round(places, chosen, sorted(files), None)

    def roots(self, paths: Iterable[str], sources: Iterable[str]) -> list[str]:
        """The folders in which sources are looked for."""
        named = list(paths)
        if named:
            return named
        return [root.path for form in self._chosen(sources) for root in form.roots(self.machine)]

    def _places(self, roots: list[str], chosen: list[Format]) -> Iterable[Found]:
        if roots:
            return chain.from_iterable(below(root, self._own) for root in roots)
        return in_places(chosen, self.machine, self._own)

    def _round(
        self,
        places: Iterable[Found],
        chosen: list[Format],
        roots: list[str],
        progress: Progress | None,
        *,
        is_full: bool = False,
    ) -> Summary:
        """A look first: where nothing is new, nothing is written, not even who looks."""
        self._learn_anew()
        summary = Summary()
        before = self._before = self._counts()
        seen: set[str] = set()
        changed = self._changed(places, seen, summary, is_full=is_full)
        gone = self._gone(seen, roots, chosen)
        solved = self._solved(seen, changed)
        kept = self._kept_by_others(changed)
        if changed or gone or solved or kept or self._has_doubts:
            with self._awake():
                if self._learn_anew():  # others were faster
                    changed = self._still_changed(changed, summary, is_full=is_full)
                    gone = self._gone(seen, roots, chosen)
                    solved = self._solved(seen, changed)
                    kept = self._kept_by_others(changed)
                taking = self._ready()
                taking.take_all(changed, gone, chosen, summary, progress, solved, kept, is_full=is_full)
                self._asks_others = False
                self._reconsider()
        summary.sessions, summary.turns = self._counts() if changed or kept else before
        summary.new_sessions, summary.new_turns = summary.sessions - before[0], summary.turns - before[1]
        return summary

    def _counts(self) -> tuple[int, int]:
        with self.ledger.database.read() as tx:
            row = tx.first("capture_counts")
        assert row is not None, "counts always give a row"  # noqa: S101
        return row[0], row[1]

    def _chosen(self, sources: Iterable[str]) -> list[Format]:
        names = list(sources)
        for name in names:
            if name not in self.formats:
                raise BadInput(f"{name!r} is not a source: there are {', '.join(sorted(self.formats))}")
        return [self.formats[name] for name in names] if names else list(self.formats.values())

    @contextmanager
    def _awake(self) -> Iterator[None]:
        """The right to take something: for this once, or of a watch that rests between its rounds."""
        if self._is_alone:
            right, own = turnstile.awake(self.ledger), 1
        else:
            right, own = turnstile.alone(self.ledger), 0
        with right:
            self._taken += own
            try:
                yield
            finally:
                if self._taking is not None:
                    self._taking.writer.look_anew()
        self._taken += 1  # by leaving; whatever else there was is from others

    def _learn_anew(self) -> bool:
        """Learns what is captured already, if others took something since; whether that was so."""
        with self.ledger.database.read() as tx:
            taken = turnstile.taken(tx)
            if taken == self._taken:
                return False
            found = [Capture(*row) for row in tx.rows("current_captures")]
            refused = refusals.refused(tx)
            last_asked = tx.value("fact", name=refusals.ASKED)
            self._has_doubts = tx.value("fact", name=turnstile.IN_DOUBT) not in (None, "[]")
        self._taken = taken
        self._known.clear()
        self._known.update((capture.path, capture) for capture in found)
        self._refused.clear()
        self._refused.update(refused)
        is_any = bool(refused) or any(capture.format == UNRECOGNISED for capture in found)
        self._asks_others = is_any and last_asked != asked()
        if self._taking is not None:
            self._taking.writer.renumber()
        return True

    def _ready(self) -> "Taking":
        """What takes sources; it learns what is known together with this."""
        if self._taking is None:
            from agents_ledger.capture.taking import Taking  # noqa: PLC0415 - as above

            self._taking = Taking(self.ledger, self._known, self._refused, self.machine)
        return self._taking

    def _reconsider(self) -> None:
        """Has second thoughts, where something was read at a bad time."""
        taking = self._ready()
        if taking.writer.in_doubt:
            from agents_ledger.capture.reconsidering import reconsider  # noqa: PLC0415 - as above

            reconsider(taking)
        self._has_doubts = False

    # what is to be read

    def _changed(self, places: Iterable[Found], seen: set[str], summary: Summary, *, is_full: bool) -> Changed:
        changed: Changed = []
        self._passed.clear()
        for found in places:
            summary.found += not found.problem
            seen.add(found.name)
            known = self._known.get(found.name)
            if not is_full and self._is_done(found, known):
                summary.unchanged += 1
            else:
                changed.append((found, known))
        return changed

    def _still_changed(self, changed: Changed, summary: Summary, *, is_full: bool) -> Changed:
        """The same as is known now."""
        if is_full:
            return [(found, self._known.get(found.name)) for found, _ in changed]
        anew = ((found, self._known.get(found.name)) for found, _ in changed)
        still = [(found, known) for found, known in anew if not self._is_done(found, known)]
        summary.unchanged += len(changed) - len(still)
        return still

    def _is_done(self, found: Found, known: Capture | None) -> bool:
        """Whether a file is as it was: captured, or looked at and not kept because of what it is."""
        if known is not None and _is_unchanged(found, known):
            return True
        looked_at = self._refused.get(found.name, refusals.AGAIN)
        if looked_at == refusals.AGAIN or self._asks_others or not found.is_regular:
            return False
        if found.changed_ns // 1_000_000 >= looked_at - _TICK_MS:
            return False
        self._passed.add(found.name)
        return True

    def _kept_by_others(self, changed: Changed) -> list[Capture]:
        """What no format recognised when others were asked."""
        if not self._asks_others:
            return []
        to_do = {found.name for found, _ in changed}
        kept = (capture for capture in self._known.values() if capture.format == UNRECOGNISED)
        return [capture for capture in kept if capture.path not in to_do]

    def _gone(self, seen: set[str], roots: list[str], chosen: list[Format]) -> list[Capture]:
        """Captures whose sources are no longer there."""
        names = {form.name for form in chosen}
        if len(names) == len(self.formats):
            names.add(UNRECOGNISED)
        gone: list[Capture] = []
        for path, capture in self._known.items():
            if path in seen or capture.state == "gone" or capture.format not in names:
                continue
            file = path.partition("#")[0] if capture.shape == "database" else path
            if roots and not any(file == root or file.startswith(f"{root}{os.sep}") for root in roots):
                continue
            if is_gone(file):
                gone.append(capture)
        return gone

    def _solved(self, seen: set[str], changed: Changed) -> list[str]:
        """What could not be captured once, and is captured, gone or (a folder) open by now."""
        if not self._refused:
            return []
        to_do = {found.name for found, _ in changed}
        left = sorted(self._refused.keys() - to_do - self._passed)
        return [path for path in left if path in seen or is_gone(path) or refusals.is_open(path)]


def _is_unchanged(found: Found, known: Capture) -> bool:
    if known.state == "gone":
        return False  # it is back
    if known.shape == "database":
        return known.modified_ns == stamp(found)
    is_same = known.modified_ns == found.modified_ns and known.size_bytes == found.size_bytes
    if known.format == UNRECOGNISED:
        return is_same
    return is_same and (known.read_bytes > 0 or known.shape == "lines" or not known.size_bytes)
