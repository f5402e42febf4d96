"""The story of a thread up to a turn: what an agent would see there, with what only the evidence holds."""

from collections.abc import Iterator
from typing import Any

import msgspec

from agents_ledger.ledger import compact, context, kept_questions
from agents_ledger.ledger.context import ContextTurn
from agents_ledger.ledger.evidence import Slices, places
from agents_ledger.ledger.records import read_record, read_turn
from agents_ledger.model.frames import value_in
from agents_ledger.model.rows import CallRow, CompactionRow, MessageRow, Record, SessionRow, TurnRow
from agents_ledger.model.story import (
    Block,
    Call,
    Entry,
    Held,
    Image,
    Result,
    Reveal,
    Role,
    Story,
    Summary,
    Text,
    Thinking,
    Told,
)
from agents_ledger.model.texts import read_json
from agents_ledger.store import Tx

# told to the model for a reason of the conversation's own, not by the program as it always does (pi, Codex)
_MEANT = frozenset({"custom", "branch_summary", "bashExecution", "subagent_notification", "user_shell_command"})
_ROLES: dict[str, Role] = {"user": "user", "assistant": "assistant", "tool": "tool", "system": "system"}


def tell(tx: Tx, turn_id: str, reveal: Reveal | None = None) -> Story:
    """The story up to a turn; without `reveal` as far as the rows tell it."""
    turn = read_turn(tx, turn_id)
    compaction = compact.newest(tx, turn_id)
    home = home_of(tx, turn)
    details = {} if home is None else details_of(tx, home.label)
    system = [row.content for row in context.system_prompt(tx, turn) if row.content]
    return Story(
        turn_id=turn_id,
        at=turn.completed_at or turn.started_at,
        entries=Teller(tx, reveal).entries(turn, compaction),
        summary=None if compaction is None else _summary(tx, compaction),
        system="\n\n".join(system) or None,
        origin=None if home is None else home.origin,
        session=None if home is None else home.origin_session_id,
        label=None if home is None else home.label,
        project=turn.workspace_path or details.get("project"),
        git_branch=details.get("git_branch"),
        title=details.get("title"),
        model=turn.model,
        provider=turn.provider,
        persona=details.get("persona"),
        facts=details.get("extra", {}),
    )


class Teller:
    """Tells entries one after the other: a few turns, and a few blocks of evidence, in memory."""

    def __init__(self, tx: Tx, reveal: Reveal | None, *, is_whole: bool = False) -> None:
        self._tx = tx
        self._reveal = reveal
        self._is_whole = is_whole  # also what the agent does not tell its model
        self._slices = Slices(tx)
        self._formats: dict[int, tuple[str | None, str]] = {}

    def entries(self, turn: TurnRow, compaction: CompactionRow | None) -> Iterator[Entry]:
        """The entries up to a turn, as far as its newest compaction left them."""
        kept_until = 0 if compaction is None else turn.compaction_depth
        if compaction is not None and compaction.replacement_json is not None:
            yield from self._replaced(compaction)
        elif compaction is not None and kept_questions.is_kept(compaction):
            yield from self._questions(turn)
        for told in context.contributions(self._tx, turn, compaction):
            yield from self._of_turn(told, is_kept=told.depth < kept_until)

    def of_record(self, record: Record) -> Iterator[Entry]:
        """The entries of one turn, its system prompt among them."""
        turn = record.turn
        told = ContextTurn(turn.id, record.messages, record.calls, turn.depth, turn.model, turn.provider)
        yield from self._of_turn(told, is_kept=False)

    def _of_turn(self, told: ContextTurn, *, is_kept: bool) -> Iterator[Entry]:
        calls: dict[str, list[CallRow]] = {row.id: [] for row in told.messages}
        for call in told.calls:
            if call.message_id in calls:
                calls[call.message_id].append(call)
        for step in context.in_order(told.messages, told.calls):
            if isinstance(step, MessageRow):
                yield from self._message(step, calls[step.id], told, is_kept=is_kept)
            elif step.message_id not in calls:
                facts: dict[str, Any] = {"turn_id": told.turn_id, "at": step.started_at, "is_kept": is_kept}
                yield Entry(role="assistant", blocks=(_call(step),), **facts)
                yield Entry(role="tool", blocks=(_result(step, []),), **facts)

    def _message(self, row: MessageRow, calls: list[CallRow], told: ContextTurn, *, is_kept: bool) -> Iterator[Entry]:
        """A message with its calls, and what came of them; nothing, if the agent does not tell its model of it."""
        held = self._held(row.evidence) if _needs_evidence(row) else []
        if context.is_left_out(row) and not self._is_whole:
            return
        blocks = tuple(_blocks(row, calls, held))
        if blocks:
            is_unsent = any(each.is_unsent for each in held)
            yield _entry(row, blocks, told, is_kept=is_kept, is_unsent=is_unsent)
        for call in calls:
            yield self._result(call, row, is_kept=is_kept)

    def _result(self, call: CallRow, row: MessageRow, *, is_kept: bool) -> Entry:
        has_blocks = call.result_json is not None and call.result_json.startswith("[")
        held = self._held(call.evidence) if has_blocks else []
        at = call.completed_at or call.started_at
        return Entry(role="tool", blocks=(_result(call, held),), turn_id=row.turn_id, at=at, is_kept=is_kept)

    def _replaced(self, compaction: CompactionRow) -> Iterator[Entry]:
        """The context that the agent wrote down; its summary is the story's own."""
        turn = read_turn(self._tx, compaction.turn_id)
        held = [each.context for each in self._held(turn.evidence) if each.context is not None]
        replaced = list(held[0] if held else _plainly(compaction))
        for told in [*replaced, *self._late(turn, replaced)]:
            said = "\n".join(block.text for block in told.blocks if isinstance(block, Text))
            if not (compaction.summary and compaction.summary in said):
                yield Entry(
                    role=told.role,
                    blocks=told.blocks,
                    turn_id=turn.id,
                    at=turn.started_at,
                    source="context" if told.is_injected else None,
                    is_injected=told.is_injected,
                    is_kept=True,
                )

    def _late(self, turn: TurnRow, replaced: list[Told]) -> Iterator[Told]:
        """What came of the last calls of such a context, if it came behind it: a compaction inside a turn."""
        blocks = [block for told in replaced[-1:] for block in told.blocks]
        asked = {block.id for block in blocks if isinstance(block, Call)}
        if asked and turn.parent_turn_id is not None:
            for call in read_record(self._tx, turn.parent_turn_id).calls:
                if call.native_id in asked:
                    yield Told("tool", (_result(call, self._held(call.evidence)),))

    def _questions(self, turn: TurnRow) -> Iterator[Entry]:
        """What the agent keeps of what it was asked, without the pictures."""
        for row, text in kept_questions.kept_questions(self._tx, turn):
            at = row.created_at
            yield Entry(role="user", blocks=(Text(text),), turn_id=row.turn_id, at=at, source=row.source, is_kept=True)

    def _held(self, evidence: str | None) -> list[Held]:
        if self._reveal is None:
            return []
        found = []
        for capture_id, offset, length in places(evidence):
            form, shape = self._format(capture_id)
            if form is not None:
                data = self._slices.at(capture_id, offset, length)
                found.append(self._reveal(form, data if shape != "database" else value_in(data)))
        return found

    def _format(self, capture_id: int) -> tuple[str | None, str]:
        """Who reads the records of a capture, if they stand in it by themselves, and what shape it has."""
        if capture_id not in self._formats:
            row = self._tx.first("capture_by_id", id=capture_id)
            # (a document is one record, packed lines stand nowhere)
            is_plain = row is not None and row[4] != "document" and not self._slices.is_packed(capture_id)
            self._formats[capture_id] = (str(row[2]), str(row[4])) if row is not None and is_plain else (None, "")
        return self._formats[capture_id]


def _plainly(compaction: CompactionRow) -> Iterator[Told]:
    """A context that an agent wrote down, as far as it consists of messages with a role and a text."""
    history = read_json(compaction.replacement_json or "[]")
    for item in history if isinstance(history, list) else []:
        role = item.get("role") if isinstance(item, dict) else None
        content = item.get("content") if isinstance(item, dict) else None
        parts = content if isinstance(content, list) else [{"text": content}]
        texts = [part["text"] for part in parts if isinstance(part, dict) and isinstance(part.get("text"), str)]
        if texts:
            told = _ROLES.get(str(role), "system")
            yield Told(told, tuple(map(Text, texts)), is_injected=told == "system")


def home_of(tx: Tx, turn: TurnRow) -> SessionRow | None:
    """The session in which a turn was written."""
    row = None if turn.session_label is None else tx.first("session_by_label", label=turn.session_label)
    return None if row is None else SessionRow(*row)


def details_of(tx: Tx, label: str) -> dict[str, Any]:
    """What its sources say about a session: title, project, git_branch, persona, and all else as `extra`."""
    row = tx.first("story_details", label=label)
    if row is None:
        return {}
    *known, extra = row
    found = read_json(extra) if extra else {}
    told = dict(zip(("title", "project", "git_branch", "persona"), known, strict=True))
    return {**told, "extra": found if isinstance(found, dict) else {}}


def _summary(tx: Tx, row: CompactionRow) -> Summary | None:
    if not row.summary:
        return None
    return Summary(row.summary, row.turn_id, read_turn(tx, row.turn_id).started_at, row.tokens_before)


def _needs_evidence(row: MessageRow) -> bool:
    return row.thinking is not None or row.blocks_json is not None or (row.role == "assistant" and row.source is None)


def _entry(row: MessageRow, blocks: tuple[Block, ...], told: ContextTurn, *, is_kept: bool, is_unsent: bool) -> Entry:
    role = _ROLES.get(row.role, "user")
    return Entry(
        role=role,
        blocks=blocks,
        turn_id=row.turn_id,
        at=row.created_at,
        source=row.source,
        is_injected=(row.source == "context" and not _is_meant(row)) or role == "system",
        model=told.model,
        provider=told.provider,
        is_kept=is_kept,
        is_unsent=is_unsent,
    )


def _is_meant(row: MessageRow) -> bool:
    remarks = None if row.metadata_json is None else read_json(row.metadata_json)
    return isinstance(remarks, dict) and remarks.get("kind") in _MEANT


def _blocks(row: MessageRow, calls: list[CallRow], held: list[Held]) -> Iterator[Block]:
    """A message's blocks in their order; the n-th thought and picture is the n-th that its records hold."""
    thoughts = [thought for each in held for thought in each.thoughts]
    images = [image for each in held for image in each.images]
    order = _order(row, len(calls))
    count = sum(block.get("type") in ("thinking", "redacted_thinking") for block in order)
    seals = iter(thoughts if len(thoughts) == count else ())
    pictures = iter(images)
    for block in order:
        kind, text = block.get("type"), _words(row, block)
        if kind in ("thinking", "redacted_thinking"):
            yield next(seals, Thinking(text, is_hidden=kind != "thinking" or block.get("redacted") is True))
        elif kind == "text":
            yield Text(text)
        elif kind == "call":
            if block.get("at", len(calls)) < len(calls):
                yield _call(calls[block["at"]])
        elif kind == "image":
            yield _faint(block) if block.get("left_out") else next(pictures, _faint(block))
        else:
            yield Text(f"[{kind}]")


def _order(row: MessageRow, calls: int) -> list[dict[str, Any]]:
    if row.blocks_json is not None:
        found = msgspec.json.decode(row.blocks_json, type=list[dict[str, Any]])
        missing = {"call"} - {str(block.get("type")) for block in found}
        return found + [{"type": "call", "at": at} for at in range(calls) if missing]
    order: list[dict[str, Any]] = []
    if row.thinking is not None:
        order.append({"type": "thinking", "from": 0, "to": len(row.thinking)})
    if row.content is not None:
        order.append({"type": "text", "from": 0, "to": len(row.content)})
    return order + [{"type": "call", "at": at} for at in range(calls)]


def _words(row: MessageRow, block: dict[str, Any]) -> str:
    whole = (row.thinking if block.get("type") == "thinking" else row.content) or ""
    return whole[block.get("from", 0) : block.get("to", 0)]


def _faint(block: dict[str, Any]) -> Image:
    size = block.get("size_bytes")
    return Image(block.get("media_type"), None, block.get("url"), size if isinstance(size, int) else None)


def _call(row: CallRow) -> Call:
    return Call(row.native_id or row.id, row.tool_name, read_json(row.params_json))


def _result(row: CallRow, held: list[Held]) -> Result:
    name = row.native_id or row.id
    content = next((each.results[name] for each in held if name in each.results), None)
    if content is None:
        content = tuple(_outcome(row))
    is_error = row.error is not None or row.status in ("failed", "rejected", "cancelled", "abandoned")
    return Result(name, row.tool_name, content, is_error and row.status != "completed", row.status)


def _outcome(row: CallRow) -> Iterator[Text | Image]:
    value = row.error if row.result_json is None else read_json(row.result_json)
    for item in value if isinstance(value, list) else [value]:
        if isinstance(item, str):
            yield Text(item)
        elif isinstance(item, dict) and isinstance(item.get("text"), str):
            yield Text(item["text"])
        elif isinstance(item, dict) and item.get("type") == "image":
            yield _faint(item)
        elif item is not None:
            yield Text(msgspec.json.encode(item).decode())
