"""Who reads which file of the pi family: transcripts, their archives and checkpoints, and the index beside them."""

from agents_ledger.formats.pi.index import Index
from agents_ledger.formats.pi.names import name_of, origin_of, persona_of
from agents_ledger.formats.pi.transcript import Transcript
from agents_ledger.model.formats import Reader, Source
from agents_ledger.model.texts import storable


def reader(source: Source) -> Reader:
    """What reads a file of this kind."""
    path = storable(source.path)
    origin, persona = origin_of(path), persona_of(path)
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
