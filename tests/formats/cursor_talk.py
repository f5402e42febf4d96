"""A conversation with everything that Cursor keeps about one, made up."""

import hashlib
import json
from collections.abc import Iterable
from typing import Any

START = 1_769_616_000_000  # 2026-01-28T16:00:00Z
NEWLINE_CALL = "call_Xa1\nfc_0b2"
CHILD = "b1a2c3d4-0000-4000-8000-00000000beef"


def stamp(seconds: int) -> str:
    """An ISO time, some seconds after the start."""
    return f"2026-01-28T16:{seconds // 60:02}:{seconds % 60:02}.000Z"


def bubble(name: str, kind: int, seconds: int, **more: Any) -> dict[str, Any]:
    """A bubble with the empty lists that Cursor writes into every one."""
    empty = ("codebaseContextChunks", "commits", "pullRequests", "attachedCodeChunks", "gitDiffs", "images", "lints")
    return {
        "_v": 3,
        "type": kind,
        "bubbleId": name,
        "createdAt": stamp(seconds),
        **{key: [] for key in empty},
        "tokenCount": {"inputTokens": 0, "outputTokens": 0},
        "isAgentic": True,
        "unifiedMode": 2,
        "conversationState": "~",
        "text": "",
        **more,
    }


def tool(call: str, name: str, number: int, **more: Any) -> dict[str, Any]:
    """The call of a bubble."""
    return {"tool": number, "toolIndex": 0, "toolCallId": call, "name": name, "status": "completed", **more}


def hashed(messages: Iterable[Any]) -> dict[str, bytes]:
    """Messages by their hash."""
    blobs = [json.dumps(message, separators=(",", ":")).encode() for message in messages]
    return {hashlib.sha256(blob).hexdigest(): blob for blob in blobs}


def asking() -> dict[str, Any]:
    """A question with everything that can be attached to one."""
    return bubble(
        "u1",
        1,
        0,
        text="Why does the parser fail?",
        richText='{"root":{"children":[]}}',
        requestId="req-1",
        checkpointId="cp-1",
        isPlanExecution=False,
        modelInfo={"modelName": "claude-4.5-opus-high-thinking"},
        context={
            "fileSelections": [{"uri": {"fsPath": "/home/ada/nexus/src/parse.py"}, "addedWithoutMention": False}],
            "selections": [{
                "uri": {"fsPath": "/home/ada/nexus/src/lex.py"},
                "range": {"selectionStartLineNumber": 3, "positionLineNumber": 9},
                "text": "def lex(): ...",
            }],
            "mentions": {"fileSelections": {}},
        },
        cursorRules=[{"name": "style.mdc", "description": "Write short functions."}],
        relevantFiles=["src/parse.py", "src/tokens.py"],
        codebaseContextChunks=[{"relativeWorkspacePath": "src/ast.py", "startLineNumber": 10, "lines": ["a", "b"]}],
        attachedCodeChunks=[{"relativeWorkspacePath": "src/lex.py", "startLineNumber": 1, "lines": ["x"]}],
        attachedFolders=[{"relativePath": "docs"}],
        commits=[{"sha": "abc", "message": "add lexer"}],
        pullRequests=[{"number": 7, "title": "Lexer"}],
        gitDiffs=[{"diff": "+x"}],
        images=[{"uuid": "i1", "data": "QUJD" * 2000, "dimension": {"width": 2, "height": 1}}],
        toolResults=[{"name": "grep", "result": "none"}],
        todos=[{"id": "t1", "content": "fix it", "status": "pending"}],
        interpreterResults=[{"output": "2"}],
        lints=[{"message": "unused", "severity": 2, "source": "ruff", "path": "src/a.py"}],
        multiFileLinterErrors=[{
            "relativeWorkspacePath": "src/parse.py",
            "errors": [{
                "message": "undefined name",
                "source": "pyright",
                "severity": 1,
                "range": {"startPosition": {"line": 4, "column": 2}, "endPosition": {"line": 4, "column": 8}},
            }],
        }],
    )  # fmt: skip


def answering() -> list[dict[str, Any]]:
    """Thoughts, calls of every outcome, and an answer with code."""
    return [
        bubble("th", 2, 1, thinking={"text": "Look first.", "signature": "c2ln"}, thinkingDurationMs=900),
        bubble("run", 2, 2, toolFormerData=tool(
            "toolu_run", "run_terminal_command_v2", 15,
            rawArgs='{"command":"ls  -l"}', params='{"command":"ls  -l","cwd":"/"}', result='{"rejected":false}',
        )),
        bubble("read", 2, 3, toolFormerData=tool(
            NEWLINE_CALL, "read_file_v2", 40,
            rawArgs='{"path":"src/parse.py"}', params='{"path":"src/parse.py"}', result='{"contents":"(stub)"}',
        )),
        bubble("bad", 2, 4, toolFormerData=tool(
            "toolu_bad", "grep", 41, status="error", params={"pattern": "("}, rawArgs="{broken",
            error='{"modelVisibleErrorMessage":"unclosed group","clientVisibleErrorMessage":"x"}',
        )),
        bubble("stop", 2, 5, toolFormerData=[
            tool("toolu_stop", "run_terminal_cmd", 15, status="cancelled", params='{"command":"sleep 99"}'),
            tool("toolu_hang", "glob_file_search", 42, status="loading", params="{}"),
        ]),
        bubble("no", 2, 6, toolFormerData=tool(
            "toolu_no", "edit_file_v2", 38, params='{"relativeWorkspacePath":"src/parse.py"}',
            result=json.dumps({"afterContentId": "composer.content." + "e" * 64}),
        )),
        bubble("task", 2, 7, toolFormerData=tool(
            "toolu_task", "task_v2", 48, params='{"description":"Read the docs","prompt":"Read all docs"}',
            additionalData={
                "status": "success", "subagentComposerId": CHILD, "supersededSubagentComposerIds": ["gone-1"],
                "terminationReason": "finished",
            },
        )),
        bubble("say", 2, 8, text="The lexer drops a token.\n```py\nx = 1\n```", codeBlocks=[
            {"uri": {"path": "/home/ada/nexus/src/lex.py"}, "content": "x = 1\n", "languageId": "python"},
        ], conversationSummary=json.dumps({
            "summary": "They looked at the parser.", "truncationLastBubbleIdInclusive": "read",
            "clientShouldStartSendingFromInclusiveBubbleId": "srv-task", "includesToolResults": True,
        })),
    ]  # fmt: skip


def sent() -> dict[str, bytes]:
    """What was sent to the model."""
    return hashed([
        {"role": "system", "content": "You are a coding assistant."},
        {"role": "user", "content": "<user_info>\nOS: linux\n</user_info>"},
        {"role": "user", "content": [{"type": "text", "text": "<user_query>\nWhy does it fail?\n</user_query>"}]},
        {"role": "tool", "id": NEWLINE_CALL, "content": [
            {"type": "tool-result", "toolCallId": NEWLINE_CALL, "toolName": "Read", "result": "line 1\nline 2\n" * 40},
        ]},
        {"role": "tool", "id": "toolu_no", "content": [
            {"type": "tool-result", "toolCallId": "toolu_no", "toolName": "StrReplace", "result": "The user said no."},
        ], "providerOptions": {"cursor": {"highLevelToolCallResult": {"output": {"rejected": {"reason": "no"}}}}}},
    ])  # fmt: skip
