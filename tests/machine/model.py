"""The ledger as plain dicts: what must come out, computed the slow and obvious way."""

from dataclasses import dataclass, field

Line = tuple[str, str | None]


@dataclass
class ModelTurn:
    """A turn as the model knows it."""

    id: str
    parent: str | None
    messages: list[Line]
    calls: list[tuple[str, str]] = field(default_factory=list)
    status: str = "completed"
    total: int | None = None
    summary: str | None = None
    through: str | None = None
    first_kept: str | None = None
    is_live: bool = False

    def leading_system(self) -> list[Line]:
        found: list[Line] = []
        for role, content in self.messages:
            if role != "system":
                break
            found.append((role, content))
        return found


@dataclass
class ModelMove:
    """One movement of a pointer."""

    seq: int
    at: int
    before: str | None
    to: str
    reason: str


@dataclass
class ModelSession:
    """A label and where it pointed."""

    status: str = "active"
    moves: list[ModelMove] = field(default_factory=list)
    parent: str | None = None
    parent_call: str | None = None
    task_status: str | None = None

    @property
    def head(self) -> str | None:
        return self.moves[-1].to if self.moves else None


class Model:
    """Turns, sessions, aliases, and how many facts were logged."""

    def __init__(self) -> None:
        self.turns: dict[str, ModelTurn] = {}
        self.sessions: dict[str, ModelSession] = {}
        self.aliases: dict[str, str] = {}
        self.seq = 0

    def sealed(self) -> list[str]:
        return [turn.id for turn in self.turns.values() if not turn.is_live]

    def live(self) -> list[str]:
        return [turn.id for turn in self.turns.values() if turn.is_live]

    def path(self, turn_id: str) -> list[str]:
        found: list[str] = []
        at: str | None = turn_id
        while at is not None:
            found.append(at)
            at = self.turns[at].parent
        return found[::-1]

    def is_ancestor(self, turn_id: str, of: str) -> bool:
        return turn_id in self.path(of)

    def children(self, turn_id: str) -> list[str]:
        return [turn.id for turn in self.turns.values() if turn.parent == turn_id]

    def thread_total(self, turn_id: str) -> int | None:
        known = [total for each in self.path(turn_id) if (total := self.turns[each].total) is not None]
        return sum(known) if known else None

    def resolve(self, label: str) -> str | None:
        own = self.sessions.get(label)
        if own is not None and own.status == "active":
            return label
        if label in self.aliases:
            return self.aliases[label]
        return label if own is not None else None

    def including(self, turn_id: str) -> list[str]:
        return sorted(
            label
            for label, session in self.sessions.items()
            if any(self.is_ancestor(turn_id, move.to) for move in session.moves)
        )

    def head_at(self, label: str, at: int) -> str | None:
        moves = [move for move in self.sessions[label].moves if move.at <= at]
        return max(moves, key=lambda move: (move.at, move.seq)).to if moves else None

    def head_at_seq(self, label: str, seq: int) -> str | None:
        moves = [move for move in self.sessions[label].moves if move.seq <= seq]
        return moves[-1].to if moves else None

    def forward_target(self, label: str) -> str | None:
        """The newest head of its history that lies strictly ahead of the present one."""
        session = self.sessions[label]
        if session.head is None:
            return None
        for move in reversed(session.moves):
            if move.to != session.head and self.is_ancestor(session.head, move.to):
                return move.to
        return None

    def newest_compaction(self, turn_id: str) -> ModelTurn | None:
        found = [self.turns[each] for each in self.path(turn_id) if self.turns[each].through is not None]
        return found[-1] if found else None

    def seen_turns(self, turn_id: str) -> list[str]:
        """The turns that a model would see: what the newest compaction kept, and what came behind it."""
        path, compaction = self.path(turn_id), self.newest_compaction(turn_id)
        if compaction is None or compaction.through is None:
            return path
        first = path.index(compaction.first_kept) if compaction.first_kept else path.index(compaction.through) + 1
        at = path.index(compaction.id)
        return path[first:at] + path[at + 1 :]

    def heard_turns(self, turn_id: str) -> list[str]:
        """Those of them that say something: compactions are none."""
        return [each for each in self.seen_turns(turn_id) if self.turns[each].messages]

    def cut(self, head: str, kept: list[str]) -> tuple[str, str | None]:
        """What a compaction names: everything before the first kept turn is summarised, and never less than before."""
        if not kept:
            return head, None
        path, before = self.path(head), self.newest_compaction(head)
        done = -1 if before is None or before.through is None else path.index(before.through)
        return path[max(path.index(kept[0]) - 1, done)], kept[0]

    def is_above(self, label: str, of: str) -> bool:
        """Whether a session is another one, or started it, directly or not."""
        at: str | None = of
        while at is not None and at != label:
            at = self.sessions[at].parent if at in self.sessions else None
        return at == label

    def context(self, turn_id: str) -> list[Line]:
        """System prompt, summary, kept turns, later turns."""
        path = self.path(turn_id)
        seen: list[Line] = []
        for each in reversed(path):
            if self.turns[each].leading_system():
                seen += self.turns[each].leading_system()
                break
        compaction = self.newest_compaction(turn_id)
        if compaction is not None and compaction.summary:
            seen.append(("summary", compaction.summary))
        for each in self.seen_turns(turn_id):
            turn = self.turns[each]
            seen += turn.messages[len(turn.leading_system()) :]
        return seen
