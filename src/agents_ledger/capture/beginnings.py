"""Forks that were written as folders: which of their steps were told from the ledger, and which the agent added."""

from agents_ledger.capture.project import Projection
from agents_ledger.ledger import written
from agents_ledger.model.formats import Format
from agents_ledger.model.rows import WrittenRow
from agents_ledger.model.steps import Event, Step


class Beginnings:
    """Gives events to an assembler: those of a fork's beginning as what is in the ledger already."""

    def __init__(self, projection: Projection, form: Format) -> None:
        self._projection = projection
        self._form = form
        self._rows: dict[str, WrittenRow | None] = {}
        self._is_told = True  # the last step with an id was; steps without one go with it

    def take(self, event: Event, place: str) -> None:
        """One event, and where in the evidence it stands."""
        assembler = self._projection.assembler
        row = self._row(event.session) if isinstance(event, Step) else None
        if row is not None and isinstance(event, Step) and event.native_id is not None:
            self._is_told = self._form.wrote(event.session, event.native_id)
        if row is not None and self._is_told:
            assembler.inherit(event, place, row.turn_id)
        else:
            if isinstance(event, Step):
                assembler.inherited()
            assembler.take(event, place)

    def _row(self, session: str) -> WrittenRow | None:
        if session not in self._rows:
            with self._projection.writer.database.read() as tx:
                self._rows[session] = written.begun(tx, self._projection.label(session))
        return self._rows[session]
