"""Points at which what a user promises of values holds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from tensorgen.check import Claim, Report, check
from tensorgen.errors import InternalError
from tensorgen.plans import claims
from tests.check.reports import reported
from tests.test_promises import ENTRIES, PROMISED, STRUCTURED


@pytest.mark.parametrize("spec", [PROMISED, STRUCTURED, ENTRIES])
def test_the_check_finds_points_where_promises_hold(spec: str) -> None:
    report = reported(spec)
    assert not report.unchecked and (report.exact or report.floating)


KERNEL = """
tensorgen: 1
inputs: {a: scalar, y: [n], X: [n, k], D: {shape: [n, n], symmetric: true}}
functions:
  f:
    where: |
      V = spd(exp(-exp(a)*D))
      VX = solve(V, X)
      b = solve(X.T @ VX, X.T @ solve(V, y))
      r = y - X @ b
    expr: log(r @ solve(V, r)/n) + logdet(V)
    wrt: a
    emit: [value, gradient]
"""


def test_a_kernel_is_checked_where_a_matrix_has_distances(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of other matrices hardly one has a kernel that is definite."""
    assert not reported(KERNEL).unchecked

    def faulty(given: Sequence[Claim], *rest: Any) -> Report:
        last = given[-1]
        returns = (*last.body.returns[:-1], f"1.001*({last.body.returns[-1]})")
        wrong = replace(last, body=replace(last.body, returns=returns))
        return check([*given[:-1], wrong], *rest)

    monkeypatch.setattr(claims, "check", faulty)
    with pytest.raises(InternalError, match="f_value_and_grad does not compute"):
        reported(KERNEL)
