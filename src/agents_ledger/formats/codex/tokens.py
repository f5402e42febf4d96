"""Tokens: a record for each API call (0.166), or running sums whose differences count."""

from collections.abc import Iterator

from agents_ledger.formats.codex.fields import Item, count, table, text, wrong
from agents_ledger.formats.codex.state import State
from agents_ledger.model.entries import Usage
from agents_ledger.model.steps import Event, Spent

# NB: input holds the cached ones, output holds reasoning.
_KEYS = (
    "input_tokens",
    "cached_input_tokens",
    "cache_write_input_tokens",
    "output_tokens",
    "reasoning_output_tokens",
    "total_tokens",
)


def usage_record(state: State, record: Item, at: int | None) -> Iterator[Event]:
    """One API call's tokens, exactly."""
    yield from wrong(record, "token_usage_record", usage=dict, response_id=str)
    state.pause()
    state.exact = True
    numbers = _numbers(table(record, "usage"))
    if any(numbers):
        key = text(record, "response_id") or f"codex:{text(record, 'turn_id') or state.scope()}:{numbers}"
        yield _spent(state, numbers, key, at, writes="cache_write_input_tokens" in table(record, "usage"))


def token_count(state: State, event: Item, at: int | None) -> Iterator[Event]:
    """What a running sum has grown by: it is told again and again, and only growth counts."""
    yield from wrong(event, "token_count", info=dict)
    info = event.get("info")
    if not isinstance(info, dict):  # a new process that does not know what came before (0.63)
        _restart(state)
        return
    sums, last = table(info, "total_token_usage"), table(info, "last_token_usage")
    totals, latest, before = _numbers(sums), _numbers(last), state.totals
    if totals == before or not any(totals):
        return
    if any(before) and (latest == totals or any(new < old for new, old in zip(totals, before, strict=True))):
        _restart(state)
    grown = [new - old for new, old in zip(totals, state.totals, strict=True)] if any(state.totals) else totals
    # Sums that begin in the middle continue another file: what it held is not ours.
    spent = latest if not any(state.totals) and any(latest) else grown
    state.totals = totals
    if state.exact:
        return
    state.pause()
    if any(spent[:-1]):
        key = f"codex:{state.turn or state.scope()}:{state.resets}:{'/'.join(map(str, totals))}"
        yield _spent(state, spent, key, at, writes="cache_write_input_tokens" in sums)


def _restart(state: State) -> None:
    if any(state.totals):
        state.resets += 1
    state.totals = []


def _numbers(usage: Item) -> list[int]:
    return [count(usage, key) or 0 for key in _KEYS]


def _spent(state: State, numbers: list[int], key: str, at: int | None, *, writes: bool) -> Spent:
    given, cached, written, output, reasoning, total = numbers
    usage = Usage(
        input=max(given - cached - written, 0),
        output=output,
        cached=cached,
        cache_write=written if writes else None,
        reasoning=reasoning,
        total=total or None,
    )
    return Spent(
        session=state.session,
        at=at,
        usage=usage,
        usage_key=key,
        model=state.model,
        provider=state.provider,
        is_fast=state.is_fast,
    )
