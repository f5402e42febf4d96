"""The golden story: every ability, what it gives, and what it says when something can't be done."""

import io
import json
import os
from pathlib import Path
from typing import Any

import pytest

from agents_ledger import Ledger
from agents_ledger.faces.agent_os import Bus
from agents_ledger.faces.agent_os.lines import answers
from agents_ledger.faces.agent_os.schemas import abilities

GOLDEN = Path(__file__).parent / "golden"
SEED = Path(__file__).parents[4] / "shared" / "seeds"


def test_every_request_is_answered_as_before(ledger: Ledger) -> None:
    requests = (GOLDEN / "requests.jsonl").read_bytes()
    given = "".join(f"{line}\n" for line in answers(Bus(ledger), io.BytesIO(requests)))
    kept = GOLDEN / "answers.jsonl"
    if os.environ.get("GOLDEN") == "write":
        kept.write_text(given, "utf-8")
    assert given.splitlines() == kept.read_text("utf-8").splitlines()
    assert ledger.verify().findings == []


def test_the_story_uses_every_ability_and_every_answer_fits_its_schema() -> None:
    import fastjsonschema  # noqa: PLC0415 - as the program does it

    requests = [json.loads(line) for line in (GOLDEN / "requests.jsonl").read_text("utf-8").splitlines()]
    given = [json.loads(line) for line in (GOLDEN / "answers.jsonl").read_text("utf-8").splitlines()]
    good = [(ask, said["output"]) for ask, said in zip(requests, given, strict=True) if "output" in said]
    assert {ask["ability"] for ask, _ in good} == set(abilities())
    for ask, output in good:
        schema = {"$schema": "http://json-schema.org/draft-07/schema#", **abilities()[ask["ability"]]["output"]}
        fastjsonschema.compile(schema)(output)
    assert [said["id"] for said in given] == [ask["id"] for ask in requests]


def test_the_schemas_are_the_seeds() -> None:
    found = sorted(SEED.glob("004_*.txt"))
    if not found:
        pytest.skip("the seed lies beside the project only where it is built")
    assert schemas_of(found[0].read_text("utf-8")) == {
        name: [ability["input"], ability["output"]]
        for name, ability in abilities().items()
        if name.split(":")[-1] not in ("history", "recover")
    }


def schemas_of(text: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for section in text.split("\n#### ")[1:]:
        name, _, rest = section.partition("\n")
        if name.startswith("ldg:"):
            blocks = [piece.split("```")[0] for piece in rest.split("```json\n")[1:3]]
            found[name] = [json.loads(block) for block in blocks]
    return found
