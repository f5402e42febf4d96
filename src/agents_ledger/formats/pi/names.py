"""What paths say: which session, whose, and whether it is an archive."""

import re

from msgspec import Struct

from agents_ledger.model.file_names import own_name

_BEHIND = re.compile(
    r"(?:\.(?P<reason>bak|deleted|reset)\..+|\.(?P<repair>bak)-\d+-\d+|\.(?P<moved>imported)-\d+)?", re.DOTALL
)
_ENDING = ".jsonl"
_INDEX = re.compile(r"(?:.*\.)?sessions\.json(?P<old>\.bak\.\d+|\.imported-\d+)?")
_CHECKPOINT = re.compile(r"(?P<stem>.+)\.checkpoint\.[^.]+")
_DATED = re.compile(r"\d{4}-\d\d-\d\dT[\d-]+Z_(?P<id>.+)")  # pi: <time>_<id>
_TOPIC = "-topic-"  # clawdbot: <id>-topic-<number>, a Telegram topic
_MOVED = re.compile(r"[0-9a-f]{8}-[0-9a-f-]{27}")  # openclaw's import: <session key>.<id>
_NOT_OURS = re.compile(r"\.trajectory\.jsonl|\.lock$|\.tmp$|\.trajectory-path\.json$")

_HOMES = re.compile(r"/\.(pi|clawdbot|moltbot|openclaw)(?:-[^/]*)?/")
_NEXUS = re.compile(r"/nexus/state/sessions/")
_NAMED = re.compile(r"/(clawdbot|moltbot|openclaw)[^/]*/")
_FOLDERS = ("/sessions/", "/session-sqlite-import-archive/")
_AGENT = re.compile(r"/agents/(?P<agent>[^/]+)/(?:agent|sessions|session-sqlite-import-archive)/(?:cold/)?[^/]+$")
_DATABASE = re.compile(r"/openclaw-agent\.sqlite$")
_MARKER = re.compile(r"sqlite:[^:]+:(?P<id>[^:]+):.+")  # what openclaw names a session in a database by


class Name(Struct, frozen=True):
    """A transcript's file name, taken apart."""

    stem: str
    session: str
    kind: str = "transcript"
    archive: str | None = None
    # The name has the last word on the session: clawdbot finds transcripts by it, and pi's own header in them may
    # be a newer one (sessions.compact cuts the first line off, and pi then writes another).
    ruled: bool = False


def name_of(path: str) -> Name:
    """The parts of a transcript's name."""
    base = _slashes(path).rsplit("/", 1)[-1]
    parted = _parted(base)
    if parted is None:
        return Name(stem=base, session=own_name(path, base) or "unknown")
    stem, archive = parted
    ruled = archive in ("bak", "deleted", "reset") or (origin_of(path) is not None and archive is None)
    if checkpoint := _CHECKPOINT.fullmatch(stem):
        stem = checkpoint["stem"]
        return Name(stem=stem, session=_session(stem), kind="checkpoint", archive="checkpoint", ruled=True)
    kind = "archive" if archive else "transcript"
    session = _session(stem)
    if origin_of(path) is None:  # the folders of chat runtimes name every file by its session
        session = own_name(path, session)
    return Name(stem=stem, session=session, kind=kind, archive=archive, ruled=ruled)


def _parted(base: str) -> tuple[str, str | None] | None:
    """What stands before the first `.jsonl` after which nothing but an archive's ending follows, and which archive."""
    for whole in dict.fromkeys((base.removesuffix(".zst"), base)):
        at = whole.find(_ENDING, 1)
        while at > 0:
            if match := _BEHIND.fullmatch(whole, at + len(_ENDING)):
                return whole[:at], match["reason"] or match["repair"] or match["moved"]
            at = whole.find(_ENDING, at + 1)
    return None


def _session(stem: str) -> str:
    """The session's id in a file's name."""
    if match := _DATED.fullmatch(stem):
        return match["id"]
    before, _, _ = stem.rpartition(_TOPIC)
    if before:
        return before
    key, _, name = stem.rpartition(".")
    return name if key and _MOVED.fullmatch(name) else stem


def is_index(path: str) -> bool:
    """Whether a file is called like the index of sessions."""
    return _INDEX.fullmatch(_slashes(path).rsplit("/", 1)[-1]) is not None


def is_old_index(path: str) -> bool:
    """Whether it is called like an index that was put aside."""
    match = _INDEX.fullmatch(_slashes(path).rsplit("/", 1)[-1])
    return match is not None and match["old"] is not None


def is_database(path: str) -> bool:
    """Whether a file is called like openclaw's database of sessions."""
    return _DATABASE.search(_slashes(path)) is not None


def marked(reference: str) -> str | None:
    """The session that openclaw refers to in its database, by its word for that."""
    match = _MARKER.fullmatch(reference)
    return match["id"] if match else None


def marker(path: str) -> str:
    """The same the other way round, of a session that was read there; any other path as it is."""
    database, _, session = path.rpartition("#")
    return f"sqlite:{persona_of(database) or 'main'}:{session}:{database}" if is_database(database) else path


def is_other(path: str) -> bool:
    """Whether it lies beside transcripts and is none: locks, unfinished files, telemetry."""
    return _NOT_OURS.search(path) is not None


def origin_of(path: str) -> str | None:
    """Whose file it is, as far as the path says; None for pi's own."""
    path = _slashes(path)
    if homes := _HOMES.findall(path):
        return None if homes[-1] == "pi" else str(homes[-1])
    if _NEXUS.search(path):
        return "nexus"
    within = max(path.rfind(folder) for folder in _FOLDERS)
    if within >= 0 and (named := _NAMED.search(path, 0, within + 1)):
        return named[1]
    # A state folder of another name: the last of the family still has this layout.
    return "openclaw" if _AGENT.search(path) else None


def persona_of(path: str) -> str | None:
    """The agent whose folder it lies in."""
    match = _AGENT.search(_slashes(path))
    return match["agent"] if match else None


def _slashes(path: str) -> str:
    return path.replace("\\", "/")
