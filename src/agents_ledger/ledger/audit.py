"""The audit: what agents did that they should not have done, and what should not be in the record at all."""

from collections import defaultdict
from collections.abc import Collection, Iterator
from typing import Any, Literal, get_args

import msgspec
from msgspec import Struct

from agents_ledger.errors import BadInput
from agents_ledger.model.effects import command_of, is_inside, runs_commands, whole_path, written_paths
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
_CODES = ("exit_code", "exitCode", "exit", "code")
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


class _File(Struct, frozen=True):
    """A file that a message says it has written."""

    turn_id: str
    message_id: str
    role: str
    path: str


class _Parts(Struct, frozen=True):
    """What is in some turns, by turn."""

    calls: defaultdict[str, list[_Call]]
    messages: defaultdict[str, list[_Message]]
    files: defaultdict[str, list[_File]]


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
            parts = _parts(tx, turns, rules)
        for turn in turns:
            yield from _of_turn(turn, parts, rules)
        if len(turns) < _PAGE:
            return
        first = turns[-1].id + _BEHIND


def _parts(tx: Tx, turns: list[_Turn], rules: Collection[str]) -> _Parts:
    parts = _Parts(defaultdict(list), defaultdict(list), defaultdict(list))
    if not turns:
        return parts
    ids = msgspec.json.encode([turn.id for turn in turns]).decode()
    some = {"turns": ids, "first_turn": turns[0].id, "last_turn": turns[-1].id}
    for row in tx.rows("audited_calls", **some):
        parts.calls[row[0]].append(_Call(*row))
    for row in tx.rows("audited_messages", **some) if "secret" in rules else ():
        parts.messages[row[0]].append(_Message(*row))
    for row in tx.rows("audited_files", **some) if "outside" in rules else ():
        parts.files[row[0]].append(_File(*row))
    return parts


def _of_turn(turn: _Turn, parts: _Parts, rules: Collection[str]) -> Iterator[Finding]:
    calls = parts.calls[turn.id]
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
    if roots:
        yield from _of_files(turn, parts.files[turn.id], calls, roots)
    if "secret" in rules:
        yield from _secrets(turn, calls, parts.messages[turn.id])


def _of_call(turn: _Turn, call: _Call, roots: list[str], rules: Collection[str]) -> Iterator[Finding]:
    if not {"outside", "failed"} & set(rules):
        return
    params = _json(call.params_json)
    command = command_of(call.tool_name, params)
    if "failed" in rules and runs_commands(call.tool_name) and (how := _failure(call, is_command=command is not None)):
        said = how if command is None else f"{_first_line(command)}: {how}"
        yield turn.finding("failed", call.id, call.tool_name, said, call.started_at)
    # a command that failed may have written before; an editor that failed has not
    if (
        "outside" in rules
        and roots
        and (call.status == "completed" or (command is not None and call.status == "failed"))
    ):
        for path in written_paths(call.tool_name, params, turn.workspace):
            if not any(is_inside(path, root) for root in roots):
                yield turn.finding("outside", call.id, call.tool_name, redacted(path), call.started_at)


def _of_files(turn: _Turn, files: list[_File], calls: list[_Call], roots: list[str]) -> Iterator[Finding]:
    """What messages say they have written outside; once, and not what a call has found or has not done."""
    outside = {path: file for file in reversed(files) if (path := _outside(file.path, turn.workspace, roots))}
    if not outside:
        return
    found = {path for call in calls for path in written_paths(call.tool_name, _json(call.params_json), turn.workspace)}
    undone = [msgspec.json.encode(_json(call.params_json)) for call in calls if call.status != "completed"]
    for path, file in reversed(outside.items()):
        named = msgspec.json.encode(file.path)[1:-1]
        if path not in found and not any(named in params for params in undone):
            yield turn.finding("outside", file.message_id, f"{file.role} message", redacted(path))


def _outside(path: str, workspace: str | None, roots: list[str]) -> str | None:
    """The whole path, if it lies in none of the folders."""
    whole = whole_path(path, workspace)
    return None if whole is None or any(is_inside(whole, root) for root in roots) else whole


def _failure(call: _Call, *, is_command: bool) -> str | None:
    """How a command failed, if it did: by the exit code that its result names, or by its status."""
    result = _json(call.result_json)
    known = result if isinstance(result, dict) else {}
    code = next((known[name] for name in _CODES if type(known.get(name)) is int), 0)  # True is no number here
    if code:
        return f"exit code {code}"
    # a call without a command has run none, whatever was wrong with it
    return _first_line(call.error or "failed") if is_command and call.status == "failed" else None


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
