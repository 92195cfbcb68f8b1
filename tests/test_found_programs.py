"""Programs that once failed, the smallest of each kind, judged like random ones."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from tests.programs import judge
from tests.programs.device import disagreements
from tests.programs.tree import Expr, RandomProgram, Shape, Statement

pytestmark = pytest.mark.thorough


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
    "slopes along a running log-sum-exp with an axis beside it": program(
        "jvp(sum(logsumexp(x[p - 1 - i] + t[k], k=range(j, m)) * t[j], i, j), x, x**2)",
        "x",
        {"x": ("p",), "t": ("m",)},
        {"p": 2, "m": 3},
    ),
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
    "a condition beside an index that takes its range from another": program(
        "sum(sum(x[i - j + m - 1], j) * A[0, i], i, i > 0)",
        "x",
        {"A": ("m", "n"), "x": ("n + m - 1",)},
        {"m": 3, "n": 2},
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
    "entries of a sum without terms": program(
        "sum(h[i] + A[j, 0], i, j, i > 0)",
        "A",
        {"A": ("n", "m")},
        {"n": 3, "m": 1},
        where=(Statement("h", Expr("cumsum(A[-1]) * A[-1]"), ("m",)),),
    ),
    "a running sum that is read beyond its last term": program(
        "sum(g[j + 1, j]**2, j)",
        "x",
        {"x": ("n",), "T": ("p",)},
        {"n": 2, "p": 3},
        where=(
            Statement(
                "g",
                Expr("(sum(x[0] * T[k], k=range(j, p)) + T[i]) * T[j]"),
                ("p", "p"),
                ("i", "j"),
            ),
        ),
    ),
    "sums into the last column": program(
        "prod(r[row[i]] * i + r[i], i, i > 0)",
        "B",
        {"B": ("n", "n"), "row": ("n",)},
        {"n": 2},
        indexed={"row": "n"},
        where=(Statement("r", Expr("jvp(B[:, -1], B, B[row])"), ("n",)),),
    ),
    "coordinates where a matrix has the shifted axis": program(
        "mean(S[col[j], col[i]] * v[k], k) * mean(delta(i, j + 1) + v[k], k)",
        "A",
        {"A": ("m", "n"), "col": ("n",)},
        {"n": 3, "m": 2},
        _over("ji", "n", "n"),
        indexed={"col": "m"},
        where=(
            Statement("S", Expr("A[i, 0]**2 * A[j, 0]"), ("m", "m"), ("j", "i")),
            Statement("v", Expr("A[:, -1]"), ("m",)),
        ),
    ),
    "a number that takes a special function": program(
        "S[:, -1] * lgamma(2.25)",
        "A",
        {"A": ("p", "m")},
        {"p": 2, "m": 3},
        _over("", "m"),
        where=(Statement("S", Expr("A[0, j] + A[i, 0]"), ("m", "p"), ("j", "i")),),
    ),
    "names that the class of a Hessian has for itself": program(
        "sum(weight * x**4) + sin(sizes @ x) + tanh(rows @ x)",
        "x",
        {"rows": ("n",), "x": ("n",), "weight": ("n",), "sizes": ("n",)},
        {"n": 5},
    ),
    "a size that only a number needs": program(
        "log_softmax(jvp(B[:, 0], A, A), axis=-1) @ asinh(B[:, 0][:, None] * A[:, 0])",
        "A",
        {"A": ("m", "n"), "B": ("p", "n")},
        {"m": 2, "n": 1, "p": 4},
        _over("", "m"),
    ),
    "a statement of two lines in a method": program(
        "min(delta(i, j) * A[j, 0], j) + A[0, i] * A[0, i + 1]",
        "A",
        {"A": ("m", "n")},
        {"m": 3, "n": 4},
        _over("i", "n - 1"),
    ),
    "an operand of a condition that is read along a diagonal, too": program(
        "sum(leaky_relu(outer(x, x), 0.3) * diagonal(x[:, None] * x))",
        "x",
        {"x": ("p",)},
        {"p": 3},
    ),
    "a matrix that has one entry, to which a diagonal is added": program(
        "Q @ Q.T + diag(T)",
        "x",
        {"x": ("p",), "T": ("m",)},
        {"p": 2, "m": 3},
        _over("", "m", "m"),
        where=(
            Statement("S", Expr("3 * x[0] * ones(m)"), ("m",)),
            Statement("Q", Expr("tanh(softmax(S[:, None]*S, axis=0))"), ("m", "m")),
        ),
    ),
    "a transpose that is changed beside the gathered rows": program(
        'logsumexp(mean(einsum("ik,kj->ij", v.T, A[col]), axis=0))',
        "A",
        {"A": ("m", "n"), "col": ("n",)},
        {"m": 3, "n": 2},
        indexed={"col": "m"},
        where=(
            Statement(
                "v",
                Expr("sum(delta(i, k) + A[0, k], k=range(1, n)) + A[i, 0] + A[0, j]"),
                ("n", "m"),
                ("j", "i"),
            ),
        ),
    ),
    "an entry is added behind the end of an array of none": program(
        "u[0, i] * (A[i, 0] * A[i + 1, 0])",
        "A",
        {"A": ("m", "n")},
        {"m": 2, "n": 1},
        _over("i", "m - 1"),
        where=(
            Statement(
                "u",
                Expr("(delta(j, i + 1) + A[0, i]) * A[j, 0]"),
                ("n", "m"),
                ("i", "j"),
            ),
        ),
    ),
    "one matrix for a stack of right-hand sides": program(
        "jac(sum(S[0, i] * y[i], i=range(n)), y)",
        "c",
        {"c": (), "x": ("m",), "y": ("n",)},
        {"m": 2, "n": 2},
        _over("", "n"),
        where=(
            Statement(
                "S",
                Expr(
                    "solve(tanh(c * ones(m, n, n)) + 5*eye(n),"
                    " outer(x, y)[:, :, None])[:, :, 0]"
                ),
                ("m", "n"),
            ),
        ),
    ),
}


@pytest.mark.parametrize("name", FOUND)
def test_it_does_not_fail_again(name: str) -> None:
    assert not judge.faults(FOUND[name])


@pytest.mark.parametrize("mode", ["forward", "cross-country"])
@pytest.mark.parametrize("name", FOUND)
def test_it_is_the_same_for_both_libraries(name: str, mode: str) -> None:
    found = FOUND[name]
    assert not list(disagreements(found.text, found.arguments, mode))
