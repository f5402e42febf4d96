"""What an agent adds to a file that was written for it: a question and an answer, in its own words."""

import json
import os
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from agents_ledger.capture.forking import Made
from agents_ledger.formats.agentuse import writing
from agents_ledger.model.ids import derived

_TIME = "2026-11-20T10:00:00.000Z"
_OPENCODE = """
    CREATE TABLE IF NOT EXISTS session (id text PRIMARY KEY, project_id text, parent_id text, slug text, directory text,
        title text, version text, revert text, time_created integer, time_updated integer);
    CREATE TABLE IF NOT EXISTS message (id text PRIMARY KEY, session_id text, time_created integer,
        time_updated integer, data text);
    CREATE TABLE IF NOT EXISTS part (id text PRIMARY KEY, message_id text, session_id text, time_created integer,
        time_updated integer, data text);
"""
SETUP = "d04923d38bb0f6017037e74183378ef4"  # what Gemini CLI calls the words with which it sets up a session
_USAGE = {"input": 1, "output": 1, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 2, "cost": {"total": 0}}


def go_on(made: Made, question: str, tick: int = 1) -> None:
    """Appends one exchange, as the program would."""
    path = Path(made.path)
    if made.is_folder:
        _agentuse(made, question, 1_795_000_000_000 + tick * 1000)
        return
    if made.agent == "opencode":
        _opencode(made, question, 1_795_000_000_000 + tick * 1000)
        return
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    agents = {
        "claude-code": _claude,
        "codex": _codex,
        "pi": pi_exchange,
        "openclaw": pi_exchange,
        "qwen": _qwen,
        "gemini": _gemini,
    }
    added = agents[made.agent](made, lines, question)
    with path.open("a", encoding="utf-8") as file:
        file.writelines(json.dumps(line) + "\n" for line in added)
    os.utime(path, (1_795_000_000 + tick, 1_795_000_000 + tick))


def _claude(made: Made, lines: list[Any], question: str) -> list[Any]:
    last = next(line["uuid"] for line in reversed(lines) if "uuid" in line)
    shared = {"sessionId": made.agent_session, "cwd": made.folder, "version": "2.1.325", "isSidechain": False}
    asked, answered = (f"{n}{made.agent_session[1:]}"[:24] + f"{abs(hash(question)) % 10**12:012d}" for n in "ab")
    answer = {"role": "assistant", "id": f"msg_{answered}", "model": "m", "content": [_text(f"To {question}")]}
    return [
        {
            "type": "user",
            "uuid": asked,
            "parentUuid": last,
            "timestamp": _TIME,
            "message": {"role": "user", "content": question},
            **shared,
        },
        {
            "type": "assistant",
            "uuid": answered,
            "parentUuid": asked,
            "timestamp": _TIME,
            "message": answer,
            **shared,
        },
    ]


def _qwen(made: Made, lines: list[Any], question: str) -> list[Any]:
    said = (("user", "user", question), ("assistant", "model", f"To {question}"))
    added: list[Any] = []
    for number, (kind, role, words) in enumerate(said):
        name = f"{len(lines) + number:08d}{made.agent_session[8:]}"
        parent = added[-1]["uuid"] if added else lines[-1]["uuid"]
        place = {"uuid": name, "parentUuid": parent, "sessionId": made.agent_session, "timestamp": _TIME, "type": kind}
        added.append({**place, "cwd": made.folder, "message": {"role": role, "parts": [{"text": words}]}})
    return added


def _gemini(_made: Made, lines: list[Any], question: str) -> list[Any]:
    """Resumed by its id: the list is set anew, then the question comes, and the answer in two states."""
    setup = {"id": SETUP, "timestamp": _TIME, "type": "user", "content": [_part("<session_context>\nhere")]}
    history = [setup, *(line for line in lines if line.get("type") in ("user", "gemini"))]
    asked, answered = (f"{len(lines):08d}-{name}-{abs(hash(question))}" for name in ("asked", "answered"))
    answer = {"id": answered, "timestamp": _TIME, "type": "gemini", "content": f"To {question}", "thoughts": []}
    return [
        {"$set": {"messages": history, "lastUpdated": _TIME}},
        {"id": asked, "timestamp": _TIME, "type": "user", "content": [_part(question)]},
        answer,
        {**answer, "tokens": {"input": 5, "output": 1, "cached": 2, "thoughts": 0, "tool": 0, "total": 6}},
    ]


def import_gemini(made: Made, session: str) -> Path:
    """What `--session-file` does: a copy of the messages under another id, in another file."""
    lines = [json.loads(line) for line in Path(made.path).read_text(encoding="utf-8").splitlines()]
    told = {"id": "import-1", "timestamp": _TIME, "type": "info", "content": f"Imported session from {made.path}"}
    header = {**lines[0], "sessionId": session, "startTime": _TIME}
    path = Path(made.path).with_name(f"session-1-{session[:8]}.jsonl")
    copies = [line for line in lines if "id" in line]
    path.write_text("".join(json.dumps(line) + "\n" for line in (header, told, *copies)), encoding="utf-8")
    return path


def _opencode(made: Made, question: str, at: int) -> None:
    """The document is taken into a database; what is added has greater ids."""
    told = json.loads(Path(made.path).read_bytes())
    session = made.agent_session
    database = Path(made.path).parents[1] / "opencode.db"
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.executescript(_OPENCODE)
        at += connection.execute("SELECT count(*) FROM message WHERE session_id = ?", (session,)).fetchone()[0]
        info = told["info"]
        row = (session, info["directory"], info["title"], info["version"], info["time"]["created"], at)
        connection.execute("INSERT OR IGNORE INTO session VALUES (?, 'global', NULL, 'x', ?, ?, ?, NULL, ?, ?)", row)
        name = f"msg_{at * 4096 & (1 << 48) - 1:012x}{session[-12:]}"
        model = {"modelID": "m", "providerID": "p"}
        user = {"id": f"{name}01", "role": "user", "time": {"created": at}, "agent": "build", "model": model}
        tokens = {"input": 1, "output": 1, "reasoning": 0, "cache": {"read": 0, "write": 0}, "total": 2}
        answer = {"id": f"{name}02", "role": "assistant", "parentID": f"{name}01", "tokens": tokens, **model}
        added = [
            {"info": user, "parts": [{"id": f"prt{name[3:]}01", **_text(question)}]},
            {
                "info": {**answer, "time": {"created": at + 1, "completed": at + 2}, "finish": "stop"},
                "parts": [{"id": f"prt{name[3:]}02", **_text(f"To {question}")}],
            },
        ]
        for message in (*told["messages"], *added):
            _insert_opencode(connection, session, message["info"], message["parts"])
    os.utime(database, (at / 1000, at / 1000))


def _insert_opencode(connection: sqlite3.Connection, session: str, info: Any, parts: list[Any]) -> None:
    made = info["time"]["created"]
    data = json.dumps({key: value for key, value in info.items() if key not in ("id", "sessionID")})
    connection.execute("INSERT OR IGNORE INTO message VALUES (?, ?, ?, ?, ?)", (info["id"], session, made, made, data))
    for part in parts:
        data = json.dumps({key: value for key, value in part.items() if key not in ("id", "sessionID", "messageID")})
        row = (part["id"], info["id"], session, made, made, data)
        connection.execute("INSERT OR IGNORE INTO part VALUES (?, ?, ?, ?, ?, ?)", row)


def _part(text: str) -> dict[str, str]:
    return {"text": text}


def _codex(_made: Made, _lines: list[Any], question: str) -> list[Any]:
    def item(role: str, kind: str, text: str) -> Any:
        payload = {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}
        return {"timestamp": _TIME, "type": "response_item", "payload": payload}

    return [item("user", "input_text", question), item("assistant", "output_text", f"To {question}")]


def pi_exchange(_made: Made, lines: list[Any], question: str) -> list[Any]:
    """A question and an answer behind the last entry."""
    asked = f"{len(lines):08x}"
    answer: dict[str, Any] = {"role": "assistant", "content": [_text(f"To {question}")], "stopReason": "stop"}
    entries: list[tuple[str, str, dict[str, Any]]] = [
        (asked, lines[-1]["id"], {"role": "user", "content": [_text(question)]})
    ]
    entries.append((f"{len(lines) + 1:08x}", asked, {**answer, "usage": _USAGE}))
    return [
        {"type": "message", "id": name, "parentId": parent, "timestamp": _TIME, "message": message}
        for name, parent, message in entries
    ]


def _agentuse(made: Made, question: str, at: int) -> None:
    """Parts of the same message, as a run that is resumed adds them; message.json and session.json are replaced."""
    (message,) = Path(made.path).glob("*/message.json")
    for number, (said, role) in enumerate(((question, "user"), (f"To {question}", None))):
        name = derived(at + number, "test", question)
        place = {"id": name, "sessionID": made.agent_session, "messageID": message.parent.name}
        part = {**writing.text(said, at + number, at + number, role=role), **place}
        message.with_name("part").joinpath(f"{name}.json").write_bytes(writing.text_of(part))
    told = json.loads(message.read_bytes())
    told["time"]["completed"] = at + 2
    told["assistant"]["tokens"]["input"] += 7
    message.write_bytes(writing.text_of(told))
    info = json.loads(Path(made.path, "session.json").read_bytes())
    info["time"]["updated"] = at + 2
    Path(made.path, "session.json").write_bytes(writing.text_of(info))
    for changed in (message, Path(made.path, "session.json")):
        os.utime(changed, (at / 1000, at / 1000))


def _text(text: str) -> dict[str, str]:
    return {"type": "text", "text": text}
