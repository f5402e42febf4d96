"""What `doctor` finds: facts, and what is wrong with them."""

from collections.abc import Callable
from itertools import islice
from typing import Any, TypeVar

from msgspec import Struct
from msgspec.structs import asdict

from agents_ledger.capture.catalog import totals
from agents_ledger.errors import StoreCorrupt
from agents_ledger.ledger import Ledger
from agents_ledger.store.damage import broken_references
from agents_ledger.store.guards import lost
from agents_ledger.store.migrate import applied_checksums

T = TypeVar("T")
_NETWORK = {"nfs", "nfs4", "cifs", "smb", "smb2", "smb3", "smbfs", "9p", "afs", "ceph", "fuse.sshfs", "fuse.glusterfs"}
_FIRST = 20  # broken rows, lost triggers
_SAFE_SYNC = ("full", "extra")


class Health(Struct, frozen=True):
    """A ledger's database: what is known, what is wrong, what could become wrong."""

    facts: dict[str, Any]
    migrations: list[str]
    counts: dict[str, int]
    evidence: dict[str, int]
    search: dict[str, int]
    problems: list[str]
    warnings: list[str]


def examine(ledger: Ledger) -> Health:
    """Asks the database everything."""
    facts = ledger.database.facts()
    problems = problems_of(facts)
    nothing: dict[str, int] = {}
    none: list[str] = []
    return Health(
        facts=facts,
        migrations=sorted(applied_checksums(ledger.database)),
        counts=_asked(ledger.counts, nothing, problems),
        evidence=_asked(lambda: asdict(totals(ledger)), nothing, problems),
        search=_asked(lambda: _search(ledger), nothing, problems),
        warnings=warnings_of(facts) + _asked(lambda: _left_behind(ledger), none, problems),
        problems=_asked(lambda: _damage(ledger), none, problems) + problems,
    )


def _asked(question: Callable[[], T], instead: T, problems: list[str]) -> T:
    """An answer; or what damage answered, once, among the problems."""
    try:
        return question()
    except StoreCorrupt as damage:
        if str(damage) not in problems:
            problems.append(str(damage))
        return instead


def _left_behind(ledger: Ledger) -> list[str]:
    """Live turns whose writers are gone."""
    count = sum(each.is_left_behind for each in ledger.live_turns())
    if not count:
        return []
    turns, them = ("1 live turn was", "it") if count == 1 else (f"{count:,} live turns were", "them")
    return [f"{turns} left behind by a writer that is gone: the next command that writes closes {them} as failed"]


def _damage(ledger: Ledger) -> list[str]:
    broken = islice(broken_references(ledger.database), _FIRST)
    return [
        *ledger.database.check(),
        *(f"{each.table} {each.key}: its {each.column} names what is not there: {each.value}" for each in broken),
        *(f"{each.kind} {each.name} {each.what}" for each in lost(ledger.database)[:_FIRST]),
    ]


def _search(ledger: Ledger) -> dict[str, int]:
    """How far the search index is behind the log."""
    with ledger.database.read() as tx:
        done, last = int(tx.value("fact", name="searchable_through")), int(tx.value("last_seq"))
    return {"through": done, "last": last, "waiting": last - done}


def problems_of(facts: dict[str, Any]) -> list[str]:
    """What must be changed."""
    found = []
    if facts.get("wal_reset_bug") and facts.get("journal_mode") == "wal":
        found.append(f"SQLite {facts['version']} can lose data in WAL mode (fixed in 3.51.3): `pip install -U apsw`")
    if "synchronous" in facts and facts["synchronous"] not in _SAFE_SYNC:
        found.append(f"synchronous is {facts['synchronous']}: a power failure can lose turns that were acknowledged")
    if facts.get("fsync") == "off":
        found.append("fsync is off: a power failure can damage this PostgreSQL server; turn it on")
    return found


def warnings_of(facts: dict[str, Any]) -> list[str]:
    """What should be known."""
    found = []
    if (kind := facts.get("filesystem")) in _NETWORK:
        found.append(
            f"the file is on a network file system ({kind}), where locks are not reliable: "
            "move it to a local disk, or use PostgreSQL"
        )
    if facts.get("data_checksums") == "off":
        found.append("this PostgreSQL server has no data checksums: it can't notice a disk that changes pages")
    if facts.get("is_replica"):
        found.append("this server is a replica: it can be read only")
    return found
