"""What a tool call does to files, as far as its name and parameters say so for certain; of all agents' tools."""

import ntpath
import posixpath
import re
from typing import Any

from agents_ledger.model.shell import writes

EDITS = frozenset(
    (
        "write", "edit", "multiedit", "multi_edit", "notebookedit", "notebook_edit", "write_file", "edit_file",
        "create_file", "delete_file", "filesystem_write", "filesystem_edit", "search_replace", "replace", "str_replace",
        "str_replace_editor", "str_replace_based_edit_tool", "insert_edit_into_file", "write_to_file",
        "replace_in_file", "apply_patch", "applypatch", "apply_diff", "patch",
    )
)  # fmt: skip
SHELLS = frozenset(
    (
        "bash", "shell", "exec", "exec_command", "shell_command", "local_shell", "container.exec", "run_terminal_cmd",
        "run_terminal_command", "run_shell_command", "run_command", "execute_command", "terminal", "sh", "zsh",
    )
)  # fmt: skip
_PATHS = ("file_path", "path", "notebook_path", "filePath", "target_file", "absolute_path", "filename", "targetFile")
_FOLDERS = ("workdir", "cwd", "working_directory", "directory", "dir_path")
_PATCHED = re.compile(r"^\*\*\* (?:(?:Add|Update|Delete) File|Move to): (.+)", re.MULTILINE)
_READING = ("view", "undo_edit")
_DRIVE = re.compile(r"[A-Za-z]:[\\/]")
_SHELL_ITSELF = re.compile(r"(?:.*/)?(?:ba|z|da)?sh$")


def plain_name(tool: str) -> str:
    """A tool's own name, without its server's and its namespace's: `tools__bash` is `bash`."""
    return tool.rpartition("__")[2].rpartition(".")[2].lower() if tool != "container.exec" else tool


def runs_commands(tool: str) -> bool:
    """Whether a tool runs commands."""
    return plain_name(tool) in SHELLS


def command_of(tool: str, params: Any) -> str | None:
    """The command line of a call that runs one."""
    if not runs_commands(tool) or not isinstance(params, dict):
        return None
    given = params.get("command", params.get("cmd"))
    if isinstance(given, list) and given and all(isinstance(part, str) for part in given):
        is_shell = len(given) > 2 and _SHELL_ITSELF.match(given[0]) and given[1].startswith("-")  # noqa: PLR2004 - sh -c x
        return str(given[2]) if is_shell else " ".join(given)
    return given if isinstance(given, str) else None


def written_paths(tool: str, params: Any, workspace: str | None) -> list[str]:
    """The files that a call writes, as absolute paths; without a workspace only those that are given so."""
    folder = _folder(params, workspace)
    if plain_name(tool) in EDITS:
        return _resolved([(path, folder) for path in _edited(params)])
    command = command_of(tool, params)
    if command is None:
        return []
    found = [(each.path, None if each.folder is None else _joined(folder, each.folder)) for each in writes(command)]
    return _resolved([(path, folder) for path in _patched(command)] + found)


def whole_path(path: str, workspace: str | None) -> str | None:
    """A path from the root on; None for one that nobody knows the folder of."""
    return next(iter(_resolved([(path, workspace)])), None)


def is_inside(path: str, folder: str) -> bool:
    """Whether an absolute path lies in a folder. No link is followed: the record knows none."""
    inner, outer = _normal(path), _normal(folder)
    return inner == outer or inner.startswith(outer.rstrip("/") + "/")


def _edited(params: Any) -> list[str]:
    if isinstance(params, str):
        return _patched(params)
    if not isinstance(params, dict) or params.get("command") in _READING:
        return []
    named = [value for name in _PATHS if isinstance(value := params.get(name), str) and value]
    carried = [value for name in ("input", "patch", "patchText", "diff") if isinstance(value := params.get(name), str)]
    return named[:1] or [path for text in carried for path in _patched(text)]


def _patched(text: str) -> list[str]:
    found = _PATCHED.findall(text) if "*** " in text else []
    return [path for each in found if (path := each.rstrip())]


def _folder(params: Any, workspace: str | None) -> str | None:
    given = next((params[name] for name in _FOLDERS if isinstance(params.get(name), str)), "") if _is(params) else ""
    return _joined(workspace, given) if given else workspace


def _is(params: Any) -> bool:
    return isinstance(params, dict)


def _joined(folder: str | None, path: str) -> str | None:
    if path.startswith("~"):
        home = _home(folder)
        path = path.replace("~", home, 1) if home and path[1:2] in ("", "/") else path
    if path.startswith(("/", "~")) or _DRIVE.match(path):
        return path
    return None if folder is None else f"{folder}/{path}"


def _home(folder: str | None) -> str | None:
    """The home folder that a workspace is in, by the way homes are named."""
    found = re.match(r"/(?:home|Users)/[^/]+|/root(?=/|$)", folder or "")
    return found[0] if found else None


def _resolved(found: list[tuple[str, str | None]]) -> list[str]:
    joined = [_joined(folder, path) for path, folder in found]
    return list(dict.fromkeys(_normal(path) for path in joined if path is not None))


def _normal(path: str) -> str:
    """A path without `.` and `..`, with slashes; drives without capitals."""
    if _DRIVE.match(path):
        return ntpath.normpath(path).replace("\\", "/").lower()
    return posixpath.normpath(path).replace("//", "/")
