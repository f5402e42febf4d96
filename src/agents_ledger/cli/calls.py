"""Tool calls, diffs, files, lints and code blocks of a turn on the screen."""

import json
import shlex
from collections.abc import Callable

from agents_ledger.cli.folding import folded, readable, uncoloured
from agents_ledger.cli.screen import Part, Screen, cell_width, cut
from agents_ledger.cli.words import plural, took
from agents_ledger.model.changes import Change
from agents_ledger.model.rows import CallRow, CodeBlockRow, FileRow, LintRow, Record

Changes = Callable[[CallRow], list[Change]]
_INDENT = 6
_LINES = 6
_DIFF_LINES = 24
_PIPE_WIDTH = 120
_FEWEST = 20
_MARKS = {
    "completed": ("✓", "green"),
    "failed": ("✗", "bold red"),
    "rejected": ("✗", "bold red"),
    "cancelled": ("■", "yellow"),
    "abandoned": ("■", "yellow"),
}
_OPEN = ("…", "yellow")
# the parameter that says most about a call
_MAIN = ("command", "cmd", "file_path", "path", "pattern", "query", "url", "description", "prompt", "name", "input")


def print_call(screen: Screen, call: CallRow, changes: list[Change], *, full: bool) -> None:
    """A call in few lines: its name, what was asked, the diff or the beginning of the result."""
    outcome = _outcome_words(call)
    tail: list[Part] = [(f"  {outcome}", "dim")] if outcome else []
    head: list[Part] = ["  ", _MARKS.get(call.status, _OPEN), " ", (call.tool_name, "bold blue")]
    if not full:
        taken = sum(cell_width(part if isinstance(part, str) else part[0]) for part in (*head, *tail)) + 2
        room = max((screen.width or _PIPE_WIDTH) - taken, _FEWEST)
        head += ["  ", cut(_named(changes) or _asked(call.params_json), room)]
    screen.line(*head, *tail)
    if full:
        _print_params(screen, call, None)
    print_changes(screen, changes, None if full else _DIFF_LINES)
    if full or not changes or call.error is not None:
        print_outcome(screen, call, None if full else _LINES)


def print_asked(screen: Screen, call: CallRow, changes: list[Change], lines: int | None) -> None:
    """A call as it is asked for: its name and its parameters, or the diff that they are."""
    screen.line("  ", ("▸", "blue"), " ", (call.tool_name, "bold blue"))
    if changes and lines is not None:
        print_changes(screen, changes, lines)
    else:
        _print_params(screen, call, lines)
        print_changes(screen, changes, lines)


def print_answered(screen: Screen, call: CallRow, lines: int | None) -> None:
    """How a call ended."""
    outcome = _outcome_words(call)
    screen.line("  ", _MARKS.get(call.status, _OPEN), " ", (call.tool_name, "blue"), (f"  {outcome}", "dim"))
    print_outcome(screen, call, lines)


def print_outcome(screen: Screen, call: CallRow, lines: int | None) -> None:
    """The result of a call, its error, the session that it started."""
    if call.error is not None:
        screen.block(folded(uncoloured(call.error), lines), indent=_INDENT, style="red", first="→ ", rest="  ")
    if call.result_json is not None and (result := uncoloured(readable(call.result_json))):
        screen.block(folded(result, lines), indent=_INDENT, style="dim", first="→ ", rest="  ")
    if call.spawned_session_label is not None:
        screen.line(("      started subagent ", "dim"), (call.spawned_session_label, "bold green"))


def print_changes(screen: Screen, changes: list[Change], lines: int | None) -> None:
    """What a call changed: each file with its diff."""
    for change in changes:
        moved = f" → {change.moved_to}" if change.moved_to else ""
        counts = ((f"  +{change.added:,}", "green", change.added), (f"  -{change.removed:,}", "red", change.removed))
        counted: list[Part] = [(text, style) for text, style, count in counts if count]
        screen.line(" " * _INDENT, (f"{change.kind} ", "dim"), (f"{change.path}{moved}", "bold"), *counted)
        shown = change.lines if lines is None else change.lines[:lines]
        screen.diff(shown, indent=_INDENT)
        if len(shown) < len(change.lines):
            more = plural(len(change.lines) - len(shown), "more line")
            screen.line((f"{' ' * _INDENT}⋮ {more}, --full shows them", "dim"))


def print_parts(screen: Screen, record: Record, message_id: str, *, with_touched: bool, full: bool) -> None:
    """What hangs on a message: files (`with_touched`: also those that its calls name anyway), lints, code blocks."""
    for file in record.files:
        if file.message_id == message_id and (with_touched or file.kind not in ("read", "written")):
            _print_file(screen, file)
    for lint in record.lints:
        if lint.message_id == message_id:
            _print_lint(screen, lint)
    for block in record.codeblocks:
        if block.message_id == message_id:
            _print_code(screen, block, full=full)


def _named(changes: list[Change]) -> str:
    return ", ".join(change.path for change in changes)


def _asked(params_json: str) -> str:
    """The parameters on one line: the one that says most, then the others by name."""
    try:
        params = json.loads(params_json)
    except (ValueError, RecursionError):
        return params_json
    if not isinstance(params, dict):
        return params if isinstance(params, str) else "" if params is None else params_json
    main = next((name for name in _MAIN if params.get(name)), None)
    told = [] if main is None else [_words(params[main])]
    told += [f"{name}={_words(value)}" for name, value in params.items() if name != main and _is_short(value)]
    return " · ".join(told)


def _words(value: object) -> str:
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        return shlex.join(value)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _is_short(value: object) -> bool:
    return value not in (None, "", False) and not isinstance(value, dict | list) and len(str(value)) <= 60  # noqa: PLR2004


def _print_params(screen: Screen, call: CallRow, lines: int | None) -> None:
    if params := readable(call.params_json):
        screen.block(folded(params, lines), indent=_INDENT, style="dim")


def _outcome_words(call: CallRow) -> str:
    lasted = took(call.started_at, call.completed_at)
    return " · ".join(part for part in (call.status if call.status != "completed" else None, lasted) if part)


def _print_file(screen: Screen, file: FileRow) -> None:
    screen.line("    ", (f"{file.kind:<10}", "dim"), file.file_path + _span(file.line_start, file.line_end))


def _print_lint(screen: Screen, lint: LintRow) -> None:
    place = (lint.file_path or "") + _span(lint.start_line, None)
    source = f" ({lint.lint_source})" if lint.lint_source else ""
    screen.line("    ", (f"{lint.severity or 'lint':<10}", "yellow"), f"{place} {lint.message or ''}{source}")


def _print_code(screen: Screen, block: CodeBlockRow, *, full: bool) -> None:
    place = f" {block.file_path}{_span(block.line_start, block.line_end)}" if block.file_path else ""
    screen.line("    ", (f"code {block.language or 'text'}{place}", "dim"))
    screen.code(folded(block.content, None if full else _LINES), block.language or "text", indent=_INDENT)


def _span(first: int | None, last: int | None) -> str:
    if first is None:
        return ""
    return f":{first}" if last is None or last == first else f":{first}-{last}"
