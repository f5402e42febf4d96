"""Records about the thread as a whole: who it is, what it continues, how it is set up, where it was compacted."""

import re
from collections.abc import Iterator
from hashlib import sha256
from typing import Any

import msgspec

from agents_ledger.formats.codex.contents import replacement
from agents_ledger.formats.codex.fields import Item, count, label, rows, table, text, wrong
from agents_ledger.formats.codex.state import State, digest
from agents_ledger.model.file_names import own_name
from agents_ledger.model.steps import Base, Compacted, Event, Facts, Noted, Problem, Said
from agents_ledger.model.times import from_iso

_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
# told elsewhere, or texts and lists of tools that may be huge
_NOT_EXTRA = {"id", "cwd", "cli_version", "timestamp", "instructions", "base_instructions", "dynamic_tools"}
_EXTRA_BYTES = 4000


def named(path: str) -> str:
    """The thread's id by the file's name; if that has none, the name itself or (of `full.jsonl`) one of its own."""
    name = re.split(r"[\\/]", path)[-1]
    if found := _UUID.findall(name):
        return str(found[-1]).lower()
    bare = name.removesuffix(".zst").removesuffix(".jsonl")[:200]
    return own_name(path, bare) if bare and bare.isprintable() else f"unnamed-{digest(path)[:16]}"


def session_meta(state: State, meta: Item, ordinal: int | None, at: int | None) -> Iterator[Event]:
    """The header. Only the first one says who this is: a legacy fork repeats its origin's."""
    yield from wrong(meta, "session_meta", id=str, cwd=str, cli_version=str, forked_from_id=str, git=dict)
    thread = label(meta, "id")
    if state.session:
        yield from _again(state, meta, thread)
        return
    state.session = thread or state.name
    origin = label(meta, "forked_from_id")
    state.root = origin or state.session
    state.provider = label(meta, "model_provider")
    state.placed = text(meta, "cwd") is not None
    state.subagent = _parent(meta) is not None or text(meta, "thread_source") == "subagent"
    base = _base(state, meta, ordinal)
    state.copying = origin is not None and base is None
    state.born = from_iso(meta.get("timestamp"))
    if state.until is None:
        yield _facts(state, meta, at)
    if base:
        yield base
    yield from _set_up(state, meta, None if state.copying else at, first=base is None)


def _again(state: State, meta: Item, thread: str | None) -> Iterator[Event]:
    """A later header: our own with new facts, or the origin's among the lines that a fork copied."""
    if thread == state.session:
        if state.until is None and not state.copying:
            yield _facts(state, meta, None)
        return
    if thread is None:
        return
    if state.line == 1 and not state.copying:  # before 0.98 a fork does not name its origin
        state.copying, state.root = True, thread
        if state.until is None:
            yield Facts(session=state.session, forked_from=thread)
    if thread == state.root:
        state.root = label(meta, "forked_from_id") or thread


def _base(state: State, meta: Item, ordinal: int | None) -> Base | None:
    """The reference to the records that a paginated fork continues."""
    given = table(meta, "history_base")
    of, until = label(given, "thread_id"), count(given, "end_ordinal_exclusive")
    if of is None and ordinal:  # a file that begins in the middle of the count
        of, until = label(meta, "forked_from_id"), count(meta, "forked_from_ordinal_exclusive")
    if of is None:
        return None
    if state.until is not None:
        until = state.until if until is None else min(until, state.until)
    return Base(session=state.session, of=of, until=until)


def _parent(meta: Item) -> str | None:
    """The thread that started this one as a subagent."""
    source = table(table(meta, "source"), "subagent")
    return label(meta, "parent_thread_id") or label(table(source, "thread_spawn"), "parent_thread_id")


def _facts(state: State, meta: Item, at: int | None) -> Facts:
    git = table(meta, "git")
    return Facts(
        session=state.session,
        created_at=from_iso(meta.get("timestamp")) or at,
        project=text(meta, "cwd"),
        git_branch=text(git, "branch"),
        agent_version=text(meta, "cli_version"),
        parent_session=_parent(meta),
        forked_from=label(meta, "forked_from_id"),
        extra=_extra(meta) or None,
    )


def _extra(meta: Item) -> dict[str, Any]:
    """All other fields, as long as they are small."""
    extra: dict[str, Any] = {}
    for key, value in meta.items():
        if key in _NOT_EXTRA or value is None or value == {}:
            continue
        try:
            if len(msgspec.json.encode(value)) <= _EXTRA_BYTES:
                extra[key] = value
        except (ValueError, RecursionError, TypeError, OverflowError):
            continue
    return extra


def _set_up(state: State, meta: Item, at: int | None, *, first: bool) -> Iterator[Event]:
    """The system prompt (unless it stands at the beginning of what is continued) and what else holds from now on."""
    given = meta.get("base_instructions")
    prompt = text(given, "text") if isinstance(given, dict) else given
    hashed = None
    if isinstance(prompt, str) and prompt:
        hashed = sha256(prompt.encode("utf-8", "surrogatepass")).hexdigest()
    workspace = text(meta, "cwd")
    if hashed or workspace or state.provider:
        yield Noted(
            session=state.session, at=at, provider=state.provider, workspace=workspace, system_prompt_hash=hashed
        )
    if hashed and first:
        yield Said(session=state.session, at=at, role="system", content=prompt, source="context")


def turn_context(state: State, context: Item, at: int | None) -> Iterator[Event]:
    """The settings of a turn; versions before 0.1xx tell them before each API call, so only changes are passed on."""
    yield from wrong(context, "turn_context", model=str, cwd=str)
    state.model = label(context, "model") or state.model
    workspace = text(context, "cwd")
    policies = ("approval_policy", "sandbox_policy")
    permissions = {key: context[key] for key in policies if isinstance(context.get(key), str | dict)}
    try:
        told = digest(msgspec.json.encode([state.model, workspace, permissions]).decode())
    except (ValueError, RecursionError, TypeError, OverflowError):
        yield Problem("bad-field", "turn_context: a policy that cannot be written down")
        return
    if told == state.settings:
        return
    state.settings = told
    yield Noted(
        session=state.session,
        at=at,
        model=state.model,
        provider=state.provider,
        workspace=workspace,
        permissions=permissions or None,
    )


def compacted(state: State, record: Item, at: int | None) -> Iterator[Event]:
    """A compaction: with the new context in full, or (legacy) with the summary alone."""
    yield from wrong(record, "compacted", message=str, replacement_history=list)
    state.pause()
    summary, history = text(record, "message") or "", record.get("replacement_history")
    window = text(record, "window_id")
    small = ("window_number", "first_window_id", "previous_window_id", "window_id", "compaction_response_id")
    about: dict[str, Any] = {key: record[key] for key in small if isinstance(record.get(key), str | int)}
    whole = isinstance(history, list)
    if not whole:
        about["legacy"] = True  # what the model kept beside the summary (its user messages) is not written down
    place = digest("compaction", state.turn or state.scope(), str(state.compactions), summary)
    state.compactions += 1
    yield Compacted(
        session=state.session,
        at=at,
        summary=summary,
        replacement=replacement(rows(record, "replacement_history")) if whole else None,
        model=state.model,
        provider=state.provider,
        summary_tokens=_summary_tokens(record),
        metadata=about or None,
        identity=f"window:{window}" if window else place,
    )


def _summary_tokens(record: Item) -> int | None:
    """The summary's tokens, if the last API call was the one that wrote it."""
    latest = table(record, "latest_token_usage_record")
    response = text(latest, "response_id")
    if response is None or response != text(record, "compaction_response_id"):
        return None
    return count(table(latest, "usage"), "output_tokens")
