"""Backups: copies of a ledger, opened and verified before they count."""

from collections.abc import Callable
from pathlib import Path

from msgspec import Struct

from agents_ledger.errors import StoreCorrupt
from agents_ledger.ledger.opening import opened_as_it_is
from agents_ledger.ledger.verify import Finding, Report, verify
from agents_ledger.store.migrate import pending

Progress = Callable[[int, int], None]


class Backup(Struct, frozen=True):
    """A backup that was written."""

    path: str
    size_bytes: int
    is_file: bool  # of SQLite; else a dump for `pg_restore`
    is_old: bool  # the ledger is not migrated yet, and neither is its backup
    findings: list[Finding]  # what `verify` found in the backup
    set_aside: tuple[str, ...] = ()  # what a deleted database of its name had left behind, by its new names

    @property
    def is_good(self) -> bool:
        """Whether nothing was found."""
        return not self.findings


def back_up(url: str, target: str, copying: Progress | None = None, verifying: Progress | None = None) -> Backup:
    """Copy a ledger into a new file while others read and write, then open the copy and verify it.

    A copy that is not good stays: it may be all that there is of a damaged ledger.
    """
    database = opened_as_it_is(url)
    try:
        is_file, is_old = database.dialect == "sqlite", bool(pending(database))
        copy = database.backup(target, copying)
    finally:
        database.close()
    try:
        findings = verify_file(copy.path, verifying).findings if is_file else []
    except StoreCorrupt as damage:  # so deep that SQLite gives up
        findings = [Finding("storage", "", str(damage))]
    return Backup(copy.path, Path(copy.path).stat().st_size, is_file, is_old, findings, copy.set_aside)


def verify_file(path: str, progress: Progress | None = None) -> Report:
    """Verify a ledger's file, opened read-only; of one that is not migrated yet only what SQLite itself can check."""
    database = opened_as_it_is(path)
    try:
        if pending(database):
            findings = [Finding("storage", "", text) for text in database.check()]
            return Report(0, 0, 0, findings)
        if progress is None:
            return verify(database)
        with database.read() as tx:
            row = tx.first("counts")
        turns = row[1] if row else 0
        return verify(database, progress=lambda done: progress(done, turns))
    finally:
        database.close()
