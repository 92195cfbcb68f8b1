"""The modules of the examples, as they are kept, compute what their specs say."""

from __future__ import annotations

from pathlib import Path

import pytest

from tensorgen.errors import Source
from tensorgen.spec.read import read_spec
from tensorgen.verify import Verification, on_disk
from tests.sampled import sampled

ROOT = Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "tests" / "golden"
# Newton's steps within complex steps within differences: ten seconds.
SLOW = ("deep_equilibrium",)
SPECS = [x for x in sorted((ROOT / "examples").glob("*.yaml")) if x.stem not in SLOW]


@pytest.mark.parametrize("path", sampled(SPECS, 4), ids=lambda path: path.stem)
def test_a_module_computes_what_its_spec_says(path: Path) -> None:
    source = Source(path.name, path.read_text("utf-8"))
    verification = Verification(read_spec(source), points=3)
    subject = on_disk(GOLDEN / f"{path.stem}_numpy.py", "numpy")
    found = verification.verify(subject)
    wrong = [x for x in found if x.verdict != "ok"]
    assert [(x.function, x.what, x.reason) for x in wrong] == []
    told = {x.function for x in found}
    emitted = {x for x in vars(subject.module)["__all__"] if x[:1].islower()}
    # Exceptions and classes of results are no functions.
    assert emitted <= told
