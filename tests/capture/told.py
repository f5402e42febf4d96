"""A transcript of Claude Code with a marker in every corner, and others that tests write down."""

import base64
import json
from typing import Any

SESSION = "00000000-0000-4000-8000-00000000f1de"
IMAGE = base64.b64encode(bytes(range(256))).decode()


def line(kind: str, number: int, parent: int | None, **fields: Any) -> dict[str, Any]:
    """An entry of the chain; entries have numbers instead of ids."""
    return {
        "parentUuid": None if parent is None else uuid(parent),
        "isSidechain": False,
        "userType": "external",
        "cwd": "/home/dev/house",
        "sessionId": SESSION,
        "version": "2.1.197",
        "gitBranch": "main",
        "type": kind,
        "uuid": uuid(number),
        "timestamp": f"2026-11-15T10:{number // 60:02}:{number % 60:02}.000Z",
        **fields,
    }


def uuid(number: int) -> str:
    """The id of an entry."""
    return f"00000000-0000-4000-8000-{number:012}"


def user(number: int, parent: int | None, content: Any, **fields: Any) -> dict[str, Any]:
    """A question, or results of tools."""
    return line("user", number, parent, message={"role": "user", "content": content}, **fields)


def result(number: int, parent: int, call: str, content: Any, told: Any) -> dict[str, Any]:
    """The result of a tool, with what the program knows about it."""
    block = {"type": "tool_result", "tool_use_id": call, "content": content}
    return user(number, parent, [block], toolUseResult=told)


def answer(number: int, parent: int, *blocks: Any) -> dict[str, Any]:
    """A message of the model."""
    message = {
        "id": f"msg_{number}",
        "type": "message",
        "role": "assistant",
        "model": "claude-sonnet-4-5",
        "content": list(blocks),
        "stop_reason": "end_turn",
        "usage": {"input_tokens": 10, "output_tokens": number},
    }
    return line("assistant", number, parent, message=message, requestId=f"req_{number}")


def text(words: str) -> dict[str, str]:
    """A block of text."""
    return {"type": "text", "text": words}


def call(number: int, tool: str, **params: Any) -> dict[str, Any]:
    """A block that calls a tool."""
    return {"type": "tool_use", "id": f"toolu_{number}", "name": tool, "input": params}


def written(lines: list[Any]) -> bytes:
    """Lines as a file; what is not JSON is written as it is."""
    return b"".join((line if isinstance(line, bytes) else json.dumps(line).encode()) + b"\n" for line in lines)


def talk(turns: int, first: int = 1, parent: int | None = None) -> list[dict[str, Any]]:
    """Questions and answers, each following the one before."""
    lines: list[dict[str, Any]] = []
    for number in range(first, first + 2 * turns, 2):
        lines += [user(number, parent, f"question {number}"), answer(number + 1, number, text(f"answer {number}"))]
        parent = number + 1
    return lines


def marked() -> list[Any]:
    """A session in which peers lose something in every line."""
    patch = [{"oldStart": 1, "oldLines": 1, "newStart": 1, "newLines": 1, "lines": ["-MARK-old", "+MARK-patch"]}]
    edit = {
        "filePath": "/home/dev/house/door.py",
        "oldString": "a",
        "newString": "b",
        "originalFile": "MARK-original\n" * 50,
        "structuredPatch": patch,
        "userModified": False,
    }
    file = {"filePath": "/home/dev/house/door.py", "content": "MARK-file-content", "numLines": 1}
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": IMAGE}}
    return [
        {"type": "summary", "summary": "MARK-summary", "leafUuid": uuid(9)},
        user(1, None, "MARK-question"),
        answer(2, 1, {"type": "thinking", "thinking": "MARK-thought", "signature": "MARK-signature=="}),
        answer(3, 2, text("MARK-answer"), call(3, "Read", file_path="/home/dev/house/MARK-path.py")),
        result(4, 3, "toolu_3", "     1\tMARK-read-output", {"type": "text", "file": file}),
        answer(5, 4, call(5, "Edit", file_path="/home/dev/house/door.py", old_string="a", new_string="MARK-new")),
        result(6, 5, "toolu_5", "MARK-edited", edit),
        answer(7, 6, {"type": "redacted_thinking", "data": "MARK-redacted"}, text("MARK-done")),
        user(8, 7, [text("MARK-look"), picture]),
        b'{"type":"user","message":{"role":"user","content":"MARK-broken',
        {"type": "MARK-future", "sessionId": SESSION, "payload": {"deep": ["MARK-payload"]}},
        answer(9, 8, text("MARK-end")),
    ]
