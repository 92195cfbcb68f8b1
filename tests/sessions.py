"""Sessions at a prompt that documents show: run, and held to what they print.

On a page, a block after the mark `<!-- file NAME -->` is a file of that name, and one
after `<!-- session -->` holds commands, each after `$ ` and before what it prints. All
run in order in one empty folder, in which `tensorgen` and `python` are those of the
tests. `python -m tests.sessions` writes anew what commands print.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.documents import DOCUMENTS, ROOT, Block, blocks

# Rounding errors, and how many digits they leave: they differ between machines.
VARIABLE = re.compile(
    r"\d\.\d+e-(0[6-9]|1\d)|0\.0e\+00|\d+\.\d(?= +\d+ +ok$)", re.MULTILINE
)
PAGES = tuple(
    path for path in DOCUMENTS if "<!-- session -->" in path.read_text(encoding="utf-8")
)


def printed(path: Path) -> Iterator[tuple[Block, str]]:
    """Yield the sessions of a page, each with the text that it should have."""
    with tempfile.TemporaryDirectory() as folder:
        programs = Path(folder, "programs")
        here = Path(folder, "here")
        programs.mkdir()
        here.mkdir()
        python = shlex.quote(sys.executable)
        for name, command in (
            ("python", python),
            ("tensorgen", f"{python} -m tensorgen"),
        ):
            program = programs / name
            program.write_text(f'#!/bin/sh\nexec {command} "$@"\n', encoding="utf-8")
            program.chmod(0o755)
        env = {
            **os.environ,
            "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": str(ROOT),
            "NO_COLOR": "1",
        }
        for block in blocks(path):
            if block.mark.startswith("file "):
                name = block.mark.removeprefix("file ")
                (here / name).write_text(block.text, encoding="utf-8")
            elif block.mark == "session":
                yield block, "".join(_run(block.text, here, env))


def _run(text: str, here: Path, env: dict[str, str]) -> Iterator[str]:
    for line in text.splitlines():
        if line.startswith("$ "):
            done = subprocess.run(
                ["bash", "-c", line.removeprefix("$ ")],
                cwd=here,
                env=env,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
            yield f"{line}\n{done.stdout}"


def same(one: str, other: str) -> bool:
    """Whether two texts are equal but for rounding errors."""
    return VARIABLE.sub("", one) == VARIABLE.sub("", other)


def main() -> None:
    """Write into the pages what their commands print."""
    for path in PAGES:
        text = path.read_text(encoding="utf-8")
        for block, wanted in printed(path):
            if not same(block.text, wanted):
                fence = f"<!-- session -->\n```{block.language}\n"
                assert fence + block.text in text
                text = text.replace(fence + block.text, fence + wanted)
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
