"""One point a function is large: what is chosen by size is seen there, quickly."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

from tensorgen.errors import Source
from tensorgen.spec.read import read_spec
from tensorgen.verify import Verification, generated
from tensorgen.verify.reference import Interpreter
from tests.made import generate

SPEC = """\
tensorgen: 1
module: wide
inputs:
  t: [m]
  X: [m, n]
  y: [m]
  K: {shape: [m, m], spd: true}
functions:
  evidence:
    expr: logdet(K + diag(exp(t))) + y @ solve(K + diag(exp(t)), y)
    wrt: t
    emit: [value, gradient, hessian, hvp]
  scores:
    expr: {score: tanh(X.T @ (t * y)), size: norm(X.T @ t)}
    wrt: [t, y]
    emit: [value, jacobian, dense_jacobian, jvp, vjp]
  both:
    expr: sum(exp(X.T @ t)) * sum(y**2)
    wrt: [t, y]
    emit: [value, gradient, hessian, dense_hessian, hvp, 3]
  steps:
    where: |
      x[0] = t[0]
      x[k + 1] = x[k] + sin(x[k]) * y[k]
    expr: x[-1]
    wrt: y
"""


LOOKED_UP = """tensorgen: 1
inputs: {x: [n], a: [k], b: [k], c: [k + 1]}
functions:
  line: {expr: "sum(interp(x, 2*a, b)**2)", wrt: [x, b], emit: [value, gradient]}
  step: {expr: "c[searchsorted(a, x)] * x", wrt: [x, c], emit: [value, vjp]}
"""


@cache
def verification() -> Verification:
    return Verification(read_spec(Source("wide", SPEC)))


def verdicts(function: str, old: str = "", new: str = "") -> dict[str, str]:
    text = generate(SPEC)
    assert old in text
    text = text.replace(old, new)
    found = verification().verify(generated(text, "wide", "numpy"), function)
    return {x.what: x.verdict for x in found}


@pytest.mark.parametrize("function", ["evidence", "scores", "both", "steps"])
def test_what_is_right_is_right_at_large_sizes_too(function: str) -> None:
    assert {*verdicts(function).values()} == {"ok"}
    program = verification().program.generated
    (own,) = (x for x in program if x.spec.name == function)
    large = verification().large(own)
    if function == "steps":
        assert large is None  # a hundred steps are slow in the reference
    else:
        assert large is not None and min(large.case.sizes.values()) > 100


# What is as if some code were chosen by size, or is.
@pytest.mark.parametrize(
    ("function", "what", "old", "new"),
    [
        ("evidence_grad", "slope", "= -block @ left", "= block @ left"),
        ("evidence_grad", "slope", "n, width = np.zeros_like(L), L.shape[-1], 64", ""),
    ],
)
def test_a_fault_in_blocks_of_rows_is_found(
    function: str, what: str, old: str, new: str
) -> None:
    if not new:
        new = old.replace("64", "100") + "\n    L = L if n < 100 else 1.01 * L"
    assert verdicts(function, old, new)[what] == "WRONG"


@pytest.mark.parametrize(
    ("function", "what"),
    [
        ("evidence", "value"),
        ("evidence_grad", "slope"),
        ("evidence_hess", "curvature"),
        ("evidence_hvp", "curvature"),
        ("scores", "value"),
        ("scores_jac", "slope"),
        ("scores_jac_dense", "slope"),
        ("scores_jvp", "slope"),
        ("scores_vjp", "slope"),
        ("both_grad", "slope"),
        ("both_hess_dense", "curvature"),
        ("both_hvp", "curvature"),
    ],
)
def test_each_derivative_is_looked_at_there(function: str, what: str) -> None:
    # As if another way were taken where m is large.
    planted = (
        f"\n\nsound = {function}\n\n\ndef {function}(t, *given, **more):\n"
        "    return sound(t + (0.01 if len(t) > 100 else 0), *given, **more)\n"
    )
    subject = generated(generate(SPEC) + planted, "wide", "numpy")
    found = verification().verify(subject, function)
    wrong = {x.what for x in found if x.verdict == "WRONG" and x.function == function}
    assert what in wrong


def test_a_few_evaluations_of_the_reference_are_enough(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    runs: list[object] = []
    run = Interpreter.__call__

    def counted(reference: Interpreter, given: Any) -> Any:
        runs.append(reference)
        return run(reference, given)

    monkeypatch.setattr(Interpreter, "__call__", counted)
    own = Verification(read_spec(Source("wide", SPEC)))
    subject = generated(generate(SPEC), "wide", "numpy")
    seen = set()
    for task in own.tasks():
        large = own.large(task.function)
        if large is not None and task.at_large is not None:
            assert [*task.at_large(large, subject)] or task.name == "both_d3"
            seen |= {*large.references.values()}
    # Value and slope, twice each for rounding; of two functions, curvature by eight.
    assert len(seen) == 4
    assert len(runs) == 4 * 4 + 2 * 8


def test_what_is_looked_up_in_rises_wherever_it_is_tried() -> None:
    check = Verification(read_spec(Source("looked", LOOKED_UP)))
    module = generated(generate(LOOKED_UP), "looked", "numpy")
    found = [x for name in ("line", "step") for x in check.verify(module, name)]
    assert {x.verdict for x in found} == {"ok"}
