"""Log-sum-exps over a triangle of indices: one walk, at any exponents."""

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensorgen
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Call, indicator
from tensorgen.operators.calls import apply
from tests.made import source

Array = Any

SPEC = """
tensorgen: 1
inputs: {{z: [n], d: [n], Z: [m, n]}}
functions:
  f:
    expr: {text}
    wrt: {wrt}
    emit: [value, gradient, hessian, hvp, jvp]
"""


def dense(z: Array, keeps: Callable[[int, int], bool], rows: range) -> Array:
    """The logarithms of sums, one row of the triangle after the other."""
    return np.array(
        [
            np.logaddexp.reduce([z[j] for j in range(len(z)) if keeps(i, j)])
            for i in rows
        ]
    )


TEXTS: dict[str, tuple[Callable[[int, int], bool], range]] = {
    "sum(d[i] * logsumexp(z[j], j=range(i + 1)), i)": (lambda i, j: j <= i, range(6)),
    "sum(d[i] * logsumexp(z[j], j, j <= i), i)": (lambda i, j: j <= i, range(6)),
    "sum(d[i] * logsumexp(z[j], j=range(i, n)), i)": (lambda i, j: j >= i, range(6)),
    "sum(d[i] * logsumexp(z[j], j=range(i + 2)), i=range(n - 1))": (
        lambda i, j: j <= i + 1,
        range(5),
    ),
    "sum(d[i] * logsumexp(z[j], j=range(i + 1, n)), i=range(n - 1))": (
        lambda i, j: j > i,
        range(5),
    ),
}


@pytest.mark.parametrize("text", TEXTS)
def test_a_triangle_is_walked_once(text: str) -> None:
    body = source(tensorgen.generate(SPEC.format(text=text, wrt="z")), "f")
    assert "_running_logsumexp(" in body and "np.tri" not in body
    module = tensorgen.load(SPEC.format(text=text, wrt="z"))
    keeps, rows = TEXTS[text]
    for scale in (1.0, 400.0, 1e4):
        z, d, dz = np.random.default_rng(0).normal(size=(3, 6))
        z *= scale

        def near(found: Array, expected: Array, scale: float = scale) -> None:
            # Exponents of this size are rounded by so much.
            atol = 1e-15 * max(scale, 1000)
            np.testing.assert_allclose(found, expected, rtol=1e-11, atol=atol)

        sums = dense(z, keeps, rows)
        near(module.f(z, d), d[: len(rows)] @ sums)
        triangle = np.array([[keeps(i, j) for j in range(6)] for i in rows])
        shares = np.where(triangle, np.exp(np.where(triangle, z - sums[:, None], 0)), 0)
        weighted = d[: len(rows), None] * shares
        gradient = weighted.sum(axis=0)
        near(module.f_grad(z, d), gradient)
        hessian = np.diag(gradient) - shares.T @ weighted
        near(module.f_hess(z, d).dense(), hessian)
        near(module.f_hvp(z, d, dz), hessian @ dz)
        near(module.f_jvp(z, d, dz)[1], gradient @ dz)


def test_directions_through_a_matrix_form_no_triangle() -> None:
    spec = """
tensorgen: 1
inputs: {b: [k], X: [n, k], d: [n]}
functions:
  f:
    expr: sum(d[i] * logsumexp(X[j] @ b, j=range(i + 1)), i)
    wrt: b
    emit: [hessian]
"""
    source = tensorgen.generate(spec)
    body = source[source.index("def f_hess(") : source.index("def _running_mean")]
    assert "_running_mean(" in body and "np.tri" not in body and "np.where" not in body
    module = tensorgen.load(spec)
    random = np.random.default_rng(1)
    X, d, b = random.normal(size=(7, 3)), random.normal(size=7), random.normal(size=3)
    z = X @ b
    sums = dense(z, lambda i, j: j <= i, range(7))
    shares = np.tril(np.exp(np.minimum(z - sums[:, None], 0)))
    inner = np.diag(d @ shares) - shares.T @ (d[:, None] * shares)
    np.testing.assert_allclose(module.f_hess(b, X, d).dense(), X.T @ inner @ X)


def test_other_indices_are_summed_first() -> None:
    text = "sum(logsumexp(Z[k, j], k, j=range(i + 1)), i)"
    module = tensorgen.load(SPEC.format(text=text, wrt="Z"))
    Z = np.random.default_rng(2).normal(size=(3, 4)) * 300
    sums = [np.logaddexp.reduce(Z[:, : i + 1], axis=None) for i in range(4)]
    np.testing.assert_allclose(module.f(Z), sum(sums), rtol=1e-13)
    assert "_running_logsumexp" in tensorgen.generate(SPEC.format(text=text, wrt="Z"))


@pytest.mark.parametrize(
    "text",
    [
        "sum(logsumexp(z[i] * z[j], j=range(i + 1)), i)",  # each row has its own terms
        "sum(d[i] * logsumexp(z[j], j, j < i), i=range(1, n))",  # by a strict condition
        "sum(logsumexp(z[j], j=range(i, i + 3)), i=range(n - 2))",  # a window
    ],
)
def test_what_is_no_running_sum_stays_an_array(text: str) -> None:
    spec = SPEC.format(text=text, wrt="z")
    module = tensorgen.load(spec)
    z, d = np.random.default_rng(3).normal(size=(2, 6))
    arguments = (z, d) if "d[" in text else (z,)
    step = 1e-6 * np.eye(6)
    slopes = [
        (module.f(z + h, *arguments[1:]) - module.f(z - h, *arguments[1:])) / 2e-6
        for h in step
    ]
    np.testing.assert_allclose(module.f_grad(*arguments), slopes, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("size", [0, 1])
def test_short_axes_have_running_sums(size: int) -> None:
    text = "sum(d[i] * logsumexp(z[j], j=range(i + 1)), i)"
    module = tensorgen.load(SPEC.format(text=text, wrt="z"))
    z, d = np.full(size, 3.0), np.full(size, 2.0)
    assert module.f(z, d) == 6.0 * size
    np.testing.assert_array_equal(module.f_grad(z, d), d)


def test_a_mask_of_two_conditions_is_no_triangle() -> None:
    graph = Graph()
    z = graph.input("z", ["n"])
    mask = graph.product(
        "ij",
        [],
        constraints=[indicator({"i": 1, "j": -1}), indicator({"j": 1, "i": -1}, 2)],
        sizes={"i": z.dims[0], "j": z.dims[0]},
    )
    infinity = graph.scale(graph.named_constant("inf"), -1)
    args = [(mask, "ij"), (z, "j"), (infinity, "")]
    where = graph.map("where", "ij", args)
    found = apply(graph, "logsumexp", [where], axes=(1,))
    assert isinstance(found, Call) and found.operator == "logsumexp"


RISKS = """
tensorgen: 1
dims: {{n: 200, p: 4}}
inputs: {{X: [n, p], b: [p], event: [n]}}
functions:
  f:
    where: |
      eta = X @ b
      level[i=range(n)] = {level}
    expr: sum(event * (level - eta))
    wrt: b
    emit: [value, gradient, hessian, hvp]
"""
SPELLINGS = {
    True: (
        "logsumexp(eta[j], j=range(i + 1))",
        "logsumexp(eta[j], j, j <= i)",
        "log(sum(exp(eta[j]), j=range(i + 1)))",
        "log(cumsum(exp(eta))[i])",
    ),
    False: (
        "logsumexp(eta[j], j=range(i, n))",
        "logsumexp(eta[j], j, j >= i)",
        "log(sum(exp(eta[j]), j=range(i, n)))",
        "log(flip(cumsum(flip(exp(eta), 0)), 0)[i])",
    ),
}


def risks(X: Array, b: Array, event: Array, prefix: bool) -> tuple[Array, Array]:
    """The gradient and Hessian of Cox's likelihood, one risk set after the other."""
    eta = X @ b
    gradient, hessian = -X.T @ event, np.zeros((len(b), len(b)))
    for i in range(len(X)):
        at = slice(i + 1) if prefix else slice(i, None)
        p = np.exp(eta[at] - np.logaddexp.reduce(eta[at]))
        mean = p @ X[at]
        gradient += event[i] * mean
        hessian += event[i] * (X[at] - mean).T @ (p[:, None] * (X[at] - mean))
    return gradient, hessian


@pytest.mark.parametrize("prefix", [True, False])
def test_risk_sets_cost_the_same_however_they_are_spelled(prefix: bool) -> None:
    sources = [tensorgen.generate(RISKS.format(level=x)) for x in SPELLINGS[prefix]]
    for end in ("grad", "hess", "hvp"):
        bodies = [source(text, f"f_{end}") for text in sources]
        (statements,) = {re.sub(r'"""[\s\S]*?"""', "", body) for body in bodies}
        assert "np.tri" not in statements
        if end == "hess":  # the other side reads what one walk over all columns made
            for walk in ("_running_mean(", "_running_share("):
                assert statements.count(walk) == 1


@pytest.mark.parametrize("prefix", [True, False])
@pytest.mark.parametrize("spread", [1.0, 30.0, 100.0, 1000.0])
def test_derivatives_of_risk_sets_are_exact_at_any_spread(
    spread: float, prefix: bool
) -> None:
    module = tensorgen.load(RISKS.format(level=SPELLINGS[prefix][0]))
    rng = np.random.default_rng(1)
    X, b = rng.normal(size=(200, 4)), rng.normal(size=4)
    b *= spread / np.abs(X @ b).max()
    event = rng.normal(size=200)
    gradient, hessian = risks(X, b, event, prefix)
    # Levels keep `eps * spread`, and the two terms of a covariance cancel.
    close: Any = {"rtol": 1e-11, "atol": 1e-12 + 5e-13 * spread}
    np.testing.assert_allclose(module.f_grad(X, b, event), gradient, **close)
    found = module.f_hess(X, b, event).dense()
    np.testing.assert_allclose(found, hessian, **close)
    dx = rng.normal(size=4)
    np.testing.assert_allclose(module.f_hvp(X, b, event, dx), hessian @ dx, **close)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", ["_running_mean", "_running_share"])
def test_both_forms_of_a_walk_agree_where_they_meet(name: str, dtype: Any) -> None:
    module = tensorgen.load(RISKS.format(level=SPELLINGS[True][0]))
    limit = np.finfo(dtype).maxexp / 10
    rng = np.random.default_rng(2)
    z = np.linspace(0, 1, 50).astype(dtype)
    v = rng.normal(size=(50, 3)).astype(dtype)
    for width in (0.98 * limit, 1.02 * limit):
        for order in (z, z[::-1], rng.permutation(z)):
            at = width * order
            level = np.logaddexp.accumulate(at)
            pairs = np.tri(50) * np.exp(
                np.minimum(at.astype(float) - level.astype(float)[:, None], 0)
            )
            wanted = (pairs if name == "_running_mean" else pairs.T) @ v
            found = getattr(module, name)(at[:, None], level[:, None], v)
            assert found.dtype == dtype
            error = 2 * limit * np.finfo(dtype).eps * np.abs(pairs).sum() * 3
            np.testing.assert_allclose(found, wanted, rtol=0, atol=error)


def test_an_axis_without_entries_has_running_means() -> None:
    module = tensorgen.load(RISKS.format(level=SPELLINGS[True][0]))
    hess = module.f_hess(np.zeros((0, 2)), np.zeros(2), np.zeros(0))
    np.testing.assert_array_equal(hess.dense(), np.zeros((2, 2)))
