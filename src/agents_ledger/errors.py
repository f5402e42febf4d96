"""The exception tree.

::

    LedgerError                 everything this package raises on purpose; the message says what to do next
    ├── BadInput                a value that cannot be kept as given (wrong label, number too large, …)
    ├── NotFound                no such turn, session or message
    ├── Conflict                somebody else was first
    │   ├── HeadMoved           the session's head is not the expected one; carries what was kept
    │   ├── LabelTaken          a session or alias with that label exists
    │   ├── AliasCycle          the alias would lead to itself
    │   ├── ContentDiffers      the id is in the ledger with other content
    │   ├── AlreadySaved        a message of that id is there, and messages never change
    │   └── StaleSave           a newer state of that task or call is there
    ├── NotAllowed              the operation does not fit the state
    │   ├── TurnIsLive          the turn is still being written
    │   ├── TurnIsSealed        the turn is finished and can't change any more
    │   ├── UnresolvedCalls     a turn can't complete while tool calls are open
    │   ├── SessionArchived     the session takes no new turns
    │   └── LeaseLost           another process has closed this live turn
    ├── SummariserFailed        no usable summary came; the session is as it was
    └── StoreError              the database under the ledger
        ├── StoreUnreachable    it can't be opened (folder missing, no permission, server away)
        ├── NotALedger          the file or database holds something else
        ├── NewerLedger         written by a newer version of this program
        ├── NeedsMigration      written by an older version, and opened read-only
        ├── ReadOnlyStore       it can be read but not written
        ├── StoreFull           no space left; nothing was written, what was acknowledged is kept
        ├── StoreBusy           another process held the write lock for too long
        ├── LedgerBehind        it is in the agent's file, but not in the ledger yet: the next sync takes it
        ├── StoreCorrupt        the database engine found damage; writing has stopped
        └── StoreClosed         used after close(), or carried over a fork()
"""


class LedgerError(Exception):
    """Everything this package raises on purpose."""


class BadInput(LedgerError):
    """A value that can't be kept as it was given."""


class NotFound(LedgerError):
    """No such turn, session or message."""


class Conflict(LedgerError):
    """Somebody else was first."""


class HeadMoved(Conflict):
    """The session's head is not the expected one.

    `turn_id` is the turn that was kept as a branch, or None when nothing was written.
    """

    def __init__(self, label: str, expected: str | None, actual: str | None, turn_id: str | None) -> None:
        kept = (
            f"your turn {turn_id} is kept as a branch: continue it with fork({turn_id!r}), or repeat it on the new head"
            if turn_id
            else "nothing was written: read the new head and try again"
        )
        super().__init__(f"session {label!r} moved from {expected} to {actual} meanwhile; {kept}")
        self.label = label
        self.expected = expected
        self.actual = actual
        self.turn_id = turn_id


class LabelTaken(Conflict):
    """A session or alias with that label exists."""


class AliasCycle(Conflict):
    """The alias would lead to itself."""


class ContentDiffers(Conflict):
    """The id is in the ledger with other content."""


class AlreadySaved(Conflict):
    """A message of that id is there, and messages never change."""


class StaleSave(Conflict):
    """A newer state of that task or call is there."""


class NotAllowed(LedgerError):
    """The operation does not fit the state."""


class TurnIsLive(NotAllowed):
    """The turn is still being written."""


class TurnIsSealed(NotAllowed):
    """The turn is finished and can't change any more."""


class UnresolvedCalls(NotAllowed):
    """A turn can't complete while tool calls are open."""


class SessionArchived(NotAllowed):
    """The session takes no new turns."""


class LeaseLost(NotAllowed):
    """Another process has closed this live turn."""


class SummariserFailed(LedgerError):
    """No usable summary came; the session is as it was."""


class StoreError(LedgerError):
    """The database under the ledger."""


class StoreUnreachable(StoreError):
    """It can't be opened."""


class NotALedger(StoreError):
    """The file or database holds something else."""


class NewerLedger(StoreError):
    """Written by a newer version of this program."""


class NeedsMigration(StoreError):
    """Written by an older version, and opened read-only."""


class ReadOnlyStore(StoreError):
    """It can be read but not written."""


class StoreFull(StoreError):
    """No space left; nothing was written, what was acknowledged is kept."""


class StoreBusy(StoreError):
    """Another process held the write lock for too long."""


class LedgerBehind(StoreError):
    """It is in the agent's file, but not in the ledger yet: do not write it again; the next sync takes it."""


class StoreCorrupt(StoreError):
    """The database engine found damage; writing has stopped."""


class StoreClosed(StoreError):
    """Used after close(), or carried over a fork()."""
