"""Where the context begins anew: compactions, resets, summaries of branches that were left."""

from collections.abc import Iterator

from agents_ledger.formats.pi.fields import digest, number, plain, present, usage_key, usage_of, word
from agents_ledger.formats.pi.lines import Entry
from agents_ledger.formats.pi.messages import Where
from agents_ledger.model.steps import Compacted, Event, Noted, Problem, Said

# pi's own words around the summary of a branch (0.73 to 1.5: BRANCH_SUMMARY_PREFIX and _SUFFIX)
_BEFORE = "The following is a summary of a branch that this conversation came back from:\n\n<summary>\n"
_BEHIND = "</summary>"
_PERIODIC = ("idle", "daily", "cron-stale")


def compacted(entry: Entry, where: Where) -> Iterator[Event]:
    """A compaction: the summary, and the first entry that is kept."""
    if not isinstance(entry.summary, str):
        yield Problem("bad-field", "summary")
    summary = entry.summary if isinstance(entry.summary, str) else ""
    first = _first_kept(entry, where)
    yield Compacted(
        **where,
        summary=summary,
        first_kept=first,
        kept=() if first is None else None,
        tokens_before=number(entry.tokens_before),
        tokens_after=number(entry.tokens_after),
        usage=usage_of(entry.usage),
        metadata=present(details=plain(entry.details), fromHook=entry.from_hook, cost=_cost(entry)),
        identity=digest("compaction", where["at"], summary),
    )


def reset(entry: Entry, where: Where) -> Iterator[Event]:
    """What /new and /reset write in openclaw (version 4): the context is empty, or begins with what is kept."""
    first, reason = _first_kept(entry, where), word(entry.reason)
    yield Compacted(
        **where,
        type="reset",
        first_kept=first,
        kept=() if first is None else None,
        trigger="periodic" if reason in _PERIODIC else "manual" if reason else None,
        metadata=present(reason=reason),
        identity=digest("reset", where["at"], reason),
    )


def _first_kept(entry: Entry, where: Where) -> str | None:
    """The first entry that stays; None for "nothing stays", which pi writes as the compaction's own id."""
    first = word(entry.first_kept_entry_id)
    if first is not None:
        return None if first == where["native_id"] else first
    index = number(entry.first_kept_entry_index)  # version 1: by number, the header being 0
    return None if index is None else f"line-{max(index, 1)}"


def came_back(entry: Entry, where: Where) -> Iterator[Event]:
    """The summary of a branch that was left: the model sees it as a user's message, if it says something."""
    summary = entry.summary
    if not isinstance(summary, str) or not summary:
        if summary not in (None, ""):
            yield Problem("bad-field", "summary")
        yield Noted(**where)
        return
    usage = usage_of(entry.usage)
    yield Said(
        **where,
        role="user",
        source="context",
        content=_BEFORE + summary + _BEHIND,
        usage=usage,
        usage_key=usage_key(usage, where["at"], "branch_summary", summary),
        metadata=present(
            kind="branch_summary",
            # the target itself in 0.73, the leaf that was left since 0.87
            fromId=word(entry.from_id),
            details=plain(entry.details),
            fromHook=entry.from_hook,
            cost=_cost(entry),
        ),
    )


def _cost(entry: Entry) -> object:
    return entry.usage.get("cost") if isinstance(entry.usage, dict) else None
