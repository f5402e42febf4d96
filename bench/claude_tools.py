"""What made-up agents do with their tools: the input, the output, and the copy of it that Claude Code keeps."""

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from bench.claude_texts import Texts

_TOOLS = {"Read": 34, "Bash": 26, "Edit": 16, "Grep": 12, "Write": 6, "TodoWrite": 6, "Task": 1.2}
_ERRORS = 0.06
_MOST_LINES = 1500


@dataclass
class Use:
    """A call of a tool and its result."""

    tool: str
    input: dict[str, Any]
    output: str
    mirror: Any
    is_error: bool = False


def used(made: random.Random, texts: Texts, cwd: str) -> Use:
    """Some tool, used on some file."""
    tool = made.choices(list(_TOOLS), list(_TOOLS.values()))[0]
    use = _MAKERS[tool](made, texts, cwd)
    if made.random() < _ERRORS:
        use.output = use.mirror = f"Error: {texts.prose(made, 12)}\nExit code 1"
        use.is_error = True
    return use


def _read(made: random.Random, texts: Texts, cwd: str) -> Use:
    path, lines = texts.path(made, cwd), texts.lines(made, _length(made))
    shown = "\n".join(f"{number:>6}→{line}" for number, line in enumerate(lines, 1))
    file = {"filePath": path, "content": shown, "numLines": len(lines), "startLine": 1, "totalLines": len(lines)}
    return Use("Read", {"file_path": path}, shown, {"type": "text", "file": file})


def _bash(made: random.Random, texts: Texts, cwd: str) -> Use:
    command = f"cd {cwd} && {texts.word(made)} --{texts.word(made)} {texts.path(made, cwd)}"
    output = texts.code(made, max(1, _length(made) // 2))
    mirror = {"stdout": output, "stderr": "", "interrupted": False, "isImage": False}
    return Use("Bash", {"command": command, "description": texts.prose(made, 6)}, output, mirror)


def _edit(made: random.Random, texts: Texts, cwd: str) -> Use:
    path = texts.path(made, cwd)
    old, new = texts.code(made, made.randint(2, 14)), texts.code(made, made.randint(2, 18))
    output = f"The file {path} has been updated. Here's the result of running `cat -n`\n{texts.code(made, 12)}"
    changed = {"filePath": path, "oldString": old, "newString": new}
    kept = {"originalFile": texts.code(made, _length(made)), "structuredPatch": []}
    mirror = {**changed, **kept, "userModified": False, "replaceAll": False}
    return Use("Edit", {"file_path": path, "old_string": old, "new_string": new}, output, mirror)


def _grep(made: random.Random, texts: Texts, cwd: str) -> Use:
    count = min(40, _length(made))
    found = [f"{texts.path(made, cwd)}:{made.randint(1, 900)}:{texts.prose(made, 8)}" for _ in range(count)]
    output = "\n".join(found)
    mirror = {"mode": "content", "numFiles": 0, "filenames": [], "content": output, "numLines": count}
    return Use("Grep", {"pattern": texts.word(made), "path": cwd, "output_mode": "content"}, output, mirror)


def _write(made: random.Random, texts: Texts, cwd: str) -> Use:
    path, content = texts.path(made, cwd), texts.code(made, _length(made))
    mirror = {"type": "create", "filePath": path, "content": content, "structuredPatch": []}
    return Use("Write", {"file_path": path, "content": content}, f"File created successfully at: {path}", mirror)


def _plan(made: random.Random, texts: Texts, _cwd: str) -> Use:
    states = ("pending", "in_progress", "completed")
    todos = [
        {"content": texts.prose(made, 8), "status": made.choice(states), "activeForm": texts.prose(made, 5)}
        for _ in range(5)
    ]
    mirror = {"oldTodos": [], "newTodos": todos}
    return Use("TodoWrite", {"todos": todos}, "Todos have been modified successfully.", mirror)


def _delegate(made: random.Random, texts: Texts, _cwd: str) -> Use:
    task = {"description": texts.prose(made, 4), "prompt": texts.prose(made, 60), "subagent_type": "general-purpose"}
    output = texts.prose(made, 150)
    spent = {"totalDurationMs": made.randint(9_000, 90_000), "totalTokens": made.randint(9_000, 60_000)}
    content = [{"type": "text", "text": output}]
    return Use("Task", task, output, {"status": "completed", "content": content, **spent, "totalToolUseCount": 3})


_MAKERS: dict[str, Callable[[random.Random, Texts, str], Use]] = {
    "Read": _read,
    "Bash": _bash,
    "Edit": _edit,
    "Grep": _grep,
    "Write": _write,
    "TodoWrite": _plan,
    "Task": _delegate,
}


def _length(made: random.Random) -> int:
    """Lines of a file or an output: half of them under 37, a few of them over 350."""
    return max(1, int(min(_MOST_LINES, made.lognormvariate(3.6, 1.1))))
