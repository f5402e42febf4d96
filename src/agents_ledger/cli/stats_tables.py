"""The tables of `ldg stats`, with their plots."""

from typing import TYPE_CHECKING

from agents_ledger.cli.plots import bar, sparkline
from agents_ledger.cli.screen import Part, Screen, cell_width, cut
from agents_ledger.cli.words import clock, compact, money, number, plural, short, span
from agents_ledger.ledger.stats import TIMES, Fullness, Line, Report, Sums

if TYPE_CHECKING:
    from agents_ledger.ledger.activity import FileLine, ToolLine
    from agents_ledger.ledger.timeline import Moment

_NUMBERS = ("CALLS", "INPUT", "CACHED", "CACHE WRITE", "OUTPUT", "REASONING", "TOTAL", "COST")
_OPTIONAL = ("CALLS", "REASONING", "CACHE WRITE", "CACHED", "INPUT", "OUTPUT", "")
_ELSEWHERE = "--csv"
_BAR = 20
_WORDS = 60
_NAME = 44
_SHORTEST = 16
_SUMS_WIDTH = 36  # of a total, a cost, a bar
_WIDE = 120  # columns


def print_tokens(screen: Screen, report: Report, limit: int) -> None:
    """Tokens and cost, a line for each group; on a terminal with bars."""
    is_time = report.by[0] in TIMES
    shown = report.lines[-limit:] if is_time else report.lines[:limit]
    largest = max(_weight(line.sums, report) for line in shown)
    columns = [*(name.upper() for name in report.by), *_NUMBERS, *([""] if screen.is_terminal else [])]
    rows = [_line(line, report, largest, screen) for line in shown]
    total = [("total", "bold"), *[""] * (len(report.by) - 1), *_numbers(report.total, screen, "bold")]
    rows.append([*total, *([""] if screen.is_terminal else [])])
    screen.table(columns, rows, right=_NUMBERS, optional=_OPTIONAL, elsewhere=_ELSEWHERE)
    _print_notes(screen, report, len(report.lines) - len(shown))


def _line(line: Line, report: Report, largest: float, screen: Screen) -> list[Part]:
    room = _NAME if screen.width is None else max(_SHORTEST, (screen.width - _SUMS_WIDTH) // len(line.key))
    keys: list[Part] = [("unknown", "dim") if not part else _key(part, screen, room) for part in line.key]
    plot: list[Part] = [(bar(_weight(line.sums, report), largest, _bar(screen)), "cyan")] if screen.is_terminal else []
    return [*keys, *_numbers(line.sums, screen), *plot]


def _key(part: str, screen: Screen, room: int) -> str:
    """A key as it fits: of a long one, the end says more."""
    if not screen.is_terminal or cell_width(part) <= room:
        return part
    return f"…{part[-room + 1 :]}"


def _bar(screen: Screen) -> int:
    """How long bars are."""
    return _BAR if (screen.width or 0) >= _WIDE else _BAR // 2


def _numbers(sums: Sums, screen: Screen, style: str = "") -> list[Part]:
    shown = compact if screen.is_terminal else number
    counted = (
        sums.calls,
        sums.input_tokens,
        sums.cached_input_tokens,
        sums.cache_write_tokens,
        sums.output_tokens,
        sums.reasoning_tokens,
        sums.total_tokens,
    )
    cost = money(sums.cost_usd) + ("+?" if sums.unpriced_tokens and sums.cost_usd is not None else "")
    return [*((shown(value), style) for value in counted), (cost, style or "green")]


def _weight(sums: Sums, report: Report) -> float:
    """What a bar shows: money, where all of it is known; tokens otherwise."""
    return sums.total_tokens if report.unpriced or report.prices is None else sums.cost_usd or 0.0


def _print_notes(screen: Screen, report: Report, left_out: int) -> None:
    screen.line()
    if left_out and len(report.by) == 1 and screen.width is not None:
        lines = report.lines if report.by[0] not in TIMES else report.lines[-(screen.width - _SHORTEST) :]
        curve = sparkline([_weight(line.sums, report) for line in lines[: screen.width - _SHORTEST]])
        screen.line((f"{plural(len(lines), report.by[0])}  ", "dim"), (curve, "cyan"))
    if left_out:
        screen.line((f"{plural(left_out, 'more line')}: --limit shows them, --json and --csv have all", "dim"))
    if report.prices is None:
        screen.line(("cost: not known here; pip install 'agents-ledger[prices]' brings the prices", "dim"))
        return
    since = f", newest price of {report.prices_newest}" if report.prices_newest else ""
    screen.line((f"cost: list prices of {report.prices}{since}", "dim"))
    if report.unpriced:
        named = ", ".join(f"{name} ({number(count)} tokens)" for name, count in list(report.unpriced.items())[:5])
        more = f" and {len(report.unpriced) - 5} more" if len(report.unpriced) > 5 else ""  # noqa: PLR2004 - as above
        screen.line((f"without a known price, and not in the cost: {named}{more}", "yellow"))


def print_tools(screen: Screen, tools: "list[ToolLine]", limit: int) -> None:
    """Tools, how they fared, how long they took."""
    most = tools[0].calls
    rows: list[list[Part]] = [
        [
            cut(line.tool, _NAME),
            number(line.calls),
            number(line.failed),
            (f"{line.failure_rate:.1%}", "red" if line.failed else ""),
            number(line.rejected),
            number(line.unfinished),
            span(line.mean_ms),
            span(line.longest_ms if line.timed else None),
            (bar(line.calls, most, _bar(screen)), "cyan") if screen.is_terminal else "",
        ]
        for line in tools[:limit]
    ]
    columns = ["TOOL", "CALLS", "FAILED", "RATE", "REJECTED", "UNFINISHED", "MEAN", "LONGEST", ""]
    optional = ("UNFINISHED", "REJECTED", "", "LONGEST")
    screen.table(columns, rows, right=columns[1:-1], optional=optional, elsewhere=_ELSEWHERE)
    calls, failed = sum(line.calls for line in tools), sum(line.failed for line in tools)
    screen.line()
    screen.line((f"{plural(calls, 'call')} of {plural(len(tools), 'tool')}, {number(failed)} failed", "dim"))


def print_files(screen: Screen, files: "list[FileLine]", limit: int) -> None:
    """Files, the most edited first."""
    most = files[0].edits
    rows: list[list[Part]] = [
        [number(line.edits), line.path, (bar(line.edits, most, _bar(screen)), "cyan") if screen.is_terminal else ""]
        for line in files[:limit]
    ]
    screen.table(["EDITS", "FILE", ""], rows, right=("EDITS",), wrapped=("FILE",), optional=("",))


def print_turns(screen: Screen, turns: "list[Moment]", limit: int) -> None:
    """Turns, the longest first."""
    words = _WORDS if screen.width is None else max(_SHORTEST, min(_WORDS, screen.width - _SUMS_WIDTH))
    rows: list[list[Part]] = [
        [
            span((turn.completed_at or 0) - turn.started_at),
            (short(turn.id), "dim"),
            clock(turn.started_at),
            number(turn.tool_call_count),
            number(turn.total_tokens),
            (turn.model or "-", "cyan"),
            turn.session_label or "-",
            cut(turn.opening or "", words),
        ]
        for turn in turns[:limit]
    ]
    columns = ["TOOK", "TURN", "BEGAN", "CALLS", "TOKENS", "MODEL", "SESSION", "WORDS"]
    optional = ("SESSION", "MODEL", "CALLS", "TOKENS", "BEGAN")
    numbers = ("TOOK", "CALLS", "TOKENS")
    screen.table(columns, rows, right=numbers, cut=("WORDS",), optional=optional, elsewhere=_ELSEWHERE)


def print_contexts(screen: Screen, contexts: list[Fullness], limit: int) -> None:
    """How full contexts were."""
    rows: list[list[Part]] = [
        [
            line.session or "-",
            (line.model or "-", "cyan"),
            number(line.prompt_tokens),
            number(line.limit_tokens),
            "-" if line.share is None else f"{line.share:.0%}",
            (bar(min(line.share or 0, 1), 1, _bar(screen)), _alarm(line.share)) if screen.is_terminal else "",
        ]
        for line in contexts[:limit]
    ]
    columns = ["SESSION", "MODEL", "LARGEST PROMPT", "LIMIT", "USED", ""]
    numbers = ("LARGEST PROMPT", "LIMIT", "USED")
    optional = ("", "MODEL", "LIMIT")
    screen.table(columns, rows, right=numbers, wrapped=("SESSION",), optional=optional, elsewhere=_ELSEWHERE)


def _alarm(share: float | None) -> str:
    return "red" if (share or 0) >= 0.9 else "yellow" if (share or 0) >= 0.7 else "cyan"  # noqa: PLR2004 - nearly full
