import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from agents_ledger.formats.pi import FORMAT
from agents_ledger.model import zstd
from agents_ledger.model.entries import File, Usage
from agents_ledger.model.formats import Kind, Source
from agents_ledger.model.steps import (
    AFTER_LAST,
    Answered,
    Compacted,
    Event,
    Facts,
    Moved,
    Noted,
    Problem,
    Said,
    Spent,
    Step,
)

GOLDEN = Path(__file__).parents[1] / "golden" / "pi"


def kind_of(path: Path) -> Kind | None:
    return FORMAT.recognise(path.as_posix(), plain_bytes(path)[: 64 * 1024])


def plain_bytes(path: Path) -> bytes:
    return zstd.decompress(path.read_bytes()) if path.suffix == ".zst" else path.read_bytes()


def records(path: Path, kind: Kind) -> list[bytes]:
    data = plain_bytes(path)
    return [data] if kind.shape == "document" else [line for line in data.split(b"\n") if line.strip()]


def events(path: Path) -> list[Event]:
    kind = kind_of(path)
    assert kind is not None, path
    reader = FORMAT.reader(Source(path.as_posix(), kind.name))
    return [event for record in records(path, kind) for event in reader.read(record, "")] + list(reader.end())


def lines(*entries: Any, path: str = "/somewhere/x.jsonl") -> list[Event]:
    reader = FORMAT.reader(Source(path, "transcript"))
    return [event for entry in entries for event in reader.read(entry_bytes(entry), "")]


def entry_bytes(entry: Any) -> bytes:
    return entry if isinstance(entry, bytes) else json.dumps(entry).encode()


def case(name: str) -> list[Path]:
    return sorted(path for path in (GOLDEN / name / "source").rglob("*") if path.is_file())


def one(name: str, ending: str = "") -> list[Event]:
    [path] = [path for path in case(name) if path.name.endswith(ending)]
    return events(path)


def step(found: Iterable[Event], native_id: str) -> Any:
    [match] = [event for event in found if isinstance(event, Step) and event.native_id == native_id]
    return match


def said(found: Iterable[Event]) -> list[Said]:
    return [event for event in found if isinstance(event, Said)]


def turns(found: Iterable[Event]) -> list[str | None]:
    return [event.content for event in said(found) if event.starts_turn]


def problems(found: Iterable[Event]) -> list[str]:
    return [event.code for event in found if isinstance(event, Problem)]


def facts(found: Iterable[Event]) -> Facts:
    return next(event for event in found if isinstance(event, Facts))


ALL = sorted(path for path in GOLDEN.rglob("*") if path.is_file() and "source" in path.parts)


# ------------------------------------------------------------------ versions


def test_version_1_has_ids_by_line_and_keeps_by_number() -> None:
    found = one("v1")
    assert turns(found) == ["one", "three"]
    assert {event.parent for event in found if isinstance(event, Step)} == {AFTER_LAST}
    compaction = step(found, "line-4")
    assert (compaction.summary, compaction.first_kept, compaction.tokens_before) == ("S", "line-3", 10)
    assert step(found, "line-5").source == "context"  # a hookMessage
    assert [(event.model, event.provider) for event in found if isinstance(event, Noted)] == [("m", "anthropic")]


def test_identities_survive_pis_own_migration() -> None:
    [path] = case("v1")
    old = [json.loads(line) for line in path.read_text().splitlines() if line]
    new, last = [{**old[0], "version": 3}], None
    for number, entry in enumerate(old[1:]):
        changed = {**entry, "id": f"{number:08x}", "parentId": last}
        if entry["type"] == "message" and entry["message"]["role"] == "hookMessage":
            changed["message"] = {**entry["message"], "role": "custom"}
        new.append(changed)
        last = changed["id"]
    before, after = events(path), lines(*new)
    assert identities(before) == identities(after)
    assert len(set(identities(before))) == 3
    assert [event.usage_key for event in said(before)] == [event.usage_key for event in said(after)]


def identities(found: Iterable[Event]) -> list[str]:
    return [event.identity for event in found if isinstance(event, Said | Compacted) and event.identity]


def test_version_2_reads_hook_messages_as_injected() -> None:
    found = one("v2")
    assert turns(found) == ["first", "second"]
    assert [step(found, f"0000000{n}").source for n in (4, 5)] == ["context", "context"]
    assert step(found, "00000006").first_kept == "00000003"
    assert problems(found) == []


def test_version_3_by_the_real_session_manager() -> None:
    found = one("v3")
    assert problems(found) == []
    assert turns(found) == ["first question", "second question", "third question", "alternative question"]
    answer = step(found, "652d4078")
    assert (answer.thinking, answer.content, answer.blocks) == ("let me look", "reading", None)
    assert answer.usage == Usage(input=100, output=20, cached=3, cache_write=4, total=127)
    [call] = answer.calls
    assert (call.tool, call.native_id, bytes(call.params)) == ("read", "toolu_1", b'{"path":"a.txt"}')
    assert step(found, "fd84759b") == Answered(
        session=facts(found).session,
        native_id="fd84759b",
        parent="652d4078",
        at=1794765850830,
        call="toolu_1",
        result="hello",
    )
    assert step(found, "455f9e86").content == "Ran `ls`\n```\na.txt\n```"
    assert step(found, "6fe215ec").content.endswith("<summary>\nSUMMARY of abandoned branch</summary>")
    assert step(found, "f0795bfe").first_kept == "6f4be96a"
    assert "my session name" in [event.title for event in found if isinstance(event, Facts)]


def test_all_types_of_entries_are_nodes() -> None:
    found = one("all-entry-types")
    assert problems(found) == ["unknown-entry"]
    ids = {event.native_id for event in found if isinstance(event, Step)}
    assert {f"a00000{n:02x}" for n in range(1, 0x21)} <= ids


def test_blocks_tell_an_unusual_order() -> None:
    found = one("all-entry-types")
    asked, answer = step(found, "a0000004"), step(found, "a0000005")
    assert asked.blocks == (
        {"type": "text", "from": 0, "to": 17},
        {"type": "image", "media_type": "image/png", "size_bytes": 8},
    )
    assert answer.content == "I look.\nWait."
    assert answer.blocks == (
        {"type": "text", "from": 0, "to": 7},
        {"type": "thinking", "from": 0, "to": 6, "redacted": True},
        {"type": "call", "at": 0},
        {"type": "call", "at": 1},
        {"type": "text", "from": 8, "to": 13},
    )


def test_results_failures_and_their_cost() -> None:
    found = one("all-entry-types")
    assert step(found, "a0000006").result == [
        {"type": "text", "text": "Read image file"},
        {"type": "image", "media_type": "image/png", "size_bytes": 8},
    ]
    failed = step(found, "a0000007")
    assert (failed.status, failed.error) == ("failed", "Command exited with code 1")
    assert step(found, "a0000014").error == "Request was aborted"
    assert [event.usage.input for event in found if isinstance(event, Spent)] == [2, 1]
    assert step(found, "a0000005").metadata["cost"]["total"] == 0.3


def test_settings_are_noted() -> None:
    found = one("all-entry-types")
    assert step(found, "a0000001").model == "m1"
    assert step(found, "a0000003").content == "Be brief.\n\nread, bash\n\n/home/dev/project"
    tools = [event.tools for event in found if isinstance(event, Noted) and event.tools]
    assert tools == [("read", "bash"), ("read",)]


def test_commands_of_the_human_join_a_turn() -> None:
    found = one("all-entry-types")
    command = step(found, "a000000a")
    assert not command.starts_turn
    assert command.metadata["excludeFromContext"] is True
    assert command.content.endswith("Command exited with code 2\n\n[Output truncated. Full output: /tmp/out.log]")
    first = {"type": "message", "id": "b", "parentId": None, "message": {"role": "bashExecution", "command": "ls"}}
    assert turns(lines(first, {**first, "id": "c", "parentId": "b"})) == ["Ran `ls`\n(no output)"]


def test_boundaries_that_keep_nothing_say_so() -> None:
    found = one("all-entry-types")
    compaction, reset = step(found, "a0000012"), step(found, "a0000019")
    assert (compaction.first_kept, compaction.kept, compaction.usage.output) == (None, (), 9)
    assert (reset.type, reset.kept, reset.trigger) == ("reset", (), "periodic")
    assert reset.metadata == {"reason": "daily"}


def test_pointers_of_openclaw_move() -> None:
    found = one("all-entry-types")
    moves = [event for event in found if isinstance(event, Moved)]
    assert [(move.native_id, move.to) for move in moves] == [(None, "a000001b"), ("a000001d", "a0000018")]
    assert moves[1].parent == "a0000018"  # what follows the row continues its target


def test_an_empty_branch_summary_is_only_a_node() -> None:
    assert isinstance(step(one("all-entry-types"), "a0000016"), Noted)


# ------------------------------------------------------------------ forks and archives


@pytest.mark.parametrize("name", ["fork-with-parent-session", "fork-with-dangling-parent", "fork-of-a-tool-session"])
def test_forks_repeat_identities_and_usage_keys(name: str) -> None:
    origin, fork = (events(path) for path in case(name))
    path = facts(fork).forked_path
    assert path is not None
    assert path.endswith(f"_{facts(origin).session}.jsonl")
    shared = {event.native_id for event in origin if isinstance(event, Said)}
    copies = [event for event in said(fork) if event.native_id in shared]
    assert len(copies) >= 5
    for copy in copies:
        source = step(origin, copy.native_id or "")
        assert (copy.identity, copy.usage_key) == (source.identity, source.usage_key)


def test_a_fork_over_a_label_has_a_dangling_parent() -> None:
    fork = [event for event in events(case("fork-with-dangling-parent")[1]) if isinstance(event, Step)]
    ids = {event.native_id for event in fork}
    assert [event for event in fork if event.parent and event.parent not in ids]


def test_a_compaction_may_keep_half_a_turn() -> None:
    for path in case("compaction-inside-a-turn"):
        found = events(path)
        [compaction] = [event for event in found if isinstance(event, Compacted)]
        assert step(found, compaction.first_kept or "").role == "assistant"


def test_a_cut_transcript_and_its_archive_are_one_session() -> None:
    live, archive, index = (events(path) for path in case("clawdbot-cut-with-bak"))
    assert {facts(found).session for found in (live, archive, index)} == {"cut-1"}
    assert problems(live) == ["missing-header"]
    assert facts(archive).archive_source == "bak"
    assert step(live, "b0000006").identity == step(archive, "b0000006").identity


def test_a_name_has_the_last_word_on_an_archives_session() -> None:
    live, archive, index = (events(path) for path in case("clawdbot-emptied-with-bak"))
    assert live == []
    assert facts(archive).session == facts(index).session == "S1"
    assert facts(archive).aliases == ("d8923fd3-497a-4e5a-bf0c-a4ce6216c9c2",)
    assert len(turns(archive)) == 6
    assert len({event.usage_key for event in said(archive) if event.usage}) == 6


def test_archives_say_why_they_are_there() -> None:
    found = {path.name.split(".")[0]: facts(events(path)) for path in case("archives-deleted-and-reset")[::-1]}
    sources = {name: (fact.session, fact.archive_source) for name, fact in found.items() if name != "sessions"}
    assert sources == {
        "gone-1": ("gone-1", "deleted"),
        "old-1": ("old-1", "checkpoint"),
        "new-1-topic-77": ("new-1", None),
        "headless-1": ("headless-1", "bak"),
    }
    assert facts(one("archives-deleted-and-reset", "03-03T08-00-00.000Z")).archive_source == "reset"


def test_imported_archives_belong_to_their_session() -> None:
    found = [facts(events(path)) for path in case("openclaw-imported")]
    assert {(fact.session[:8], fact.origin) for fact in found} == {("11111111", "openclaw"), ("22222222", "openclaw")}


def test_openclaws_version_4_content_is_read() -> None:
    found = one("openclaw-imported", "974")
    assert problems(found) == []
    assert any((event.metadata or {}).get("openclaw", {}).get("runId") for event in said(found))


# ------------------------------------------------------------------ the index


@pytest.mark.parametrize("name", ["clawdbot", "openclaw"])
def test_the_index_keeps_every_entry_as_it_is(name: str) -> None:
    [path] = [path for path in case(name) if path.name == "sessions.json"]
    [fact] = events(path)
    assert isinstance(fact, Facts)
    assert (fact.origin, fact.persona, fact.routing_key) == (name, "main", "agent:main:hand")
    assert fact.extra == {"session_key": "agent:main:hand", "entry": json.loads(path.read_text())["agent:main:hand"]}
    transcripts = {facts(events(path)).session for path in case(name) if path.suffix == ".jsonl"}
    assert fact.session in transcripts


def test_an_index_edited_by_hand_is_json5() -> None:
    found = {
        fact.routing_key: fact for fact in one("archives-deleted-and-reset", "sessions.json") if isinstance(fact, Facts)
    }
    main, child = found["agent:main:main"], found["agent:main:subagent:5c1f"]
    assert (main.session, main.title, main.channel) == ("new-1", "Mornings", "telegram")
    assert (child.parent_session, child.updated_at) == ("new-1", 0x19CA9D3E840)
    assert found["cron:backup"].updated_at == 1772359207000


# ------------------------------------------------------------------ the seed's shape and Nexus


def test_the_seeds_own_lines_are_read() -> None:
    found = one("seed-shape")
    assert facts(found).origin == "nexus"
    assert [(event.role, event.content, event.model) for event in said(found)] == [
        ("user", "hi", None),
        ("assistant", "yo", "claude-4-sonnet"),
    ]
    assert problems(found) == []


def test_extended_fields_of_messages_are_kept() -> None:
    found = one("nexus-extended", "nx-1.jsonl")
    assert turns(found) == ["look at the ledger", "and the tests?", "Mend the test."]
    asked, answer = step(found, "m-1"), step(found, "m-2")
    assert asked.metadata == {"checkpointId": "cp-1", "activeRules": ["AGENTS.md"]}
    assert asked.context["folderSelections"] == ["src"]
    assert asked.files == (File("src/ledger.py", "attached", 3, 9), File("README.md", "attached"))
    assert (answer.metadata["isAgentic"], answer.metadata["isPlanExecution"]) == (True, False)
    assert answer.usage == Usage(input=120, output=30)
    assert [(call.tool, call.status, call.spawned) for call in answer.calls] == [
        ("task_v2", "completed", "nx-child"),
        ("Read", "running", None),
    ]
    assert (step(found, "m-3").call, step(found, "m-3").result) == ("t-2", "# Readme")
    assert step(found, "m-4").usage is None  # 0 and 0: not counted
    assert (step(found, "m-7").call, step(found, "m-7").status) == ("t-3", "failed")


def test_subagents_in_the_same_file_and_in_their_own() -> None:
    found = one("nexus-extended", "nx-1.jsonl")
    [child] = [event for event in found if isinstance(event, Facts) and event.parent_session]
    assert (child.session, child.parent_session, child.parent_call) == ("nx-embedded", "nx-1", "t-3")
    assert {event.native_id: event.session for event in said(found)}["e-2"] == "nx-embedded"
    assert step(found, "m-8").session == "nx-1"
    assert step(found, "e-1").source == "agent"
    own = facts(one("nexus-extended", "nx-child.jsonl"))
    assert (own.parent_session, own.parent_call) == ("nx-1", "task_abc")


def test_a_nexus_fork_takes_its_copies_as_its_own() -> None:
    fork, origin = one("nexus-extended", "nx-fork.jsonl"), one("nexus-extended", "nx-1.jsonl")
    assert {event.session for event in said(fork)} == {"nx-fork"}
    assert facts(fork).forked_from == "nx-1"
    assert step(fork, "m-1").identity == step(origin, "m-1").identity


def test_extended_fields_of_sessions_are_mapped_and_kept() -> None:
    main, child, fork = (event for event in one("nexus-extended", "sessions.json") if isinstance(event, Facts))
    assert (main.project, main.channel) == ("/home/dev/nexus", "telegram")
    assert main.extra["entry"]["contextTokenLimit"] == 200000
    assert (child.parent_session, child.parent_call, child.task) == ("nx-1", "task_abc", "Explore the codebase")
    assert (child.task_status, child.persona) == ("completed", "worker")
    assert fork.forked_from == "nx-1"


def test_the_first_line_alone_shows_whose_session_it_is() -> None:
    entry = {"type": "message", "id": "a", "parentId": None, "checkpointId": "c", "message": {"role": "user"}}
    header = {"type": "session", "version": 3, "id": "x", "timestamp": "2026-01-01T00:00:00Z", "cwd": "/"}
    headers = [header, {**header, "version": "3"}, {**header, "toolCallId": "c1"}]
    assert [facts(lines(each, entry)).origin for each in headers] == [None, "nexus", "nexus"]
    assert facts(lines(entry)).origin == "nexus"
