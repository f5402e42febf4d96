"""What the abilities take and give: the JSON schemas, and the check against them."""

import json
from collections.abc import Callable
from copy import deepcopy
from functools import cache
from importlib.resources import files
from typing import Any

import msgspec

from agents_ledger.errors import BadInput, NotFound

LARGEST_INPUT_BYTES = 64 << 20
ENTITIES = {"ldg:task:save": "task", "ldg:call:save": "call", "ldg:msg:save": "message"}


@cache
def abilities() -> dict[str, Any]:
    """Every ability: what it does, its input and output schemas, and the schema of the entity that it saves."""
    text = files(__package__ or "").joinpath("abilities.json").read_bytes()
    return msgspec.json.decode(text, type=dict[str, Any])


def described(name: str | None = None) -> dict[str, Any]:
    """All abilities, or one, with their schemas."""
    if name is None:
        return deepcopy(abilities())
    require(name)
    return {name: deepcopy(abilities()[name])}


def require(name: str) -> None:
    """Refuses a name that is no ability's."""
    if name not in abilities():
        raise NotFound(f"no ability {name[:60]!r}: there are {', '.join(abilities())}")


def checked(name: str, text: str | bytes) -> dict[str, Any]:
    """The input of an ability, with its defaults, if it fits the schema."""
    return fitting(name, read(text))


def fitting(name: str, value: Any) -> dict[str, Any]:
    """The same for a value that was read already."""
    require(name)
    _fitted(name, "input", value)
    entity = ENTITIES.get(name)
    if entity is not None:
        _fitted(name, "entity", value[entity])
    given: dict[str, Any] = value
    return given


def read(text: str | bytes) -> Any:
    """The value of a JSON text."""
    raw = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    if len(raw) > LARGEST_INPUT_BYTES:
        raise BadInput(f"the input has {len(raw):,} bytes: at most {LARGEST_INPUT_BYTES:,} are taken")
    try:
        return msgspec.json.decode(raw)
    except msgspec.DecodeError as problem:
        return _read_carefully(raw, str(problem))
    except RecursionError:
        raise BadInput("the input is nested too deep: send plain entities") from None


def _read_carefully(raw: bytes, problem: str) -> Any:
    """JSON with lone surrogates as escapes, as JavaScript writes it; nothing else that is no JSON."""
    try:
        return json.loads(raw, parse_constant=_refuse)
    except (ValueError, RecursionError):
        raise BadInput(f"the input is no JSON ({problem}): send one JSON object") from None


def _refuse(word: str) -> None:
    raise ValueError(word)


def _fitted(name: str, part: str, value: Any) -> None:
    import fastjsonschema  # noqa: PLC0415 - 30 ms, only where abilities are used

    try:
        _validator(name, part)(value)
    except fastjsonschema.JsonSchemaValueException as problem:
        what = problem.message.replace("data", ENTITIES[name] if part == "entity" else "input", 1)
        raise BadInput(f"{name}: {what}; `ldg ability --describe {name}` shows what it takes") from None


@cache
def _validator(name: str, part: str) -> Callable[[Any], Any]:
    import fastjsonschema  # noqa: PLC0415 - as above

    schema = {"$schema": "http://json-schema.org/draft-07/schema#", **abilities()[name][part]}
    made: Callable[[Any], Any] = fastjsonschema.compile(schema)
    return made


def whole(value: float, what: str) -> int:
    """A number that counts something: JSON says 10 and 10.0 alike."""
    if value != value // 1 or not 0 <= value < 1 << 53:
        raise BadInput(f"{what} must be a whole number from 0 on, not {value}")
    return int(value)
