"""What is right passes: exactly, wherever no stable form stands in between."""

from __future__ import annotations

from pathlib import Path

import pytest

from tensorgen import pipeline
from tensorgen.check import check
from tensorgen.check.program import Program, Unread
from tensorgen.check.residues import DEGREES, PRIME, Residues, exp, sign
from tensorgen.errors import Source
from tests.check.test_planted_faults import claims_of
from tests.passes.test_laws import EXAMPLES

SMALL_PRIMES = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31)
SPECS = sorted(path.stem for path in EXAMPLES.glob("*.yaml"))


@pytest.mark.parametrize("name", SPECS)
def test_all_functions_of_an_example_are_compared_exactly(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    claims, classes, alias = claims_of(EXAMPLES / f"{name}.yaml", monkeypatch)
    report = check(claims, classes, alias)
    assert (report.floating, report.unchecked) == ([], {})


def test_small_numbers_are_positive_and_their_opposites_are_not() -> None:
    assert all(sign(p) == 1 and sign(PRIME - p) == -1 for p in SMALL_PRIMES)
    for degree in DEGREES:
        while degree % 2 == 0:
            degree //= 2
        root = pow(5, pow(degree, -1, PRIME - 1), PRIME)
        assert pow(root, degree, PRIME) == 5
    assert exp(7) * exp(PRIME - 7) % PRIME == 1


def test_what_is_not_to_be_checked_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*given: object) -> None:
        raise AssertionError("checked")

    monkeypatch.setattr(pipeline, "check", refuse)
    text = Path(EXAMPLES / "quadratic_form.yaml").read_text("utf-8")
    source = Source("a.yaml", text)
    made = pipeline.compile_spec(
        source, ["numpy"], "cross-country", False, checked=False
    )
    assert made


def test_a_released_name_is_no_value() -> None:
    values: dict[str, object] = {"x": 2}
    program = Program(Residues())
    program.run(["y = x", "del y"], values)
    assert values == {"x": 2}
    with pytest.raises(Unread):
        program.run(["z = y"], values)
