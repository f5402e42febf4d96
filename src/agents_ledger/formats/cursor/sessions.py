"""What is known about a session as a whole: from its own row, and from the lists of sessions."""

from collections.abc import Mapping
from typing import Any

from agents_ledger.formats.cursor.loose import file_path, mapping, moment, objects, small, text
from agents_ledger.model.steps import Facts

TASK = "task-"
_EXTRA = (
    "_v", "status", "unifiedMode", "forceMode", "isAgentic", "agentBackend", "modelConfig", "contextTokensUsed",
    "contextTokenLimit", "contextUsagePercent", "promptTokenBreakdown", "subtitle", "totalLinesAdded",
    "totalLinesRemoved", "filesChangedCount", "addedFiles", "removedFiles", "newlyCreatedFiles", "isArchived",
    "isDraft", "isNAL", "isSpec", "isSpecSubagentDone", "isBestOfNSubcomposer", "bestOfNJudgeWinner", "isWorktree",
    "trackedGitRepos", "createdOnBranch", "activeBranch", "committedToBranch", "subComposerIds",
    "subagentComposerIds", "subagentInfo", "usageData", "lastUsedModel", "mode", "isRunEverything", "currentPlanUri",
    "lastOpenedAt", "conversationCheckpointLastUpdatedAt",
)  # fmt: skip
_COUNTED = ("todos", "originalFileStates", "codeBlockData")


def facts(session: str, data: Mapping[str, Any], more: Mapping[str, Any] | None = None) -> Facts:
    """The facts in a composer's row, or in its entry of a list."""
    extra = {key: small(data[key]) for key in _EXTRA if key in data}
    extra.update({key: len(data[key]) for key in _COUNTED if isinstance(data.get(key), list | dict) and data[key]})
    place = mapping(data.get("workspaceIdentifier"))
    extra["workspaceId"] = text(place.get("id"))
    extra.update(more or {})
    parent = mapping(data.get("subagentInfo"))
    return Facts(
        session=session,
        created_at=moment(data.get("createdAt")),
        updated_at=moment(data.get("lastUpdatedAt")),
        title=text(data.get("name")),
        project=file_path(place.get("uri")) or file_path(place.get("configPath")),
        git_branch=_branch(data),
        parent_session=text(parent.get("parentComposerId")),
        parent_call=text(parent.get("toolCallId"))
        or (session.removeprefix(TASK) if session.startswith(TASK) else None),
        extra={key: value for key, value in extra.items() if value is not None} or None,
    )


def is_subagent(session: str, data: Mapping[str, Any]) -> bool:
    """Whether another agent asked, and not a person."""
    return session.startswith(TASK) or bool(mapping(data.get("subagentInfo")))


def model_name(data: Mapping[str, Any]) -> str | None:
    """The model that is chosen for a session."""
    name = text(mapping(data.get("modelConfig")).get("modelName"))
    return None if name == "default" else name


def _branch(data: Mapping[str, Any]) -> str | None:
    """The branch that was used last in the repositories that Cursor watched."""
    branches = [branch for repo in objects(data.get("trackedGitRepos")) for branch in objects(repo.get("branches"))]
    used = sorted(branches, key=lambda branch: moment(branch.get("lastInteractionAt")) or 0)
    newest = text(used[-1].get("branchName")) if used else None
    active = data.get("activeBranch")
    return newest or text(mapping(active).get("branchName")) or text(active) or text(data.get("createdOnBranch"))
