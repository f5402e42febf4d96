"""Sessions of real agents are exported as before. `make golden` writes what they become now: look at the difference."""

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from agents_ledger import Ledger
from agents_ledger.capture.telling import Telling
from agents_ledger.exports.targets import REQUESTS, TARGETS
from tests.capture.folders import GOLDEN, copy, opened, sync
from tests.exports.schemas import assert_valid

HERE = Path(__file__).parent / "golden"
CASES = {
    "tools": ("claude-code/chat-with-tools", "claude-code:382ee51c-9e8c-5510-8445-6b6920d2d365"),
    "image": ("pi/images", "pi:01a1e06b-a382-777a-a690-b92fc304a443"),
    "compaction": ("codex/compaction", "codex:01a1e06a-a30b-7c43-aa33-eb5a8081ef69"),
    "killed": ("claude-code/killed", "claude-code:10048c12-01bd-4a73-a5fc-656af05e32a2"),
}
_ULID = re.compile(r"\b01[0-9A-HJKMNP-TV-Z]{24}\b")
_SEAL = re.compile(r"\b[0-9a-f]{64}\b")


@pytest.fixture(scope="module", params=CASES)
def told(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Ledger]]:
    folder = tmp_path_factory.mktemp("exports")
    with opened(folder / "ledger.db") as ledger:
        sync(ledger, copy(GOLDEN / CASES[request.param][0] / "source", folder / "source"))
        yield request.param, ledger


@pytest.mark.parametrize("target", TARGETS)
def test_a_session_is_exported_as_before(told: tuple[str, Ledger], target: str) -> None:
    case, ledger = told
    text = "".join(Telling(ledger, CASES[case][1], target).pieces())
    if target in REQUESTS:
        assert_valid(target, json.loads(text))
    _compare(HERE / f"{case}.{TARGETS[target].suffix}", _settled(text))


def test_what_a_killed_agent_left_unanswered_is_answered(tmp_path: Path) -> None:
    folder, label = CASES["killed"]
    with opened(tmp_path / "ledger.db") as ledger:
        sync(ledger, copy(GOLDEN / folder / "source", tmp_path / "source"))
        telling = Telling(ledger, label, "anthropic")
        body = json.loads("".join(telling.pieces()))
    results = [block for message in body["messages"] for block in message["content"] if block["type"] == "tool_result"]
    assert [block["is_error"] for block in results if "No result" in block["content"][0]["text"]] == [True]
    assert "no-result" in {loss.code for loss in telling.losses.listed()}


def _settled(text: str) -> str:
    """The text with the same ids and seals, whenever it was made."""
    known: dict[str, str] = {}
    return _SEAL.sub("SEAL", _ULID.sub(lambda found: known.setdefault(found[0], f"TURN{len(known) + 1}"), text))


def _compare(path: Path, text: str) -> None:
    if os.environ.get("GOLDEN") == "write":
        path.write_text(text, encoding="utf-8")
    assert path.is_file(), f"{path.name} is not there yet: `make golden` writes it"
    assert text.splitlines() == path.read_text(encoding="utf-8").splitlines()
