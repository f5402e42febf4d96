"""The state machine with summarisers, who may fail, say nothing, or take so long that the session goes elsewhere."""

from collections.abc import Callable

from hypothesis import strategies as st
from hypothesis.stateful import rule
from msgspec import Struct

from agents_ledger.errors import HeadMoved, LedgerError, NotAllowed, SummariserFailed, TurnIsLive
from agents_ledger.ledger.policy import Policy
from agents_ledger.model.summary import Summary, Task
from tests.machine.machine import LedgerMachine, as_read, exchange, picks, refused, texts
from tests.machine.model import ModelTurn

KINDS = ["says", "says", "fails", "says nothing", "the session goes on", "the session goes back"]


class Summariser(Struct):
    """Says a text, after something else has happened."""

    text: str
    meanwhile: Callable[[], object]
    window_tokens: int | None = None

    def summarise(self, _task: Task) -> Summary:
        self.meanwhile()
        return Summary(text=self.text, model="says")


class CompactingMachine(LedgerMachine):
    """One random history, of sessions that are compacted by summarisers, too."""

    @rule(pick=picks, keep=st.integers(0, 3), text=texts, kind=st.sampled_from(KINDS))
    def summarise(self, pick: int, keep: int, text: str, kind: str) -> None:
        label = self._any(list(self.model.sessions), pick)
        if label is None or self._refused_by_status(label, lambda: self._compact(label, keep, text, kind)):
            return
        head = self._head(label)
        seen = [] if head is None else self.model.heard_turns(head)
        at = max(len(seen) - keep, 0)
        wrong = self._expected(label, head, seen[:at], text, kind)
        if wrong is not None:
            refused(wrong, lambda: self._compact(label, keep, text, kind))
            self._after()
            return
        assert head is not None
        through, first_kept = self.model.cut(head, seen[at:])
        turn_id = self._compact(label, keep, text, kind)
        made = ModelTurn(turn_id, self._head(label), [], summary=as_read(text), through=through, first_kept=first_kept)
        self.model.turns[turn_id] = made
        self.model.seq += 1
        self._freeze(turn_id)
        self._moved(label, turn_id, "advance")
        self._after()

    def _expected(
        self, label: str, head: str | None, dropped: list[str], text: str, kind: str
    ) -> type[LedgerError] | None:
        """The refusal that must come, in the order in which things go wrong."""
        if head is None or not dropped:
            return NotAllowed
        if kind in ("fails", "says nothing") or not text.strip():
            return SummariserFailed
        if kind == "the session goes back" and self.model.turns[head].parent is not None:
            return HeadMoved
        goes_on = kind == "the session goes on"
        return TurnIsLive if not goes_on and self._is_written_behind(label, head) else None

    def _compact(self, label: str, keep: int, text: str, kind: str) -> str:
        who = Summariser("" if kind == "says nothing" else text, lambda: self._meanwhile(label, kind))
        compactor = self.ledger.compact_by(who, Policy(keep=keep), patience_s=0, pause=lambda _: None)
        made = compactor.run(label, "manual")
        assert made is not None
        return made.turn_id

    def _meanwhile(self, label: str, kind: str) -> None:
        head = self._head(label)
        if kind == "fails":
            raise SummariserFailed("out of luck")
        if kind == "the session goes on":
            turn = exchange("meanwhile", 1)
            turn_id = self.ledger.append(label, turn)
            self._know(turn_id, head, turn)
            self._moved(label, turn_id, "advance")
        elif kind == "the session goes back" and head is not None:
            parent = self.model.turns[head].parent
            if parent is not None:
                self.ledger.rewind(label, parent)
                self._moved(label, parent, "rewind")
