"""Abilities over standard input and output, for programs in any language: a JSON object on each line.

`{"id": …, "ability": "ldg:task:get", "input": {…}}` is answered by `{"id": …, "output": {…}}` or by
`{"id": …, "error": {"kind": …, "message": …}}`, one line for each, in the order in which they came. The input may be an
object or its JSON text. A line that can't be read is answered, and the next one is taken.
"""

from collections.abc import Iterator
from typing import Any, BinaryIO

from agents_ledger.errors import BadInput, LedgerError
from agents_ledger.faces.agent_os.bus import Bus
from agents_ledger.faces.agent_os.schemas import LARGEST_INPUT_BYTES, checked, fitting, read
from agents_ledger.model.texts import json_text

LARGEST_LINE_BYTES = LARGEST_INPUT_BYTES
_PIECE = 1 << 20


def answers(bus: Bus, source: BinaryIO, largest: int = LARGEST_LINE_BYTES) -> Iterator[str]:
    """The answer to each line, until the source ends."""
    while line := source.readline(largest + 1):
        if len(line) > largest and not line.endswith(b"\n"):
            _skip(source)
            yield _failed(None, BadInput(f"a line has at most {largest:,} bytes: send smaller entities"))
        elif line.strip():
            yield _answer(bus, line)


def _skip(source: BinaryIO) -> None:
    """Reads to the end of a line that is too long."""
    while (piece := source.readline(_PIECE)) and not piece.endswith(b"\n"):
        pass


def _answer(bus: Bus, line: bytes) -> str:
    number = None
    try:
        request = read(line)
        number = request.get("id") if isinstance(request, dict) else None
        if not isinstance(request, dict) or not isinstance(request.get("ability"), str):
            raise BadInput('a line must be an object: {"id": 1, "ability": "ldg:task:get", "input": {…}}')
        return _written({"id": number, "output": _invoke(bus, request["ability"], request.get("input", {}))})
    except LedgerError as problem:
        return _failed(number, problem)


def _invoke(bus: Bus, name: str, given: Any) -> dict[str, Any]:
    return bus.answer(name, checked(name, given) if isinstance(given, str) else fitting(name, given))


def _failed(number: Any, problem: LedgerError) -> str:
    return _written({"id": number, "error": {"kind": type(problem).__name__, "message": str(problem)}})


def _written(value: dict[str, Any]) -> str:
    return json_text(value, "answer")[0]
