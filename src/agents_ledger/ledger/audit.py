"""The audit: what agents did that they should not have done, and what should not be in the record at all."""

from collections import defaultdict
from collections.abc import Collection, Iterator
from typing import Any, Literal, get_args

import msgspec
from msgspec import Struct

from agents_ledger.errors import BadInput
from agents_ledger.model.effects import command_of, is_inside, written_paths
from agents_ledger.model.filters import EVERYTHING, Filters
from agents_ledger.model.permissions import exceeding, writable_folders
from agents_ledger.model.secrets import may_have_secrets, redacted, secrets_in
from agents_ledger.model.texts import read_json
from agents_ledger.store import Database, Tx

Rule = Literal["tool", "permission", "outside", "failed", "secret"]
RULES: dict[str, str] = {
    "tool": "tools used but not available",
    "permission": "permissions used but not granted",
    "outside": "files written outside the workspace",
    "failed": "commands that failed",
    "secret": "secrets seen",
}
_CODES = ("exit_code", "exitCode", "code")
_PAGE = 50  # turns that are in memory together
_DETAIL = 300
_BEHIND = "!"  # makes of an id a text that comes after it and before every other id
assert set(RULES) == set(get_args(Rule))  # noqa: S101 - one list, in two forms


class Finding(Struct, frozen=True):
    """Something that an audit found: which rule, where, and what it is."""

    rule: str
    turn_id: str
    session_label: str | None
    at: int
    row_id: str  # the turn, message or tool call
    what: str  # the tool, or whose message it is
    detail: str


class _Turn(Struct, frozen=True):
    """What a turn was allowed to do."""

    id: str
    session_label: str | None
    started_at: int
    tools_available: str | None
    permissions_granted: str | None
    permissions_used: str | None
    workspace: str | None
    project: str | None  # where its session began: an agent that has gone into a folder of it may come back

    def finding(self, rule: Rule, row_id: str, what: str, detail: str, at: int | None = None) -> Finding:
        when = self.started_at if at is None else at
        return Finding(rule, self.id, self.session_label, when, row_id, what, detail[:_DETAIL])


class _Call(Struct, frozen=True):
    """A tool call, as far as it is audited."""

    turn_id: str
    id: str
    tool_name: str
    status: str
    started_at: int
    params_json: str
    result_json: str | None
    error: str | None


class _Message(Struct, frozen=True):
    """A message, as far as it is audited."""

    turn_id: str
    id: str
    role: str
    content: str | None
    thinking: str | None


def audit(
    database: Database, filters: Filters = EVERYTHING, *, rules: Collection[str] = tuple(RULES)
) -> Iterator[Finding]:
    """What some rules find, in the order of time; some turns are in memory at a time, never all."""
    if wrong := [rule for rule in rules if rule not in RULES]:
        raise BadInput(f"{wrong[0]!r} is no rule: {', '.join(RULES)} are")
    bound = filters.bound()
    first = bound["f_since_id"]
    while True:
        with database.read() as tx:
            turns = [_Turn(*row) for row in tx.rows("audited_turns", first=first, limit=_PAGE, **bound)]
            calls, messages = _parts(tx, turns, rules)
        for turn in turns:
            yield from _of_turn(turn, calls[turn.id], messages[turn.id], rules)
        if len(turns) < _PAGE:
            return
        first = turns[-1].id + _BEHIND


def _parts(
    tx: Tx, turns: list[_Turn], rules: Collection[str]
) -> tuple[dict[str, list[_Call]], dict[str, list[_Message]]]:
    calls, messages = defaultdict[str, list[_Call]](list), defaultdict[str, list[_Message]](list)
    if not turns:
        return calls, messages
    ids = msgspec.json.encode([turn.id for turn in turns]).decode()
    some = {"turns": ids, "first_turn": turns[0].id, "last_turn": turns[-1].id}
    for row in tx.rows("audited_calls", **some):
        calls[row[0]].append(_Call(*row))
    for row in tx.rows("audited_messages", **some) if "secret" in rules else ():
        messages[row[0]].append(_Message(*row))
    return calls, messages


def _of_turn(turn: _Turn, calls: list[_Call], messages: list[_Message], rules: Collection[str]) -> Iterator[Finding]:
    if "permission" in rules:
        granted, used = _json(turn.permissions_granted), _json(turn.permissions_used)
        for name in exceeding(used, granted):
            yield turn.finding("permission", turn.id, "turn", f"{name} was not granted")
    tools = _json(turn.tools_available)
    roots = [folder for folder in (turn.workspace, turn.project) if folder]
    roots += writable_folders(_json(turn.permissions_granted)) if roots else []
    for call in calls:
        if "tool" in rules and isinstance(tools, list) and call.tool_name not in tools:
            yield turn.finding("tool", call.id, call.tool_name, f"was not available ({call.status})", call.started_at)
        yield from _of_call(turn, call, roots, rules)
    if "secret" in rules:
        yield from _secrets(turn, calls, messages)


def _of_call(turn: _Turn, call: _Call, roots: list[str], rules: Collection[str]) -> Iterator[Finding]:
    if not {"outside", "failed"} & set(rules):
        return
    params = _json(call.params_json)
    command = command_of(call.tool_name, params)
    if "failed" in rules and command is not None and (how := _failure(call)):
        yield turn.finding("failed", call.id, call.tool_name, f"{_first_line(command)}: {how}", call.started_at)
    # a command that failed may have written before; an editor that failed has not
    if (
        "outside" in rules
        and roots
        and (call.status == "completed" or (command is not None and call.status == "failed"))
    ):
        for path in written_paths(call.tool_name, params, turn.workspace):
            if not any(is_inside(path, root) for root in roots):
                yield turn.finding("outside", call.id, call.tool_name, redacted(path), call.started_at)


def _failure(call: _Call) -> str | None:
    """How a command failed, if it did: by its status, or by the exit code that its result names."""
    result = _json(call.result_json)
    known = result if isinstance(result, dict) else {}
    code = next((known[name] for name in _CODES if isinstance(known.get(name), int)), 0)
    if code:
        return f"exit code {code}"
    return _first_line(call.error or "failed") if call.status == "failed" else None


def _secrets(turn: _Turn, calls: list[_Call], messages: list[_Message]) -> Iterator[Finding]:
    texts = [text for each in messages for text in (each.content, each.thinking)]
    texts += [text for each in calls for text in (each.params_json, each.result_json, each.error)]
    if not may_have_secrets("\n".join(text for text in texts if text)):
        return
    for message in messages:
        for secret in secrets_in(f"{message.content or ''}\n{message.thinking or ''}"):
            yield turn.finding("secret", message.id, f"{message.role} message", f"{secret.kind} {secret.masked}")
    for call in calls:
        for secret in secrets_in(f"{call.params_json}\n{call.result_json or ''}\n{call.error or ''}"):
            said = f"{secret.kind} {secret.masked}"
            yield turn.finding("secret", call.id, call.tool_name, said, call.started_at)


def _first_line(text: str) -> str:
    """The beginning of a text; without secrets, before anything is cut."""
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    return redacted(line)[: _DETAIL // 2]


def _json(text: str | None) -> Any:
    """What a JSON column holds."""
    return None if text is None else read_json(text)
