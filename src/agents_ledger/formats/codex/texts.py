"""Reading in texts: what was injected, what a tool's output says about its end, which files a patch touches."""

import re

import msgspec

from agents_ledger.model.entries import CallStatus, File

# Codex's own list (contextual_user_message.rs), with what earlier versions had: beginning and end, any case.
_INJECTED = (
    ("# agents.md instructions", "</instructions>"),
    ("<user_instructions>", "</user_instructions>"),
    ("<environment_context>", "</environment_context>"),
    ("<additional_context", ">"),
    ("<skill>", "</skill>"),
    ("<skills_instructions>", "</skills_instructions>"),
    ("<user_shell_command>", "</user_shell_command>"),
    ("<turn_aborted>", "</turn_aborted>"),
    ("<subagents>", "</subagents>"),
    ("<subagent_notification>", "</subagent_notification>"),
    ("<agent_message_board", ">"),
    ("<internal_model_context", ">"),
    ("<codex_internal_context", ">"),
    ("<recommended_plugins>", "</recommended_plugins>"),
    ("<permissions instructions>", "</permissions instructions>"),
    ("<model_switch>", "</model_switch>"),
    ("<hook_prompt", ">"),
    ("<goal_context>", "</goal_context>"),
    ("another language model started to solve this problem", ""),
    ("warning: the maximum number of unified exec processes", ""),
    ("warning: apply_patch was requested via", ""),
    ("warning: your account was flagged for potentially high-risk", ""),
)
# of these, what came of something that was asked for: another program is told it, too
_MEANT = ("subagent_notification", "user_shell_command")
_LONGEST = max(len(mark) for marks in _INJECTED for mark in marks)
# kinds of content items (0.166) that stand for the user's own words, even if nobody knows what they are
_OWN_KINDS = ("", "unknown", "images.preparation_error", "images.unsupported", "audio.unsupported")
_FOLDER = re.compile(r"<cwd>([^<\n]+)</cwd>|Current working directory: ([^\n]+)")
_EXIT = re.compile(r"(?:^|\n)(?:Process exited with code|Exit code:) (-?\d{1,10})(?:\n|$)")
_FAILURES = (
    "exec_command failed",
    "write_stdin failed",
    "apply_patch verification failed",
    "failed to parse function arguments",
    "failed in sandbox",
    "execution error",
    "unsupported call",
    "unsupported custom tool call",
    "collab tool failed",
    "script failed",
    "script error",
    "err: ",
)
_HEAD = 400
_TOUCHED = re.compile(r"\*\*\* (?:(?:Add|Update|Delete) File|Move to): ((?:[^\n\\]|\\(?!n))++)")
_MANY = 500


def injected(text: str) -> bool:
    """Whether a text of the user's role was put there by Codex."""
    head = text[: _LONGEST + 40].lstrip().lower()
    tail = text[-_LONGEST - 40 :].rstrip().lower()
    return any(head.startswith(start) and tail.endswith(end) for start, end in _INJECTED)


def meant(text: str) -> str | None:
    """The kind of an injected text that belongs to the conversation: the end of a subagent, a command of the user."""
    head = text[: _LONGEST + 40].lstrip().lower()
    return next((name for name in _MEANT if head.startswith(f"<{name}>")), None)


def own(kind: object) -> bool:
    """Whether a content item of this kind (0.166) holds what a user gave."""
    return isinstance(kind, str) and (kind.startswith("user.") or kind in _OWN_KINDS)


def folder(text: str) -> str | None:
    """The working folder that an environment context names."""
    found = _FOLDER.search(text[:4000])
    return (found[1] or found[2]).strip() if found else None


def outcome(output: str) -> tuple[CallStatus, str | None]:
    """How a tool call ended, and the error in short, by the lines that Codex wraps around its output."""
    head = output[:_HEAD]
    before = head.partition("\nOutput:")[0]
    if found := _EXIT.search(before):
        return ("completed", None) if int(found[1]) == 0 else ("failed", f"exit code {int(found[1])}")
    if head.startswith('{"'):
        return _structured(output)
    if "rejected by user" in head:
        return "rejected", "rejected by user"
    if head.rstrip() == "aborted" or before.rstrip().endswith("aborted by user"):
        return "cancelled", "aborted by user"
    if before.lower().startswith(_FAILURES):
        return "failed", before.partition("\n")[0][:200]
    return "completed", None


class _Metadata(msgspec.Struct):
    exit_code: int | None = None


class _Output(msgspec.Struct):
    metadata: _Metadata | None = None


_outputs = msgspec.json.Decoder(_Output)


def _structured(output: str) -> tuple[CallStatus, str | None]:
    """The same for `{"output":…,"metadata":{"exit_code":…}}` (2025)."""
    try:
        read = _outputs.decode(output)
    except (msgspec.DecodeError, ValueError, RecursionError):
        return "completed", None
    code = read.metadata.exit_code if read.metadata else None
    return ("failed", f"exit code {code}") if code else ("completed", None)


def patched(patch: str) -> tuple[File, ...]:
    """The files that a patch writes."""
    if "*** Begin Patch" not in patch:
        return ()
    paths = dict.fromkeys(found[1].strip() for found in _TOUCHED.finditer(patch))
    return tuple(File(path, "written") for path in list(paths)[:_MANY] if path)
