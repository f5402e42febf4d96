"""Rows out of values: what a writer hands in, as the tables keep it."""

from typing import Any, get_args

from msgspec import Struct

from agents_ledger.errors import BadInput, UnresolvedCalls
from agents_ledger.ledger.env import Env
from agents_ledger.model import entries, hashes, rules
from agents_ledger.model.ids import ulid
from agents_ledger.model.rows import (
    CallRow,
    CodeBlockRow,
    CompactionRow,
    FileRow,
    LintRow,
    MessageRow,
    OriginalRow,
    Record,
    TurnRow,
    UsageRow,
)
from agents_ledger.model.texts import choice, integer, json_text, label, names, readable

_SPEAKERS = ("user", "assistant", "system", "tool")
_ROLES: tuple[str, ...] = get_args(entries.Role)
_KINDS: tuple[str, ...] = get_args(entries.FileKind)
_STATUSES: tuple[str, ...] = get_args(entries.CallStatus)


class Place(Struct, frozen=True):
    """Where a new turn goes, and what it inherits."""

    parent_turn_id: str | None
    root_id: str
    segment_id: int
    depth: int
    parent_hash: bytes | None = None
    parent_tokens: int | None = None
    parent_system_depth: int = 0
    parent_compaction_depth: int = 0
    messages_before: int = 0


class Builder:
    """Collects one turn's rows; texts that a column can't hold leave their bytes in `originals`.

    The root may be unknown yet ('' then; see `settle`).
    """

    def __init__(self, turn_id: str, root_id: str, env: Env) -> None:
        self.turn_id = turn_id
        self.root_id = root_id
        self.env = env
        self.messages: list[MessageRow] = []
        self.calls: list[CallRow] = []
        self.files: list[FileRow] = []
        self.lints: list[LintRow] = []
        self.codeblocks: list[CodeBlockRow] = []
        self.originals: list[OriginalRow] = []
        self.usages: list[UsageRow] = []

    @property
    def is_plain(self) -> bool:
        """Whether there is nothing but messages and calls."""
        return not (self.files or self.lints or self.codeblocks or self.originals or self.usages)

    def message(self, message: entries.Message, sequence: int, now: int) -> MessageRow:
        """A row of `messages`, with its files, lints and code blocks."""
        if message.role not in _SPEAKERS:
            raise BadInput(f"{message.role!r} is not a role: use one of {', '.join(_SPEAKERS)}")
        row_id = self._id(message.id)
        before = len(self.originals)
        content = self.text(row_id, "content", message.content)
        thinking = self.text(row_id, "thinking", message.thinking)
        context = self.json(row_id, "context_json", message.context)
        metadata = self.json(row_id, "metadata_json", message.metadata)
        blocks = self.json(row_id, "blocks_json", message.blocks)
        native_id = self.text(row_id, "native id", message.native_id)
        self._attach(row_id, message)
        row = MessageRow(
            id=row_id,
            turn_id=self.turn_id,
            role=message.role,
            content=content,
            source=self.text(row_id, "message source", message.source),
            sequence=sequence,
            created_at=now if message.created_at is None else integer(message.created_at, "created_at") or 0,
            thinking=thinking,
            context_json=context,
            metadata_json=metadata,
            blocks_json=blocks,
            lossy=int(len(self.originals) > before),
            root_id=self.root_id,
            native_id=native_id,
            evidence=message.evidence,
        )
        self.messages.append(row)
        return row

    def call(self, call: entries.Call, sequence: int, message_id: str | None, now: int) -> CallRow:
        """A row of `tool_calls`."""
        row_id = self._id(call.id)
        before = len(self.originals)
        params = self.json(row_id, "params_json", {} if call.params is None else call.params)
        result = self.json(row_id, "result_json", call.result)
        error = self.text(row_id, "error", call.error)
        native_id = self.text(row_id, "native id", call.native_id)
        started = integer(call.started_at, "started_at")
        row = CallRow(
            id=row_id,
            turn_id=self.turn_id,
            message_id=message_id,
            tool_name=self.text(row_id, "tool name", call.tool) or "",
            tool_number=integer(call.number, "number"),
            params_json=params or "{}",
            result_json=result,
            error=error,
            status=choice(call.status, _STATUSES, "status of a call"),
            spawned_session_label=None if call.spawned is None else label(call.spawned, "session label"),
            started_at=now if started is None else started,
            completed_at=integer(call.completed_at, "completed_at"),
            sequence=sequence,
            lossy=int(len(self.originals) > before),
            root_id=self.root_id,
            native_id=native_id,
            evidence=call.evidence,
        )
        self.calls.append(row)
        return row

    def model_call(self, call: entries.ModelCall, sequence: int, message_id: str | None, now: int) -> UsageRow:
        """A row of `usages`."""
        usage, row_id = call.usage, self.turn_id
        row = UsageRow(
            turn_id=row_id,
            sequence=sequence,
            message_id=message_id,
            model=self.text(row_id, f"usage {sequence} model", call.model),
            provider=self.text(row_id, f"usage {sequence} provider", call.provider),
            input_tokens=integer(usage.input, "input tokens"),
            output_tokens=integer(usage.output, "output tokens"),
            cached_input_tokens=integer(usage.cached, "cached tokens"),
            cache_write_tokens=integer(usage.cache_write, "cache write tokens"),
            reasoning_tokens=integer(usage.reasoning, "reasoning tokens"),
            total_tokens=integer(usage.sum_total(), "total tokens"),
            at=now if call.at is None else call.at,
            usage_key=self.text(row_id, f"usage {sequence} key", call.key),
            root_id=self.root_id,
        )
        self.usages.append(row)
        return row

    def turn(self, settings: entries.Settings, turn_type: str, started_at: int, native_id: str | None) -> TurnRow:
        """A row of `turns` that has no place and no outcome yet."""
        row_id = self.turn_id
        return TurnRow(
            id=row_id,
            parent_turn_id=None,
            turn_type=turn_type,
            status="pending",
            started_at=started_at,
            completed_at=None,
            model=self.text(row_id, "turn model", settings.model),
            provider=self.text(row_id, "turn provider", settings.provider),
            role=choice(settings.role, _ROLES, "role of an agent"),
            toolset_name=self.text(row_id, "toolset name", settings.toolset),
            tools_available=self.json(row_id, "tools_available", names(settings.tools)),
            permissions_granted=self.json(row_id, "permissions_granted", settings.permissions_granted),
            permissions_used=self.json(row_id, "permissions_used", settings.permissions_used),
            input_tokens=None,
            output_tokens=None,
            cached_input_tokens=None,
            cache_write_tokens=None,
            reasoning_tokens=None,
            total_tokens=None,
            query_message_ids=None,
            response_message_id=None,
            has_children=0,
            tool_call_count=0,
            source_event_id=self.text(row_id, "source_event_id", settings.source_event_id),
            workspace_path=self.text(row_id, "workspace_path", settings.workspace_path),
            root_id=self.root_id,
            segment_id=0,
            depth=0,
            thread_tokens=None,
            system_depth=0,
            compaction_depth=0,
            persona_id=None if settings.persona_id is None else label(settings.persona_id, "persona"),
            system_prompt_hash=self.text(row_id, "system prompt hash", settings.system_prompt_hash),
            thread_key=None if settings.thread_key is None else label(settings.thread_key, "thread key"),
            error=None,
            native_id=self.text(row_id, "native id", native_id),
        )

    def compaction(self, value: entries.Compaction) -> CompactionRow:
        """A row of `compactions`."""
        row_id = self.turn_id
        kept = None if value.kept is None else list(value.kept)
        return CompactionRow(
            turn_id=row_id,
            summary=self.text(row_id, "summary", value.summary) or "",
            summarized_through_turn_id=value.through,
            first_kept_turn_id=value.first_kept,
            turns_summarized=None,  # known with the place
            compaction_type=label(value.type, "compaction type"),
            model=self.text(row_id, "compaction model", value.model),
            provider=self.text(row_id, "compaction provider", value.provider),
            tokens_before=integer(value.tokens_before, "tokens_before"),
            tokens_after=integer(value.tokens_after, "tokens_after"),
            summary_tokens=integer(value.summary_tokens, "summary_tokens"),
            summarization_input_tokens=integer(value.input_tokens, "input_tokens"),
            summarization_output_tokens=integer(value.output_tokens, "output_tokens"),
            duration_ms=integer(value.duration_ms, "duration_ms"),
            trigger=self.text(row_id, "compaction trigger", value.trigger),
            metadata_json=self.json(row_id, "metadata_json", value.metadata),
            first_kept_message_id=value.first_kept_message_id,
            kept_json=self.json(row_id, "kept_json", kept),
            replacement_json=self.json(row_id, "replacement_json", value.replacement),
            root_id=self.root_id,
        )

    def record(self, turn: TurnRow, compaction: CompactionRow | None = None) -> Record:
        """The turn with everything collected so far."""
        return Record(
            turn=turn,
            messages=self.messages,
            calls=self.calls,
            compaction=compaction,
            files=self.files,
            lints=self.lints,
            codeblocks=self.codeblocks,
            originals=self.originals,
            usages=self.usages,
        )

    def text(self, row_id: str, field: str, value: str | None) -> str | None:
        """A text as a column takes it."""
        if value is None:
            return None
        if not isinstance(value, str):
            raise BadInput(f"{field.strip()} must be text, not {type(value).__name__}")
        view, original = readable(value)
        if original is not None:
            self._keep(row_id, field, original)
        return view

    def json(self, row_id: str, field: str, value: Any) -> str | None:
        """A JSON value as a column takes it; None is no value."""
        if value is None:
            return None
        view, original = json_text(value, field)
        if original is not None:
            self._keep(row_id, field, original)
        return view

    def _keep(self, row_id: str, field: str, original: bytes) -> None:
        self.originals.append(OriginalRow(row_id, field, original, self.turn_id, self.root_id))

    def _attach(self, row_id: str, message: entries.Message) -> None:
        root = self.root_id
        for file in dict.fromkeys(message.files):
            path = self.text(row_id, f"file {len(self.files)}", file.path) or ""
            lines = integer(file.line_start, "line_start"), integer(file.line_end, "line_end")
            self.files.append(FileRow(row_id, choice(file.kind, _KINDS, "kind of file"), path, *lines, root))
        for lint in message.lints:
            self.lints.append(self._lint(row_id, lint, f"lint {len(self.lints)}"))
        for idx, block in enumerate(message.codeblocks):
            content = self.text(row_id, f"codeblock {idx} content", block.content) or ""
            path_or_none = self.text(row_id, f"codeblock {idx} path", block.file_path)
            language = self.text(row_id, f"codeblock {idx} language", block.language)
            lines = integer(block.line_start, "line_start"), integer(block.line_end, "line_end")
            self.codeblocks.append(CodeBlockRow(row_id, idx, language, content, path_or_none, *lines, root))

    def _lint(self, row_id: str, lint: entries.Lint, at: str) -> LintRow:
        return LintRow(
            message_id=row_id,
            file_path=self.text(row_id, f"{at} path", lint.file_path),
            message=self.text(row_id, f"{at} message", lint.message),
            lint_source=self.text(row_id, f"{at} source", lint.source),
            start_line=integer(lint.start_line, "start_line"),
            start_col=integer(lint.start_col, "start_col"),
            end_line=integer(lint.end_line, "end_line"),
            end_col=integer(lint.end_col, "end_col"),
            severity=self.text(row_id, f"{at} severity", lint.severity),
            root_id=self.root_id,
        )

    def _id(self, given: str | None) -> str:
        return self.env.new_id(None) if given is None else label(given, "id")


class Prepared(Struct, frozen=True):
    """A finished turn, ready for its place: its rows and the commitments to its parts."""

    record: Record
    parts: list[hashes.Part]
    commitments: list[bytes]
    is_new: bool = True  # its id was made here, so it can't be in the ledger yet


def prepare(turn: entries.Turn, env: Env, seed: bytes | None = None) -> Prepared:
    """All rows of a finished turn, and the commitments to its parts: made outside of any transaction.

    The commitments' salts come from `seed`, or from a new random one.
    """
    if turn.status not in ("completed", "failed"):
        raise BadInput(f"{turn.status!r} is not an outcome: a turn is appended completed or failed")
    turn_id = _new_id(turn.started_at, env) if turn.id is None else label(turn.id, "turn id")
    record = _whole_record(turn, Builder(turn_id, "", env), env.now())
    return committed(record, env, is_new=turn.id is None, seed=seed)


def _new_id(started_at: int | None, env: Env) -> str:
    """An id with the time that is given for the turn: lists and filters go by it."""
    at = integer(started_at, "started_at")
    return env.new_id(None) if at is None else ulid(at, env.salt(10))


def committed(record: Record, env: Env, *, is_new: bool = True, seed: bytes | None = None) -> Prepared:
    """A turn that has ended, with commitments to its parts under a seed (a new one, if none is given)."""
    refuse_open_calls(record)
    parts = hashes.parts(record)
    record.turn.seal_salt = env.salt(hashes.SALT_BYTES) if seed is None else seed
    return Prepared(record, parts, hashes.commit_all(parts, record.turn.seal_salt), is_new)


def settle(record: Record, place: Place) -> None:
    """Gives a turn its place in the tree."""
    turn = record.turn
    turn.parent_turn_id = place.parent_turn_id
    turn.segment_id = place.segment_id
    turn.depth = place.depth
    turn.root_id = place.root_id
    turn.messages_before = place.messages_before
    turn.thread_tokens = rules.thread_total(place.parent_tokens, turn.total_tokens)
    turn.system_depth = place.depth if rules.has_system_prompt(record.messages) else place.parent_system_depth
    turn.compaction_depth = place.depth if turn.turn_type == "compaction" else place.parent_compaction_depth
    rows = (record.messages, record.calls, record.files, record.lints, record.codeblocks, record.originals)
    for kind in (*rows, record.usages):
        for row in kind:
            row.root_id = place.root_id
    if record.compaction is not None:
        record.compaction.root_id = place.root_id


def close(record: Record, status: str, error: str | None, usage: entries.Usage, completed_at: int) -> None:
    """Fills in what is known of a turn only at its end, wherever its place is."""
    turn = record.turn
    turn.status = status
    turn.error = error
    turn.completed_at = completed_at
    turn.input_tokens = integer(usage.input, "input tokens")
    turn.output_tokens = integer(usage.output, "output tokens")
    turn.cached_input_tokens = integer(usage.cached, "cached tokens")
    turn.cache_write_tokens = integer(usage.cache_write, "cache write tokens")
    turn.reasoning_tokens = integer(usage.reasoning, "reasoning tokens")
    turn.total_tokens = integer(usage.sum_total(), "total tokens")
    turn.query_message_ids = rules.query_ids(record.messages)
    turn.response_message_id = rules.response_id(record.messages)
    turn.tool_call_count = len(record.calls)
    # The hash is over rows as they are read back: originals in the order of their key.
    record.originals.sort(key=lambda row: (row.row_id, row.field))


def refuse_open_calls(record: Record) -> None:
    """A turn ends when its calls have ended."""
    if unresolved := rules.open_calls(record.calls):
        names = ", ".join(call.tool_name for call in unresolved)
        raise UnresolvedCalls(f"{names} of turn {record.turn.id} has no outcome: complete or fail each call first")


def _whole_record(turn: entries.Turn, builder: Builder, now: int) -> Record:
    started = now if turn.started_at is None else integer(turn.started_at, "started_at") or 0
    completed = now if turn.completed_at is None else integer(turn.completed_at, "completed_at") or 0
    turn_type = "normal" if turn.compaction is None else "compaction"
    row = builder.turn(turn.settings, turn_type, started, turn.native_id)
    for sequence, message in enumerate(turn.messages):
        builder.message(message, sequence, now)
    for sequence, call in enumerate(turn.calls):
        builder.call(call, sequence, _caller(builder, call.message), started)
    for sequence, spent in enumerate(turn.model_calls):
        answer = None if spent.message is None else _caller(builder, spent.message)
        builder.model_call(spent, sequence, answer, started)
    row.evidence = turn.evidence
    record = builder.record(row, None if turn.compaction is None else builder.compaction(turn.compaction))
    close(record, turn.status, builder.text(row.id, "error", turn.error), turn.usage, completed)
    return record


def _caller(builder: Builder, index: int | None) -> str | None:
    if index is None:
        return next((row.id for row in reversed(builder.messages) if row.role == "assistant"), None)
    if not 0 <= index < len(builder.messages):
        raise BadInput(f"message {index} does not exist: the turn has {len(builder.messages)} messages")
    return builder.messages[index].id
