"""One session while its source is read, and what its turns are put into."""

from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

from agents_ledger.capture.draft import Draft, Spot
from agents_ledger.capture.native_chain import KnownEntry
from agents_ledger.model.entries import Settings
from agents_ledger.model.rows import Record
from agents_ledger.model.steps import Base, Event, Facts, Problem, Said

if TYPE_CHECKING:
    from collections.abc import Iterable

ROOT = Spot("", 0)  # before everything


class LaneState(Struct):
    """Where a session was when its source ended: enough to go on when it grows."""

    session: str
    open_id: str | None
    at_turn: str
    at_position: int
    last_at: int
    count: int
    awaits: list[str]
    settings: Settings
    joined: dict[str, int]
    kept: dict[str, str]
    ahead: list[tuple[Said, int, str]]
    shown: int = 0
    first: list[str] = []
    is_provisional: bool = False
    is_damaged: bool = False
    chain: list[KnownEntry] = []


class Lane:
    """One session while its source is read."""

    def __init__(self, session: str) -> None:
        self.session = session
        self.open: Draft | None = None
        self.at = ROOT  # behind the last step
        self.at_number = 0  # of that step, in the order of the source
        self.last_at = 0
        self.count = 0
        self.awaits: dict[str, None] = {}  # steps and sessions that it follows and that are not here
        self.settings = Settings()
        self.kept: dict[str, Spot] = {}  # steps that the newest compaction kept
        # what was put before the model ahead of the next question: it belongs to the turn that is to come
        self.ahead: list[tuple[Said, int, str]] = []
        self.shown = 0  # how much of that stands at the end of the open turn meanwhile, so that it is seen
        self.first: list[str] = []  # steps before the first turn
        self.is_provisional = False  # its last turns may turn out otherwise when the source grows
        self.is_damaged = False  # a record could not be read, not even its id


class Ledgerish(Protocol):
    """What turns are put into, and asked about what is there already."""

    @property
    def may_lack_beginning(self) -> bool:
        """Whether the source may have lost its first records."""

    def find(self, session: str, native_id: str) -> Spot | None:
        """Where a step is, if it is in the ledger."""

    def begun_with(self, session: str, identity: str) -> str | None:
        """The turn that began with a step, if it is in the ledger."""

    def above(self, turn_id: str) -> Spot:
        """What a turn of the ledger follows, as other sources tell."""

    def is_unread(self, session: str, turn_id: str) -> bool:
        """Whether a turn of a session is in the ledger and this source has not told it (yet)."""

    def is_leading(self, spot: Spot) -> bool:
        """Whether nothing but context stands up to a spot in its turn."""

    def cut(self, spot: Spot) -> Spot:
        """A spot inside a turn, as the end of a turn that stops there."""

    def back(self, spot: Spot, turns: int) -> Spot:
        """So many questions earlier."""

    def ends_at(self, turn_id: str, position: int) -> bool:
        """Whether no message of a turn stands behind a position, but for results whose calls were not read."""

    def record(self, turn_id: str) -> Record | None:
        """A turn of the ledger that is not sealed; None if it is."""

    def store(self, draft: Draft, *, is_final: bool) -> None:
        """A turn as far as it was read; final if nothing can come to it any more."""

    def stand(self, session: str, native_id: str, spot: Spot) -> None:
        """A step stands behind a turn that is in the ledger."""

    def moved(self, session: str, spot: Spot, at: int) -> None:
        """A session's pointer went back."""

    def facts(self, facts: Facts) -> None:
        """What is known about a session."""

    def came_late(self, native_id: str) -> None:
        """A step was read long after its children: the source is to be read again, now that this is known."""

    def base(self, base: Base) -> "Iterable[tuple[Event, str]] | None":
        """The events that a session begins with, by reference; None if they are not here."""

    def problem(self, problem: Problem, place: str) -> None:
        """Something wrong with the source."""
