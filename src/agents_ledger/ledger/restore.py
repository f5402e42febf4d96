"""Restoring a backup: it is copied and verified first, then takes the ledger's place; the replaced file is kept."""

import os
from pathlib import Path

from msgspec import Struct

from agents_ledger.errors import BadInput, NotALedger, NotFound, StoreCorrupt, StoreFull, StoreUnreachable
from agents_ledger.ledger.backups import Progress, verify_file
from agents_ledger.ledger.opening import bring_up_to_date, opened_as_it_is
from agents_ledger.ledger.verify import Report
from agents_ledger.store import open_database
from agents_ledger.store.database import Database, is_file, sqlite_path
from agents_ledger.store.files import absolute, beside_place, create_private, require_folder
from agents_ledger.store.migrate import require_ledger
from agents_ledger.store.replacing import Replaced, replace_database, require_unused
from agents_ledger.store.sidecars import discard
from agents_ledger.store.sqlite import SqliteDatabase, prepare


class Restored(Struct, frozen=True):
    """A ledger that was restored."""

    path: str
    backup: str
    kept: str | None  # the new name of the file that was replaced; None: there was none
    set_aside: tuple[str, ...]  # what a deleted ledger had left behind, by its new names
    migrated: tuple[str, ...]  # the steps by which an older backup was brought up to date
    report: Report


def restore(backup: str, target: str, copying: Progress | None = None, verifying: Progress | None = None) -> Restored:
    """Put a copy of a backup in the place of a ledger, whose own file may be healthy, damaged or missing.

    A ledger that is open anywhere is refused. Until the copy is verified nothing of the ledger changes; then one rename
    puts it in place. The backup stays as it is.
    """
    source, final = _source(backup), _place(target)
    if final.exists():
        if final.samefile(source):
            raise BadInput(f"{source} is the ledger itself: name a backup of it")
        require_unused(final)
        _refuse_foreign(final)
    partial = beside_place(final, "partial")
    try:
        os.close(create_private(partial))
        _copy(source, partial, copying)
        try:
            migrated = _prepare(partial)
            report = verify_file(str(partial), verifying)
        except (StoreCorrupt, NotALedger) as damage:
            raise _not_good(source, final, str(damage.__cause__ or damage)) from None
        if not report.is_good:
            first = report.findings[0]
            where = " ".join(filter(None, (first.place, first.row)))
            raise _not_good(source, final, f"{where}: {first.what}")
        _keep_rights(final, partial)
        replaced: Replaced = replace_database(partial, final)
    except OSError as problem:
        if isinstance(problem, PermissionError):
            raise StoreUnreachable(f"can't write {final} ({problem.strerror}): may you write to its folder?") from None
        raise StoreFull(f"can't write {final} ({problem.strerror}): free some space and try again") from None
    finally:
        discard(str(partial))
    return Restored(str(final), str(source), replaced.kept, replaced.set_aside, migrated, report)


def _not_good(source: Path, final: Path, why: str) -> StoreCorrupt:
    return StoreCorrupt(f"{source} is not good ({why}): {final} stays as it is. Restore an older backup")


def _source(backup: str) -> Path:
    if not is_file(backup):
        raise BadInput("a backup is a file: name its path")
    source = Path(absolute(sqlite_path(backup)))
    if not source.is_file():
        raise NotFound(f"there is no file {source}: name one that `ldg backup` wrote")
    return source


def _place(target: str) -> Path:
    if not is_file(target):
        raise BadInput(
            "a PostgreSQL ledger is restored by `pg_restore --dbname=… BACKUP` into an empty database; "
            "`ldg restore` replaces a file"
        )
    path = absolute(sqlite_path(target))
    require_folder(path)
    final = os.path.realpath(path)  # SQLite follows links, and keeps its log beside the file itself
    require_folder(final)
    return Path(final)


def _refuse_foreign(final: Path) -> None:
    """Refuse a healthy database of something else; a file that can't be read may be a damaged ledger."""
    try:
        database = open_database(str(final), readonly=True)
        try:
            tables = database.tables()
        finally:
            database.close()
    except (NotALedger, StoreCorrupt, StoreUnreachable):
        return
    if tables and "ledger_migrations" not in tables:
        raise NotALedger(f"{final} holds other tables ({', '.join(sorted(tables)[:4])}): name a ledger with --db")


def _copy(source: Path, partial: Path, progress: Progress | None) -> None:
    database = opened_as_it_is(str(source))
    try:
        if not isinstance(database, SqliteDatabase):
            raise NotALedger(f"{source} is no SQLite file")
        database.copy_into(partial, progress)
    finally:
        database.close()


def _prepare(partial: Path) -> tuple[str, ...]:
    """Bring the copy up to date, and set it up as a ledger in use; gives the migrations."""
    database: Database = open_database(str(partial))
    try:
        missing = tuple(step.name for step in require_ledger(database))
        bring_up_to_date(database)
        prepare(database)
    finally:
        database.close()
    return missing


def _keep_rights(final: Path, partial: Path) -> None:
    """Whoever could use the replaced file can use the new one, and nobody else."""
    if not final.exists():
        return
    facts = final.stat()
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        os.chown(partial, facts.st_uid, facts.st_gid)
    partial.chmod(facts.st_mode & 0o777 | 0o600)
