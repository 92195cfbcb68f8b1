"""Golden files: the NumPy modules of the examples, and what differs in the CuPy ones.

`python -m tests.goldens --to FOLDER` writes all modules out, `--from FOLDER` keeps
those that are there.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from difflib import unified_diff
from pathlib import Path

FOLDER = Path(__file__).resolve().parent / "golden"
HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+\d+(?:,\d+)? @@")


def names() -> list[str]:
    """Return the names of all modules."""
    return sorted(
        path.with_suffix(".py").name
        for path in FOLDER.iterdir()
        if path.suffix in (".py", ".diff")
    )


def text(name: str) -> str:
    """Return the text of a module."""
    path = FOLDER / name
    if _twin(name) == name:
        return path.read_text(encoding="utf-8")
    kept = path.with_suffix(".diff").read_text(encoding="utf-8")
    return "".join(_patched(_renamed(text(_twin(name))), kept))


def difference(name: str, theirs: str, ours: str) -> str:
    """Return what differs besides the library's name, as hunks of nothing else."""
    lines = _renamed(theirs), ours.splitlines(keepends=True)
    return "".join(unified_diff(*lines, _twin(name), name, n=0))


def _twin(name: str) -> str:
    return name.replace("_cupy.", "_numpy.")


def _renamed(text: str) -> list[str]:
    """The lines of a NumPy module as if the library were called `cp`."""
    return re.sub(r"\bnp\.", "cp.", text).splitlines(keepends=True)


def _patched(lines: list[str], difference: str) -> Iterator[str]:
    """The lines of a text with a difference in them."""
    done = 0
    for line in difference.splitlines(keepends=True)[2:]:
        if found := HUNK.match(line):
            start, count = int(found[1]), int(found[2] or 1)
            # Where nothing is taken away, the hunk stands behind the line it names.
            start -= count > 0
            yield from lines[done:start]
            done = start + count
        elif line.startswith("+"):
            yield line[1:]
    yield from lines[done:]


def main(way: str, folder: Path) -> None:
    """Write the modules to a folder, or keep those of a folder."""
    if way == "--to":
        folder.mkdir(parents=True, exist_ok=True)
        for old in folder.glob("*.py"):
            old.unlink()
        for name in names():
            (folder / name).write_text(text(name), encoding="utf-8")
        return
    assert way == "--from"
    texts = {x.name: x.read_text(encoding="utf-8") for x in folder.glob("*.py")}
    for path in (*FOLDER.glob("*.py"), *FOLDER.glob("*.diff")):
        path.unlink()
    for name, own in texts.items():
        kept = FOLDER / name
        if name != _twin(name):
            kept = kept.with_suffix(".diff")
            own = difference(name, texts[_twin(name)], own)
        kept.write_text(own, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
