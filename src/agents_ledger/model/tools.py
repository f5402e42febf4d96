"""What tools of different agents mean: a call is carried over where another agent has a tool that means the same.

docs/forking.md shows this table, and a test reads it there.
"""

import shlex
from collections.abc import Callable
from typing import Any

from msgspec import Struct

Meant = dict[str, Any]


class Spelling(Struct, frozen=True):
    """How one agent calls a tool of a meaning: its name, and what its parameters are called."""

    tool: str
    names: dict[str, str]  # our word → the agent's; the first one must be there
    read: Callable[[Meant], Meant | None] | None = None  # parameters that need more than other names
    write: Callable[[Meant], Meant | None] | None = None


def translate(tool: str, params: Any, agent: str) -> tuple[str, Any, list[str]] | None:
    """A call in another agent's words, and the parameters that have none there; None if no tool means the same."""
    if not isinstance(params, dict):
        return None
    for spellings in MEANINGS.values():
        own = spellings.get(agent)
        for theirs in (each for several in spellings.values() for each in several):
            if theirs.tool == tool and own and (found := _translated(theirs, own[0], params)) is not None:
                return found
    return None


def _translated(theirs: Spelling, own: Spelling, params: Meant) -> tuple[str, Any, list[str]] | None:
    given = theirs.read(params) if theirs.read else dict(params)
    if given is None or next(iter(theirs.names.values())) not in given:
        return None
    words = {native: word for word, native in theirs.names.items()}
    meant = {words[key]: value for key, value in given.items() if key in words}
    left = [key for key in given if key not in words]
    left += [theirs.names[word] for word in meant if word not in own.names]
    told: Meant | None = {own.names[word]: value for word, value in meant.items() if word in own.names}
    if own.write and told is not None:
        told = own.write(told)
    return None if told is None else (own.tool, told, left)


# parameters that are more than renamed


def _from_shell(params: Meant) -> Meant | None:
    """Codex: the command as a list of words, as a rule `bash -lc …`."""
    words = params.get("command")
    if isinstance(words, list) and words and all(isinstance(word, str) for word in words):
        is_shell = len(words) == len(("bash", "-lc", "…")) and words[1] in ("-lc", "-c")
        return {**params, "command": words[2] if is_shell else shlex.join(words)}
    return params if isinstance(words, str) else None


def _seconds(params: Meant) -> Meant:
    """A timeout in seconds, where others have milliseconds."""
    timeout = params.get("timeout")
    return {**params, "timeout": timeout / 1000} if isinstance(timeout, int | float) else params


def _milliseconds(params: Meant) -> Meant:
    timeout = params.get("timeout")
    return {**params, "timeout": round(timeout * 1000)} if isinstance(timeout, int | float) else params


def _one_edit(params: Meant) -> Meant | None:
    """pi: a list of edits; others have tools for one."""
    edits = params.get("edits")
    if edits is None:
        return params
    if not isinstance(edits, list) or len(edits) != 1 or not isinstance(edits[0], dict):
        return None
    rest = {key: value for key, value in params.items() if key != "edits"}
    return {**rest, **edits[0]}


def _as_edits(params: Meant) -> Meant:
    edit = {key: params[key] for key in ("oldText", "newText") if key in params}
    return {**{key: value for key, value in params.items() if key not in edit}, "edits": [edit]}


def _plan_items(params: Meant) -> Meant | None:
    todos = params.get("plan")
    if not isinstance(todos, list) or not all(isinstance(todo, dict) for todo in todos):
        return None
    return {**params, "plan": [{"content": todo.get("step"), "status": todo.get("status")} for todo in todos]}


def _as_plan(params: Meant) -> Meant | None:
    todos = params.get("plan")
    if not isinstance(todos, list) or not all(isinstance(todo, dict) for todo in todos):
        return None
    return {**params, "plan": [{"step": todo.get("content"), "status": todo.get("status")} for todo in todos]}


def _as_todos(params: Meant) -> Meant | None:
    todos = params.get("todos")
    if not isinstance(todos, list) or not all(isinstance(todo, dict) for todo in todos):
        return None
    return {**params, "todos": [{"activeForm": todo.get("content"), **todo} for todo in todos]}


_RUN = {"command": "command", "timeout": "timeout"}
MEANINGS: dict[str, dict[str, tuple[Spelling, ...]]] = {
    "run a command": {
        "claude-code": (Spelling("Bash", {**_RUN, "purpose": "description"}),),
        "codex": (
            Spelling("exec_command", {"command": "cmd", "folder": "workdir"}),
            Spelling("shell_command", {"command": "command", "timeout": "timeout_ms", "folder": "workdir"}),
            Spelling("shell", {"command": "command", "timeout": "timeout_ms", "folder": "workdir"}, _from_shell),
        ),
        "pi": (Spelling("bash", _RUN, _milliseconds, _seconds),),
        "openclaw": (Spelling("exec", {**_RUN, "folder": "workdir"}, _milliseconds, _seconds),),
        "gemini": (Spelling("run_shell_command", {"command": "command", "purpose": "description"}),),
        "qwen": (Spelling("run_shell_command", {**_RUN, "purpose": "description", "folder": "directory"}),),
        "opencode": (Spelling("bash", {**_RUN, "purpose": "description", "folder": "workdir"}),),
        "agentuse": (Spelling("tools__bash", {**_RUN, "folder": "workdir"}),),
    },
    "read a file": {
        "claude-code": (Spelling("Read", {"path": "file_path", "first": "offset", "count": "limit"}),),
        "pi": (Spelling("read", {"path": "path", "first": "offset", "count": "limit"}),),
        "openclaw": (Spelling("read", {"path": "path", "first": "offset", "count": "limit"}),),
        "gemini": (Spelling("read_file", {"path": "file_path"}),),
        "qwen": (Spelling("read_file", {"path": "file_path", "first": "offset", "count": "limit"}),),
        "opencode": (Spelling("read", {"path": "filePath", "first": "offset", "count": "limit"}),),
        "agentuse": (Spelling("tools__filesystem_read", {"path": "file_path", "first": "offset", "count": "limit"}),),
    },
    "write a file": {
        "claude-code": (Spelling("Write", {"path": "file_path", "content": "content"}),),
        "pi": (Spelling("write", {"path": "path", "content": "content"}),),
        "openclaw": (Spelling("write", {"path": "path", "content": "content"}),),
        "gemini": (Spelling("write_file", {"path": "file_path", "content": "content"}),),
        "qwen": (Spelling("write_file", {"path": "file_path", "content": "content"}),),
        "opencode": (Spelling("write", {"path": "filePath", "content": "content"}),),
        "agentuse": (Spelling("tools__filesystem_write", {"path": "file_path", "content": "content"}),),
    },
    "edit a file": {
        "claude-code": (Spelling("Edit", {"path": "file_path", "old": "old_string", "new": "new_string"}),),
        "pi": (Spelling("edit", {"path": "path", "old": "oldText", "new": "newText"}, _one_edit, _as_edits),),
        "openclaw": (Spelling("edit", {"path": "path", "old": "oldText", "new": "newText"}, _one_edit, _as_edits),),
        "gemini": (Spelling("replace", {"path": "file_path", "old": "old_string", "new": "new_string"}),),
        "qwen": (Spelling("edit", {"path": "file_path", "old": "old_string", "new": "new_string"}),),
        "opencode": (Spelling("edit", {"path": "filePath", "old": "oldString", "new": "newString"}),),
        "agentuse": (
            Spelling("tools__filesystem_edit", {"path": "file_path", "old": "old_string", "new": "new_string"}),
        ),
    },
    "search in files": {
        "claude-code": (Spelling("Grep", {"pattern": "pattern", "path": "path", "files": "glob"}),),
        "pi": (Spelling("grep", {"pattern": "pattern", "path": "path", "files": "glob"}),),
        "gemini": (Spelling("grep_search", {"pattern": "pattern", "path": "dir_path"}),),
        "qwen": (Spelling("grep_search", {"pattern": "pattern", "path": "path", "files": "glob"}),),
        "opencode": (Spelling("grep", {"pattern": "pattern", "path": "path", "files": "include"}),),
    },
    "find files": {
        "claude-code": (Spelling("Glob", {"pattern": "pattern", "path": "path"}),),
        "pi": (Spelling("find", {"pattern": "pattern", "path": "path"}),),
        "gemini": (Spelling("glob", {"pattern": "pattern", "path": "dir_path"}),),
        "qwen": (Spelling("glob", {"pattern": "pattern", "path": "path"}),),
        "opencode": (Spelling("glob", {"pattern": "pattern", "path": "path"}),),
    },
    "list a folder": {
        "claude-code": (Spelling("LS", {"path": "path"}),),
        "pi": (Spelling("ls", {"path": "path"}),),
        "gemini": (Spelling("list_directory", {"path": "dir_path"}),),
        "qwen": (Spelling("list_directory", {"path": "path"}),),
    },
    "plan": {
        "claude-code": (Spelling("TodoWrite", {"plan": "todos"}, None, _as_todos),),
        "codex": (Spelling("update_plan", {"plan": "plan", "reason": "explanation"}, _plan_items, _as_plan),),
    },
}
