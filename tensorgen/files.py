"""Reading files that may be anything: never a hang, never more than fits."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import NamedTuple

# No spec and no settings come near it; what is larger was named by mistake.
LARGEST_TEXT = 2**20


class Found(NamedTuple):
    """What a file contained, and which file in which state that was."""

    data: bytes
    identity: tuple[int, ...]


def read_regular(path: str | os.PathLike[str], limit: int | None = None) -> Found:
    """Return the bytes of a regular file of at most `limit` bytes.

    Raises `OSError` for everything else: a pipe that nobody writes to would keep us
    for ever, and a device has no end.
    """
    flags = os.O_RDONLY | getattr(os, "O_BINARY", 0)
    if not stat.S_ISREG(os.stat(path).st_mode):
        raise _not_regular(path)
    # The file may have become a pipe since: opened like this it cannot keep us.
    descriptor = os.open(path, flags | getattr(os, "O_NONBLOCK", 0))
    with open(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise _not_regular(path)
        data = file.read(-1 if limit is None else limit + 1)
    if limit is not None and len(data) > limit:
        reason = f"the file is larger than {limit:,} bytes"
        raise OSError(errno.EFBIG, reason, os.fspath(path))
    return Found(data, identity(status))


def identity(status: os.stat_result) -> tuple[int, ...]:
    """Return what changes when a file is replaced or written to."""
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def _not_regular(path: str | os.PathLike[str]) -> OSError:
    if Path(path).is_dir():
        reason = os.strerror(errno.EISDIR)
        return IsADirectoryError(errno.EISDIR, reason, os.fspath(path))
    return OSError(errno.EINVAL, "not a regular file", os.fspath(path))
