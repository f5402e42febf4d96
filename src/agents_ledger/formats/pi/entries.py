"""Lines of a transcript, as they are written: the header of version 3 and every entry that pi 0.73 to 1.5 knows.

Pure: ids, parents and times are given. Keys stand in pi's own order; what is None is not written.
"""

import json
import re
from collections.abc import Callable, Container
from typing import Any

import msgspec
from msgspec import Struct

from agents_ledger.formats.pi.fields import given
from agents_ledger.model.times import iso

VERSION = 3
CUT = "agents-ledger:cut"  # the custom type of a line that stands for an entry that was cut away
_TRIES = 100  # as pi: then a whole UUID
_FILE_TIME = re.compile(r"[:.]")
_SLUG = re.compile(r"[/\\:]")

Json = dict[str, Any]


class Place(Struct, frozen=True):
    """Where an entry stands: its id, the entry it follows (None: the first one), its time in Unix ms."""

    id: str
    parent: str | None
    at: int


def line(entry: Json) -> bytes:
    """An entry as a line of the file."""
    try:
        return msgspec.json.encode(entry) + b"\n"
    except (UnicodeEncodeError, OverflowError, ValueError, TypeError):  # lone surrogates, whole numbers over 64 bits
        return json.dumps(entry, separators=(",", ":"), allow_nan=False).encode("ascii") + b"\n"


def header(session: str, at: int, cwd: str, parent_session: str | None = None, **more: Any) -> Json:
    """The first line. `parent_session` is the path of the file that this one was forked from."""
    found = {"type": "session", "version": VERSION, "id": session, "timestamp": iso(at), "cwd": cwd}
    return found | given(parentSession=parent_session, **more)


def message(place: Place, body: Json, **more: Any) -> Json:
    """What was said: a body from `bodies`. `more` are the extended fields of Nexus."""
    return _entry("message", place) | {"message": body} | given(**more)


def model_change(place: Place, provider: str, model: str) -> Json:
    """From here on another model answers."""
    return _entry("model_change", place) | {"provider": provider, "modelId": model}


def thinking_level_change(place: Place, level: str) -> Json:
    """From here on the model thinks so much: off, minimal, low, medium, high, xhigh."""
    return _entry("thinking_level_change", place) | {"thinkingLevel": level}


def compaction(
    place: Place,
    summary: str,
    first_kept: str | None,
    tokens_before: int,
    details: Any = None,
    *,
    from_hook: bool | None = None,
    usage: Json | None = None,
) -> Json:
    """A summary that stands for what came before `first_kept`; its own id is pi's word for "nothing is kept"."""
    found = {"summary": summary, "firstKeptEntryId": first_kept or place.id, "tokensBefore": tokens_before}
    return _entry("compaction", place) | found | given(details=details, fromHook=from_hook, usage=usage)


def branch_summary(
    place: Place, summary: str, left: str | None = None, details: Any = None, *, from_hook: bool | None = None
) -> Json:
    """What was said on a branch that was left: `left` is its last entry (pi 0.73 repeats the parent here)."""
    found = {"fromId": left or place.parent or "root", "summary": summary}
    return _entry("branch_summary", place) | found | given(details=details, fromHook=from_hook)


def custom(place: Place, kind: str, data: Any = None) -> Json:
    """An extension's own state; the model does not see it."""
    return {"type": "custom", "customType": kind} | given(data=data) | _entry("custom", place)


def stand_in(place: Place, archive: str) -> Json:
    """A line of the name of an entry that was cut away and is referred to: it is in the archive."""
    return custom(place, CUT, {"archive": archive})


def custom_message(place: Place, kind: str, content: Any, *, display: bool = True, details: Any = None) -> Json:
    """What an extension says to the model, as a user's message."""
    found: Json = {"type": "custom_message", "customType": kind, "content": content, "display": display}
    return found | given(details=details) | _entry("custom_message", place)


def label(place: Place, target: str, text: str | None) -> Json:
    """A bookmark on an entry; None takes it away."""
    return _entry("label", place) | {"targetId": target} | given(label=text)


def session_info(place: Place, name: str) -> Json:
    """The session's name; an empty one takes it away."""
    return _entry("session_info", place) | {"name": name.strip()}


def usage(place: Place, kind: str, provider: str, model: str, tokens: Json, note: str | None = None) -> Json:
    """A call to the model outside of the conversation (pi 0.8x and newer)."""
    found = {"kind": kind, "provider": provider, "model": model, "usage": tokens}
    return _entry("usage", place) | found | given(note=note)


def context_edit(place: Place, target: str, replacement: Json | None) -> Json:
    """Another content for an entry, from here on; None leaves it out of the context (pi 0.8x and newer)."""
    return _entry("context_edit", place) | {"targetId": target, "replacement": replacement}


def turn(place: Place, queries: list[str], response: str, calls: int, before: str | None, model: str | None) -> Json:
    """The marker of Nexus for a finished turn. Its id is the last answer's; `before` is the turn that it follows.

    Other readers of the family take it for a node of the tree, so it has an entry's id and parent as well.
    """
    found: Json = {"turnId": response, "queryMessageIds": queries, "responseMessageId": response}
    return _entry("turn", place) | found | {"toolCallCount": calls} | given(parentTurnId=before, model=model)


def new_id(taken: Container[str], uuid: Callable[[], str]) -> str:
    """An id that is free in its file: 8 digits of a UUID, a whole one if all tries met a taken one."""
    for _ in range(_TRIES):
        found = uuid()[:8]
        if found not in taken:
            return found
    return uuid()


def file_name(session: str, at: int) -> str:
    """What pi calls a session's file."""
    return f"{_FILE_TIME.sub('-', iso(at) or '')}_{session}.jsonl"


def folder_name(cwd: str) -> str:
    """What pi calls the folder of all sessions of a working directory (nobody can read the way back from it)."""
    inside = cwd[1:] if cwd.startswith(("/", "\\")) else cwd
    return f"--{_SLUG.sub('-', inside)}--"


def archive_name(name: str, reason: str, at: int) -> str:
    """What clawdbot calls a file that it puts aside: reason is bak, reset or deleted."""
    return f"{name}.{reason}.{(iso(at) or '').replace(':', '-')}"


def _entry(kind: str, place: Place) -> Json:
    return {"type": kind, "id": place.id, "parentId": place.parent, "timestamp": iso(place.at)}
