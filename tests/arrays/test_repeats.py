"""What calls a piece of others computes beside it what it reads, and nothing more."""

from __future__ import annotations

import ast

from tests.made import generate

EVIDENCE = """
tensorgen: 1
inputs: {f: [n], y: [n], X: [n, p], ell: [p], s2: scalar}
functions:
  psi:
    where: |
      D[i, j] = sum((X[i, k] - X[j, k])**2/ell[k]**2, k)
      K = s2*exp(-D/2) + 1e-6*eye(n)
    expr: sum(softplus(-y*f)) + f @ solve(K, f)/2 + logdet(K)/2
    wrt: [f, ell]
    emit: [value, gradient, hvp]
"""


def test_nothing_is_computed_that_only_the_piece_reads() -> None:
    (product,) = (
        node
        for node in ast.walk(ast.parse(generate(EVIDENCE)))
        if isinstance(node, ast.FunctionDef) and node.name == "psi_hvp"
    )
    assert "_psi_parts" in ast.unparse(product)
    names = {x.id for x in ast.walk(product) if isinstance(x, ast.Name)}
    assert "K" not in names  # `parts.inv_K` is read
