"""AgentUse's files, as they are written: their names, and what is in them. Pure: ids and times are given."""

import hashlib
import json
import re
from collections.abc import Sequence
from typing import Any

from agents_ledger.model.entries import Usage

Json = dict[str, Any]


def project_hash(root: str) -> str:
    """The folder of a project: 16 digits of the hash of its root (of the git repository, or else of the project)."""
    return hashlib.sha256(root.encode("utf-8", "surrogateescape")).hexdigest()[:16]


def folder_name(session_id: str, agent_id: str) -> str:
    """The folder of a session: `social/quotes/create` is `<id>-social-quotes-create`."""
    return f"{session_id}-{re.sub(r'[^a-z0-9]+', '-', agent_id.lower()).strip('-') or 'agent'}"


def text_of(value: Json) -> bytes:
    """A file's content: JSON with two spaces, as JavaScript writes it."""
    try:
        return json.dumps(value, indent=2, ensure_ascii=False).encode()
    except UnicodeEncodeError:  # half a character: as an escape
        return json.dumps(value, indent=2).encode("ascii")


def session(
    session_id: str,
    at: int,
    *,
    agent: Json,
    model: str,
    root: str,
    cwd: str,
    version: str,
    trigger: str = "manual",
    config: Json | None = None,
    parent: str | None = None,
) -> Json:
    """session.json of a session that has just begun."""
    found: Json = {"agent": agent, "model": model, "version": version, "config": config or {}}
    found |= {"project": {"root": root, "cwd": cwd}, "id": session_id}
    found |= {"parentSessionID": parent} if parent else {}
    return found | {"status": "running", "trigger": trigger, "time": {"created": at, "updated": at}}


def agent(agent_id: str, name: str, description: str | None, file_path: str | None, *, is_sub: bool) -> Json:
    """Who speaks in a session."""
    more = {"description": description, "filePath": file_path}
    told = {key: value for key, value in more.items() if value is not None}
    return {"id": agent_id, "name": name, **told, "isSubAgent": is_sub}


def message(
    message_id: str,
    session_id: str,
    at: int,
    *,
    task: str,
    user: str | None,
    system: Sequence[str],
    model: str,
    mode: str,
    root: str,
    cwd: str,
) -> Json:
    """message.json of an exchange that has just begun."""
    provider = model.partition(":")[0] if ":" in model else "unknown"
    prompt = {"task": task} | ({} if user is None else {"user": user})
    return {
        "id": message_id,
        "sessionID": session_id,
        "time": {"created": at},
        "user": {"prompt": prompt},
        "assistant": {
            "system": list(system),
            "modelID": model,
            "providerID": provider,
            "mode": mode,
            "path": {"cwd": cwd, "root": root},
            "cost": 0,
            "tokens": tokens(Usage()),
        },
    }


def tokens(usage: Usage) -> Json:
    """What calls to the model used. AgentUse counts the cache as input."""
    read, write = usage.cached or 0, usage.cache_write or 0
    return {
        "input": (usage.input or 0) + read + write,
        "output": usage.output or 0,
        "reasoning": usage.reasoning or 0,
        "cache": {"read": read, "write": write},
    }


def text(words: str, start: int, end: int | None = None, *, role: str | None = None, synthetic: bool = False) -> Json:
    """What the model said; of the role "user", the prompt of a run that was resumed."""
    found = {"type": "text"} | ({"role": role} if role else {}) | {"text": words}
    return found | ({"synthetic": True} if synthetic else {}) | {"time": _time(start, end)}


def reasoning(words: str, start: int, end: int | None = None, metadata: Json | None = None) -> Json:
    """What the model thought."""
    more = {} if metadata is None else {"metadata": metadata}
    return {"type": "reasoning", "text": words, **more, "time": _time(start, end)}


def tool(call_id: str, name: str, state: Json) -> Json:
    """A tool call in some state."""
    return {"type": "tool", "callID": call_id, "tool": name, "state": state}


def pending() -> Json:
    """The state of a call that was asked for."""
    return {"status": "pending"}


def running(given: Any, start: int, title: str | None = None, metadata: Json | None = None) -> Json:
    """The state of a call under way."""
    return {"status": "running", "input": given, **_remarks(title, metadata), "time": {"start": start}}


def completed(
    given: Any, output: Any, start: int, end: int, title: str | None = None, metadata: Json | None = None
) -> Json:
    """The state of a call that worked."""
    remarks = _remarks(title, metadata)
    return {"status": "completed", "input": given, "output": output, **remarks, "time": _time(start, end)}


def failed(given: Any, error: str, start: int, end: int, metadata: Json | None = None) -> Json:
    """The state of a call that did not."""
    return {"status": "error", "input": given, "error": error, **_remarks(None, metadata), "time": _time(start, end)}


def file(url: str, media_type: str, filename: str | None = None, source: Json | None = None) -> Json:
    """A file that was given to the agent."""
    more = {"filename": filename, "url": url, "source": source}
    return {"type": "file", "mime": media_type, **{key: value for key, value in more.items() if value is not None}}


def agent_mention(name: str, source: Json | None = None) -> Json:
    """An agent that the prompt names."""
    return {"type": "agent", "name": name} | ({} if source is None else {"source": source})


def step_start() -> Json:
    """A call to the model begins."""
    return {"type": "step-start"}


def step_finish(usage: Usage, cost: float = 0) -> Json:
    """A call to the model ends."""
    return {"type": "step-finish", "cost": cost, "tokens": tokens(usage)}


def log(level: str, words: str, at: int) -> Json:
    """A line of the program's log."""
    return {"type": "log", "level": level, "message": words, "time": {"start": at}}


def compaction(reason: str, before: int, after: int, messages: tuple[int, int], at: int) -> Json:
    """The context was compacted: tokens and messages, before and after."""
    told = {"tokensBefore": before, "tokensAfter": after, "messagesBefore": messages[0], "messagesAfter": messages[1]}
    return {"type": "compaction", "reason": reason, **told, "time": {"start": at}}


def error(source: str, words: str, at: int, code: str | None = None) -> Json:
    """A call to the model failed."""
    more = {} if code is None else {"code": code}
    return {"type": "error", "source": source, **more, "message": words, "time": {"start": at}}


def _time(start: int, end: int | None) -> Json:
    return {"start": start} | ({} if end is None else {"end": end})


def _remarks(title: str | None, metadata: Json | None) -> Json:
    return {key: value for key, value in (("title", title), ("metadata", metadata)) if value is not None}
