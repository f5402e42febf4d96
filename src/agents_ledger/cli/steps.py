"""The events of a replay on the screen."""

from agents_ledger.cli.calls import Changes, print_answered, print_asked
from agents_ledger.cli.screen import Screen
from agents_ledger.cli.turns import INDENT, Detail, print_compaction, print_error, print_headline, print_message
from agents_ledger.cli.words import number, plural, short, size, span, took
from agents_ledger.ledger.context import as_text
from agents_ledger.ledger.replay import Event, Replay, Seen
from agents_ledger.model.rows import UsageRow

_LINES = 20  # of parameters, results and diffs
_WORTH_SAYING_MS = 1000


class Stage:
    """Where events are shown, and how much of them."""

    def __init__(self, screen: Screen, changes: Changes, detail: Detail, *, context: bool) -> None:
        self.screen = screen
        self._changes = changes
        self._detail = detail
        self._context = context
        self._lines = None if detail.full else _LINES

    def show(self, event: Event, chosen: Replay) -> None:
        """One event, after a word about the time that had passed."""
        screen, turn = self.screen, event.record.turn
        if event.kind == "turn":
            if turn.depth > chosen.first:
                screen.line()
            self._print_pause(event)
            print_headline(screen, turn)
            if self._context and self._detail.full:
                self.show_context(chosen, turn.depth)
            if event.record.compaction is not None:
                print_compaction(screen, event.record.compaction)
            return
        self._print_pause(event)
        if event.message is not None:
            if self._context and event.seen is not None:
                _print_seen(screen, event.seen, event.usage)
            print_message(screen, event.record, event.message, self._detail)
        elif event.call is not None and event.kind == "call":
            print_asked(screen, event.call, self._changes(event.call), self._lines)
        elif event.call is not None:
            print_answered(screen, event.call, self._lines)
        else:
            print_error(screen, turn)
            known = None if turn.total_tokens is None else f"{number(turn.total_tokens)} tokens"
            said = (turn.status, known, took(turn.started_at, turn.completed_at))
            screen.line("  ", ("— " + " · ".join(part for part in said if part), "dim"))

    def show_context(self, chosen: Replay, depth: int) -> None:
        """All that the model had before it when a turn began."""
        seen = chosen.context(depth)
        if seen is None:
            self.screen.line(" " * INDENT, ("the model saw nothing of earlier turns: this is the first", "dim"))
            return
        self.screen.line(" " * INDENT, ("what the model saw when this turn began:", "magenta"))
        self.screen.block(as_text(seen), indent=INDENT, style="dim")
        self.screen.line(" " * INDENT, ("— end of what it saw —", "magenta"))

    def _print_pause(self, event: Event) -> None:
        if event.after_ms >= _WORTH_SAYING_MS and event.kind != "end":
            self.screen.line((f"  +{span(event.after_ms)}", "dim"))


def _print_seen(screen: Screen, seen: Seen, usage: UsageRow | None) -> None:
    """What the model had before it: in words, and in tokens where its source counted them."""
    parts = [f"system prompt {size(seen.system_chars)}"] if seen.system_chars else []
    if seen.compaction_turn_id is not None:
        parts.append(f"summary {size(seen.summary_chars)} ({short(seen.compaction_turn_id)})")
    parts += [plural(seen.turns, "earlier turn")] if seen.turns else []
    parts += [plural(seen.messages, "message"), plural(seen.calls, "call"), size(seen.text_chars)]
    if usage is not None:
        cached = (usage.cached_input_tokens or 0) + (usage.cache_write_tokens or 0)
        read = (usage.input_tokens or 0) + cached
        parts.append(
            f"{number(read)} tokens"
            + (f", {number(usage.cached_input_tokens)} cached" if usage.cached_input_tokens else "")
        )
    screen.line(" " * INDENT, ("saw ", "magenta"), (" · ".join(parts), "dim"))
