"""Tool calls, files, lints and code blocks of a turn on the screen."""

import json

from agents_ledger.cli.screen import Screen
from agents_ledger.cli.words import plural, took
from agents_ledger.model.rows import CallRow, CodeBlockRow, FileRow, LintRow, Record

_LINES = 6
_WIDTH = 400
_PARAMS = 160
_MARKS = {
    "completed": ("✓", "green"),
    "failed": ("✗", "bold red"),
    "rejected": ("✗", "bold red"),
    "cancelled": ("■", "yellow"),
    "abandoned": ("■", "yellow"),
}
_OPEN = ("…", "yellow")


def print_call(screen: Screen, call: CallRow, *, full: bool) -> None:
    """A call: its name and parameters, its outcome."""
    lasted = took(call.started_at, call.completed_at)
    outcome = " · ".join(part for part in (call.status if call.status != "completed" else None, lasted) if part)
    screen.line("  ", _MARKS.get(call.status, _OPEN), " ", (call.tool_name, "bold blue"), f"  {outcome}")
    params = readable(call.params_json)
    if params:
        screen.block(params if full else _cut(params, _PARAMS), indent=6, style="dim")
    if call.error is not None:
        screen.block(_arrow(call.error if full else _cut(call.error)), indent=6, style="red")
    if call.result_json is not None:
        result = readable(call.result_json)
        screen.block(_arrow(result if full else _cut(result)), indent=6)
    if call.spawned_session_label is not None:
        screen.line(("      started subagent ", "dim"), (call.spawned_session_label, "bold green"))


def print_parts(screen: Screen, record: Record, message_id: str, *, full: bool) -> None:
    """What hangs on a message: files, lints, code blocks."""
    for file in record.files:
        if file.message_id == message_id:
            _print_file(screen, file)
    for lint in record.lints:
        if lint.message_id == message_id:
            _print_lint(screen, lint)
    for block in record.codeblocks:
        if block.message_id == message_id:
            _print_code(screen, block, full=full)


def readable(text: str) -> str:
    """JSON as a person reads it: a plain string as its text, `name: value` lines for an object."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    if value is None or value == {}:
        return ""
    if isinstance(value, dict):
        return "\n".join(f"{name}: {_value(each)}" for name, each in value.items())
    return value.strip("\n") if isinstance(value, str) else _value(value)


def _value(value: object) -> str:
    if not isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    return f"\n  {value.strip()}".replace("\n", "\n  ") if "\n" in value.strip() else value


def _arrow(text: str) -> str:
    """An outcome, told apart from what was asked."""
    return "→ " + text.replace("\n", "\n  ")


def _cut(text: str, width: int = _WIDTH) -> str:
    lines = text.splitlines()
    shown = [line if len(line) <= width else f"{line[:width]}…" for line in lines[:_LINES]]
    if len(lines) > _LINES:
        shown.append(f"⋮ {plural(len(lines) - _LINES, 'more line')}, --full shows them")
    elif any(len(line) > width for line in lines):
        shown.append("⋮ --full shows it whole")
    return "\n".join(shown)


def _print_file(screen: Screen, file: FileRow) -> None:
    screen.line("    ", (f"{file.kind:<10}", "dim"), file.file_path + _span(file.line_start, file.line_end))


def _print_lint(screen: Screen, lint: LintRow) -> None:
    place = (lint.file_path or "") + _span(lint.start_line, None)
    source = f" ({lint.lint_source})" if lint.lint_source else ""
    screen.line("    ", (f"{lint.severity or 'lint':<10}", "yellow"), f"{place} {lint.message or ''}{source}")


def _print_code(screen: Screen, block: CodeBlockRow, *, full: bool) -> None:
    place = f" {block.file_path}{_span(block.line_start, block.line_end)}" if block.file_path else ""
    screen.line("    ", (f"code {block.language or 'text'}{place}", "dim"))
    screen.block(block.content if full else _cut(block.content), indent=6, style="cyan")


def _span(first: int | None, last: int | None) -> str:
    if first is None:
        return ""
    return f":{first}" if last is None or last == first else f":{first}-{last}"
