"""`ldg compact` with summarisers, and `ldg context` in its forms."""

import json
from typing import Any

import pytest

from tests.cli.conftest import Ldg
from tests.support.endpoints import endpoint, says
from tests.test_compaction import exchange, talk


@pytest.fixture
def talked(empty: Ldg, monkeypatch: pytest.MonkeyPatch) -> Ldg:
    """A session of six turns, and nobody configured."""
    for name in ("URL", "MODEL", "KEY", "API", "WINDOW", "TIMEOUT_S"):
        monkeypatch.delenv(f"AGENTS_LEDGER_SUMMARISER_{name}", raising=False)
    with empty.open() as ledger:
        talk(ledger, 6)
    return empty


def test_compact_uses_the_conversations_own_words(talked: Ldg) -> None:
    said = talked.text("compact", "main", "--keep", "2")
    assert "4 turns summarised, 2 turns kept word for word; summary by extractive-1" in said
    assert "tokens before (estimated)" in said
    seen = talked.text("context", "main")
    assert "Earlier turns: 4." in seen
    assert "q5" in seen
    assert "\nq1\n" not in seen


def test_compact_says_its_costs_as_json(talked: Ldg) -> None:
    made = talked.json("compact", "main", "--strategy", "sliding_window", "--keep", "1", "--flush", "cat -")
    assert made["turn_id"] == made["compaction"]["turn_id"]
    assert made["compaction"]["strategy"] == "sliding_window"
    assert made["compaction"]["tokens_before"]["how"] == "estimated"
    assert "[system]" in made["compaction"]["flush"]["result"]
    failing = talked.text("compact", "main", "--keep", "0", "--flush", "false")
    assert "memory was not written down" in failing


def test_compact_only_if_it_is_due(talked: Ldg) -> None:
    said = talked.text("compact", "main", "--if-due", code=1)
    assert said.startswith("not due: main has ")
    assert talked.json("compact", "main", "--if-due", code=1)["due"]["trigger"] is None
    due = talked.json("compact", "main", "--if-due", "--every", "6")
    assert due["compaction"]["trigger"] == "periodic"
    with talked.open() as ledger:
        ledger.append("main", exchange(7))
    limit = talked.json("compact", "main", "--if-due", "--window", "20", "--reserve", "10", "--keep", "0")
    assert limit["compaction"]["trigger"] == "context_limit"
    assert "leave out one of them" in talked.text("compact", "main", "--if-due", "--trigger", "periodic", code=2)
    assert "add --if-due" in talked.text("compact", "main", "--every", "3", code=2)
    assert "leaves nothing of 10" in talked.text("compact", "main", "--window", "10", "--reserve", "10", code=2)


def test_a_summary_of_ones_own_goes_with_little_else(talked: Ldg) -> None:
    for other in (("--if-due",), ("--dry-run",), ("--strategy", "selective"), ("--flush", "cat -")):
        assert "only --keep and --trigger" in talked.text("compact", "main", "--summary", "x", *other, code=2)


def test_compact_dry_writes_nothing(talked: Ldg) -> None:
    before = talked.json("head", "main")["turn_id"]
    assert "4 turns would be summarised, 2 turns kept" in talked.text("compact", "main", "--dry-run", "--keep", "2")
    planned = talked.json("compact", "main", "--dry-run", "--keep", "2")["plan"]
    assert (len(planned["dropped"]), len(planned["kept"]), planned["head"]) == (4, 2, before)
    assert talked.json("head", "main")["turn_id"] == before
    with talked.open() as ledger:
        ledger.create_session("bare")
    assert "nothing to compact" in talked.text("compact", "bare", "--dry-run", code=2)


def test_compact_asks_the_endpoint_that_is_configured(talked: Ldg, monkeypatch: pytest.MonkeyPatch) -> None:
    answer = {"choices": [{"message": {"content": "All is well."}, "finish_reason": "stop"}]}
    with endpoint(says(200, answer), says(400, {"error": {"message": "no such model"}})) as fake:
        monkeypatch.setenv("AGENTS_LEDGER_SUMMARISER_URL", fake.url)
        monkeypatch.setenv("AGENTS_LEDGER_SUMMARISER_MODEL", "m-9")
        made = talked.json("compact", "main", "--keep", "1")["compaction"]
        assert (made["summary"], made["model"], made["provider"]) == ("All is well.", "m-9", "openai")
        failed = talked.json("compact", "main", "--keep", "0", code=2)["error"]
        assert failed["kind"] == "SummariserFailed"
        assert "no such model" in failed["message"]
        assert talked.json("compact", "main", "--keep", "0", "--offline")["compaction"]["model"] == "extractive-1"
    assert "authorization" not in fake.requests[0][1]


def test_context_says_how_many_tokens_it_has(talked: Ldg) -> None:
    done = talked.run("context", "main", "--query", "And now?")
    assert done.stdout.endswith("And now?\n")
    assert done.stderr.endswith(" tokens (estimated: a quarter of the bytes)\n")
    tokens = talked.json("context", "main", "--as", "json")["tokens"]
    assert (tokens["how"], tokens["count"]) == ("estimated", tokens["estimated"])


@pytest.mark.parametrize(
    ("form", "place"),
    [("anthropic", "messages"), ("openai", "messages"), ("openai-responses", "input"), ("gemini", "contents")],
)
def test_context_is_a_providers_request(talked: Ldg, form: str, place: str) -> None:
    talked.text("compact", "main", "--summary", "It was about numbers.", "--keep", "1")
    with talked.open() as ledger:
        ledger.fork(ledger.find("main"), "side")
        ledger.append("side", exchange(99))
    done = talked.run("context", "main", "--as", form, "--query", "What is next?")
    assert done.exit_code == 0, done.output
    body: dict[str, Any] = json.loads(done.stdout)
    told = json.dumps(body[place])
    assert "What is next?" in json.dumps(body[place][-1])
    for word in ("It was about numbers.", "q5", "a5"):
        assert word in told, word
    for word in ("q4", "q99"):
        assert word not in told, word
    assert "Be kind." in done.stdout
    assert "tokens (" in done.stderr
