"""Files that explain writes: whole or not at all, never over somebody's work."""

from __future__ import annotations

import os
import uuid
from contextlib import suppress
from pathlib import Path

from tensorgen.emit.write import ForeignFileError as ForeignFileError
from tensorgen.files import read_regular

MARK = "<!-- Written by tensorgen explain, which may overwrite it. -->"
"""Stands near the start of all files that are ours."""
_NEAR = 400
_NOT_OURS = "exists and was not written by tensorgen explain"


def write_file(path: Path, text: str, *, force: bool = False) -> bool:
    """Bring a file up to date; return whether it had to be written.

    Raises `ForeignFileError` and writes nothing if there is a file that is not ours,
    unless `force`; and `OSError` where the system refuses.
    """
    target = Path(os.path.realpath(path))
    try:
        data = read_regular(target).data
    except FileNotFoundError:
        data = None
    if data is not None and not force and MARK.encode() not in data[:_NEAR]:
        raise ForeignFileError(path, _NOT_OURS)
    if data == text.encode():
        return False
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_name(f".tensorgen-{uuid.uuid4().hex}.tmp")
    try:
        with open(temporary, "xb") as file:
            file.write(text.encode())
        if data is None and not force:
            _move_to_nothing(temporary, target, path)
        else:
            os.replace(temporary, target)
    finally:
        with suppress(OSError):
            temporary.unlink()
    return True


def _move_to_nothing(temporary: Path, target: Path, path: Path) -> None:
    """Give a file its name, unless something has come there in this moment."""
    try:
        os.link(temporary, target)
    except FileExistsError:
        raise ForeignFileError(path, _NOT_OURS) from None
    except OSError:  # a file system without links
        os.replace(temporary, target)
