"""The fields of entities: what a column holds, what stands beside it, what never changes."""

from collections.abc import Iterable
from typing import Any

from agents_ledger.errors import ContentDiffers
from agents_ledger.faces.agent_os.schemas import whole
from agents_ledger.ledger import saves
from agents_ledger.model.texts import read_json, readable
from agents_ledger.store import Tx


def held(**texts: str) -> dict[str, str]:
    """Of some texts those that no column can hold as they are: they are kept beside it, as JSON."""
    return {name: text for name, text in texts.items() if readable(text)[1] is not None}


def merged(columns: Iterable[tuple[str, Any]], extra: str | None) -> dict[str, Any]:
    """An entity as it was saved: its columns, and what stands beside them. What is unknown is left out."""
    entity = {name: value for name, value in columns if value is not None or name == "completionStatus"}
    return entity if extra is None else entity | read_json(extra)


def merged_states(
    tx: Tx, entity: saves.Entity, ref: str, fixed: dict[str, Any], given: dict[str, Any], status: str
) -> dict[str, Any]:
    """The states of an entity: what never changes (`fixed`), with what was saved each time."""
    page = {"limit": whole(given["limit"], "limit"), "offset": whole(given["offset"], "offset")}
    states = []
    for row in saves.history(tx, entity, ref, **page):
        columns = {status: row.status, "updatedAt": row.updated_at, "endMessageId": row.end_message_id}
        if row.details is not None:
            columns["details"] = row.details
        states.append(fixed | merged(columns.items(), row.extra))
    return {"states": states}


def refuse_other(kind: str, ref: str, names: Iterable[str], given: dict[str, Any], kept: dict[str, Any]) -> None:
    """Refuses another value of something that never changes."""
    other = [name for name in names if given.get(name) != kept.get(name)]
    if other:
        raise ContentDiffers(
            f"{kind} {ref!r} was saved with another {', '.join(other)}, which never changes: "
            f"save it as before, or under a new id"
        )
