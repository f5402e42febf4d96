"""The outside readers on files whose content is known, and on all golden sources."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from oracles.readers import PI_JUDGES, Call, Message, Result, Tokens, ccusage_totals, claude_sessions, pi_sessions

GOLDEN = Path(__file__).resolve().parents[1] / "tests" / "golden"
WHEN = "2026-01-01T00:00:0{}.000Z"
USAGE = {"input": 10, "output": 2, "cacheRead": 3, "cacheWrite": 4, "totalTokens": 19, "cost": {"total": 0}}


def written(folder: Path, name: str, records: Iterable[Any]) -> Path:
    """A file of JSON lines, without spaces as the agents write it: ccusage looks for the very bytes of some keys."""
    path = folder / name
    path.write_text("".join(json.dumps(one, separators=(",", ":")) + "\n" for one in records), encoding="utf-8")
    return path


def golden(*formats: str) -> list[Path]:
    """All the golden sources of some formats, with their archives, that are lines of text."""
    found = [path for one in formats for path in sorted(GOLDEN.glob(f"{one}/*/source/**/*.jsonl*"))]
    found = [path for path in found if path.is_file() and path.suffix not in {".zst", ".gz"}]
    if not found:
        pytest.skip(f"NOT JUDGED: no golden sources of {', '.join(formats)} in {GOLDEN}")
    return found


def pi_entry(number: int, parent: int | None, **content: Any) -> dict[str, Any]:
    name = {"id": f"0000000{number}", "parentId": None if parent is None else f"0000000{parent}"}
    return {"type": "message", **name, "timestamp": WHEN.format(number), **content}


def pi_answer(*blocks: dict[str, Any]) -> dict[str, Any]:
    made = {"api": "anthropic-messages", "provider": "p", "model": "m1", "usage": USAGE, "stopReason": "stop"}
    return {"role": "assistant", "content": list(blocks), **made, "timestamp": 1_767_225_600_000}


def pi_asked(text: str) -> dict[str, Any]:
    return {"role": "user", "content": [{"type": "text", "text": text}], "timestamp": 1_767_225_600_000}


@pytest.mark.parametrize("judge", PI_JUDGES)
def test_pi_gives_the_tree_and_the_context_of_its_last_entry(tmp_path: Path, judge: str) -> None:
    call = {"type": "toolCall", "id": "t1", "name": "read", "arguments": {"path": "a"}}
    result = {"role": "toolResult", "toolCallId": "t1", "toolName": "read", "isError": False, "timestamp": 0}
    path = written(
        tmp_path,
        "any name.jsonl",
        [
            {"type": "session", "version": 3, "id": "s", "timestamp": WHEN.format(0), "cwd": "/p"},
            pi_entry(1, None, message=pi_asked("one")),
            pi_entry(2, 1, message=pi_answer({"type": "thinking", "thinking": "hm"}, call)),
            pi_entry(3, 2, message={**result, "content": [{"type": "text", "text": "x"}]}),
            pi_entry(4, 3, message=pi_answer({"type": "text", "text": "left"})),
            pi_entry(5, 1, message=pi_answer({"type": "text", "text": "right"})),
            pi_entry(6, 4, message=pi_asked("two")),
        ],
    )
    before = path.read_bytes()
    (session,) = pi_sessions([path], judge)
    assert session.leaf == "00000006"
    assert session.branches == {
        "00000005": ["00000001", "00000005"],
        "00000006": ["00000001", "00000002", "00000003", "00000004", "00000006"],
    }
    assert session.messages == (
        Message("user", "one"),
        Message("assistant", thinking="hm", calls=(Call("t1", "read", {"path": "a"}),)),
        Message("toolResult", results=(Result("t1", "x", is_error=False),)),
        Message("assistant", "left"),
        Message("user", "two"),
    )
    assert path.read_bytes() == before


def test_pi_opens_many_files_at_once_and_says_which_it_refuses(tmp_path: Path) -> None:
    bad = written(tmp_path, "bad.jsonl", [{"type": "message"}])
    good = written(tmp_path, "good.jsonl", [{"type": "session", "version": 3, "id": "s", "cwd": "/p"}])
    refused, opened = pi_sessions([bad, good], "pi-earendil")
    assert refused.error
    assert "not a valid pi session" in refused.error
    assert opened.error is None
    assert opened.header["id"] == "s"


@pytest.mark.parametrize("judge", PI_JUDGES)
def test_a_circle_of_parents_is_refused_before_pi_walks_in_it(tmp_path: Path, judge: str) -> None:
    header = {"type": "session", "version": 3, "id": "s", "timestamp": WHEN.format(0), "cwd": "/p"}
    round_and_round = [pi_entry(1, 2, message=pi_asked("a")), pi_entry(2, 1, message=pi_asked("b"))]
    nameless = [{"type": "user", "uuid": "u1"}, {"type": "user", "uuid": "u2"}]
    circle = written(tmp_path, "circle.jsonl", [header, *round_and_round])
    refused, opened = pi_sessions([circle, written(tmp_path, "nameless.jsonl", [header, *nameless])], judge)
    assert "circle" in (refused.error or "")
    assert (opened.error, len(opened.entries)) == (None, 2)


def claude_line(number: int, parent: int | None, kind: str, content: Any, api: str | None = None) -> dict[str, Any]:
    chain = {"uuid": f"u{number}", "parentUuid": None if parent is None else f"u{parent}", "isSidechain": False}
    usage = {"input_tokens": 10, "cache_creation_input_tokens": 4, "cache_read_input_tokens": 3, "output_tokens": 2}
    model = {"id": api, "model": "claude-sonnet-4-5", "usage": usage} if api else {}
    made = {"type": kind, "sessionId": "s", "timestamp": WHEN.format(number), "cwd": "/p", "version": "2.1.0"}
    return {**chain, **made, "message": {"role": kind, "content": content, **model}, "requestId": f"req_{api}"}


def parallel_session(folder: Path) -> Path:
    """A session with two parallel calls, written as Claude Code does: a line a block, the first result a dead end."""
    calls = [{"type": "tool_use", "id": f"t{n}", "name": "Bash", "input": {"command": f"echo {n}"}} for n in (1, 2)]
    results = [{"type": "tool_result", "tool_use_id": f"t{n}", "content": f"out {n}"} for n in (1, 2)]
    return written(
        folder,
        "raw_transcript.jsonl",
        [
            claude_line(1, None, "user", "one"),
            claude_line(2, 1, "assistant", [calls[0]], "msg_1"),
            claude_line(3, 2, "assistant", [calls[1]], "msg_1"),
            claude_line(4, 2, "user", [results[0]]),
            claude_line(5, 3, "user", [results[1]]),
            claude_line(6, 5, "assistant", [{"type": "text", "text": "done"}], "msg_2"),
        ],
    )


def test_the_sdk_gives_the_chain_with_its_parallel_calls_whole(tmp_path: Path) -> None:
    (session,) = claude_sessions([parallel_session(tmp_path)])
    assert {result.text for one in session.messages for result in one.results} == {"out 1", "out 2"}
    assert [call.id for one in session.messages for call in one.calls] == ["t1", "t2"]
    assert [one.api_id for one in session.messages if one.role == "assistant"] == ["msg_1", "msg_1", "msg_2"]
    assert (session.messages[0].text, session.messages[-1].text) == ("one", "done")


def test_ccusage_counts_a_message_of_several_lines_once(tmp_path: Path) -> None:
    parallel_session(tmp_path)
    assert ccusage_totals(claude_dir=tmp_path) == {"claude-sonnet-4-5": Tokens(20, 4, 8, 6)}


def test_ccusage_counts_pi_and_codex(tmp_path: Path) -> None:
    pi, codex = tmp_path / "pi", tmp_path / "codex"
    for folder in (pi, codex):
        folder.mkdir()
    header = {"type": "session", "version": 3, "id": "s", "timestamp": WHEN.format(0), "cwd": "/p"}
    written(pi, "s.jsonl", [header, pi_entry(1, None, message=pi_answer({"type": "text", "text": "hi"}))])
    used = {"input_tokens": 9, "cached_input_tokens": 4, "output_tokens": 3, "reasoning_output_tokens": 1}
    info = {"total_token_usage": {**used, "total_tokens": 12}, "last_token_usage": {**used, "total_tokens": 12}}
    payloads = [
        ("session_meta", {"id": "s", "cwd": "/p"}),
        ("turn_context", {"model": "gpt-5-codex"}),
        ("event_msg", {"type": "token_count", "info": info}),
    ]
    records = [{"timestamp": WHEN.format(1), "type": kind, "payload": payload} for kind, payload in payloads]
    written(codex, "rollout-2026-01-01T00-00-00-s.jsonl", records)
    assert ccusage_totals(codex_dir=codex, pi_dir=pi) == {"gpt-5-codex": Tokens(5, 3, 0, 4), "m1": Tokens(10, 2, 4, 3)}


@pytest.mark.parametrize("judge", PI_JUDGES)
def test_pi_reads_the_golden_sources(judge: str) -> None:
    paths = golden("pi*")
    sessions = pi_sessions(paths, judge)
    read = 0
    for path, session in zip(paths, sessions, strict=True):
        parents = {entry["id"]: entry["parentId"] for entry in session.entries if "id" in entry and "parentId" in entry}
        for branch in session.branches.values():
            assert [parents.get(one) for one in branch[1:]] == branch[:-1], path
        assert session.leaf == (session.entries[-1].get("id") if session.entries else None), path
        read += len(session.messages)
    assert read > len(paths)


def test_the_sdk_reads_the_golden_sources() -> None:
    paths = [path for path in golden("claude*") if not path.name.startswith("agent-")]
    sessions = claude_sessions(paths)
    for path, session in zip(paths, sessions, strict=True):
        if session.error:
            continue
        text = path.read_text(encoding="utf-8")
        assert all(f'"uuid":"{one.id}"' in text.replace('": "', '":"') for one in session.messages), path
        assert len(session.subagents) == len(list(path.with_suffix("").glob("subagents/*.jsonl"))), path
    assert sum(len(session.messages) for session in sessions) > len(paths)


@pytest.mark.parametrize("agent", ["claude", "codex", "pi"])
def test_ccusage_counts_the_golden_sources(agent: str) -> None:
    paths = golden(f"{agent}*")
    folders = {next(folder for folder in path.parents if folder.name == "source") for path in paths}
    counted = [ccusage_totals(**{f"{agent}_dir": folder}) for folder in sorted(folders)]
    assert any(counted)
    assert all(tokens.input >= 0 and tokens.output >= 0 for totals in counted for tokens in totals.values())
