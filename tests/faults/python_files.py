"""The product's own file operations (`os`, `open`) go through a `Watch`. For a process that ends afterwards.

Patched are the functions of `os` that change files or folders or read bytes, and `open`. Not watched: `stat`, listings
of folders, locks, and `os.sendfile` (by which `shutil.copyfile` copies).
"""

import builtins
import io
import os
from collections.abc import Callable
from typing import Any

from tests.faults.operations import FOLDER, Kind, Operation, Watch

Flags = int


class PythonFiles:
    """What Python does to the files below the watched folders."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._open_files: dict[int, tuple[str, int]] = {}  # by descriptor: path and number
        self._os = {name: getattr(os, name) for name in _PATCHED}
        self._io_open = io.open

    def patch(self) -> None:
        """From now on everything is watched."""
        for name in _PATCHED:
            setattr(os, name, getattr(self, name))
        io.open = builtins.open = self.open_file

    # files

    def open(self, path: Any, flags: Flags, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        """`os.open`."""
        where = self._path(path, dir_fd)
        real = self._os["open"]
        if where is None:
            number: int = real(path, flags, mode, dir_fd=dir_fd)
            self._open_files.pop(number, None)
            return number
        is_new = bool(flags & os.O_CREAT) and not os.path.lexists(where)
        if os.path.isdir(where):
            descriptor: int = real(path, flags, mode, dir_fd=dir_fd)
            self._open_files[descriptor] = (where, FOLDER)
            return descriptor
        # (a name that cannot be opened gets no number)
        opened = self._watch.run(
            Operation(Kind.CREATE if is_new else Kind.OPEN, where, self._watch.number(where, is_new=is_new)),
            lambda: int(real(path, flags, mode, dir_fd=dir_fd)),
        )
        self._open_files[opened] = (where, self._watch.number(where))
        if flags & os.O_TRUNC and not is_new:
            self._watch.run(Operation(Kind.TRUNCATE, where, self._watch.number(where), 0), lambda: None)
        return opened

    def close(self, descriptor: int) -> None:
        """`os.close`."""
        self._open_files.pop(descriptor, None)
        self._os["close"](descriptor)

    def write(self, descriptor: int, data: Any) -> int:
        """`os.write`."""
        return self.watched_write(descriptor, data, lambda part: int(self._os["write"](descriptor, part)))

    def read(self, descriptor: int, length: int) -> bytes:
        """`os.read`."""
        return self.watched_read(descriptor, lambda: bytes(self._os["read"](descriptor, length)))

    def pread(self, descriptor: int, length: int, offset: int) -> bytes:
        """`os.pread`."""
        return self.watched_read(descriptor, lambda: bytes(self._os["pread"](descriptor, length, offset)))

    def ftruncate(self, descriptor: int, length: int) -> None:
        """`os.ftruncate`."""
        known = self._open_files.get(descriptor)
        if known is None:
            self._os["ftruncate"](descriptor, length)
            return
        cut = Operation(Kind.TRUNCATE, *known, length)
        self._watch.run(cut, lambda: self._os["ftruncate"](descriptor, length))

    def fsync(self, descriptor: int) -> None:
        """`os.fsync`, of a file or a folder."""
        known = self._open_files.get(int(descriptor))
        if known is None:
            self._os["fsync"](descriptor)
            return
        path, number = known
        kind = Kind.SYNC_FOLDER if number == FOLDER else Kind.SYNC
        self._watch.run(Operation(kind, path, number), lambda: self._os["fsync"](descriptor))

    fdatasync = fsync

    def watched_write(self, descriptor: int, data: Any, write: Callable[[Any], int]) -> int:
        """A write by whatever function; a short one gives how much was written, as the system does."""
        known = self._open_files.get(descriptor)
        if known is None:
            return write(data)
        kept = bytes(data)
        is_appending = bool(_status_flags(descriptor) & os.O_APPEND)
        offset = os.fstat(descriptor).st_size if is_appending else os.lseek(descriptor, 0, os.SEEK_CUR)
        return self._watch.run(
            Operation(Kind.WRITE, *known, offset, kept), lambda: write(kept), lambda: write(kept[: len(kept) // 2])
        )

    def watched_read(self, descriptor: int, read: Callable[[], bytes]) -> bytes:
        """A read by whatever function."""
        known = self._open_files.get(descriptor)
        return read() if known is None else self._watch.run(Operation(Kind.READ, *known), read)

    # names

    def link(self, src: Any, dst: Any, **rest: Any) -> None:
        """`os.link`."""
        self._two(Kind.LINK, "link", src, dst, rest)

    def rename(self, src: Any, dst: Any, **rest: Any) -> None:
        """`os.rename`."""
        self._two(Kind.RENAME, "rename", src, dst, rest)

    def replace(self, src: Any, dst: Any, **rest: Any) -> None:
        """`os.replace`."""
        self._two(Kind.RENAME, "replace", src, dst, rest)

    def unlink(self, path: Any, *, dir_fd: int | None = None) -> None:
        """`os.unlink`."""
        self._one(Kind.UNLINK, "unlink", path, dir_fd)

    def remove(self, path: Any, *, dir_fd: int | None = None) -> None:
        """`os.remove`."""
        self._one(Kind.UNLINK, "unlink", path, dir_fd)

    def rmdir(self, path: Any, *, dir_fd: int | None = None) -> None:
        """`os.rmdir`."""
        self._one(Kind.RMDIR, "rmdir", path, dir_fd)

    def mkdir(self, path: Any, mode: int = 0o777, *, dir_fd: int | None = None) -> None:
        """`os.mkdir`."""
        where = self._path(path, dir_fd)
        make = self._os["mkdir"]
        if where is None or os.path.lexists(where) or not os.path.isdir(os.path.dirname(where)):
            make(path, mode, dir_fd=dir_fd)
        else:
            self._watch.run(Operation(Kind.MKDIR, where), lambda: make(path, mode, dir_fd=dir_fd))

    def _one(self, kind: Kind, name: str, path: Any, dir_fd: int | None) -> None:
        where = self._path(path, dir_fd)
        real = self._os[name]
        if where is None or not os.path.lexists(where):
            real(path, dir_fd=dir_fd)
        else:
            self._watch.run(Operation(kind, where), lambda: real(path, dir_fd=dir_fd))

    def _two(self, kind: Kind, name: str, src: Any, dst: Any, rest: dict[str, Any]) -> None:
        old, new = self._path(src, None), self._path(dst, None)
        real = self._os[name]
        if old is None or new is None or (kind == Kind.LINK and os.path.lexists(new)):
            real(src, dst, **rest)
        else:
            self._watch.run(Operation(kind, old, target=new), lambda: real(src, dst, **rest))

    # `open`

    def open_file(self, file: Any, mode: str = "r", buffering: int = -1, *args: Any, **rest: Any) -> Any:
        """`open`: a file whose bytes go through the watch."""
        known = self._open_files.get(file) if isinstance(file, int) else None
        where = None if isinstance(file, int) else self._path(file, None)
        if (known is None and where is None) or (where is not None and os.path.isdir(where)):
            return self._io_open(file, mode, buffering, *args, **rest)
        raw_mode = mode.replace("t", "").replace("b", "")
        descriptor = file if isinstance(file, int) else self.open(file, _flags_of(raw_mode), 0o666)
        raw = _WatchedRaw(self, descriptor, raw_mode.replace("x", "w"))
        if buffering == 0:
            return raw
        wrap: Any = (
            io.BufferedRandom if "+" in raw_mode else io.BufferedReader if "r" in raw_mode else io.BufferedWriter
        )
        buffered = wrap(raw)
        return buffered if "b" in mode else io.TextIOWrapper(buffered, *args, **rest)

    def forget(self, descriptor: int) -> None:
        """A descriptor was closed."""
        self._open_files.pop(descriptor, None)

    def _path(self, path: Any, dir_fd: int | None) -> str | None:
        """The whole path, if it is watched."""
        if isinstance(path, int):
            return None
        text = os.fsdecode(path)
        if dir_fd is not None:
            if dir_fd not in self._open_files:
                return None
            text = os.path.join(self._open_files[dir_fd][0], text)
        whole = os.path.abspath(text)
        return whole if self._watch.covers(whole) else None


class _WatchedRaw(io.FileIO):
    """A file of Python's, without a buffer."""

    def __init__(self, files: PythonFiles, descriptor: int, mode: str) -> None:
        super().__init__(descriptor, mode)
        self._files = files

    def write(self, data: Any) -> int:
        """Writes."""
        real = super().write
        return self._files.watched_write(self.fileno(), data, lambda part: real(part) or 0)

    def readinto(self, buffer: Any) -> int:
        """Reads."""
        view = memoryview(buffer).cast("B")
        found = self.read(len(view)) or b""
        view[: len(found)] = found
        return len(found)

    def read(self, size: int | None = -1) -> bytes:
        """Reads."""
        real = super().read
        return self._files.watched_read(self.fileno(), lambda: real(-1 if size is None else size) or b"")

    def readall(self) -> bytes:
        """Reads to the end."""
        real = super().readall
        return self._files.watched_read(self.fileno(), lambda: real() or b"")

    def close(self) -> None:
        """Closes."""
        if not self.closed:
            self._files.forget(self.fileno())
        super().close()


_PATCHED = (
    "open", "close", "write", "read", "pread", "ftruncate", "fsync", "fdatasync",
    "link", "rename", "replace", "unlink", "remove", "rmdir", "mkdir",
)  # fmt: skip


def _flags_of(mode: str) -> Flags:
    """The flags of `os.open` for a mode of `open`."""
    both = "+" in mode
    if "r" in mode:
        return os.O_RDWR if both else os.O_RDONLY
    found = (os.O_RDWR if both else os.O_WRONLY) | os.O_CREAT
    return found | {"w": os.O_TRUNC, "x": os.O_EXCL, "a": os.O_APPEND}[mode[0]]


def _status_flags(descriptor: int) -> int:
    import fcntl  # noqa: PLC0415 - POSIX only, as these tests are

    return fcntl.fcntl(descriptor, fcntl.F_GETFL)
