"""Migrations: applied once, in order, each in the transaction that records its name and checksum."""

from functools import cache
from typing import cast

from msgspec import Struct

from agents_ledger.errors import NeedsMigration, NewerLedger, NotALedger, StoreError
from agents_ledger.model.ids import UlidSource
from agents_ledger.model.times import now_ms
from agents_ledger.store.database import Database
from agents_ledger.store.statements import (
    Dialect,
    checksums_of_migrations,
    schema_script,
    sql_folder,
    whole_schema,
    without_comments,
)

_TABLE = (
    "CREATE TABLE IF NOT EXISTS ledger_migrations "
    "(name TEXT PRIMARY KEY, checksum TEXT NOT NULL, applied_at BIGINT NOT NULL)"
)


class Migration(Struct, frozen=True):
    """One step of the schema."""

    name: str
    checksum: str
    dialect: Dialect

    @property
    def script(self) -> str:
        """What it does."""
        script = schema_script(self.name, self.dialect, sql_folder().joinpath("migrations"))
        if checksum_of(script) != self.checksum:
            raise StoreError(f"migration {self.name} is not as it was released: install agents-ledger anew")
        return script


@cache
def migrations(dialect: Dialect) -> tuple[Migration, ...]:
    """All steps that this version knows, in order.

    They never change, so their checksums are written down: to read all scripts at each opening, and to load what
    computes a hash, took 5 ms. A script is checked against its own when it is read.
    """
    column = 1 if dialect == "sqlite" else 2
    listed = map(str.split, checksums_of_migrations().splitlines())
    return tuple(Migration(parts[0], parts[column], dialect) for parts in listed)


def checksum_of(script: str) -> str:
    """Over what a script does: a better comment is not another migration."""
    from hashlib import sha256  # noqa: PLC0415 - only when something is migrated

    return sha256(" ".join(without_comments(script).split()).encode()).hexdigest()


def pending(database: Database) -> list[Migration]:
    """The steps that this database does not have yet; refuses what it can't understand."""
    known = migrations(cast("Dialect", database.dialect))
    tables = database.tables()
    if not tables:
        return list(known)
    if "ledger_migrations" not in tables:
        raise NotALedger(
            f"{database.url} holds other tables ({', '.join(sorted(tables)[:4])}): name an empty database instead"
        )
    applied = applied_checksums(database)
    if strange := sorted(set(applied) - {step.name for step in known}):
        raise NewerLedger(
            f"{database.url} was written by a newer version (it has {strange[0]}): "
            "update with `pip install -U agents-ledger`"
        )
    for step in known:
        if applied.get(step.name, step.checksum) != step.checksum:
            raise StoreError(
                f"migration {step.name} in {database.url} differs from this program's: "
                "it was made by a modified version; use that one, or restore a backup (`ldg restore BACKUP`)"
            )
    return [step for step in known if step.name not in applied]


def migrate(database: Database) -> list[str]:
    """Brings a database up to date, from nothing if it is empty; gives the names of the steps taken."""
    steps = left = pending(database)
    if steps and not database.tables():
        _build_new(database, steps)
        left = pending(database)  # an older version may have been first: it does not know them all
    for step in left:
        apply(database, step)
    return [step.name for step in steps]


def apply(database: Database, step: Migration) -> None:
    """Takes one step."""
    # Two processes may come here at once: the second one finds the name taken and leaves everything as it is.
    database.migrate(f"{_TABLE};", step.name, f"{step.script}\n{_record(step)}\n{_identity()}")


def require_current(database: Database) -> None:
    """For read-only opening: never migrates, says so instead."""
    if steps := require_ledger(database):
        raise NeedsMigration(
            f"{database.url} is of an older version (it lacks {steps[0].name}): run `ldg migrate` first"
        )


def require_ledger(database: Database) -> list[Migration]:
    """The steps that a ledger lacks; refuses what is none, or can't be understood."""
    if not database.tables():
        raise NotALedger(
            f"{database.url} is empty: `ldg migrate` makes a ledger of it, "
            "`ldg restore BACKUP` restores a backup, or name another --db"
        )
    return pending(database)


def applied_checksums(database: Database) -> dict[str, str]:
    """The steps that a database has, with their checksums."""
    with database.read() as tx:
        return dict(tx.rows("applied_steps"))


def _build_new(database: Database, steps: list[Migration]) -> None:
    """Gives an empty database the schema that all steps lead to: a third of the time of taking them."""
    schema = whole_schema(cast("Dialect", database.dialect))
    records = "\n".join(map(_record, steps))
    database.migrate(f"{_TABLE};", steps[0].name, f"{schema}\n{records}\n{_identity()}")


def _record(step: Migration) -> str:
    return (
        f"INSERT INTO ledger_migrations (name, checksum, applied_at) "  # noqa: S608 - our own file names
        f"VALUES ('{step.name}', '{step.checksum}', {now_ms()});"
    )


def _identity() -> str:
    return (
        f"INSERT INTO ledger_facts (name, value) VALUES ('ledger_id', '{UlidSource()()}') "  # noqa: S608 - our own
        "ON CONFLICT (name) DO NOTHING;"
    )
