"""What sources say about a session as a whole, put together."""

from typing import Any

from msgspec import Struct

from agents_ledger.errors import BadInput
from agents_ledger.model.steps import Facts
from agents_ledger.model.texts import json_text, read_json, readable

_SAME = (
    "title",
    "project",
    "git_branch",
    "agent_version",
    "persona",
    "channel",
    "routing_key",
    "parent_session",
    "parent_call",
    "task",
    "task_status",
    "forked_from",
    "forked_path",
    "archive_source",
)


class Details(Struct):
    """A row of `session_details`."""

    session_label: str
    title: str | None = None
    project: str | None = None
    git_branch: str | None = None
    agent_version: str | None = None
    persona: str | None = None
    channel: str | None = None
    routing_key: str | None = None
    parent_session: str | None = None
    parent_call: str | None = None
    task: str | None = None
    task_status: str | None = None
    forked_from: str | None = None
    forked_path: str | None = None
    archive_source: str | None = None
    started_at: int | None = None
    last_at: int | None = None
    extra: str | None = None


def learn(details: Details, facts: Facts) -> None:
    """Adds what a source says: the newer value of each field counts."""
    for name in _SAME:
        value = getattr(facts, name)
        if isinstance(value, str):
            setattr(details, name, readable(value)[0])
    _span(details, facts.created_at, facts.updated_at)
    if isinstance(facts.extra, dict):
        details.extra = _joined(details.extra, facts.extra)


def merge(kept: Details, newer: Details) -> Details:
    """Both together: what the newer one knows counts."""
    for name in _SAME:
        value = getattr(newer, name)
        if value is not None:
            setattr(kept, name, value)
    _span(kept, newer.started_at, newer.last_at)
    if newer.extra is not None:
        kept.extra = _joined(kept.extra, read_json(newer.extra))
    return kept


def _span(details: Details, first: int | None, last: int | None) -> None:
    known = [at for at in (details.started_at, first) if at is not None]
    details.started_at = min(known) if known else None
    known = [at for at in (details.last_at, last, first) if at is not None]
    details.last_at = max(known) if known else None


def _joined(text: str | None, more: Any) -> str:
    """What was known and what is new, as JSON; what no reader can take apart again (nested too deep) is left out."""
    known = {} if text is None else read_json(text)
    if not isinstance(more, dict) or not isinstance(known, dict):
        return text or "{}"
    try:
        joined = json_text({**known, **more}, "extra")[0]
    except BadInput:
        return text or "{}"
    return joined if isinstance(read_json(joined), dict) else text or "{}"
