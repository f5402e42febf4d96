"""Ledger files: made whole or not at all, and never overwritten."""

import os
import threading
from contextlib import suppress
from errno import EDQUOT, EEXIST, EFBIG, EIO, ENOSPC, ENOTEMPTY
from typing import TYPE_CHECKING

from agents_ledger.errors import BadInput, StoreError, StoreFull, StoreUnreachable

if TYPE_CHECKING:  # `pathlib` takes 4 ms to load: what is there is opened without it
    from collections.abc import Callable
    from pathlib import Path


def absolute(path: str) -> str:
    """The whole path; `..` stays, as behind a link it leads elsewhere."""
    if ".." not in path:
        return os.path.abspath(path)  # noqa: PTH100 - see above
    from pathlib import Path  # noqa: PLC0415 - as above

    return str(Path(path).absolute())


def make_whole(path: str, build: "Callable[[Path], None]") -> None:
    """Makes a new file beside its place and moves it there complete; if another process is first, its file stays."""
    from pathlib import Path  # noqa: PLC0415 - as above

    final = Path(path).absolute()
    require_folder(str(final))
    partial = final.with_name(f"{final.name}.{os.getpid()}.{threading.get_ident()}.new")
    try:
        _make_private(partial)
        build(partial)
        publish(partial, final)
    except (PermissionError, NotADirectoryError) as problem:
        raise StoreUnreachable(
            f"can't create {final} ({problem.strerror}): choose a folder that you may write to, with --db"
        ) from None
    except OSError as problem:
        raise failed(f"can't create {final}", problem) from None
    finally:
        with suppress(OSError):  # a disk that fails; the file in its place is what counts
            partial.unlink(missing_ok=True)


def failed(what: str, problem: OSError) -> StoreError:
    """The error for a file that could not be written: the disk is full, or it fails."""
    if problem.errno in (ENOSPC, EDQUOT, EFBIG):
        return StoreFull(f"{what} ({problem.strerror}): free some space and try again")
    return StoreError(f"{what} ({problem.strerror}): check the disk and the folder, then try again")


def make_folders(folder: "Path", mode: int = 0o777) -> None:
    """Makes a folder and the missing ones above it. Their names are synced: a power cut does not take them away."""
    if folder.is_dir():
        return
    missing = [folder]
    while not missing[-1].parent.exists():
        missing.append(missing[-1].parent)
    folder.mkdir(mode=mode, parents=True, exist_ok=True)
    for made in reversed(missing):
        with suppress(PermissionError):  # a folder that may be entered and written to, but not opened
            settle(made.parent)


def make_copy(target: str, fill: "Callable[[Path], None]") -> str:
    """Makes a backup's file, which appears only when it is complete and never overwrites one; gives its whole path."""
    from pathlib import Path  # noqa: PLC0415 - as above

    final = Path(_path_of(target)).absolute()
    if final.exists():
        raise BadInput(f"{final} exists: a backup never overwrites; name another file")
    partial = final.with_name(f"{final.name}.{os.getpid()}.{threading.get_ident()}.partial")
    try:
        _make_private(partial)
        fill(partial)
        if not publish(partial, final):
            raise BadInput(f"{final} exists by now: a backup never overwrites; name another file")
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
        with suppress(OSError):  # its folder may be none
            partial.unlink(missing_ok=True)
    return str(final)


def _path_of(target: str) -> str:
    from agents_ledger.store.database import is_file, sqlite_path  # noqa: PLC0415 - as above

    if "://" in target and not is_file(target):
        raise BadInput("a backup goes into a file: name its path, as in `ldg backup copy.db`")
    return sqlite_path(target)


def _make_private(path: "Path") -> None:
    """An empty new file that nobody else can read: conversations are private, and so is a copy of them."""
    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))


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


def settle(path: "Path") -> None:
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
