"""Small stores as Cursor writes them, made by hand: nothing of it can be run without its window.

`python -m tests.formats.cursor_store` writes the sources of `tests/golden/cursor` again.
"""

import base64
import hashlib
import json
import sqlite3
from collections.abc import Iterable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from tests.formats.cursor_talk import CHILD, NEWLINE_CALL, START, answering, asking, bubble, hashed, sent, stamp, tool

GOLDEN = Path(__file__).parents[1] / "golden" / "cursor"
CANARY = "canary-do-not-read"

MAIN = "a3730dd7-5c30-4081-9876-3c28e4505cc9"
OLD = "0c0ffee0-1111-4222-8333-444455556666"
FIRST = "d0d0d0d0-2222-4333-8444-555566660001"
COPY = "d0d0d0d0-2222-4333-8444-555566667777"
LEGACY = "1e6acc00-2222-4333-8444-555566667777"
LISTED = "1e6acc00-2222-4333-8444-555566668888"
TRANSCRIPT = "7a5c0000-2222-4333-8444-555566667777"
HELPER = "7a5c0000-2222-4333-8444-555566668888"
TAB = "2aa483d1-573c-4039-ae4e-7415e28d2605"
AGENT = "f1ff7b74-0a28-4dd4-a452-e01ae080eb20"

SECRETS = {
    "cursorAuth/accessToken": CANARY,
    "cursorAuth/refreshToken": CANARY,
    "cursorAuth/cachedEmail": CANARY,
    'secret://{"extensionId":"x","key":"mcp_tokens"}': CANARY,
    "workbench.settings.password": CANARY,
    "telemetry.machineId": CANARY,
    "terminal.history.commands": CANARY,
}


def head(name: str, kind: int, **more: Any) -> dict[str, Any]:
    """An entry of the list that orders the bubbles."""
    return {"bubbleId": name, "type": kind, "grouping": {"isRenderable": True}, **more}


def wired(number: int, data: bytes) -> bytes:
    """A field of protobuf."""
    size = len(data)
    low = bytes([size]) if size < 128 else bytes([size & 127 | 128, size >> 7])
    tag = number << 3 | 2
    return (bytes([tag]) if tag < 128 else bytes([tag & 127 | 128, tag >> 7])) + low + data


def root(names: Iterable[str], workspace: str = "file:///home/ada/My%20Proj") -> bytes:
    """A root node."""
    listed = b"".join(wired(1, bytes.fromhex(name)) for name in names)
    return (
        listed
        + wired(5, b"\x08\x92\x60\x10\xc0\x9a\x0c")
        + wired(9, workspace.encode())
        + wired(21, b"\x0a\x01/\x12\x03dev")
    )


def write(path: Path, tables: Mapping[str, Mapping[str, Any]], columns: Mapping[str, str] | None = None) -> Path:
    """A database of key-value tables; values that are not text, bytes or None are written as JSON."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    with closing(sqlite3.connect(path)) as db:
        for table, rows in tables.items():
            declared = (columns or {}).get(table, "key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB")
            db.execute(f"CREATE TABLE {table} ({declared})")
            first, last = declared.split()[0], "data" if table == "blobs" else "value"
            for key, value in rows.items():
                kept = value if isinstance(value, str | bytes) or value is None else json.dumps(value)
                db.execute(f"INSERT INTO {table} ({first}, {last}) VALUES (?, ?)", (key, kept))  # noqa: S608 - our own
        db.commit()
    return path


HEADS = (
    "composerId TEXT PRIMARY KEY, workspaceId TEXT, createdAt INTEGER, lastUpdatedAt INTEGER, isArchived INTEGER,"
    " isSubagent INTEGER, recency INTEGER, checkpointAt INTEGER, value BLOB"
)


def composer(session: str, headers: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    """A composer of Cursor 3."""
    return {
        "_v": 17,
        "composerId": session,
        "name": "Fix the parser",
        "createdAt": START,
        "lastUpdatedAt": START + 600_000,
        "hasLoaded": True,
        "status": "completed",
        "isAgentic": True,
        "unifiedMode": "agent",
        "forceMode": "edit",
        "modelConfig": {"modelName": "claude-4.5-opus-high-thinking", "maxMode": False},
        "fullConversationHeadersOnly": headers,
        "conversationMap": {},
        "workspaceIdentifier": {"id": "ws1", "uri": {"$mid": 1, "fsPath": "/home/ada/nexus", "scheme": "file"}},
        "blobEncryptionKey": CANARY,
        "speculativeSummarizationEncryptionKey": CANARY,
        **more,
    }


def new_composers(folder: Path) -> Path:
    """Cursor 3: a list and rows, gaps and orphans, a subagent with a composer of its own."""
    asked, said, blobs = asking(), answering(), sent()
    state = root(blobs)
    names = [head(item["bubbleId"], 2) for item in said]
    next(entry for entry in names if entry["bubbleId"] == "task")["serverBubbleId"] = "srv-task"
    names[1] |= {"startedAtMs": START + 2000, "completedAtMs": START + 2500}
    lost = [head("null", 2), head("gone", 2, createdAt=stamp(10)), head("u2", 1)]
    main = composer(
        MAIN,
        [head("u1", 1), *names, *lost, head("end", 2)],
        subagentComposerIds=[CHILD],
        contextTokensUsed=38191,
        contextTokenLimit=176000,
        subtitle="Edited lex.py",
        todos=[{"id": "t1"}, {"id": "t2"}],
        totalLinesAdded=4,
        trackedGitRepos=[
            {"repoPath": "/home/ada/nexus", "branches": [{"branchName": "dev", "lastInteractionAt": START}]}
        ],
        conversationState="~" + base64.b64encode(state).decode(),
    )
    child = composer(
        CHILD,
        [head("c1", 1), head("c2", 2)],
        name="Read the docs",
        subagentInfo={"parentComposerId": MAIN, "toolCallId": "toolu_task", "subagentTypeName": "explore"},
    )
    rows: dict[str, Any] = {f"bubbleId:{MAIN}:{item['bubbleId']}": item for item in (asked, *said)}
    rows |= {
        f"bubbleId:{MAIN}:null": None,
        f"bubbleId:{MAIN}:u2": bubble("u2", 1, 20, text="Then fix it."),
        f"bubbleId:{MAIN}:end": bubble("end", 2, 21, text="Done.", modelInfo={"modelName": "composer-1"}),
        f"bubbleId:{MAIN}:loose": bubble("loose", 2, 5, toolFormerData=tool("toolu_loose", "task", 48, params="{}")),
        f"composerData:{MAIN}": main,
        f"composerData:{CHILD}": child,
        f"bubbleId:{CHILD}:c1": bubble("c1", 1, 7, text="Read all docs"),
        f"bubbleId:{CHILD}:c2": bubble("c2", 2, 8, text="They are short."),
        f"checkpointId:{MAIN}:cp-1": {
            "files": [{"uri": {"path": "/home/ada/nexus/src/lex.py"}}],
            "newlyCreatedFolders": [],
        },
        f"messageRequestContext:{MAIN}:u1": {"terminalFiles": [], "projectLayouts": ['{"rootPath":"/home/ada/nexus"}']},
        f"agentKv:checkpoint:{MAIN}": hashlib.sha256(state).hexdigest(),
        f"agentKv:blob:{hashlib.sha256(state).hexdigest()}": state,
        "composer.content." + "e" * 64: "x = 1\n",
        f"composerVirtualRowHeights:{MAIN}": "{}",
        f"ofsContent:{MAIN}:file:///home/ada/nexus/.env": CANARY,
    }
    rows |= {f"agentKv:blob:{name}": blob for name, blob in blobs.items()}
    heads = {
        name: {"type": "head", **{key: data[key] for key in ("composerId", "name", "createdAt", "workspaceIdentifier")}}
        for name, data in ((MAIN, main), (CHILD, child))
    }
    heads["empty-one"] = {"type": "head", "composerId": "empty-one", "name": "Never asked", "createdAt": START}
    items = {**SECRETS, "composer.composerHeaders": {"allComposers": list(heads.values())}}
    path = folder / "User" / "globalStorage" / "state.vscdb"
    return write(path, {"ItemTable": items, "cursorDiskKV": rows, "composerHeaders": heads}, {"composerHeaders": HEADS})


def old_composers(folder: Path) -> Path:
    """Cursor 0.4x and the winter of 2026: conversations inside their composer, subagents by the id of their call."""
    uri = {"$mid": 1, "external": "file:///home/ada/a.js", "path": "/home/ada/a.js", "scheme": "file"}
    inner = {
        "_v": 3,
        "name": "Update the docs",
        "createdAt": START,
        "modelConfig": {"modelName": "composer-1"},
        "conversation": [bubble("i1", 1, 1, text="Update it"), bubble("i2", 2, 2, text="Updated.")],
    }
    old = {
        "_v": 3,
        "composerId": OLD,
        "createdAt": START,
        "status": "completed",
        "codeBlockData": {"file:///home/ada/a.js": [{"uri": uri, "version": 0, "content": "let a\n"}]},
        "conversation": [
            {"type": 1, "bubbleId": "o1", "text": "", "richText": json.dumps({"root": {"type": "root", "children": [
                {"type": "paragraph", "children": [{"type": "text", "text": "Write a.js"}]},
            ]}}), "relevantFiles": ["a.js"]},
            {"type": 2, "bubbleId": "o2", "text": "Here.", "codeBlocks": [{"uri": uri, "version": 0}]},
            {"type": 2, "bubbleId": "o3", "toolFormerData": tool(
                "toolu_emb", "task", 48, params='{"description":"Update the docs"}',
                additionalData={"composerData": json.dumps(inner)},
            )},
            {"type": 2, "bubbleId": "o4", "toolFormerData": tool(NEWLINE_CALL, "task", 48, params='{"prompt":"Look"}')},
        ],
    }  # fmt: skip
    task = f"task-{NEWLINE_CALL}"
    rows = {
        f"composerData:{OLD}": old,
        f"composerData:{task}": {
            "composerId": task,
            "createdAt": START,
            "fullConversationHeadersOnly": [head("n1", 2)],
        },
        f"bubbleId:{task}:n1": bubble("n1", 2, 5, text="Looked."),
        "bubbleId:task-toolu_alone:l2": bubble("l2", 2, 7, text="second"),
        "bubbleId:task-toolu_alone:l1": bubble("l1", 1, 6, text="first"),
    }
    return write(folder / "User" / "globalStorage" / "state.vscdb", {"ItemTable": SECRETS, "cursorDiskKV": rows})


def duplicated_chat(folder: Path) -> Path:
    """A chat and its duplicate, which has new bubble ids and goes on differently."""
    rows: dict[str, Any] = {}
    for name, mark, last in ((FIRST, "a", "left"), (COPY, "b", "right")):
        said = [
            bubble(f"{mark}1", 1, 1, text="Hello"),
            bubble(f"{mark}2", 2, 2, text="Hi."),
            bubble(f"{mark}3", 1, 3 if mark == "a" else 300, text=f"Go {last}"),
            bubble(f"{mark}4", 2, 400, text=f"Went {last}."),
        ]
        rows |= {f"bubbleId:{name}:{item['bubbleId']}": item for item in said}
        rows[f"composerData:{name}"] = composer(name, [head(item["bubbleId"], item["type"]) for item in said])
    return write(folder / "User" / "globalStorage" / "state.vscdb", {"ItemTable": SECRETS, "cursorDiskKV": rows})


def legacy_workspace(folder: Path) -> Path:
    """A workspace of 2024: tabs of the chat panel, and composers in one row."""
    chats = {"tabs": [{
        "tabId": TAB, "chatTitle": "Sidebar", "lastSendTime": START, "timestamp": START - 5000,
        "bubbles": [
            {"type": "user", "id": "t1", "text": "Add a bar", "fileSelections": [{"uri": {"fsPath": "c:\\p\\a.ts"}}]},
            {"type": "ai", "id": "t2", "text": "Sure.", "rawText": "Sure.", "modelType": "claude-3.5-sonnet"},
            {"type": "user", "id": "t3", "text": "", "initText": "{}"},
        ],
    }]}  # fmt: skip
    composers = {"allComposers": [
        {"composerId": LEGACY, "createdAt": START, "name": "Old one", "conversation": [
            {"type": 1, "bubbleId": "w1", "text": "Colour it"}, {"type": 2, "bubbleId": "w2", "text": "Coloured."},
        ]},
        {"composerId": LISTED, "type": "head", "name": "Listed only", "createdAt": START, "unifiedMode": "chat"},
    ]}  # fmt: skip
    items = {
        **SECRETS,
        "workbench.panel.aichat.view.aichat.chatdata": chats,
        "composer.composerData": composers,
        "aiService.prompts": [{"text": "Add a sidebar", "commandType": 2}],
    }
    path = folder / "User" / "workspaceStorage" / "0f0f" / "state.vscdb"
    return write(path, {"ItemTable": items})


def transcripts(folder: Path) -> Path:
    """Transcripts of a session and of its subagent."""
    place = folder / "projects" / "home-ada-nexus" / "agent-transcripts" / TRANSCRIPT
    lines = [
        {"role": "user", "message": {"content": [{"type": "text", "text": (
            "<timestamp>Monday, Oct 5, 2026, 9:05 PM (UTC-5:30)</timestamp>\n<user_query>\nRead it\n</user_query>"
        )}]}},
        {"role": "assistant", "message": {"content": [
            {"type": "tool_use", "name": "Read", "input": {"path": "a.py"}}, {"type": "text", "text": "Read."},
        ]}},
        {"type": "turn_ended", "status": "success"},
        {"role": "user", "message": {"content": [{"type": "text", "text": "<system_notification>\nTask done"}]}},
        {"role": "assistant", "message": {"content": [{"type": "text", "text": "Noted."}]}},
        {"type": "turn_ended", "status": "aborted", "error": "User aborted/interrupted manually."},
    ]  # fmt: skip
    for path, told in ((place / f"{TRANSCRIPT}.jsonl", lines), (place / "subagents" / f"{HELPER}.jsonl", lines[:3])):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(json.dumps(line, separators=(",", ":")) + "\n" for line in told))
    return place / f"{TRANSCRIPT}.jsonl"


def store(folder: Path) -> Path:
    """The command line's store, after its context was summarised once."""
    first = [
        {"role": "system", "content": "You are a coding assistant."},
        {"role": "user", "content": "<user_info>\nOS: linux\n</user_info>"},
        {"role": "user", "content": [{"type": "text", "text": "<user_query>\nList files\n</user_query>"}]},
        {"role": "assistant", "id": "1", "content": [
            {"type": "redacted-reasoning", "data": "b3BhcXVl"},
            {"type": "text", "text": "Listing."},
            {"type": "tool-call", "toolCallId": "tool_1", "toolName": "Shell", "args": {"command": "ls"}},
        ]},
        {"role": "tool", "id": "tool_1", "content": [
            {"type": "tool-result", "toolCallId": "tool_1", "toolName": "Shell", "result": "a.py\nb.py"},
        ], "providerOptions": {"cursor": {"highLevelToolCallResult": {"output": {"success": {}}, "isError": False}}}},
        {"role": "user", "content": [{"type": "text", "text": "<user_query>\nGo on\n</user_query>"}]},
        {"role": "assistant", "id": "2", "content": [
            {"type": "reasoning", "text": "Go."}, {"type": "text", "text": "Went."},
        ]},
    ]  # fmt: skip
    summary = {"role": "user", "content": "They listed files.", "providerOptions": {"cursor": {"isSummary": True}}}
    later = {"role": "assistant", "id": "3", "content": [{"type": "text", "text": "And on."}]}
    blobs = hashed([*first, summary, later])
    names = list(blobs)
    older = root(names[:7])
    # the same question again has the same hash
    latest = root([names[0], names[1], names[7], names[5], names[6], names[5], names[8]])
    for node in (older, latest):
        blobs[hashlib.sha256(node).hexdigest()] = node
    meta = {
        "agentId": AGENT,
        "latestRootBlobId": hashlib.sha256(latest).hexdigest(),
        "name": "Files",
        "mode": "auto-run",
        "createdAt": START,
        "lastUsedModel": "composer-2",
    }
    path = folder / ".cursor" / "chats" / "36e6f82a4f9ae16e16ce627c19e4b65f" / AGENT / "store.db"
    columns = {"blobs": "id TEXT PRIMARY KEY, data BLOB", "meta": "key TEXT PRIMARY KEY, value TEXT"}
    return write(path, {"blobs": blobs, "meta": {"0": json.dumps(meta).encode().hex()}}, columns)


CASES = {
    "new-composers": new_composers,
    "old-composers": old_composers,
    "duplicated-chat": duplicated_chat,
    "legacy-workspace": legacy_workspace,
    "transcripts": transcripts,
    "cli-store": store,
}

if __name__ == "__main__":
    for case, make in CASES.items():
        make(GOLDEN / case / "source")
