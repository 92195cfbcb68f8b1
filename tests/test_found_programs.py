"""Programs that once failed, the smallest of each kind, judged like random ones."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from tests.programs import judge
from tests.programs.tree import Expr, RandomProgram, Shape, Statement


def program(
    text: str,
    wrt: str,
    inputs: Mapping[str, Shape],
    sizes: Mapping[str, int],
    left: Statement | None = None,
    indexed: Mapping[str, str] | None = None,
    more: tuple[Any, ...] = (),
    where: tuple[Statement, ...] = (),
    projected: frozenset[str] = frozenset(),
) -> RandomProgram:
    """A program of one function; `left` has its indices and shape."""
    indexed = indexed or {}
    rng = np.random.default_rng(3)
    arguments = {
        name: (
            rng.integers(0, sizes[indexed[name]], [sizes[dim] for dim in shape])
            if name in indexed
            else rng.uniform(-1, 1, [int(eval(dim, dict(sizes))) for dim in shape])
        )
        for name, shape in inputs.items()
    }
    for name in projected:
        arguments[name] = arguments[name] + arguments[name].T
    left = left or Statement("f", Expr(text), ())
    result = Statement("f", Expr(text), left.shape, left.indices)
    return RandomProgram(
        *(0, sizes, inputs, frozenset(), arguments, (), where, result, (wrt,)),
        indexed=indexed,
        promises=dict.fromkeys(projected, "symmetric"),
        projected=projected,
        more=more,
    )


def _over(indices: str, *shape: str) -> Statement:
    return Statement("f", Expr(""), shape, tuple(indices))


FOUND = {
    "the diagonal of an index array": program(
        "T[col[j, j], i]",
        "T",
        {"T": ("m", "n"), "col": ("m", "m")},
        {"m": 3, "n": 2},
        _over("ji", "m", "n"),
        {"col": "m"},
    ),
    "entries of a diagonal of an index array": program(
        "sum(S[col[i, i]] * x[i] * x[j] * S[col[j, i]], i, j)",
        "x",
        {"S": ("n",), "x": ("m",), "col": ("m", "m")},
        {"m": 3, "n": 2},
        indexed={"col": "n"},
    ),
    "a range that conditions alone mention": program(
        "sum((y[i] * Z[j, n - 1 - j] + v[i]) * B[j, 0], i, j, i > 0)",
        "B",
        {"A": ("m", "m"), "B": ("n", "n"), "y": ("m",)},
        {"m": 3, "n": 2},
        where=(
            Statement("Z", Expr("hvp(pi, B, B)"), ("n", "n")),
            Statement(
                "v", Expr("sum(B[j, 0], j=range(1, n)) + A[i, 0]"), ("m",), ("i",)
            ),
        ),
        projected=frozenset("B"),
    ),
    "a position before the front of a short axis": program(
        "asinh(flip(r[:, -1]))",
        "h",
        {"h": ("n",)},
        {"n": 1},
        Statement("f", Expr(""), ("n",)),
        where=(
            Statement(
                "r",
                Expr("(delta(i, j + 1) * min(h[k], k=range(i, n)) + h[i]) * h[j]"),
                ("n", "n"),
                ("j", "i"),
            ),
        ),
    ),
    "sums into an array without entries": program(
        "sum(prod(delta(i, j + 1) * x[k], k=range(p - j)) * a[i] + x[j], i, j, i > 0)",
        "x",
        {"x": ("p",), "a": ("m",)},
        {"p": 3, "m": 1},
    ),
    "stacks of matrices of third order": program(
        "sum(cholesky(tanh(T[:, 0]) @ tanh(T[:, 0]).T + 3*eye(m)))",
        "T",
        {"T": ("m", "n", "m")},
        {"m": 2, "n": 1},
        more=(3,),
    ),
}


@pytest.mark.parametrize("name", FOUND)
def test_it_does_not_fail_again(name: str) -> None:
    assert not judge.faults(FOUND[name])
