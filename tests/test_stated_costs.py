"""What docstrings say of memory, against what functions allocate when they run.

A stated polynomial leaves out terms that come to five percent, rounds the eighths that
truth values take, and knows helpers by how many arrays they hold; where functions share
code, what a private one has released counts. All that together is within a quarter.
What blocks of a fixed length hold is told as if it came on top of what grows; it may
come before or behind it, and counts for the upper bound alone.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from types import ModuleType

import pytest

from tensorgen.errors import Source
from tensorgen.prices.thresholds import BLOCK
from tensorgen.verify.verified_modules import on_disk
from tests.made import load
from tests.stated_costs import stated

ROOT = Path(__file__).resolve().parents[1]
GOLDEN = ROOT / "tests" / "golden"
LEAST, MOST = 0.75, 1.25
EXAMPLES = sorted((ROOT / "examples").glob("*.yaml"))
# Steps that hold few numbers: at sizes that show memory there are so many that a test
# takes minutes.
LOOPS = ("influenza", "regimes")
GALLERY = [
    path
    for path in sorted((ROOT / "examples" / "gallery").glob("*.yaml"))
    if path.stem not in LOOPS
]
# Sums over blocks beside what is returned, of different lengths, temporaries that are
# scaled, states of recurrences, entries of elements.
SHOWN = ("recommender", "matrix_factorization", "logistic_regression", "nile")


def held(source: Source, module: ModuleType) -> list[tuple[str, float]]:
    """How many times as much as is stated each function allocates, at some sizes."""
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # numbers that are not finite
        for function in stated(source, module):
            for sizes in function.sizes():
                whole, blocks = function.stated(sizes), function.constant(sizes)
                times = (allocated := function.allocated(sizes)) / whole
                if blocks >= BLOCK and allocated < whole:
                    times = min(allocated / (whole - blocks or blocks), 1)
                found.append((f"{function.name} {function.text(sizes)} {sizes}", times))
    return found


def left(path: Path) -> object:
    """A specification, left to the thorough tests if it does not show another law."""
    slow = [] if path.stem in SHOWN else [pytest.mark.thorough]
    return pytest.param(path, marks=slow, id=path.stem)


@pytest.mark.parametrize("path", [*map(left, EXAMPLES)])
def test_examples_hold_what_they_say(path: Path) -> None:
    source = Source(path.name, path.read_text("utf-8"))
    found = held(source, on_disk(GOLDEN / f"{path.stem}_numpy.py", "numpy").module)
    assert [row for row in found if not LEAST <= row[1] <= MOST] == []
    assert found or path.stem == "quadratic_form"  # n numbers, beside n * n


@pytest.mark.thorough
@pytest.mark.parametrize("path", GALLERY, ids=lambda path: path.stem)
def test_the_gallery_holds_what_it_says(path: Path) -> None:
    text = path.read_text("utf-8")
    found = held(Source(path.name, text), load(text, allow_external=True))
    assert [row for row in found if not LEAST <= row[1] <= MOST] == []
