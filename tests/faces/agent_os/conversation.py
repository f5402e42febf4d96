"""A few words to speak with a bus."""

import json
from typing import Any

from agents_ledger.faces.agent_os import Bus

AT = 1_770_000_000_000


class Speaker:
    """Saves and asks, with plain values instead of JSON text."""

    def __init__(self, bus: Bus) -> None:
        self.bus = bus

    def ask(self, ability: str, **given: Any) -> Any:
        return json.loads(self.bus.invoke(ability)(json.dumps(given)))

    def task(self, task_id: str = "t", **given: Any) -> None:
        fields = {"id": task_id, "systemPrompt": "Be kind.", "createdAt": AT, "updatedAt": AT} | given
        assert self.ask("ldg:task:save", task=fields) == {"success": True}

    def message(self, message_id: str, role: str = "user", content: str = "Hello", **given: Any) -> None:
        fields = {"id": message_id, "taskId": "t", "role": role, "content": content, "timestamp": AT + 1} | given
        assert self.ask("ldg:msg:save", message=fields) == {"success": True, "messageId": message_id}

    def call(self, call_id: str, status: str = "pending", **given: Any) -> None:
        named = {"id": call_id, "taskId": "t", "abilityName": "mem:retrieve", "parameters": "{}", "status": status}
        fields = named | {"details": "{}", "createdAt": AT + 2, "updatedAt": AT + 2, "startMessageId": "m1"} | given
        assert self.ask("ldg:call:save", call=fields) == {"success": True}

    def messages(self, task_id: str = "t") -> list[str]:
        return [message["id"] for message in self.ask("ldg:msg:list", taskId=task_id)["messages"]]

    def unfinished(self) -> tuple[list[str], list[str]]:
        found = self.bus.recover()
        return [task["id"] for task in found["tasks"]], [call["id"] for call in found["calls"]]
