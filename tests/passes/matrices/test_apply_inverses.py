"""Inverses are applied where that costs less than to have their entries."""

from __future__ import annotations

from tests.made import generate


def test_a_number_keeps_an_inverse_where_solutions_cost_more() -> None:
    # Implicit steps of the heat equation: solutions would be taken of matrices, but
    # their bands are all that they are multiplied with.
    text = generate("""tensorgen: 1
dims: {n: 50, T: 40}
inputs: {u0: [n], a: scalar}
functions:
  f:
    where: |
      D = diag(ones(n - 1), 1) + diag(ones(n - 1), -1) - 2*eye(n)
      u[0] = u0
      u[t=range(1, T)] = solve(eye(n) - a/2*D, (eye(n) + a/2*D) @ u[t - 1])
    expr: sum(u[T - 1]**2)
    wrt: [u0, a]
    emit: [gradient]
""")
    assert "Cost: 19*T*n flops" in text
