"""The bus: every ability by its name."""

from collections.abc import Callable, Iterable
from typing import Any

from agents_ledger.faces.agent_os import calls, messages, tasks
from agents_ledger.faces.agent_os.schemas import checked, described, fitting, require, whole
from agents_ledger.faces.agent_os.streaming import Stream
from agents_ledger.ledger import Ledger
from agents_ledger.ledger.env import Env
from agents_ledger.model.texts import json_text
from agents_ledger.store import Tx

Given = dict[str, Any]


class Bus:
    """The abilities of a ledger: `bus.invoke("ldg:task:query")('{"limit": 10}')`.

    Saves return after they are durable. Safe to use from several threads and processes.
    """

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger

    def invoke(self, name: str) -> Callable[[str | bytes], str]:
        """An ability: JSON text in, JSON text out."""
        require(name)

        def ability(text: str | bytes) -> str:
            return json_text(self.answer(name, checked(name, text)), "output")[0]

        return ability

    def answer(self, name: str, given: Given) -> Given:
        """What an ability gives for an input that fits its schema."""
        database, env = self.ledger.database, self.ledger.env
        if name in _SAVES:
            return database.write(lambda tx: _SAVES[name](tx, env, given))
        with database.read() as tx:
            return _READS[name](tx, given)

    def describe(self) -> dict[str, Any]:
        """Every ability, with the JSON schemas of its input and its output, and of the entity that it saves."""
        return described()

    def recover(self, *, limit: int = 1000, offset: int = 0) -> Given:
        """The tasks and calls that have not ended, the oldest first: what to go on with after a crash."""
        return self.answer("ldg:task:recover", {"limit": limit, "offset": offset})

    def stream(
        self,
        task_id: str,
        chunks: Iterable[str],
        *,
        emit: Callable[[str], object] | None = None,
        message_id: str | None = None,
        role: str = "assistant",
    ) -> Given:
        """Gathers a message chunk by chunk, passes each on, and saves it when it is complete; gives the message.

        Its time is that of the last chunk. If the chunks end with an error, nothing is saved.
        """
        stream = Stream(self.ledger.env, task_id, role, message_id)
        for chunk in chunks:
            stream.add(chunk, emit)
        return self.save_message(stream.message())

    def save_message(self, message: Given) -> Given:
        """Saves a message; gives it back."""
        name = "ldg:msg:save"
        self.answer(name, fitting(name, {"message": message}))
        return message


def is_reading(name: str) -> bool:
    """Whether an ability changes nothing."""
    return name not in _SAVES


def _save_task(tx: Tx, env: Env, given: Given) -> Given:
    tasks.save(tx, env, given["task"])
    return {"success": True}


def _save_call(tx: Tx, env: Env, given: Given) -> Given:
    calls.save(tx, env, given["call"])
    return {"success": True}


def _save_message(tx: Tx, env: Env, given: Given) -> Given:
    return {"success": True, "messageId": messages.save(tx, env, given["message"])}


def _recover(tx: Tx, given: Given) -> Given:
    limit, offset = whole(given["limit"], "limit"), whole(given["offset"], "offset")
    unfinished = [row[0] for row in tx.rows("open_tasks", limit=limit, offset=offset)]
    return {"tasks": tasks.by_ids(tx, unfinished), "calls": calls.unfinished(tx, limit, offset)}


_SAVES: dict[str, Callable[[Tx, Env, Given], Given]] = {
    "ldg:task:save": _save_task,
    "ldg:call:save": _save_call,
    "ldg:msg:save": _save_message,
}
_READS: dict[str, Callable[[Tx, Given], Given]] = {
    "ldg:task:get": lambda tx, given: {"task": tasks.find(tx, given["taskId"])},
    "ldg:task:query": tasks.query,
    "ldg:task:history": tasks.history,
    "ldg:task:recover": _recover,
    "ldg:call:list": calls.page,
    "ldg:call:history": calls.history,
    "ldg:msg:list": messages.page,
}
