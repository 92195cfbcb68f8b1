"""What is right passes: exactly, wherever no stable form stands in between."""

from __future__ import annotations

from pathlib import Path

import pytest

from tensorgen import pipeline
from tensorgen.check import Report
from tensorgen.check.emitted_text import Program, Unread
from tensorgen.check.residues import DEGREES, PRIME, Residues, exp, sign
from tensorgen.errors import Source
from tensorgen.plans import claims
from tests import solving_specs
from tests.passes.witnesses import EXAMPLES

MODE = "cross-country"
SMALL_PRIMES = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31)


def test_small_numbers_are_positive_and_their_opposites_are_not() -> None:
    assert all(sign(p) == 1 and sign(PRIME - p) == -1 for p in SMALL_PRIMES)
    for degree in DEGREES:
        while degree % 2 == 0:
            degree //= 2
        root = pow(5, pow(degree, -1, PRIME - 1), PRIME)
        assert pow(root, degree, PRIME) == 5
    assert exp(7) * exp(PRIME - 7) % PRIME == 1


def test_each_way_to_solve_is_compared_exactly() -> None:
    told: list[Report] = []
    source = Source("solving.yaml", solving_specs.SPEC)
    pipeline.compile_spec(
        source, ["numpy"], MODE, False, report=lambda _, found: told.append(found)
    )
    assert (told[0].floating, told[0].unchecked) == ([], {})


ENTRIES = """
tensorgen: 1
module: entries
inputs: {Z: [n, 3], mu: ["n - 1", 2]}
functions:
  f:
    where: rate[t] = (1 - Z[t, 1]**2)*Z[t, 0] + Z[t, 2]
    expr: sum(mu[t, 0]*(Z[t + 1, 0] - Z[t, 0] - rate[t] - rate[t + 1]), t)
    wrt: [Z, mu]
    emit: hessian
"""


IN_PLACE = """
tensorgen: 1
module: in_place
dims: {m: 1000, n: 1000, k: 10}
inputs: {U: [m, k], V: [n, k], T: [m, n], W: [m, n]}
functions:
  f:
    expr: sum(W*log(1 + (T - U @ V.T)**2)) + sum(log(1 + exp(U @ V.T))*W)
    wrt: U
    emit: [value, gradient, hvp]
"""


# What the check once took to be wrong, or what is wrong and only the check had seen.
BANDS = """
tensorgen: 1
module: bands
inputs: {x: [m, k], R: [k, q], W: [m, q]}
functions:
  f:
    expr: sum((x[1:] - x[:-1])**2) + sum((x[:, 1:] - x[:, :-1])**2) + norm(W - x @ R)**2
    wrt: x
    emit: hessian
"""
CLIPPED = """
tensorgen: 1
module: clipped
inputs: {x: [n]}
functions:
  f:
    expr: trace(hypot(huber(outer(x, x), 0.7), 1.5 + max(x)**2))
    wrt: x
    emit: [value, gradient, hvp]
"""
ONE_ENTRY = """
tensorgen: 1
module: one_entry
inputs: {x: [n], v: [n], I: {shape: [n], index: n}}
functions:
  f: {expr: 'x[I[0]] * sum(v * x) + sum(x**3)', wrt: x, emit: hessian}
"""


@pytest.mark.parametrize(
    "text",
    [
        *(ENTRIES, IN_PLACE, BANDS, CLIPPED, ONE_ENTRY),
        Path("benchmarks/joint_systems.yaml").read_text("utf-8"),
    ],
    ids=["entries", "in place", "bands", "clipped", "one entry", "joint systems"],
)
def test_all_functions_are_compared(text: str) -> None:
    told: list[Report] = []
    pipeline.compile_spec(
        Source("joint.yaml", text),
        ["numpy"],
        MODE,
        False,
        report=lambda _, found: told.append(found),
    )
    assert told[0].unchecked == {}


def test_what_is_not_to_be_checked_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*given: object) -> None:
        raise AssertionError("checked")

    monkeypatch.setattr(claims, "check", refuse)
    text = Path(EXAMPLES / "quadratic_form.yaml").read_text("utf-8")
    source = Source("a.yaml", text)
    made = pipeline.compile_spec(source, ["numpy"], MODE, False, checked=False)
    assert made


def test_a_released_name_is_no_value() -> None:
    values: dict[str, object] = {"x": 2}
    program = Program(Residues())
    program.run(["y = x", "del y"], values)
    assert values == {"x": 2}
    with pytest.raises(Unread):
        program.run(["z = y"], values)
