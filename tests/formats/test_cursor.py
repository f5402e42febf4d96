"""Cursor: what its databases tell, and what must never be told."""

import json
import os
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents_ledger.formats.cursor import FORMAT
from agents_ledger.model.formats import Machine
from agents_ledger.model.steps import At, Compacted, Event, Problem, Said
from tests.formats import cursor_store as made
from tests.formats import cursor_talk as talk
from tests.formats.cursor_rows import CORPUS, TABLES, call, facts, groups, lines, of, read, said


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("cursor")
    return {case: make(folder / case) for case, make in made.CASES.items()}


@pytest.fixture(scope="module")
def main(stores: dict[str, Path]) -> list[Event]:
    return read(groups(stores["new-composers"])[made.MAIN])


def test_the_golden_sources_are_what_the_script_writes(stores: dict[str, Path]) -> None:
    for case, path in stores.items():
        kept = made.GOLDEN / case / "source" / path.relative_to(path_of_case(path, case))
        assert (groups(kept) == groups(path)) if path.suffix != ".jsonl" else (kept.read_text() == path.read_text())


def path_of_case(path: Path, case: str) -> Path:
    return next(parent for parent in path.parents if parent.name == case)


def test_every_step_says_which_row_it_comes_from(stores: dict[str, Path]) -> None:
    for case in ("new-composers", "old-composers", "legacy-workspace", "cli-store"):
        for name, rows in groups(stores[case]).items():
            here, seen = "", 0
            for event in read(rows, f"{stores[case]}#{name}", "store" if case == "cli-store" else "global"):
                if isinstance(event, At):
                    here = event.name
                    assert here in rows
                elif isinstance(event, Said) and event.content:
                    start = json.dumps(event.content[:20], ensure_ascii=False)[1:-1].encode()
                    assert start in rows[here], (here, event)
                    seen += 1
            assert seen or name in ("index", "prompts") or not said(read(rows))


# --- what is recognised -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("case", "kind"),
    [
        ("new-composers", "global"),
        ("old-composers", "global"),
        ("legacy-workspace", "workspace"),
        ("transcripts", "transcript"),
        ("cli-store", "store"),
    ],
)
def test_each_store_is_recognised(stores: dict[str, Path], case: str, kind: str) -> None:
    path = stores[case]
    found = FORMAT.recognise(str(path), path.read_bytes()[:65536])
    assert found is not None
    assert found.name == kind
    assert FORMAT.recognise(str(path), b"") is None


def test_databases_are_recognised_under_other_names(stores: dict[str, Path]) -> None:
    for case, kind in (("new-composers", "global"), ("cli-store", "store")):
        found = FORMAT.recognise("/tmp/backup.bin", stores[case].read_bytes()[:65536])  # noqa: S108 - only a name
        assert found is not None
        assert found.name == kind


def test_a_database_whose_tables_are_still_in_its_wal_is_recognised_by_its_place() -> None:
    empty = b"SQLite format 3\0" + bytes(84)
    assert FORMAT.recognise("/home/a/.cursor/chats/0/1/store.db", empty) is not None
    assert FORMAT.recognise("/home/a/.config/Cursor/User/globalStorage/state.vscdb", empty) is not None
    assert FORMAT.recognise("/home/a/.config/Code/User/globalStorage/state.vscdb", empty) is None
    assert FORMAT.recognise("/home/a/places.sqlite", empty) is None


def test_no_other_agents_file_is_claimed() -> None:
    if not CORPUS.is_dir():
        pytest.skip("no corpus beside the project")
    for folder, _, names in os.walk(CORPUS):
        for name in names if "/fixtures" in folder or "/corpus" in folder else ():
            path = Path(folder, name)
            with path.open("rb") as file:
                found = FORMAT.recognise(str(path), file.read(65536))
            ours = "/corpus/cursor-" in folder
            assert (found is not None) == ours, path


@pytest.mark.parametrize(
    ("platform", "environ", "place"),
    [
        ("linux", {}, "/h/.config/Cursor"),
        ("linux", {"XDG_CONFIG_HOME": "/x"}, "/x/Cursor"),
        ("darwin", {}, "/h/Library/Application Support/Cursor"),
        ("win32", {"APPDATA": "C:/R"}, "C:/R/Cursor"),
    ],
)
def test_roots_of_each_system(platform: str, environ: dict[str, str], place: str) -> None:
    paths = [root.path for root in FORMAT.roots(Machine("/h", environ, platform))]
    assert place in paths
    assert "/h/.cursor" in paths


# --- what is never read -------------------------------------------------------------------------------------------


def test_secrets_and_settings_belong_to_no_group(stores: dict[str, Path]) -> None:
    assert TABLES is not None
    for key in (*made.SECRETS, "src.vs.platform.reactivestorage", "history.entries", "workbench.panel.output"):
        assert TABLES.group("ItemTable", key) is None
    for key in (
        "inlineDiffs-1",
        "composerVirtualRowHeights:a",
        "ofsContent:a:file:///h/.env",
        "agentKv:artifact:x",
        "x",
    ):
        assert TABLES.group("cursorDiskKV", key) is None
    for path in stores.values():
        if path.suffix != ".jsonl":
            names = [name for rows in groups(path).values() for name in rows]
            assert not [name for name in names for secret in made.SECRETS if secret in name]


def test_no_secret_is_in_any_event(stores: dict[str, Path]) -> None:
    for case in ("new-composers", "old-composers", "duplicated-chat", "legacy-workspace"):
        for rows in groups(stores[case]).values():
            assert made.CANARY.encode() not in msgspec.json.encode(read(rows))


@given(st.text(max_size=40))
def test_any_key_has_a_group_or_none(key: str) -> None:
    assert TABLES is not None
    for table in (*TABLES.columns, "other"):
        group = TABLES.group(table, key)
        assert group is None or isinstance(group, str)
    assert TABLES.group("ItemTable", f"cursorAuth/{key}") is None
    assert TABLES.group("ItemTable", f"secret://{key}") is None
    assert TABLES.group("other", key) is None


def test_rows_of_a_session_are_one_group_whatever_its_id_holds() -> None:
    assert TABLES is not None
    for session in (made.MAIN, f"task-{talk.NEWLINE_CALL}", "task-functions.Task:0"):
        keys = ("composerData:{}", "bubbleId:{}:b1", "checkpointId:{}:c1", "messageRequestContext:{}:r1",
                "codeBlockDiff:{}:d1", "agentKv:checkpoint:{}", "agentKv:bubbleCheckpoint:{}:b1")  # fmt: skip
        assert {TABLES.group("cursorDiskKV", key.format(session)) for key in keys} == {session}
    assert TABLES.group("composerHeaders", made.MAIN) == made.MAIN
    assert TABLES.group("cursorDiskKV", "agentKv:blob:" + "a" * 64) == ""
    assert TABLES.group("cursorDiskKV", "composer.content." + "a" * 64) == ""


# --- messages -----------------------------------------------------------------------------------------------------


def test_the_list_gives_the_order_gaps_stay_and_orphans_come_last(main: list[Event]) -> None:
    order = [event.native_id for event in of(main, Said)]
    bubbles = ["u1", "th", "run", "read", "bad", "stop", "no", "task", "say", "null", "gone", "u2", "end", "loose"]
    assert order[2:] == bubbles
    found = said(main)
    assert [name for name in bubbles if found[name].starts_turn] == ["u1", "u2"]
    assert found["gone"].metadata["lost"] is True
    assert found["gone"].at == talk.START + 10_000
    assert found["loose"].metadata["orphan"] is True
    lost = {problem.detail.rpartition(":")[2] for problem in of(main, Problem) if problem.code == "lost-row"}
    assert lost == {"null", "gone"}


def test_everything_the_schema_lists_about_a_message_is_kept(main: list[Event]) -> None:
    asked = said(main)["u1"]
    for key in ("_v", "type", "bubbleId", "createdAt", "toolResults", "todos", "interpreterResults", "tokenCount",
                "isAgentic", "unifiedMode", "conversationState", "checkpointId", "isPlanExecution"):  # fmt: skip
        assert key in asked.metadata
    for key in ("codebaseContextChunks", "attachedCodeChunks", "attachedFolders", "relevantFiles", "commits",
                "pullRequests", "gitDiffs", "cursorRules", "images", "context", "requestContext"):  # fmt: skip
        assert key in asked.context
    assert asked.metadata["checkpoint"] == {"files": 1, "newlyCreatedFolders": 0}
    assert asked.context["images"][0]["data"] == {"type": "data", "size_bytes": 6000}
    assert asked.usage is None
    assert {lint.message: (lint.severity, lint.start_line) for lint in asked.lints} == {
        "undefined name": ("error", 4),
        "unused": ("warning", None),
    }
    assert {(file.path, file.kind, file.line_start, file.line_end) for file in asked.files} >= {
        ("src/tokens.py", "referenced", None, None),
        ("src/ast.py", "referenced", 10, 11),
        ("/home/ada/nexus/src/parse.py", "attached", None, None),
        ("/home/ada/nexus/src/lex.py", "attached", 3, 9),
        ("docs", "attached", None, None),
    }


def test_a_message_keeps_thoughts_code_and_model(main: list[Event]) -> None:
    found = said(main)
    assert found["th"].thinking == "Look first."
    assert found["th"].metadata["thinkingDurationMs"] == 900
    assert "c2ln" not in str(found["th"])
    assert [(block.language, block.content) for block in found["say"].codeblocks] == [("python", "x = 1\n")]
    assert found["say"].model == "claude-4.5-opus-high-thinking"
    assert found["end"].model == "composer-1"
    assert found["u1"].source == "human"


def test_what_was_sent_before_the_first_question_is_context(main: list[Event]) -> None:
    first, second = of(main, Said)[:2]
    assert (first.role, first.content, first.source) == ("system", "You are a coding assistant.", "context")
    assert (second.role, second.source, second.starts_turn) == ("user", "context", False)


def test_a_summary_is_a_compaction_with_its_boundary(main: list[Event]) -> None:
    (compacted,) = of(main, Compacted)
    assert compacted.summary == "They looked at the parser."
    assert compacted.first_kept == "task"  # the row says the server's id


# --- calls --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("native_id", "status", "number"),
    [
        ("toolu_run", "completed", 15),
        (talk.NEWLINE_CALL, "completed", 40),
        ("toolu_bad", "failed", 41),
        ("toolu_stop", "cancelled", 15),
        ("toolu_hang", "abandoned", 42),
        ("toolu_no", "rejected", 38),
        ("toolu_task", "completed", 48),
    ],
)
def test_a_call_has_its_outcome_and_the_tools_number(
    main: list[Event], native_id: str, status: str, number: int
) -> None:
    found = call(main, native_id)
    assert (found.status, found.number) == (status, number)


def test_parameters_are_those_the_model_wrote(main: list[Event]) -> None:
    assert bytes(call(main, "toolu_run").params) == b'{"command":"ls  -l"}'
    assert bytes(call(main, "toolu_run").result) == b'{"rejected":false}'
    assert call(main, "toolu_bad").params == {"pattern": "("}
    assert said(main)["bad"].metadata["toolFormerData"]["rawArgs"] == "{broken"
    assert call(main, "toolu_bad").error == "unclosed group"
    assert (call(main, "toolu_run").started_at, call(main, "toolu_run").completed_at) == (
        talk.START + 2000,
        talk.START + 2500,
    )


def test_a_result_is_complete_where_the_models_messages_have_it(main: list[Event]) -> None:
    assert call(main, talk.NEWLINE_CALL).result == "line 1\nline 2\n" * 40
    assert said(main)["read"].metadata["toolFormerData"]["result"] == {"contents": "(stub)"}
    assert said(main)["read"].files[0].kind == "read"


def test_a_call_in_a_chat_that_is_being_written_is_running() -> None:
    data = made.composer("c", [made.head("b", 2)], status="generating")
    hang = talk.bubble("b", 2, 1, toolFormerData=talk.tool("t", "grep", 1, status="loading"))
    rows = {
        "cursorDiskKV\nbubbleId:c:b": json.dumps(hang).encode(),
        "cursorDiskKV\ncomposerData:c": json.dumps(data).encode(),
    }
    assert call(read(rows), "t").status == "running"


# --- sessions -----------------------------------------------------------------------------------------------------


def test_a_session_has_its_facts(main: list[Event]) -> None:
    told = facts(main, made.MAIN)
    assert (told["title"], told["project"], told["git_branch"]) == ("Fix the parser", "/home/ada/nexus", "dev")
    assert (told["created_at"], told["updated_at"]) == (talk.START, talk.START + 600_000)
    extra = told["extra"]
    assert (extra["contextTokensUsed"], extra["contextTokenLimit"], extra["todos"]) == (38191, 176000, 2)
    assert (extra["isAgentic"], extra["forceMode"], extra["unifiedMode"]) == (True, "edit", "agent")
    assert (extra["status"], extra["subtitle"], extra["totalLinesAdded"]) == ("completed", "Edited lex.py", 4)
    assert extra["modelConfig"]["modelName"] == "claude-4.5-opus-high-thinking"


def test_a_subagent_with_its_own_composer(stores: dict[str, Path], main: list[Event]) -> None:
    assert call(main, "toolu_task").spawned == talk.CHILD
    told = facts(main, talk.CHILD)
    assert (told["parent_session"], told["parent_call"]) == (made.MAIN, "toolu_task")
    assert (told["task"], told["task_status"]) == ("Read the docs", "completed")
    assert facts(main, "gone-1")["extra"] == {"superseded": True}
    child = read(groups(stores["new-composers"])[talk.CHILD])
    assert facts(child, talk.CHILD)["parent_session"] == made.MAIN
    assert said(child, talk.CHILD)["c1"].source == "agent"


def test_subagents_named_after_their_call(stores: dict[str, Path]) -> None:
    found = groups(stores["old-composers"])
    old, task = read(found[made.OLD]), f"task-{talk.NEWLINE_CALL}"
    assert call(old, talk.NEWLINE_CALL).spawned == task
    assert facts(old, task)["parent_session"] == made.OLD
    assert [event.content for event in of(read(found[task]), Said)] == ["Looked."]
    assert of(read(found[task]), Said)[0].starts_turn
    assert [event.content for event in said(old, "task-toolu_emb").values()] == ["Update it", "Updated."]
    assert facts(old, "task-toolu_emb")["parent_call"] == "toolu_emb"


def test_bubbles_without_any_list_are_ordered_by_time(stores: dict[str, Path]) -> None:
    events = read(groups(stores["old-composers"])["task-toolu_alone"])
    assert [(event.content, event.starts_turn) for event in of(events, Said)] == [("first", True), ("second", False)]
    assert [problem.detail for problem in of(events, Problem)] == ["composerData:task-toolu_alone"]


def test_a_conversation_inside_its_composer(stores: dict[str, Path]) -> None:
    found = said(read(groups(stores["old-composers"])[made.OLD]), made.OLD)
    assert list(found) == ["o1", "o2", "o3", "o4"]
    assert found["o1"].content == "Write a.js"  # only the editor's document has it
    assert found["o2"].codeblocks[0].content == "let a\n"  # its text stands in the composer
    assert found["o1"].identity is None


def test_a_duplicated_chat_has_the_same_identities_until_it_goes_on(stores: dict[str, Path]) -> None:
    found = groups(stores["duplicated-chat"])
    left, right = (
        [event for event in of(read(found[name]), Said) if event.starts_turn] for name in (made.FIRST, made.COPY)
    )
    assert left[0].identity == right[0].identity
    assert left[0].native_id != right[0].native_id
    assert left[1].identity != right[1].identity


def test_lists_tell_of_sessions_whose_rows_are_gone(stores: dict[str, Path]) -> None:
    found = groups(stores["new-composers"])
    assert facts(read(found["index"]), "empty-one")["title"] == "Never asked"
    assert facts(read(found["empty-one"]), "empty-one")["title"] == "Never asked"
    assert not of(read(found["empty-one"]), Problem)
    assert of(read({"cursorDiskKV\ncomposerData:x": b""}), Problem) == [Problem("lost-row", "composerData:x")]


def test_chats_of_2024(stores: dict[str, Path]) -> None:
    path = stores["legacy-workspace"]
    events = read(groups(path)["index"], f"{path}#index", "workspace")
    tab = said(events, made.TAB)
    assert [(event.role, event.content) for event in tab.values()] == [
        ("user", "Add a bar"),
        ("assistant", "Sure."),
    ]
    assert tab["t1"].files[0].path == "c:\\p\\a.ts"
    assert tab["t2"].model == "claude-3.5-sonnet"
    assert facts(events, made.TAB)["title"] == "Sidebar"
    assert [event.content for event in said(events, made.LEGACY).values()] == ["Colour it", "Coloured."]
    assert facts(events, made.LISTED)["extra"] == {"unifiedMode": "chat", "workspaceId": "0f0f"}
    assert read(groups(path)["prompts"]) == []


def test_a_chat_of_2024_that_tells_one_time_is_from_then() -> None:
    """Tabs of November 2024 have `lastSendTime` and nothing else."""
    bubbles = [{"type": "user", "id": "t1", "text": "Add a bar"}, {"type": "ai", "id": "t2", "text": "Sure."}]
    tab = {"tabId": made.TAB, "lastSendTime": talk.START, "bubbles": bubbles}
    row = json.dumps({"tabs": [tab]}).encode()
    events = read({"ItemTable\nworkbench.panel.aichat.view.aichat.chatdata": row})
    assert [event.at for event in said(events, made.TAB).values()] == [talk.START, talk.START]


def test_real_databases_and_transcripts_are_read() -> None:
    if not (CORPUS / "corpus").is_dir():
        pytest.skip("no corpus beside the project")
    (database,) = (CORPUS / "corpus" / "cursor-vscdb").rglob("state.vscdb")
    told = read(groups(database)["index"], str(database), "workspace")
    assert len(of(told, Said)) > 100
    assert all(event.at for event in of(told, Said))
    assert sum(len(event.codeblocks) for event in of(told, Said)) > 20
    assert not of(told, Problem)
    (transcript,) = (CORPUS / "corpus" / "cursor-transcript").rglob("*.jsonl")
    assert [event.starts_turn for event in of(lines(transcript), Said)].count(True) == 2
