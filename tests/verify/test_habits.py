"""What holds of every call is held: precision, defaults, refusals, multiples."""

from __future__ import annotations

from functools import cache

import pytest

from tensorgen.errors import Source
from tensorgen.spec.read import read_spec
from tensorgen.verify import Verification, generated
from tests.made import generate

SPEC = """\
tensorgen: 1
module: fit
inputs:
  w: [n]
  X: [m, n]
  label: {shape: [m], index: k}
  scale: [k]
  lam: {shape: scalar, default: 0.5}
functions:
  loss:
    expr: sum(scale[label[i]] * log(1 + exp(sum(X[i, j] * w[j], j))), i) + lam * w @ w
    wrt: w
    emit: [value, gradient, hessian, 3, problem]
  scores: {expr: "tanh(X @ w)", wrt: w, emit: [jacobian]}
"""


@cache
def verification() -> Verification:
    return Verification(read_spec(Source("fit", SPEC)))


def verdicts(function: str, old: str = "", new: str = "") -> dict[str, str]:
    """What is measured of a function, in whose code a text is replaced."""
    text = generate(SPEC)
    shared = [
        "def _loss_arguments(",
        "def _loss_value(",
    ]  # which several functions call
    for mark in (f"def {function}(", f"class {function}", *shared):
        head, there, tail = text.partition(mark)
        if not there:
            continue
        own, end, rest = tail.partition("\n\n\n")
        if old in own:
            text = head + mark + own.replace(old, new, 1) + end + rest
            break
    else:
        raise AssertionError(f"{old} is not there")
    found = verification().verify(generated(text, "fit", "numpy"), function)
    return {x.what: x.verdict for x in found if x.function == function}


@pytest.mark.parametrize(
    ("function", "rows"),
    [
        ("loss_grad", {"float32", "defaults", "refusals"}),
        ("loss_hess", {"float32", "defaults", "refusals", "multiple"}),
        ("scores_jac", {"float32", "refusals", "multiple"}),
        ("loss_d3", {"float32", "defaults", "refusals", "multiple"}),
        ("LossProblem", {"refusals"}),
    ],
)
def test_what_is_right_has_all_of_them(function: str, rows: set[str]) -> None:
    found = verdicts(function)
    assert {*found.values()} == {"ok"}
    every = {"float32", "defaults", "refusals", "multiple"}
    assert {*found} & every == rows


THOROUGH = pytest.mark.thorough


@pytest.mark.parametrize(
    ("function", "what", "old", "new"),
    [
        ("loss", "defaults", "lam: ArrayLike = 0.5", "lam: ArrayLike = 0.25"),
        ("loss", "float32", "    return ", "    return np.float64(1) * "),
        ("loss", "refusals", "_check_range(", "(lambda *given: None)("),
        ("loss", "refusals", '"label", label, k, ', '"label", label, k + 1, '),
        pytest.param(
            "loss", "refusals", '_arrays("label", ', "_arrays(", marks=THOROUGH
        ),
        pytest.param("loss", "refusals", 'w=(w, "n")', 'w=(w, "p")', marks=THOROUGH),
        ("loss_grad", "refusals", 'X=(X, "m", "n")', 'X=(X, "p", "n")'),
        pytest.param(
            "loss_grad", "refusals", 'w=(w, "n")', 'v=(w, "n")', marks=THOROUGH
        ),
        ("LossProblem", "refusals", 'scale=(scale, "k")', 'scale=(scale.real, "k")'),
    ],
)
def test_a_fault_in_one_of_them_is_found(
    function: str, what: str, old: str, new: str
) -> None:
    found = verdicts(function, old, new)
    assert "WRONG" in (found.get(what), found.get("call")), found


def test_multiples_are_those_of_all_that_is_held() -> None:
    text, old = generate(SPEC), "return self._scaled(float(number))"
    assert old in text
    text = text.replace(old, "return self._scaled(1.0)")
    found = verification().verify(generated(text, "fit", "numpy"))
    wrong = {x.what for x in found if x.verdict == "WRONG"}
    assert wrong == {"multiple", "coo of multiple"}


def test_what_single_precision_cannot_hold_is_not_compared_in_it() -> None:
    text = """\
tensorgen: 1
module: fit
inputs: {x: [n], s: scalar}
functions:
  loss: {expr: "sum(s*exp(200*x))", wrt: x, emit: [value, gradient]}
"""
    module = generated(generate(text), "fit", "numpy")
    found = Verification(read_spec(Source("fit", text))).verify(module)
    assert {x.verdict for x in found} == {"ok"}
    assert any(x.what == "float32" for x in found)


def test_promises_that_nobody_made_are_no_faults_where_they_fail() -> None:
    text = """\
tensorgen: 1
module: fit
inputs: {x: [n], eps: scalar}
functions:
  loss: {expr: "sum(relu(x/sqrt(mean(x**2) + eps)))", wrt: x, emit: [value, gradient]}
"""
    module = generated(generate(text), "fit", "numpy")
    found = Verification(read_spec(Source("fit", text))).verify(module)
    assert {x.verdict for x in found} == {"ok"}
