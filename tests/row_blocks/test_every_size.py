"""Every example, with the rows of each of its sizes in blocks: cut, or refused."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tensorgen.check import Report
from tensorgen.errors import Source
from tensorgen.pipeline import compile_spec
from tensorgen.spec.read import read_spec

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.yaml"))
PIECE = re.compile(r"_(finish|rows|partial\d+|start\d+)(\.|$)")


def sizes() -> Iterator[tuple[Path, str]]:
    """Each example with each size of an axis."""
    for path in EXAMPLES:
        spec = read_spec(Source(path.name, path.read_text("utf-8")), True)
        axes = [str(d) for x in spec.inputs for d in x.shape if d.symbols == (str(d),)]
        yield from ((path, size) for size in dict.fromkeys(axes))


def in_blocks(path: Path, size: str) -> Source:
    """An example whose rows of a size come in blocks, and what names a row with them."""
    text = path.read_text("utf-8")
    along = {
        str(x.shape[0]): x.name
        for x in read_spec(Source(path.name, text), True).inputs
        if str(x.index) == size and len(x.shape) == 1
    }
    inside = ", ".join(f"{entries}: {row}" for entries, row in along.items())
    text = re.sub(r"^blocks:.*\n", "", text, flags=re.M)
    return Source(path.name, f"{text.rstrip()}\nblocks: {{{size}: {{{inside}}}}}\n")


@pytest.mark.thorough
@pytest.mark.parametrize(("path", "size"), sizes(), ids=lambda x: getattr(x, "stem", x))
def test_pieces_compute_what_the_whole_does(path: Path, size: str) -> None:
    reports: list[Report] = []
    compile_spec(
        in_blocks(path, size),
        ["numpy"],
        "cross-country",
        laid_out=False,
        report=lambda _, report: reports.append(report),
        allow_external=True,
    )
    (report,) = reports
    assert not [name for name in report.unchecked if PIECE.search(name)]
