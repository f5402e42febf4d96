"""What Claude's own SDK makes of sessions: run by the SDK's Python, ids as JSON on stdin, messages on stdout."""

import json
import sys
from typing import Any

from claude_agent_sdk import (  # type: ignore[import-not-found] # it is in a Python of its own
    get_session_messages,
    get_subagent_messages,
    list_subagents,
)


def session(session_id: str) -> dict[str, Any]:
    """The messages of a session and of its subagents, as the SDK orders them; or why it does not read it."""
    try:
        return _read(session_id)
    except ValueError as error:  # it takes no file that is not UTF-8 throughout
        return {"error": str(error), "messages": [], "subagents": {}}


def _read(session_id: str) -> dict[str, Any]:
    return {
        "error": None,
        "messages": [_plain(message) for message in get_session_messages(session_id)],
        "subagents": {
            agent: [_plain(message) for message in get_subagent_messages(session_id, agent)]
            for agent in list_subagents(session_id)
        },
    }


def _plain(message: Any) -> dict[str, Any]:
    return {"id": message.uuid, "role": message.type, "message": message.message}


if __name__ == "__main__":
    json.dump([session(session_id) for session_id in json.load(sys.stdin)], sys.stdout)
