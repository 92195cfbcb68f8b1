"""Modules over a batch are verified as modules of one sample."""

from __future__ import annotations

from functools import cache

import numpy as np

from tensorgen.errors import Source
from tensorgen.spec.read import read_spec
from tensorgen.verify import Verification, generated
from tensorgen.verify.samples import of_one_sample
from tests.made import generate

SPEC = """\
tensorgen: 1
module: fit
inputs:
  x: {shape: [n], batch: [B]}
  c: {shape: scalar, index: n, batch: [B]}
  w: [n]
functions:
  f:
    expr: exp(w @ x) * x[c]
    wrt: [x, w]
    emit: [value, gradient, hessian, hvp, jvp, vjp, [x, x, w]]
  g: {expr: x * w, wrt: x, emit: [jacobian]}
  h: {expr: sum(w**2), wrt: w, emit: [hessian]}
"""


@cache
def verification() -> Verification:
    return Verification(read_spec(Source("fit", SPEC)))


def wrong(old: str = "", new: str = "") -> set[str]:
    """The functions that are found to be wrong, in whose code a text is replaced."""
    text = generate(SPEC)
    assert old in text
    subject = generated(
        text.replace(old, new), "fit_numpy.py", "numpy", "fit", "cross-country"
    )
    found = verification().verify(subject)
    assert len(found) > 20
    return {x.function for x in found if x.verdict == "WRONG"}


def test_what_is_emitted_over_a_batch_is_right() -> None:
    assert wrong() == set()


def test_a_sample_that_others_have_a_share_in_is_found() -> None:
    assert "f" in wrong("np.exp(x @ w)", "np.roll(np.exp(x @ w), 1)")


def test_a_sample_is_put_between_two_others() -> None:
    subject = generated(generate(SPEC), "fit_numpy.py", "numpy", "fit", "cross-country")
    program = verification().program
    of_one = of_one_sample(subject, program).module
    x, w = np.array([0.5, -0.2]), np.array([0.3, 0.7])
    value = of_one.f(x, 1, w)
    np.testing.assert_allclose(value, np.exp(w @ x) * x[1])
    assert {x.shape for x in of_one.f_grad(x, 1, w)} == {(2,)}
    assert of_one.f_hess(x, 1, w)["x", "w"].shape == (2, 2)
    assert of_one.h_hess is subject.module.h_hess
