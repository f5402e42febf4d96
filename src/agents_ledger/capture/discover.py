"""What there is to capture: files in the agents' own places, or below a folder that was named."""

import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator
from errno import ELOOP, ENOENT, ENOTDIR

from msgspec import Struct, structs

from agents_ledger.model.captures import PACKED
from agents_ledger.model.formats import Format, Kind, Machine, Root

HEAD_BYTES = 64 * 1024
OUTLINE_BYTES = 32 * 1024 * 1024  # of a file that no format knows by its head
_FIRST_TIME = re.compile(rb'"timestamp"\s*:\s*"(\d{4}-\d\d-\d\dT\d\d:\d\d[\d:.]*)')
_LAST = b"~"  # after every time
_NOTHING = (ENOENT, ENOTDIR, ELOOP)
BESIDE = ("-wal", "-shm", "-journal")  # what SQLite keeps beside a database
_SQLITE = b"SQLite format 3\0"
_SKIPPED = {".git", "node_modules", ".venv", "__pycache__"}
# Transcripts by type: what is kept of an agent's folder although no format claims its place.
_TYPES = (".jsonl", ".json", ".md", ".db", ".zst", ".traj")
# Folders of programs, and of copies that an editor makes of its user's own files: no sessions are kept in them.
_NO_SESSIONS = frozenset(
    ("Crashpad", "extensions", "plugins", "Service Worker", "blob_storage", "History", "Backups", "logs", ".tmp")
)
SCRATCH = ".ldg-scratch-"  # how our own folders for short-lived copies are called


class Found(Struct, frozen=True):
    """A file that may be a source."""

    path: str
    size_bytes: int
    modified_ns: int
    format: Format | None = None  # known by its place; otherwise every format is asked
    is_regular: bool = True
    problem: str = ""  # why it can't be looked at, or (of a folder) looked into
    changed_ns: int = 0  # when it was changed last, its name and mode included
    original: str = ""  # of a copy out of the evidence: the path that it was captured from
    file_id: tuple[int, int] = (0, 0)  # device and inode

    @property
    def name(self) -> str:
        """The path as it can be written down: bytes that are no text stand escaped in it."""
        path = self.original or self.path
        try:
            path.encode()
        except UnicodeEncodeError:
            return os.fsencode(path).decode("utf-8", "backslashreplace")
        return path


def began(shape: str, head: bytes) -> bytes:
    """The first time that a file tells, to sort files by; what is said about sessions comes after what they say.

    So a session is read before its forks: Claude Code 1.0 and Codex 0.98 give the records that they copy new times,
    Claude Code 2 leaves out some that say which tools there are.
    """
    if shape != "lines":
        return _LAST
    found = _FIRST_TIME.search(head)
    return found[1] if found else b""


def in_places(formats: Iterable[Format], machine: Machine, own: str = "") -> Iterator[Found]:
    """The files in the standard places of each format, then the other transcripts by type below these folders."""
    seen: set[str] = set()
    others: dict[str, Found] = {}
    for form in formats:
        for root in form.roots(machine):
            if is_gone(root.path):  # most agents are not on most machines
                continue
            matches = re.compile(root.pattern).search
            keeps_others = is_session_folder(root, machine)
            start = len(root.path) + 1
            for found in walk(root.path, form, own):
                path = found.path
                if path in seen:
                    continue
                below_root = path[start:].replace(os.sep, "/")
                if found.problem or matches(below_root):
                    seen.add(path)
                    yield found
                elif keeps_others and may_be_transcript(below_root) and found.is_regular and found.size_bytes:
                    others[path] = found
    for path, found in others.items():
        if path not in seen:  # the place of another format
            yield structs.replace(found, format=None)


def in_named(paths: Iterable[str], formats: Iterable[Format], machine: Machine) -> Iterator[Found]:
    """Those of some files that lie in the standard place of a format."""
    roots = [(form, root, re.compile(root.pattern).search) for form in formats for root in form.roots(machine)]
    for path in paths:
        is_kept = False
        for form, root, matches in roots:
            if not path.startswith(f"{root.path}{os.sep}"):
                continue
            below_root = path[len(root.path) + 1 :].replace(os.sep, "/")
            if matches(below_root):
                yield from _found(path, form)
                break
            is_kept = is_kept or (is_session_folder(root, machine) and may_be_transcript(below_root))
        else:
            if is_kept:
                yield from (found for found in _found(path, None) if found.is_regular and found.size_bytes)


def is_session_folder(root: Root, machine: Machine) -> bool:
    """Whether a folder is an agent's own, so that whatever lies in it may be a session."""
    home = machine.home.rstrip("/\\")
    return root.is_own and root.path != home and not home.startswith(f"{root.path.rstrip(os.sep)}{os.sep}")


def has_transcript_type(path: str) -> bool:
    """Whether a file has an ending that transcripts have."""
    return path.lower().endswith(_TYPES)


def may_be_transcript(below_root: str) -> bool:
    """The same of a path below an agent's folder; credentials and the files of programs are not looked at at all."""
    if not has_transcript_type(below_root):
        return False
    from agents_ledger.model.credentials import is_credential_name  # noqa: PLC0415 - most agents keep no such files

    folders = below_root.split("/")[:-1]
    has_no_sessions = any(folder in _NO_SESSIONS or "Cache" in folder for folder in folders)
    return not (has_no_sessions or is_credential_name(below_root))


def below(path: str, own: str = "") -> Iterator[Found]:
    """Every file below a folder (or the one file that was named)."""
    if os.path.isdir(path):  # noqa: PTH112 - as above
        yield from walk(path, None, own)
    else:
        yield from _found(path, None)


def walk(folder: str, form: Format | None, own: str = "") -> Iterator[Found]:
    """All files below a folder, in the order of their names; links to folders are not followed.

    `own` is the ledger's own file. It is not touched: closing any descriptor of a file drops the locks that SQLite has
    on it in this process.
    """
    try:
        with os.scandir(folder) as entries:
            listed = sorted(entries, key=lambda entry: entry.name)
    except OSError as problem:
        yield from _closed(folder, form, problem)
        return
    for entry in listed:
        try:
            if entry.is_dir(follow_symlinks=False):
                if entry.name not in _SKIPPED and not entry.name.startswith(SCRATCH):
                    yield from walk(entry.path, form, own)
                continue
            facts = entry.stat()
        except OSError as problem:
            yield from _closed(entry.path, form, problem)
            continue
        if not (stat.S_ISDIR(facts.st_mode) or (entry.name.endswith(BESIDE) and _is_of_database(entry.path, own))):
            yield _as_found(entry.path, facts, form)


def _is_of_database(path: str, own: str) -> bool:
    """Whether a file is a part of the database beside it, which is read with it."""
    from agents_ledger.capture.files import SourceFile  # noqa: PLC0415 - only for databases

    if own and is_same_file(path.rpartition("-")[0], own):
        return True
    try:
        with SourceFile(path.rpartition("-")[0]) as file:
            return file.at(0, len(_SQLITE)) in (_SQLITE, b"")
    except OSError:
        return False


def is_gone(path: str) -> bool:
    """Whether there is nothing at a path; in a folder that can't be looked into there may be anything."""
    try:
        os.lstat(path)
    except OSError as problem:
        return problem.errno in _NOTHING
    except ValueError:  # no path at all
        return True
    return False


def _closed(path: str, form: Format | None, problem: OSError) -> Iterator[Found]:
    """What is there and can't be looked at; nothing, if it went meanwhile or is a link to nothing."""
    if problem.errno not in _NOTHING:
        yield Found(path, 0, 0, form, is_regular=False, problem=problem.strerror or str(problem))


def _found(path: str, form: Format | None) -> Iterator[Found]:
    try:
        facts = os.stat(path)  # noqa: PTH116 - as above
    except OSError:
        return
    yield _as_found(path, facts, form)


def _as_found(path: str, facts: os.stat_result, form: Format | None) -> Found:
    is_regular = stat.S_ISREG(facts.st_mode)
    file_id = (facts.st_dev, facts.st_ino)
    return Found(
        path, facts.st_size, facts.st_mtime_ns, form, is_regular, changed_ns=facts.st_ctime_ns, file_id=file_id
    )


def file_id(path: str) -> tuple[int, int]:
    """The device and inode of a file; (0, 0) if it is not there."""
    try:
        facts = os.stat(path)  # noqa: PTH116 - as above
    except (OSError, ValueError):
        return 0, 0
    return facts.st_dev, facts.st_ino


def is_same_file(path: str, other: str) -> bool:
    """Whether two paths name the same existing file."""
    try:
        return os.path.samefile(path, other)  # noqa: PTH121 - one call
    except (OSError, ValueError):
        return False


def stamp(found: Found) -> int:
    """The newest time of a database and what was written ahead of it."""
    try:
        return max(found.modified_ns, os.stat(f"{found.path}-wal").st_mtime_ns)  # noqa: PTH116 - one call
    except OSError:
        return found.modified_ns


def recognise(found: Found, formats: Iterable[Format], head: bytes) -> tuple[Format, Kind] | None:
    """The format that is surest about a file."""
    if is_packed(head):
        head = _unpacked(head)
    best: tuple[Format, Kind] | None = None
    for form in formats if found.format is None else (found.format,):
        kind = form.recognise(found.original or found.path, head)
        if kind is not None and (best is None or kind.score > best[1].score):
            best = (form, kind)
    return best


def outlined(head: bytes, read: Callable[[int], bytes]) -> bytes | None:
    """A file in brief, to be recognised by, where its first JSON value goes on behind its head; None for other files.

    The keys that tell whose a document is may stand behind its messages: some programs sort them. `read` gives as many
    of the file's first bytes as it is asked for.
    """
    from agents_ledger.model import members  # noqa: PLC0415 - few files are not recognised by their heads

    is_zst = is_packed(head)
    plain = _unpacked(head) if is_zst else head
    if len(plain) < HEAD_BYTES or not members.is_open(plain):
        return None
    found = read(OUTLINE_BYTES)
    return members.outline(_unpacked(found, OUTLINE_BYTES) if is_zst else found)


def is_packed(head: bytes) -> bool:
    """Whether a file is packed with zstd."""
    return head.startswith(PACKED)


def is_broken(head: bytes) -> bool:
    """Whether a file is packed, and not a word of it can be unpacked."""
    from agents_ledger.model import zstd  # noqa: PLC0415 - few files are packed

    if not is_packed(head):
        return False
    unpacker = zstd.ZstdDecompressor()
    try:
        is_empty = not unpacker.decompress(head, 1)
    except zstd.ZstdError:
        return True
    return is_empty and not unpacker.eof and len(head) < HEAD_BYTES


def _unpacked(head: bytes, limit: int = HEAD_BYTES) -> bytes:
    from agents_ledger.model import zstd  # noqa: PLC0415 - few files are packed

    try:
        return zstd.ZstdDecompressor().decompress(head, limit)
    except zstd.ZstdError:
        return b""
