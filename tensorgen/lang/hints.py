"""What is meant by names that the language does not have: found by meaning."""

from __future__ import annotations

import ast

_STEPS = "define it by steps under 'where': x[0] = ..., x[t + 1] = ..."
_INDICES = "index notation does it: f[i] = ... of x[i] or X[i, j]"

MEANT = {
    "scan": _STEPS,
    "fori_loop": _STEPS,
    "while_loop": _STEPS,
    "vmap": _INDICES,
    "map": _INDICES,
    "vectorize": _INDICES,
    "gather": "entries at an index array are read by brackets: x[index]",
    "take": "entries at an index array are read by brackets: x[index]",
    "scatter": "add up with a condition: sum(delta(i, index[k]) * x[k], k)",
    "segment_sum": "add up with a condition: sum(delta(i, index[k]) * x[k], k)",
    "bincount": "add up with a condition: sum(delta(i, index[k]) * x[k], k)",
    "gammaln": "it is called lgamma",
    "psi": "it is called digamma",
    "slogdet": "logdet(A) is the logarithm of the absolute value",
    "fabs": "it is called abs",
    "power": "it is called pow, or x**y",
    "swish": "it is called silu",
    "hstack": "it is concatenate([a, b], axis=1)",
    "vstack": "it is concatenate([a, b], axis=0)",
    "amax": "it is called max",
    "amin": "it is called min",
}
"""Hints by what other libraries call a function."""


def root(tree: ast.expr) -> str | None:
    """The first name of what has dots: np of np.linalg.norm."""
    while isinstance(tree, ast.Attribute):
        tree = tree.value
    return tree.id if isinstance(tree, ast.Name) else None
