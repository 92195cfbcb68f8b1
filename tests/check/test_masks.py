"""Masks that become numbers are new arrays, in the check as in NumPy."""

from __future__ import annotations

from tests.check.reports import reported

SPEC = """tensorgen: 1
dims: {h: 100000}
inputs: {x: [2*h], d: [2*h], g: [2*h], u: [h]}
functions:
  f:
    expr: "sum(sin(x[::2]*sum(reshape(x, (h, 2)), axis=1) - u*(x[::2]*x[:h])))
      + sum(d*sin(x - g*flip(x) - g*(g*x)))"
    wrt: x
    emit: [dense_hessian]
"""


def test_a_mask_that_is_changed_as_numbers_stays_a_mask_for_others() -> None:
    report = reported(SPEC)
    assert not report.unchecked and [*report.exact, *report.floating] == [
        "f_hess_dense"
    ]
