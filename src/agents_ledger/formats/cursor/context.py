"""What surrounded a message: files, lints, code, rules, git, the request's context and everything else."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from agents_ledger.formats.cursor.loose import file_path, is_secret, mapping, objects, small, text, texts, whole
from agents_ledger.model.entries import CodeBlock, File, Lint

_SEVERITIES = {1: "error", 2: "warning", 3: "info", 4: "hint"}
# What the model could see beside the message.
_CONTEXT = frozenset({
    "context", "cursorRules", "cursorRulesContext", "codebaseContextChunks", "attachedCodeChunks",
    "attachedCodeChunksUris", "attachedFileCodeChunksMetadataOnly", "attachedFolders", "attachedFoldersNew",
    "attachedFoldersListDirResults", "relevantFiles", "recentLocationsHistory", "recentlyViewedFiles", "commits",
    "pullRequests", "gitDiffs", "images", "docsReferences", "webReferences", "documentationSelections",
    "externalLinks", "knowledgeItems", "notepads", "projectLayouts", "diffHistories", "humanChanges",
    "fileDiffTrajectories", "editTrailContexts", "summarizedComposers", "supportedTools", "uiElementPicked",
})  # fmt: skip
# What has its own place in a message.
_OWN = frozenset({
    "text", "rawText", "richText", "thinking", "allThinkingBlocks", "toolFormerData", "conversationSummary",
    "multiFileLinterErrors", "lints", "errorDetails", "conversationState",
})  # fmt: skip
_STATE_CHARS = 256


def context(bubble: Mapping[str, Any], request: object) -> Any:
    """What the model could see beside a message, as one object; None if there is nothing."""
    kept = {key: small(value) for key, value in bubble.items() if value and key in _CONTEXT}
    kept["requestContext"] = small(request)
    return _present(kept)


def metadata(bubble: Mapping[str, Any], more: Mapping[str, Any]) -> Any:
    """Everything else that Cursor keeps about a message."""
    kept = {
        key: small(value)
        for key, value in bubble.items()
        if (value or isinstance(value, int | float))  # most of a bubble's seventy fields are empty lists
        and key not in _CONTEXT
        and key not in _OWN
        and not is_secret(key)
    }
    state = bubble.get("conversationState")
    if isinstance(state, str):
        kept["conversationState"] = state if len(state) <= _STATE_CHARS else {"size_bytes": len(state)}
    return _present({**kept, **more})


def files(bubble: Mapping[str, Any]) -> Iterator[File]:
    """The files that a message was about."""
    yield from (File(path, "referenced") for path in texts(bubble.get("relevantFiles")))
    for chunk in objects(bubble.get("attachedCodeChunks")):
        yield from _chunk(chunk, "attached")
    for chunk in objects(bubble.get("codebaseContextChunks")):
        yield from _chunk(chunk, "referenced")
    around = mapping(bubble.get("context")) or bubble
    for key in ("fileSelections", "folderSelections", "selections", "selectedImages"):
        for chosen in objects(around.get(key)):
            if path := file_path(chosen.get("uri")) or text(chosen.get("path")) or text(chosen.get("relativePath")):
                area = mapping(chosen.get("range"))
                yield File(
                    path, "attached", whole(area.get("selectionStartLineNumber")), whole(area.get("positionLineNumber"))
                )
    for key in ("attachedFolders", "attachedFoldersNew"):
        for folder in objects(bubble.get(key)):
            if path := text(folder.get("relativePath")) or text(folder.get("path")) or file_path(folder.get("uri")):
                yield File(path, "attached")


def distinct(found: Iterable[File]) -> tuple[File, ...]:
    """Each file once, in order."""
    return tuple({(file.path, file.kind, file.line_start): file for file in found}.values())


def lints(bubble: Mapping[str, Any]) -> Iterator[Lint]:
    """What linters said at the time."""
    for entry in (*objects(bubble.get("multiFileLinterErrors")), *objects(bubble.get("lints"))):
        path = text(entry.get("relativeWorkspacePath")) or text(entry.get("path")) or file_path(entry.get("uri"))
        if isinstance(entry.get("errors"), list):
            yield from (_lint(error, path) for error in objects(entry["errors"]))
        elif text(entry.get("message")):
            yield _lint(entry, path)


def codeblocks(bubble: Mapping[str, Any], stored: object) -> Iterator[CodeBlock]:
    """The code that a message suggested; old versions keep its text in the composer's `codeBlockData`."""
    for key in ("codeBlocks", "suggestedCodeBlocks"):
        for block in objects(bubble.get(key)):
            content = block.get("content", block.get("code"))
            if not isinstance(content, str):
                content = _stored_code(block, mapping(stored))
            if isinstance(content, str):
                area = mapping(block.get("lines")) or mapping(block.get("range"))
                yield CodeBlock(
                    content=content,
                    language=text(block.get("languageId")) or text(block.get("language")),
                    file_path=file_path(block.get("uri")) or text(block.get("relativePath")),
                    line_start=whole(area.get("startLine", area.get("startLineNumber"))),
                    line_end=whole(area.get("endLine", area.get("endLineNumber"))),
                )


def _chunk(chunk: Mapping[str, Any], kind: Any) -> Iterator[File]:
    inner = mapping(chunk.get("codeBlock")) or chunk
    if path := text(inner.get("relativeWorkspacePath")) or file_path(inner.get("uri")):
        start = whole(inner.get("startLineNumber"))
        lines = inner.get("lines")
        end = start + len(lines) - 1 if start is not None and isinstance(lines, list) and lines else None
        yield File(path, kind, start, end)


def _lint(error: Mapping[str, Any], path: str | None) -> Lint:
    area = mapping(error.get("range"))
    start, end = mapping(area.get("startPosition")), mapping(area.get("endPosition"))
    severity = error.get("severity")
    return Lint(
        file_path=path,
        message=text(error.get("message")),
        source=text(error.get("source")),
        start_line=whole(start.get("line")),
        start_col=whole(start.get("column")),
        end_line=whole(end.get("line")),
        end_col=whole(end.get("column")),
        severity=text(severity) or _SEVERITIES.get(whole(severity) or 0),
    )


def _stored_code(block: Mapping[str, Any], stored: Mapping[str, Any]) -> object:
    uri = mapping(block.get("uri"))
    versions = stored.get(text(uri.get("external")) or text(uri.get("path")) or "")
    held = versions.values() if isinstance(versions, dict) else versions if isinstance(versions, list) else ()
    for version in held:
        if isinstance(version, dict) and version.get("version") == block.get("version"):
            return version.get("content")
    return None


def _present(kept: Mapping[str, Any]) -> dict[str, Any] | None:
    return {key: value for key, value in kept.items() if value is not None} or None
