"""Which rows of OpenCode's database belong together: those of a session. Accounts and keys are never read."""

from agents_ledger.model.formats import Owned, Tables

_TIMES = ("time_created", "time_updated")

TABLES = Tables(
    columns={},
    group=lambda _table, _key: None,
    owned={  # what grows at its end comes first: the blocks of evidence before it stay the same
        "part": Owned(key="id", owner="session_id", columns=("message_id", "session_id", *_TIMES), data=("data",)),
        "message": Owned(key="id", owner="session_id", columns=("session_id", *_TIMES), data=("data",)),
        "session": Owned(
            key="id",
            owner="id",
            columns=(
                "project_id",
                "workspace_id",
                "parent_id",
                "slug",
                "directory",
                "path",
                "title",
                "version",
                "summary_additions",
                "summary_deletions",
                "summary_files",
                "metadata",
                "cost",
                "tokens_input",
                "tokens_output",
                "tokens_reasoning",
                "tokens_cache_read",
                "tokens_cache_write",
                "revert",
                "permission",
                "agent",
                "model",
                *_TIMES,
                "time_compacting",
                "time_archived",
            ),
            data=("summary_diffs",),
        ),
        "todo": Owned(key="position", owner="session_id", columns=("status", "priority", *_TIMES), data=("content",)),
    },
)


def tables() -> Tables:
    """All of this."""
    return TABLES
