"""Forks whose source is not the file that was written: which steps were told from the ledger, and which are new."""

from agents_ledger.capture.project import Projection
from agents_ledger.ledger import written
from agents_ledger.model.formats import Format
from agents_ledger.model.rows import WrittenRow
from agents_ledger.model.steps import Event, Moved, Step


class Beginnings:
    """Gives events to an assembler: those of a fork's beginning as what is in the ledger already."""

    def __init__(self, projection: Projection, form: Format, *, is_whole: bool) -> None:
        self._projection = projection
        self._wrote = form.wrote if form.wrote is not None and self._is_any() else None
        self._rows: dict[str, WrittenRow | None] = {}
        self._is_whole = is_whole  # its sessions keep the names that they were written under
        self._is_at_start = is_whole  # steps without an id, before any that has one, are a fork's if the session is
        self._told: WrittenRow | None = None  # what the last step with an id was written for; others go with it

    def take(self, event: Event, place: str) -> None:
        """One event, and where in the evidence it stands."""
        assembler = self._projection.assembler
        if self._wrote is None or not isinstance(event, Step):
            assembler.take(event, place)
            return
        self._look(event)
        if self._told is not None:
            assembler.inherit(event, place, self._told.turn_id)
        else:
            assembler.inherited()
            assembler.take(event, place)

    def _look(self, step: Step) -> None:
        assert self._wrote is not None  # noqa: S101 - asked by `take` alone
        if self._is_whole and self._row(step.session) is None:
            self._told = None
        elif step.native_id is not None:
            session = self._wrote(step.session, step.native_id)
            self._told, self._is_at_start = None if session is None else self._row(session), False
        elif isinstance(step, Moved):
            self._told = None  # whoever goes back does so by himself
        elif self._is_at_start:
            self._told = self._row(step.session)

    def _is_any(self) -> bool:
        with self._projection.writer.database.read() as tx:
            return written.is_any(tx)

    def _row(self, session: str) -> WrittenRow | None:
        if session not in self._rows:
            with self._projection.writer.database.read() as tx:
                self._rows[session] = written.begun(tx, self._projection.label(session))
        return self._rows[session]
