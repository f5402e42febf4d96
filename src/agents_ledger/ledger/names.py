"""Names that begin like something: what a shell offers to complete."""

from agents_ledger.store import Database

_OFFERED = 50
_LAST = "\U0010ffff"


def labels(database: Database, beginning: str) -> list[tuple[str, str | None]]:
    """Sessions whose label begins like this, with their titles; without a beginning, the last used."""
    with database.read() as tx:
        if beginning:
            rows = tx.rows("labels_from", first=beginning, last=beginning + _LAST, limit=_OFFERED)
            return [(row[0], row[1]) for row in rows]
        return [(row[0], None) for row in tx.rows("newest_labels", limit=_OFFERED)]


def turns(database: Database, beginning: str) -> list[tuple[str, str | None]]:
    """Turns whose id begins like this, and new ones whose last eight characters do; with their first words."""
    wanted = beginning.upper()
    if not (wanted.isascii() and wanted.isalnum()):
        return []
    with database.read() as tx:
        whole = tx.rows("turns_from", first=wanted, last=wanted + _LAST, limit=_OFFERED)
        ends = tx.rows("turns_ending", pattern=f"{wanted}%", limit=_OFFERED)
    return [(row[0], row[1]) for row in (*whole, *ends)]
