"""Who reads which file of the pi family: transcripts, archives, checkpoints, the index beside them, a database."""

from agents_ledger.formats.pi.database import Cold, Rows, transcript
from agents_ledger.formats.pi.index import Index
from agents_ledger.formats.pi.names import name_of, origin_of, persona_of
from agents_ledger.formats.pi.transcript import Transcript
from agents_ledger.model.formats import Reader, Source
from agents_ledger.model.texts import storable


def reader(source: Source) -> Reader:
    """What reads a file of this kind."""
    path = storable(source.path)
    origin, persona = origin_of(path), persona_of(path)
    if source.kind == "database":
        session = path.rpartition("#")[2]
        return Rows(session=session, persona=persona, live=transcript(session, persona))
    if source.kind == "cold":
        return Cold(persona=persona)
    if source.kind == "index":
        return Index(origin=origin, persona=persona)
    name = name_of(path)
    return Transcript(
        session=name.session,
        stem=name.stem,
        named=name.ruled,
        origin=origin,
        persona=persona,
        archive=name.archive,
    )
