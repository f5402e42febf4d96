"""Lines of a transcript as typed values: decoded fast where they are as expected, field by field where they are not."""

from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import Raw, Struct

from agents_ledger.model.lines import values
from agents_ledger.model.steps import AFTER_LAST, Problem
from agents_ledger.model.texts import storable

NOTHING = Raw(b"")


class Tokens(Struct, frozen=True, gc=False):
    """The usage of an API call; `input_tokens` is without cache."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None
    speed: str | None = None
    output_tokens_details: dict[str, Any] | None = None


class Block(Struct, frozen=True, gc=False):
    """A content block of any type. What is large, or only sometimes needed, stays undecoded."""

    type: str = ""
    text: str | None = None
    thinking: str | None = None
    id: str | None = None
    name: str | None = None
    input: Raw = NOTHING
    tool_use_id: str | None = None
    content: str | list[Raw] | None = None
    is_error: bool | None = None
    source: Raw = NOTHING
    data: Raw = NOTHING


class Message(Struct, frozen=True, gc=False):
    """The API message inside a line."""

    id: str | None = None
    model: str | None = None
    content: str | list[Block] | None = None
    stop_reason: str | None = None
    usage: Tokens | None = None


class ForkedFrom(Struct, frozen=True, gc=False, rename="camel"):
    """Where the SDK's forkSession() copied a line from."""

    session_id: str | None = None
    message_uuid: str | None = None


class Line(Struct, frozen=True, gc=False, rename="camel"):
    """What chain lines have. `toolUseResult` mirrors the tool's result, often many times its size: never decoded."""

    type: str = ""
    uuid: str | None = None
    parent_uuid: str | None = AFTER_LAST
    logical_parent_uuid: str | None = None
    session_id: str | None = None
    agent_id: str | None = None
    is_sidechain: bool | None = None
    is_meta: bool | None = None
    is_compact_summary: bool | None = None
    is_api_error_message: bool | None = None
    timestamp: str | None = None
    cwd: str | None = None
    version: str | None = None
    git_branch: str | None = None
    entrypoint: str | None = None
    permission_mode: str | None = None
    prompt_source: str | None = None
    origin: Raw = NOTHING
    forked_from: ForkedFrom | None = None
    message: Message | None = None
    request_id: str | None = None
    tool_use_result: Raw = NOTHING
    subtype: str | None = None
    content: Raw = NOTHING
    compact_metadata: Raw = NOTHING
    attachment: Raw = NOTHING
    rendered: Raw = NOTHING
    rendered_role: str | None = None
    permission_decision: Raw = NOTHING


decode = msgspec.json.Decoder(Line).decode
_STRUCTS = (Tokens, Block, Message, ForkedFrom, Line)
_TEXTS = ("text", "thinking", "content", "input", "data")  # kept as they are, whatever they hold
_FIELDS = {kind: msgspec.structs.fields(kind) for kind in _STRUCTS}


def patient(record: bytes) -> Iterator[tuple[Line, dict[str, Any]] | Problem]:
    """The lines of a record that the typed decoder refused, with what is usable of them; each also as it is."""
    for value in values(record):
        if isinstance(value, Problem):
            yield value
        elif isinstance(value, dict):
            problems: list[Problem] = []
            line = _built(Line, value, problems)
            yield from problems
            yield line, value
        else:
            yield Problem("not-an-object", type(value).__name__)


def plain(value: Any) -> tuple[Any, list[Problem]]:
    """A field that was left undecoded, as JSON; None if it was not there or can't be read."""
    if not isinstance(value, Raw):
        return value, []
    data = bytes(value)
    if not data:
        return None, []
    found = list(values(data))
    problems = [item for item in found if isinstance(item, Problem)]
    return next((item for item in found if not isinstance(item, Problem)), None), problems


def _built(kind: type[Any], value: dict[str, Any], problems: list[Problem]) -> Any:
    """A struct of those fields that fit; the others keep their defaults and are named as problems."""
    fitting = {}
    for field in _FIELDS[kind]:
        if field.encode_name not in value:
            continue
        try:
            fitted = _fitted(field.type, value[field.encode_name], problems)
            fitting[field.name] = storable(fitted) if isinstance(fitted, str) and field.name not in _TEXTS else fitted
        except (ValueError, OverflowError, RecursionError):  # among them msgspec's, and lone surrogates in a flag
            problems.append(Problem("bad-field", f"{kind.__name__.lower()}.{field.encode_name}"))
    return kind(**fitting)


def _fitted(kind: Any, value: Any, problems: list[Problem]) -> Any:
    """A value as the type of its field. `Raw` fields take any JSON as it is."""
    if kind is Raw:
        return value
    if isinstance(value, dict) and kind in _OPTIONAL:
        return _built(_OPTIONAL[kind], value, problems)
    if isinstance(value, list) and kind == (str | list[Block] | None):
        return [_built(Block, item, problems) for item in value if _is_object(item, problems)]
    if isinstance(value, list) and kind == (str | list[Raw] | None):
        return value
    return msgspec.convert(value, kind)


_OPTIONAL: dict[Any, type[Any]] = {Tokens | None: Tokens, Message | None: Message, ForkedFrom | None: ForkedFrom}


def _is_object(item: Any, problems: list[Problem]) -> bool:
    if isinstance(item, dict):
        return True
    problems.append(Problem("bad-field", "message.content"))
    return False
