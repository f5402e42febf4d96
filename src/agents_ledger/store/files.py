"""Ledger files: made whole or not at all, and never overwritten."""

import os
from contextlib import suppress
from errno import EDQUOT, EEXIST, EFBIG, EIO, ENOSPC, ENOTEMPTY
from typing import TYPE_CHECKING

from msgspec import Struct

from agents_ledger.errors import BadInput, StoreError, StoreFull, StoreUnreachable

if TYPE_CHECKING:  # `pathlib` takes 4 ms to load: what is there is opened without it
    from collections.abc import Callable
    from pathlib import Path


class Copy(Struct, frozen=True):
    """A backup's file."""

    path: str
    set_aside: tuple[str, ...] = ()  # what a deleted database of that name had left behind, by its new names


def absolute(path: str) -> str:
    """The whole path; `..` stays, as behind a link it leads elsewhere."""
    if ".." not in path:
        return os.path.abspath(path)  # noqa: PTH100 - see above
    from pathlib import Path  # noqa: PLC0415 - as above

    return str(Path(path).absolute())


def make_whole(path: str, build: "Callable[[Path], None]") -> tuple[str, ...]:
    """Make a new database beside its place and move it there complete; if another process is first, its file stays.

    Gives the new names of what a deleted database of that name had left behind.
    """
    from pathlib import Path  # noqa: PLC0415 - as above

    from agents_ledger.store.sidecars import discard, publish_database  # noqa: PLC0415 - only when a file is made

    require_folder(absolute(path))
    final = Path(os.path.realpath(path))  # SQLite follows links, and keeps its log beside the file itself
    require_folder(str(final))
    partial = beside_place(final, "new")
    try:
        os.close(create_private(partial))
        build(partial)
        return publish_database(partial, final) or ()
    except (PermissionError, NotADirectoryError) as problem:
        raise StoreUnreachable(
            f"can't create {final} ({problem.strerror}): choose a folder that you may write to, with --db"
        ) from None
    except OSError as problem:
        raise write_error(f"can't create {final}", problem) from None
    finally:
        discard(str(partial))


def write_error(what: str, problem: OSError) -> StoreError:
    """The error for a file that could not be written: the disk is full, or it fails."""
    if problem.errno in (ENOSPC, EDQUOT, EFBIG):
        return StoreFull(f"{what} ({problem.strerror}): free some space and try again")
    return StoreError(f"{what} ({problem.strerror}): check the disk and the folder, then try again")


def make_folders(folder: "Path", mode: int = 0o777) -> None:
    """Make a folder and the missing ones above it, and sync their names: a power cut does not take them away."""
    if folder.is_dir():
        return
    missing = [folder]
    while not missing[-1].parent.exists():
        missing.append(missing[-1].parent)
    folder.mkdir(mode=mode, parents=True, exist_ok=True)
    for made in reversed(missing):
        with suppress(PermissionError):  # a folder that may be entered and written to, but not opened
            settle(made.parent)


def make_copy(
    target: str, fill: "Callable[[Path], None]", put: "Callable[[Path, Path], tuple[str, ...] | None]"
) -> "Copy":
    """Make a backup's file, which appears only when it is complete and never overwrites one."""
    from pathlib import Path  # noqa: PLC0415 - as above

    from agents_ledger.store.sidecars import discard  # noqa: PLC0415 - as above

    final = Path(_path_of(target)).absolute()
    if os.path.lexists(final):
        raise BadInput(f"{final} exists: a backup never overwrites; name another file")
    partial = beside_place(final, "partial")
    try:
        os.close(create_private(partial))
        fill(partial)
        moved = put(partial, final)
    except OSError as problem:
        if problem.errno == EIO:
            raise StoreError(
                f"the disk under {final} failed ({problem.strerror}): do not rely on this backup; make one elsewhere"
            ) from None
        if problem.errno in (ENOSPC, EDQUOT):
            raise StoreFull(f"no space left for {final}: there is no backup; free some space and try again") from None
        raise StoreUnreachable(
            f"can't write {final} ({problem.strerror}): name a file in a folder that you may write to"
        ) from None
    finally:
        discard(str(partial))
    if moved is None:
        raise BadInput(f"{final} exists by now: a backup never overwrites; name another file")
    return Copy(str(final), moved)


def put_plain(partial: "Path", final: "Path") -> tuple[str, ...] | None:
    """`publish`, for a file beside which SQLite keeps nothing."""
    return () if publish(partial, final) else None


def beside_place(final: "Path", suffix: str) -> "Path":
    """A name beside a file's place that nothing else has: no process before this one, and none that runs."""
    return final.with_name(f"{final.name}.{os.getpid()}.{os.urandom(6).hex()}.{suffix}")


def _path_of(target: str) -> str:
    from agents_ledger.store.database import is_file, sqlite_path  # noqa: PLC0415 - as above

    if "://" in target and not is_file(target):
        raise BadInput("a backup goes into a file: name its path, as in `ldg backup copy.db`")
    return sqlite_path(target)


def create_private(path: "str | Path") -> int:
    """A new file that only its owner can read, whatever the umask is, open for writing: conversations are private."""
    number = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_BINARY", 0), 0o600)
    try:
        os.chmod(path, 0o600)  # noqa: PTH101 - one call; the umask may have taken even the owner's rights
    except BaseException:
        os.close(number)
        raise
    return number


def make_private_folder(path: str) -> None:
    """Make a folder, and those above it, for the owner alone, whatever the umask is; one that exists stays as it is."""
    if os.path.isdir(path):  # noqa: PTH112 - as above
        return
    above = os.path.dirname(path)  # noqa: PTH120 - as above
    if above and above != path:
        make_private_folder(above)
    try:
        os.mkdir(path, 0o700)  # noqa: PTH102 - as above
    except FileExistsError:
        if not os.path.isdir(path):  # noqa: PTH112 - as above
            raise
    else:
        os.chmod(path, 0o700)  # noqa: PTH101 - as above
        with suppress(PermissionError):  # a folder that may be entered and written to, but not opened
            settle(above or ".")  # its name survives a power cut


def require_folder(path: str) -> None:
    """A ledger's folder is not made by accident, and is no ledger itself."""
    folder = os.path.dirname(path)  # noqa: PTH120 - as above
    if not os.path.isdir(folder):  # noqa: PTH112 - as above
        raise StoreUnreachable(f"{folder} is not a folder: create it first, or name another --db")
    if os.path.isdir(path):  # noqa: PTH112 - as above
        inside = os.path.join(path, "ledger.db")  # noqa: PTH118 - as above
        raise StoreUnreachable(f"{path} is a folder, a ledger is a file: name one in it, as with --db {inside}")


def is_unchanging(path: str) -> bool:
    """Whether a file is complete and lies where nobody can write: on a disc, or a snapshot mounted for reading."""
    try:
        is_readable_only = bool(os.statvfs(path).f_flag & os.ST_RDONLY)
    except (AttributeError, OSError):  # not there, or a system that does not tell
        return False
    log = f"{path}-wal"
    return is_readable_only and not (os.path.exists(log) and os.path.getsize(log))  # noqa: PTH110, PTH202 - as above


def publish(partial: "Path", final: "Path") -> bool:
    """Puts a finished file in its place; False if there is one already."""
    try:
        os.link(partial, final)
    except FileExistsError:
        return False
    except OSError:  # a file system without hard links
        if final.exists():
            return False
        partial.rename(final)
    with suppress(OSError):  # a second name of a complete file does no harm
        partial.unlink(missing_ok=True)
    settle(final.parent)
    return True


def publish_folder(partial: "Path", final: "Path") -> bool:
    """The same for a folder."""
    if final.exists():
        return False
    try:
        partial.rename(final)
    except OSError as problem:
        if problem.errno in (ENOTEMPTY, EEXIST):  # another process was first
            return False
        raise
    settle(final.parent)
    return True


def settle(path: "str | Path") -> None:
    """Makes a file, or the names in a folder, survive a power cut."""
    number = os.open(path, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)


def filesystem_of(path: "Path") -> str | None:
    """The kind of file system under a path (Linux), for the warning about network folders."""
    from pathlib import Path  # noqa: PLC0415 - as above

    try:
        lines = Path("/proc/self/mounts").read_text("utf-8", "replace").splitlines()
    except OSError:
        return None
    mounts = [line.split()[1:3] for line in lines]
    under = [(place, kind) for place, kind in mounts if path.is_relative_to(place.replace("\\040", " "))]
    return max(under, key=lambda mount: len(mount[0]))[1] if under else None
