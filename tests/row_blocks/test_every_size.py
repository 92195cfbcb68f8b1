"""Every example, with the rows of each of its sizes in blocks: cut, or refused.

Values and gradients are in pieces for each size; of what else an example asks for, one
kind a size, drawn by its name, and none of the gallery, whose Hessians take minutes.
Functions are planned whole once for all sizes, and nothing but pieces is written and
held against them.
"""

from __future__ import annotations

import zlib
from pathlib import Path

import pytest

from tensorgen.errors import Source
from tensorgen.pipeline import seldom_collected
from tensorgen.plans.row_pieces import RowFunction
from tests.row_blocks.pieces import Whole

EXAMPLES = Path(__file__).parents[2] / "examples"
SPECS = [*sorted(EXAMPLES.glob("*.yaml")), *sorted(EXAMPLES.glob("gallery/*.yaml"))]
FIRST = ("value", "gradient", "value_and_gradient")
# Some of those whose functions all have pieces.
CUT = {
    "logistic_regression": {"m", "n"},
    "matrix_factorization": {"m", "k", "p"},
    "gaussian_mixture": {"c", "s"},
    "sleep": {"m"},
    "bundle": {"cameras", "points", "sightings"},
    "power_flow": {"branches"},
}


@pytest.mark.thorough
@pytest.mark.parametrize("path", SPECS, ids=lambda path: path.stem)
def test_pieces_compute_what_the_whole_does(path: Path) -> None:
    cut = set()
    with seldom_collected():
        whole = Whole(Source(path.name, path.read_text("utf-8")))
        first = [row for row in whole.kinds if row[1].name in FIRST]
        others = [row for row in whole.kinds if row not in first]
        others = others if path.parent == EXAMPLES else []
        for size in whole.sizes:
            draw = zlib.crc32(f"{path.stem} {size}".encode())
            drawn = [others[draw % len(others)]] if others else []
            rows = whole.in_pieces(size, [*first, *drawn])
            assert not whole.held(rows).unchecked
            if all(isinstance(row, RowFunction) for row in rows):
                cut.add(size)
    assert CUT.get(path.stem, set()) <= cut
