"""The lists of sessions in `ItemTable`: heads of composers, whole composers (2024), and the chats before composers."""

from collections.abc import Iterator, Mapping
from typing import Any

from agents_ledger.formats.cursor import context, sessions
from agents_ledger.formats.cursor.bubbles import content
from agents_ledger.formats.cursor.composers import inline
from agents_ledger.formats.cursor.loose import mapping, moment, objects, text
from agents_ledger.model.steps import Event, Facts, Said

CHATS = "chatdata"
MEMBERSHIP = "glass.localAgentProjectMembership.v1"


def listed(key: str, data: dict[str, Any], place: Mapping[str, Any]) -> Iterator[Event]:
    """What a row of `ItemTable` tells about sessions; `place` is what the file's own path tells about them."""
    if key.endswith(CHATS):
        yield from _chats(data, place)
    elif key == MEMBERSHIP:
        for session, project in data.items():
            if session and text(project):
                yield Facts(session=session, extra={"localAgentProject": project})
    else:
        for head in objects(data.get("allComposers")):
            if composer := text(head.get("composerId")):
                yield sessions.facts(composer, head, place)
                if head.get("conversation"):  # 2024: all of it in one row of the workspace's database
                    yield from inline(composer, head)


def _chats(data: Mapping[str, Any], place: Mapping[str, Any]) -> Iterator[Event]:
    """The tabs of the chat panel, as Cursor kept them until 2024."""
    for tab in objects(data.get("tabs")):
        session = text(tab.get("tabId"))
        bubbles = [bubble for bubble in objects(tab.get("bubbles")) if _is_said(bubble)]
        if session is None:
            continue
        began, sent = moment(tab.get("timestamp")), moment(tab.get("lastSendTime"))
        yield Facts(
            session=session,
            title=text(tab.get("chatTitle")),
            created_at=began,
            updated_at=sent,
            extra={"legacy": "aichat", **place},
        )
        # (late in 2024 a tab tells when it was last used, and no other time)
        yield from (_message(session, bubble, began or sent) for bubble in bubbles)


def _is_said(bubble: Mapping[str, Any]) -> bool:
    """The last bubble of a tab is the empty input box."""
    return content(bubble) is not None or bubble.get("type") != "user"


def _message(session: str, bubble: Mapping[str, Any], at: int | None) -> Said:
    human = bubble.get("type") == "user"
    around = {key: value for key, value in bubble.items() if key in _AROUND}
    rest = {key: value for key, value in bubble.items() if key not in _AROUND and key not in ("initText", "delegate")}
    return Said(
        session=session,
        native_id=text(bubble.get("id")),
        at=moment(bubble.get("createdAt")) or at,
        role="user" if human else "assistant",
        content=content(bubble),
        source="human" if human else None,
        starts_turn=human,
        model=text(bubble.get("modelType")),
        context=context.context({"context": around}, None),
        metadata=context.metadata(rest, {}),
        files=context.distinct(context.files({"context": around})),
        error=text(mapping(bubble.get("error")).get("message")) or text(bubble.get("error")),
    )


_AROUND = frozenset({
    "notepads", "selections", "fileSelections", "folderSelections", "selectedDocs", "selectedCommits",
    "selectedPullRequests", "terminalSelections", "terminalFiles", "quotes", "externalLinks", "selectedImages",
    "mentions",
})  # fmt: skip
