"""Reductions over a triangle of indices: one walk, at any exponents and ties."""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

import tensorgen
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Call, indicator
from tensorgen.operators.calls import apply
from tests.device.library import execute, stand_in

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
    source = tensorgen.generate(SPEC.format(text=text, wrt="z"))
    body = source[source.index("def f(") : source.index("def f_grad(")]
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
        name = f"def f_{end}("
        bodies = [text[text.index(name) :].split('"""')[2] for text in sources]
        (statements,) = {body.split("return")[0] for body in bodies}
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


REDUCED = """
tensorgen: 1
inputs: {x: [n], w: [n], X: [n, m], W: [n, m]}
functions:
  largest:
    expr: sum(w[i] * max(exp(x[j])*x[j], j=range(i + 1))**2, i)
    wrt: x
    emit: [value, gradient, hessian, hvp]
  smallest:
    expr: sum(w[i] * min(x[j], j=range(i, n))**2, i)
    wrt: x
    emit: [value, gradient, hvp]
  columns:
    expr: sum(W[i, k] * max(X[j, k], j=range(i + 1))**2, i, k)
    wrt: X
    emit: [value, gradient, hvp]
  rows:
    expr: sum(w[i] * max(X[j, k], k, j, j <= i)**2, i)
    wrt: X
    emit: [value, gradient, hvp]
  times:
    expr: sum(w[i] * prod(x[j], j=range(i + 1)), i)
    wrt: x
    emit: [value, gradient, hvp]
"""
REDUCED_BY_HAND: dict[str, tuple[str, Callable[..., Array]]] = {
    "largest": ("xw", lambda x, w: w @ _tops(np.exp(x) * x) ** 2),
    "smallest": ("xw", lambda x, w: w @ _tops(-x[::-1])[::-1] ** 2),
    "columns": ("XW", lambda X, W: np.vdot(W, _tops(X) ** 2)),
    "rows": ("Xw", lambda X, w: w @ _tops(X.max(axis=1)) ** 2),
    "times": ("xw", lambda x, w: w @ np.cumprod(x)),
}


def _tops(x: Array) -> Array:
    return np.maximum.accumulate(x, axis=0)


@pytest.fixture(scope="module")
def reduced() -> Any:
    return tensorgen.load(REDUCED)


@pytest.mark.parametrize("name", REDUCED_BY_HAND)
def test_prefixes_are_reduced_in_one_walk(name: str, reduced: Any) -> None:
    arguments, hand = REDUCED_BY_HAND[name]
    rng = np.random.default_rng(0)
    arrays = (*rng.normal(size=(2, 7)), *rng.normal(size=(2, 7, 3)))
    every = dict(zip("xwXW", arrays, strict=True))
    if name == "times":
        every["x"][[2, 5]] = 0
    given = {k: every[k] for k in arguments}
    v, weights = given.values()
    step, along = 1e-6, rng.normal(size=v.shape)
    np.testing.assert_allclose(getattr(reduced, name)(**given), hand(v, weights))

    def gradient(at: Array) -> Array:
        return getattr(reduced, f"{name}_grad")(**{**given, arguments[0]: at})

    slope = (hand(v + step * along, weights) - hand(v - step * along, weights)) / 2
    np.testing.assert_allclose(np.vdot(gradient(v), along), slope / step, atol=1e-7)
    hvp = getattr(reduced, f"{name}_hvp")(**given, **{f"d{arguments[0]}": along})
    turn = (gradient(v + step * along) - gradient(v - step * along)) / (2 * step)
    np.testing.assert_allclose(hvp, turn, atol=1e-7)
    if name == "largest":
        hessian = reduced.largest_hess(**given)
        np.testing.assert_allclose(hessian @ along, hvp)


def shares(x: Array) -> Array:
    """What each entry of a vector has in the largest so far, one prefix a row."""
    rows = [(x == x[: i + 1].max()) & (np.arange(len(x)) <= i) for i in range(len(x))]
    return np.array([row / row.sum() for row in rows])


TIED = np.array([[2, 2, 1, 2, 3, 0, 3, 3, 3.0], [-1, -1, -1, 4, 4, 4, 5, 5, 1]])


@pytest.mark.parametrize("x", [*TIED, np.zeros(9), -np.arange(9.0)])
@pytest.mark.parametrize("spelled", ["max(x[j], j={j})", "min(x[j], j={j})"])
@pytest.mark.parametrize("suffix", [False, True])
def test_equals_share_equally_in_the_extremes_of_each_prefix(
    x: Array, spelled: str, suffix: bool
) -> None:
    module, sign = tied(spelled, suffix)
    order = slice(None, None, -1 if suffix else 1)
    slopes = shares(sign * x[order])[order, order]
    rng = np.random.default_rng(1)
    w, along = rng.normal(size=(2, 9))
    top = slopes @ x
    near: Any = {"rtol": 1e-13, "atol": 1e-13}
    np.testing.assert_allclose(module.f(x, w), w @ top**2, **near)
    np.testing.assert_allclose(module.f_grad(x, w), 2 * w * top @ slopes, **near)
    np.testing.assert_allclose(
        module.f_jvp(x, w, along)[1], 2 * w * top @ slopes @ along, **near
    )
    hessian = 2 * slopes.T @ (w[:, None] * slopes)
    np.testing.assert_allclose(module.f_hvp(x, w, along), hessian @ along, **near)
    np.testing.assert_allclose(module.f_hess(x, w).dense(), hessian, **near)
    np.testing.assert_allclose(module.tops_jac(x), slopes, **near)


@cache
def tied(spelled: str, suffix: bool) -> tuple[Any, int]:
    """A module with the largest or smallest entries so far, and 1 or -1."""
    sign = 1 if "max" in spelled else -1
    top = spelled.format(j="range(i, n)" if suffix else "range(i + 1)")
    return (
        tensorgen.load(f"""
tensorgen: 1
inputs: {{x: [n], w: [n]}}
functions:
  f:
    expr: sum(w[i] * {top}**2, i)
    wrt: x
    emit: [value, gradient, hessian, hvp, jvp]
  tops:
    where: "m[i=range(n)] = {top}"
    expr: m
    wrt: x
    emit: [jacobian]
"""),
        sign,
    )


def test_equals_share_in_columns_of_their_own(reduced: Any) -> None:
    x, w = np.stack([*TIED, np.zeros(9)], axis=1), np.ones((9, 3))
    slopes = [shares(column) for column in x.T]
    wanted = [2 * (s @ column) @ s for s, column in zip(slopes, x.T, strict=True)]
    np.testing.assert_allclose(reduced.columns_grad(x, w), np.transpose(wanted))
    turn = reduced.columns_hvp(x, w, w)
    sums = [2 * s.T @ (s @ np.ones(9)) for s in slopes]
    np.testing.assert_allclose(turn, np.transpose(sums))


def test_a_reduction_of_prefixes_makes_no_table(reduced: Any) -> None:
    n = 20_000  # a table would take 3 GB
    x, w = np.ones(n), np.ones(n)
    for name in ("largest", "smallest", "times"):
        assert getattr(reduced, f"{name}_grad")(x=x, w=w).shape == (n,)
    counts = np.arange(n, 0, -1)  # j shares with i others from j on
    wanted = 2 * np.cumsum(1 / counts)[::-1]
    np.testing.assert_allclose(reduced.smallest_grad(x=x, w=w), wanted[::-1])


def test_cupy_reduces_prefixes_as_numpy_does(reduced: Any) -> None:
    x, w = np.random.default_rng(0).normal(size=(2, 9))
    with stand_in() as cupy:
        other = execute(tensorgen.generate(REDUCED, backend="cupy"))
        for name in ("largest", "smallest"):
            found = getattr(other, f"{name}_grad")(*map(cupy.asarray, (x, w)))
            wanted = getattr(reduced, f"{name}_grad")(x, w)
            np.testing.assert_allclose(cupy.asnumpy(found), wanted)


def test_nothing_is_larger_than_nan_so_far() -> None:
    module, _ = tied("max(x[j], j={j})", False)
    x = np.array([1.0, 1.0, 3.0, np.nan, 9.0, np.nan])
    top = module.f_jvp.__globals__["_running_max"](x)
    mean, share = (module.f_jvp.__globals__[f"_tied_{k}"] for k in ("mean", "share"))
    v = np.arange(6.0)
    assert mean(x, top, v).tolist() == [0, 0.5, 2, 3, 3, 3]
    assert share(x, top, v).tolist() == [0.5, 0.5, 2, 12, 0, 0]


@pytest.mark.parametrize("shape", [(0,), (2, 0), (0, 3), (1,)])
def test_prefixes_of_nothing_have_tangents(shape: tuple[int, ...]) -> None:
    module, _ = tied("max(x[j], j={j})", False)
    x, rows = np.zeros(shape), np.ones((4, *shape))
    for name in ("_tied_mean", "_tied_share"):
        found = module.f_jvp.__globals__[name](x, x, rows, axis=rows.ndim - 1)
        np.testing.assert_array_equal(found, rows)
