"""Which rows of openclaw's database belong together: those of a session. Keys, accounts and memories are never read.

Since 2026.7 it keeps entries in rows, one each, and what `sessions.json` said in others: `session_entries` and
`sessions` at first, `session_nodes` and `session_windows` by now.
"""

from agents_ledger.formats.pi.database import line_of
from agents_ledger.model.formats import Owned, Tables

_WINDOW = (  # what stays as it was written first; how it goes is said by its node
    "session_key",
    "previous_session_id",
    "reason",
    "session_scope",
    "created_at",
    "chat_type",
    "channel",
    "account_id",
    "parent_session_key",
    "spawned_by",
)
_NODE = (
    "session_id",
    "current_session_id",
    "updated_at",
    "status",
    "created_at",
    "created_via",
    "created_actor_type",
    "created_actor_id",
    "project_id",
    "parent_session_key",
    "spawned_by",
    "fork_source_session_key",
    "fork_source_session_id",
    "fork_source_entry_id",
    "label",
    "display_name",
    "category",
    "pinned_at",
    "archived_at",
    "last_interaction_at",
    "last_activity_at",
)
_ENTRY = ("entry_json",)

TABLES = Tables(
    columns={},
    group=lambda _table, _key: None,
    owned={  # what never changes is first, then what grows at its end
        "transcript_rewrite_watermarks": Owned("generation", "session_id", (), (), stamp=("updated_at",)),
        "sessions": Owned("session_id", "session_id", _WINDOW, (), stamp=("updated_at",)),
        "session_windows": Owned("session_id", "session_id", _WINDOW, (), stamp=("updated_at",)),
        "session_transcript_archives": Owned(
            key="generation",
            owner="session_id",
            columns=("session_key", "reason", "encoding", "archive_name", "created_at"),
            data=("archive_blob",),
            stamp=("created_at",),
        ),
        "session_transcript_cold_archives": Owned(
            key="generation",
            owner="session_id",
            columns=("archive_name", "event_count", "last_seq", "archived_at", "storage"),
            data=("archive_blob",),  # none, if it is in a file
            stamp=("archived_at",),
        ),
        "transcript_events": Owned(
            key="seq",
            owner="session_id",
            columns=("created_at",),
            data=("event_json", "event_zstd"),
            stamp=("created_at",),
        ),
        "session_entries": Owned("session_key", "session_id", _NODE, _ENTRY, stamp=("updated_at",), is_apart=True),
        "session_nodes": Owned(
            "session_key", "current_session_id", _NODE, _ENTRY, stamp=("updated_at",), is_apart=True
        ),
    },
    is_growing=True,
    line=line_of,
)


def tables() -> Tables:
    """All of this."""
    return TABLES
