"""Files that explain writes: whole or not at all, never over somebody's work."""

from __future__ import annotations

from pathlib import Path

from tensorgen.emit.write import ForeignFileError as ForeignFileError
from tensorgen.emit.write import write_files

MARK = "<!-- Written by tensorgen explain, which may overwrite it. -->"
"""Stands near the start of all files that are ours."""
_NEAR = 400
_NOT_OURS = "exists and was not written by tensorgen explain"


def write_file(path: Path, text: str, *, force: bool = False) -> bool:
    """Bring a file up to date; return whether it had to be written.

    Raises `ForeignFileError` and writes nothing if there is a file that is not ours,
    unless `force`; and `OSError` where the system refuses.
    """
    return bool(write_files({path: text}, force=force, foreign=_foreign))


def _foreign(data: bytes) -> str | None:
    return None if MARK.encode() in data[:_NEAR] else _NOT_OURS
