"""A turn while it is being read: steps go in, one turn comes out."""

from typing import Any, Literal

import msgspec
from msgspec import Struct

from agents_ledger.capture.parts import Part, is_context, is_loose_result, join, note_place, part_of
from agents_ledger.model import ids
from agents_ledger.model.entries import (
    OPEN_CALLS,
    Call,
    CallStatus,
    Compaction,
    Message,
    ModelCall,
    Settings,
    Turn,
    Usage,
)
from agents_ledger.model.prices import fast_variant
from agents_ledger.model.steps import Answered, Asked, Compacted, Noted, Said, Spent

UNFINISHED = "unfinished: its source ends here"
NO_ANSWER = "no answer"
_MOST_TOKENS = 1 << 40  # of one call to a model


class ToolCall(Struct):
    """One tool call, as far as it has been read."""

    tool: str
    message: int
    params: Any = None
    result: Any = None
    error: str | None = None
    status: CallStatus = "pending"
    number: int | None = None
    started_at: int = 0
    completed_at: int | None = None
    native_id: str | None = None
    spawned: str | None = None
    evidence: list[str] = []  # places


class Draft:
    """One turn of one session, growing."""

    __slots__ = (
        "_calls_by_id",
        "_joined",
        "_last_firm",
        "_spent_by_key",
        "calls",
        "compaction",
        "compaction_given",
        "ended_at",
        "error",
        "evidence",
        "id",
        "identity",
        "is_stored",
        "messages",
        "native_id",
        "parent",
        "session",
        "settings",
        "spent",
        "started_at",
        "status",
        "steps",
        "was_open",
    )

    def __init__(self, turn_id: str, session: str, parent: "Spot | None", started_at: int) -> None:
        self.id = turn_id
        self.session = session
        self.parent = parent
        self.identity = ""
        self.native_id: str | None = None
        self.started_at = self.ended_at = started_at
        self.settings = Settings()
        self.messages: list[Part] = []
        self.calls: list[ToolCall] = []
        self.spent: list[ModelCall] = []
        self.compaction: Compacted | None = None
        self.compaction_given: Compaction | None = None
        self.status: Literal["completed", "failed"] | None = None  # as the source says; None: by what was said
        self.error: str | None = None
        self.evidence: str | None = None
        self.steps: list[tuple[str, int]] = []  # native ids, each with its position
        self.is_stored = False
        self.was_open = False
        self._joined: dict[str, int] = {}
        self._calls_by_id: dict[str, int] = {}
        self._spent_by_key: dict[str, int] = {}
        self._last_firm: int | None = None  # the last message that is no loose result; None: it has to be looked for

    # what goes in

    def say(self, step: Said, at: int, place: str) -> None:
        """A message, or a part of one that is here already."""
        index = self._joined.get(step.joins) if step.joins is not None else None
        if index is None:
            index = len(self.messages)
            self.messages.append(part_of(step, at, place))
            if step.joins is not None:
                self._joined[step.joins] = index
        else:
            join(self.messages[index], step, place)
        self._note_firm(index)
        for asked in step.calls:
            self._ask(asked, index, at, place)
        self.messages[index].calls += len(step.calls)
        if step.usage is not None:
            model = fast_variant(step.model) if step.is_fast else step.model
            self.spend(step.usage, step.usage_key, model, step.provider, at, index)
        if step.role == "assistant":
            self.status, self.error = ("failed", step.error) if step.error is not None else (None, None)
            if step.model is not None and (self.settings.model is None or step.error is None):
                provider = step.provider or self.settings.provider
                self.settings = msgspec.structs.replace(self.settings, model=step.model, provider=provider)
        self.ended_at = max(self.ended_at, at)

    def answer(self, step: Answered, at: int, place: str) -> bool:
        """The outcome of one of this turn's calls; False if it is not of this turn."""
        index = self._calls_by_id.get(step.call)
        if index is None:
            return False
        call = self.calls[index]
        call.result, call.error, call.status = step.result, step.error, step.status
        call.completed_at = at
        call.spawned = step.spawned or call.spawned
        note_place(call.evidence, place)
        self.ended_at = max(self.ended_at, at)
        return True

    def note(self, step: Noted) -> None:
        """What is in effect from here on."""
        self.settings = noted(self.settings, step)

    def spend(
        self, usage: Usage, key: str | None, model: str | None, provider: str | None, at: int, message: int | None
    ) -> None:
        """Tokens of a call to the model; the same call said again replaces what was said before."""
        value = ModelCall(_counted(usage), model, provider, at, key, message)
        index = self._spent_by_key.get(key) if key is not None else None
        if index is None:
            if key is not None:
                self._spent_by_key[key] = len(self.spent)
            self.spent.append(value)
        else:
            self.spent[index] = value

    def spend_apart(self, step: Spent, at: int) -> None:
        """Tokens that the source reports apart from messages."""
        model = step.model or self.settings.model
        if step.is_fast:
            model = fast_variant(model)
        self.spend(step.usage, step.usage_key, model, step.provider or self.settings.provider, at, None)

    @property
    def joined_keys(self) -> dict[str, int]:
        """The API messages that may get more parts."""
        return self._joined

    def index_of(self, step: Said) -> int:
        """The message that a step has gone into."""
        joined = None if step.joins is None else self._joined.get(step.joins)
        return len(self.messages) - 1 if joined is None else joined

    def call_message(self, native_id: str) -> int | None:
        """The index of the message that made a call."""
        index = self._calls_by_id.get(native_id)
        return None if index is None else self.calls[index].message

    def joined(self) -> dict[str, int]:
        """The messages that may still get parts: the last few (kept over a pause)."""
        return dict(list(self._joined.items())[-4:])

    def _ask(self, asked: Asked, message: int, at: int, place: str) -> None:
        if asked.native_id is not None:
            if asked.native_id in self._calls_by_id and asked.status == "pending":
                return  # said twice: a part that was written again
            self._calls_by_id[asked.native_id] = len(self.calls)
        self.calls.append(
            ToolCall(
                tool=asked.tool,
                message=message,
                params=asked.params,
                result=asked.result,
                error=asked.error,
                status=asked.status,
                number=asked.number,
                started_at=at if asked.started_at is None else asked.started_at,
                completed_at=asked.completed_at,
                native_id=asked.native_id,
                spawned=asked.spawned,
                evidence=[place],
            )
        )

    # what comes out

    def ends_at(self, position: int) -> bool:
        """Whether no message stands behind a position, but for results whose calls were not read."""
        if self._last_firm is None:
            self._last_firm = self._find_firm(len(self.messages))
        return self._last_firm < position

    def _note_firm(self, index: int) -> None:
        """Keep up with a message that was said or has changed, so that no question looks through the whole turn."""
        if self._last_firm is not None:
            part = self.messages[index]
            if not is_loose_result(part.role, part.metadata):
                self._last_firm = max(self._last_firm, index)
            elif self._last_firm == index:
                self._last_firm = self._find_firm(index)

    def _find_firm(self, before: int) -> int:
        """The last message before an index that is no loose result; -1 if there is none."""
        parts = ((at, self.messages[at]) for at in range(before - 1, -1, -1))
        return next((at for at, part in parts if not is_loose_result(part.role, part.metadata)), -1)

    def behind_context(self, position: int) -> int:
        """The position behind the context messages that stand at a position."""
        while position < len(self.messages) and is_context(self.messages[position]):
            position += 1
        return position

    @property
    def has_answered(self) -> bool:
        """Whether the last thing in the turn is an answer without a tool call: it looks as if it had ended."""
        last = self.messages[-1] if self.messages else None
        return last is not None and last.role == "assistant" and not last.calls and not last.content.is_none

    def turn(self, label_of: "LabelOf") -> Turn:
        """The turn, as far as it has been read."""
        status, error = self._outcome()
        return Turn(
            messages=tuple(self._message(index, part) for index, part in enumerate(self.messages)),
            calls=tuple(self._call(index, call, label_of) for index, call in enumerate(self.calls)),
            usage=sum((call.usage for call in self.spent), Usage()),
            settings=self.settings,
            status=status,
            error=error,
            compaction=self.compaction_given,
            started_at=self.started_at,
            completed_at=self.ended_at,
            id=self.id,
            native_id=self.native_id,
            model_calls=tuple(self.spent),
            evidence=self.evidence,
        )

    def _outcome(self) -> tuple[Literal["completed", "failed"], str | None]:
        if self.compaction is not None:
            return "completed", None
        if self.status == "failed":
            return "failed", self.error or "failed"
        if self._open_calls():
            return "failed", UNFINISHED
        if self.status == "completed":
            return "completed", None
        if not any(part.role == "assistant" for part in self.messages):
            return "failed", NO_ANSWER
        return "completed", None

    def _open_calls(self) -> bool:
        return any(call.status in OPEN_CALLS for call in self.calls)

    def _message(self, index: int, part: Part) -> Message:
        return Message(
            role=part.role,
            content=part.content.whole(),
            source=part.source,
            thinking=part.thinking.whole(),
            context=part.context,
            metadata=part.metadata,
            blocks=None if part.blocks is None else list(part.blocks),
            files=tuple(part.files),
            lints=tuple(part.lints),
            codeblocks=tuple(part.codeblocks),
            created_at=part.at,
            id=message_id(self.id, index, part.at),
            native_id=part.native_id,
            evidence=" ".join(part.evidence) or None,
        )

    def _call(self, index: int, call: ToolCall, label_of: "LabelOf") -> Call:
        return Call(
            tool=call.tool,
            params=call.params,
            result=call.result,
            error=call.error,
            status="abandoned" if call.status in OPEN_CALLS else call.status,
            message=call.message,
            number=call.number,
            started_at=call.started_at,
            completed_at=call.completed_at,
            id=ids.derived(call.started_at, self.id, "call", index),
            native_id=call.native_id,
            spawned=None if call.spawned is None else label_of(call.spawned),
            evidence=" ".join(call.evidence) or None,
        )


class LabelOf(msgspec.Struct, frozen=True):
    """Gives the label of a session in the ledger from the agent's own id."""

    origin: str

    def __call__(self, session: str) -> str:
        """`claude-code:0f3a…`; characters that a label can't have are replaced."""
        return label_for(self.origin, session)


class Spot:
    """A place in the tree: behind so many messages of a turn (a draft, or one that is in the ledger)."""

    __slots__ = ("position", "turn")

    def __init__(self, turn: "Draft | str", position: int) -> None:
        self.turn = turn
        self.position = position


def id_of(spot: Spot) -> str:
    """The turn of a place."""
    return spot.turn.id if isinstance(spot.turn, Draft) else spot.turn


def label_for(origin: str, session: str) -> str:
    """The label of an agent's session: its origin and its own id, in one line."""
    name = f"{origin}:{session}"
    if not name.isprintable():
        name = "".join(character if character.isprintable() else "-" for character in name)
    clean = name.strip()
    if len(clean) > _LONGEST_LABEL:
        clean = f"{clean[:400]}~{ids.derived(0, clean)}"
    return clean


_LONGEST_LABEL = 480


def message_id(turn_id: str, index: int, at: int) -> str:
    """The id of a message that was read from a source."""
    return ids.derived(at, turn_id, "message", index)


def noted(settings: Settings, step: Noted) -> Settings:
    """Settings with what a step says about them."""
    said = {
        "model": step.model,
        "provider": step.provider,
        "tools": step.tools,
        "permissions_granted": step.permissions,
        "workspace_path": step.workspace,
        "system_prompt_hash": step.system_prompt_hash,
        "toolset": step.toolset,
    }
    known = {name: value for name, value in said.items() if value is not None}
    return msgspec.structs.replace(settings, **known) if known else settings


WHOLE = 1 << 40  # behind all of a turn's messages, however many there are


def _counted(usage: Usage) -> Usage:
    """Tokens that can be: sources say anything, and sums of it must fit 64 bits."""
    counts = msgspec.structs.astuple(usage)
    if all(count is None or 0 <= count <= _MOST_TOKENS for count in counts):
        return usage
    return Usage(*(count if count is not None and 0 <= count <= _MOST_TOKENS else None for count in counts))
