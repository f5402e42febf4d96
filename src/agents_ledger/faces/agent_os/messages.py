"""Messages are messages: saved once, never changed."""

from typing import Any

from agents_ledger.errors import AlreadySaved
from agents_ledger.faces.agent_os import tasks
from agents_ledger.faces.agent_os.schemas import whole
from agents_ledger.ledger import growing, sessions
from agents_ledger.ledger.env import Env
from agents_ledger.model.entries import Message
from agents_ledger.model.texts import label, read_json, storable
from agents_ledger.store import Tx

FIELDS = ("id", "taskId", "role", "content", "timestamp")
PAGE = 10_000  # what is listed when nobody says how much


def save(tx: Tx, env: Env, given: dict[str, Any]) -> str:
    """Adds a message to its task; gives its id."""
    message_id = label(given["id"], "message id")
    session = tasks.require(tx, given["taskId"])
    known = tx.first("message_by_id", id=message_id)
    if known is not None:
        raise AlreadySaved(f"message {message_id!r} is saved already, {_compared(given, known)}")
    extra = {name: value for name, value in given.items() if name not in FIELDS}
    message = Message(
        given["role"],
        given["content"],
        metadata={tasks.ORIGIN: extra} if extra else None,
        created_at=int(given["timestamp"]),
        id=message_id,
    )
    return growing.add_message(tx, env, session, message).id


def page(tx: Tx, given: dict[str, Any]) -> dict[str, Any]:
    """The messages of a task's thread, by their times, and how many there are."""
    session = sessions.resolve(tx, storable(given["taskId"]))
    if session is None or session.thread_id is None:
        return {"messages": [], "total": 0}
    limit, offset = whole(given.get("limit", PAGE), "limit"), whole(given.get("offset", 0), "offset")
    found = tx.rows("thread_messages", head=session.thread_id, limit=limit, offset=offset)
    total = int(tx.value("thread_message_count", head=session.thread_id))
    return {"messages": [_message(tx, row) for row in found], "total": total}


def _message(tx: Tx, row: tuple[Any, ...]) -> dict[str, Any]:
    entity = dict(zip(FIELDS, row, strict=False))
    metadata, lossy = row[-2:]
    if lossy:
        original = tx.value("original_of", row_id=entity["id"], field="content")
        if original is not None:
            entity["content"] = bytes(original).decode("utf-8", "surrogatepass")
    extra = read_json(metadata) if metadata is not None and tasks.ORIGIN in metadata else None
    return entity | extra.get(tasks.ORIGIN, {}) if isinstance(extra, dict) else entity


def _compared(given: dict[str, Any], known: tuple[Any, ...]) -> str:
    """How a message differs from the one that is there."""
    is_same = (given["role"], given["content"]) == (known[2], known[3])
    return (
        "with the same words: nothing is to be done"
        if is_same
        else "with other words, and messages never change: save yours under a new id"
    )
