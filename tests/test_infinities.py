"""What is impossible is -inf, and open ends are infinite: values and derivatives."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest

import tensorgen

INF = np.inf


@pytest.fixture(autouse=True)
def _no_warnings() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        yield


def _spec(inputs: str, functions: str) -> Any:
    return tensorgen.load(
        f"tensorgen: 1\ninputs: {{{inputs}}}\nfunctions:\n{functions}"
    )


def _slope(f: Callable[[Any], Any], x: Any) -> Any:
    """The gradient of a function that takes complex numbers."""
    found = np.zeros(np.shape(x))
    for place in np.ndindex(*np.shape(x)):
        moved = np.array(x, dtype=complex)
        moved[place] += 1e-30j
        found[place] = f(moved).imag / 1e-30
    return found


# Reductions


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_row_of_what_is_impossible_has_no_weight(dtype: type) -> None:
    m = _spec(
        "z: [m, k]",
        """
  total: {expr: "sum(logsumexp(z, axis=1))", wrt: z, emit: [value, gradient, hessian]}
  each: logsumexp(z, axis=1)
  naive: log(sum(exp(z), axis=1))
  share: softmax(z, axis=1)
  logs: log_softmax(z, axis=1)
""",
    )
    z: Any = np.array([[-INF, -INF], [1, -INF], [0, 1]], dtype)
    last = np.log1p(np.exp(1.0))
    for rows in (m.each(z), m.naive(z)):
        assert rows.dtype == dtype
        np.testing.assert_allclose(rows, [-INF, 1, last], rtol=1e-6)
    p = np.exp(1 - last)
    shares = np.array([[0, 0], [1, 0], [1 - p, p]])
    np.testing.assert_allclose(m.share(z), shares, rtol=1e-6)
    np.testing.assert_allclose(m.total_grad(z), shares, rtol=1e-6)
    logs = [[-INF, -INF], [0, -INF], [-last, 1 - last]]
    np.testing.assert_allclose(m.logs(z), logs, rtol=1e-6)
    hessian = np.zeros((3, 2, 3, 2))
    hessian[2, :, 2] = p * (1 - p) * np.array([[1, -1], [-1, 1]])
    np.testing.assert_allclose(m.total_hess(z).dense(), hessian, rtol=1e-6)


def test_a_row_with_what_is_certain_is_infinite() -> None:
    m = _spec("z: [m, k]", "  each: logsumexp(z, axis=1)\n")
    np.testing.assert_array_equal(m.each([[INF, 1], [-INF, INF]]), [INF, INF])


def test_nothing_guards_a_matrix_product() -> None:
    text = tensorgen.generate(
        "tensorgen: 1\ninputs: {X: [m, n], W: [n, k]}\n"
        'functions:\n  f: {expr: "sum(logsumexp(X @ W, axis=1))", wrt: W}\n'
    )
    assert "finite" not in text and "_nonzero" not in text


@pytest.mark.parametrize("function", ["logaddexp", "maximum"])
def test_of_two_that_are_impossible_each_counts_half(function: str) -> None:
    m = _spec(
        "x: [m], y: [m]",
        f"""
  f:
    where: |
      a = where(x > 0, x, -inf)
    expr: sum({function}(a, y))
    wrt: [x, y]
""",
    )
    x, y = np.array([-1.0, -1.0, 1.0]), np.array([-INF, 2.0, 1.0])
    found = m.f_grad(x, y)
    np.testing.assert_array_equal(found.x, [0, 0, 0.5])
    np.testing.assert_array_equal(found.y, [0.5, 1, 0.5])


def test_the_sum_of_two_impossible_numbers_of_data_has_slopes() -> None:
    m = _spec("x: [m], y: [m]", "  f: {expr: 'sum(logaddexp(x, y))', wrt: [x, y]}\n")
    x, y = np.array([-INF, -INF, 1.0]), np.array([-INF, 2.0, 1.0])
    found = m.f_grad(x, y)
    np.testing.assert_array_equal(found.x, [0.5, 0, 0.5])
    np.testing.assert_array_equal(found.y, [0.5, 1, 0.5])


# Groups

_GRAPH = "s: [E], h: [N], dst: {shape: [E], index: N}, src: {shape: [E], index: N}"
_ATTENTION = {
    "where": "top[i] = logsumexp(where(dst[e] == i, s[e], -inf), e)",
    "condition": "top[i] = logsumexp(s[e], e, dst[e] == i)",
    "naive": "top[i] = log(sum(exp(s[e]), e, dst[e] == i))",
}


@pytest.mark.parametrize("spelling", _ATTENTION)
def test_a_node_without_edges_attends_to_nothing(spelling: str) -> None:
    m = _spec(
        _GRAPH,
        f"""
  f:
    where: |
      {_ATTENTION[spelling]}
      out[i] = sum(exp(s[e] - top[dst[e]])*h[src[e]], e, dst[e] == i)
    expr: sum(out**2)
    wrt: s
    emit: [value, gradient, hvp]
  g:
    where: |
      {_ATTENTION[spelling]}
    expr: sum(h) + top
""",
    )
    rng = np.random.default_rng(3)
    s, h, ds = rng.normal(size=(3, 5))
    dst, src = np.array([0, 0, 2, 2, 2]), np.array([1, 2, 3, 4, 0])
    s[4] = -INF

    def plain(s: Any) -> Any:
        groups = [src[dst == i] for i in (0, 2)], [s[dst == i] for i in (0, 2)]
        shares = [np.exp(z) / np.exp(z).sum() for z in groups[1]]
        return sum((p @ h[i]) ** 2 for i, p in zip(groups[0], shares, strict=True))

    low = np.where(np.isfinite(s), s, -1e3)
    assert m.f(s, h, dst, src) == pytest.approx(plain(low), rel=1e-12)
    gradient = _slope(plain, low)
    np.testing.assert_allclose(m.f_grad(s, h, dst, src), gradient, atol=1e-12)
    ends = [_slope(plain, low + k * ds) for k in (1e-6, -1e-6)]
    change = (ends[0] - ends[1]) / 2e-6
    np.testing.assert_allclose(m.f_hvp(s, h, dst, src, ds), change, atol=1e-8)
    tops = m.g(s, h, dst)
    np.testing.assert_array_equal(np.isneginf(tops), [False, True, False, True, True])


@pytest.mark.parametrize(
    "inclusive",
    [
        "logsumexp(u[a]/lam[k], a, nest[a] == k)",
        pytest.param(
            "log(sum(exp(u[a]/lam[nest[a]]), a, nest[a] == k))",
            marks=pytest.mark.thorough,
        ),
    ],
)
def test_a_nest_without_alternatives_is_never_chosen(inclusive: str) -> None:
    m = _spec(
        "u: [A], lam: {shape: [M], positive: true}, nest: {shape: [A], index: M},"
        " y: {shape: [Q], index: A}",
        f"""
  f:
    where: |
      iv[k] = {inclusive}
      top = logsumexp(lam[k]*iv[k], k)
    expr: sum(u[y[j]]/lam[nest[y[j]]] + (lam[nest[y[j]]] - 1)*iv[nest[y[j]]] - top, j)
    wrt: [u, lam]
    emit: [value, gradient, hessian]
""",
    )
    rng = np.random.default_rng(4)
    u, y = rng.normal(size=4), np.array([0, 3, 2])
    lam, nest = np.array([0.5, 0.7, 0.9]), np.array([0, 0, 2, 2])
    # The same without the empty nest.
    kept, own = lam[[0, 2]], nest // 2
    assert m.f(u, lam, nest, y) == pytest.approx(m.f(u, kept, own, y), rel=1e-12)
    found, expected = m.f_grad(u, lam, nest, y), m.f_grad(u, kept, own, y)
    np.testing.assert_allclose(found.u, expected.u, atol=1e-12)
    np.testing.assert_allclose(found.lam, [expected.lam[0], 0, expected.lam[1]])
    hessians = [m.f_hess(*args, y).dense() for args in ((u, lam, nest), (u, kept, own))]
    there = [0, 1, 2, 3, 4, 6]
    np.testing.assert_allclose(hessians[0][np.ix_(there, there)], hessians[1])
    assert not hessians[0][5].any()


def test_the_largest_of_no_entries_is_never_read() -> None:
    m = _spec(
        "x: [m], g: {shape: [m], index: q}",
        """
  f:
    where: |
      b[k] = max(x[i], i, g[i] == k)
    expr: sum((x[i] - b[g[i]])**2, i) + sum(exp(b))
    wrt: x
    emit: [value, gradient]
""",
    )
    x, g = np.array([1.0, 3.0, 2.0]), np.array([0, 0, 2])
    e = np.exp([3.0, 2.0])
    assert m.f(x, g, q=4) == pytest.approx(4 + e.sum())
    np.testing.assert_allclose(m.f_grad(x, g, q=4), [-4, 4 + e[0], e[1]])


# Constants


@pytest.mark.parametrize(
    "text, expected",
    [
        ("concatenate([[-inf, -inf], [3, 4]])", [-INF, -INF, 3, 4]),
        ("concatenate([[-inf], x, [inf]])", [-INF, 1, 2, INF]),
        ("concatenate([[-inf, -inf], x]) + concatenate([x, x])", [-INF, -INF, 2, 4]),
        ("stack([-inf, x[0], inf, x[1]])", [-INF, 1, INF, 2]),
        ("[-inf, x[0], -inf, 2*x[1]]", [-INF, 1, -INF, 4]),
        ("2*concatenate([[-inf], x, [-inf]])", [-INF, 2, 4, -INF]),
        ("concatenate([full((2,), -inf), x])", [-INF, -INF, 1, 2]),
    ],
)
def test_infinite_entries_stand_among_others(text: str, expected: list[float]) -> None:
    m = _spec("x: [2]", f"  f: '{text}'\n")
    found = m.f(np.array([1.0, 2.0])) if "x" in text else m.f()
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    "text, plain",
    [
        ("ndtr(inf - t) - ndtr(1 - t)", "1 - ndtr(1 - t)"),
        ("ndtr(2 - t) - ndtr(-inf - t)", "ndtr(2 - t)"),
        ("sigmoid((inf - t)/exp(t)) - sigmoid(1 - t)", "1 - sigmoid(1 - t)"),
        ("tanh(2*inf - t) + exp(-inf)", "1 + 0*t"),
        ("t + 1/inf", "t"),
        ("t*exp(-inf**2) + maximum(t, -inf)", "t"),
        ("logaddexp(t, -inf)", "t"),
    ],
)
def test_infinite_constants_fold(text: str, plain: str) -> None:
    inputs = "t: [n]"
    functions = "  f: {{expr: '{}', wrt: t, emit: [value, jacobian]}}\n"
    found, expected = (
        tensorgen.generate(
            f"tensorgen: 1\nmodule: m\ninputs: {{{inputs}}}\nfunctions:\n"
            + functions.format(one)
        )
        for one in (text, plain)
    )
    assert "inf" not in found.split("def f(")[1].split("class ")[0].split('"""')[2]
    assert _code(found) == _code(expected)


def _code(text: str) -> list[str]:
    """The statements of a module's first function."""
    body = text.split("def f(")[1].split('"""')[2]
    return [line for line in body.splitlines() if line.strip()]


# Whole models


def _paths(z: Any, labels: Any, skips: Any) -> Any:
    """The negative log-likelihood of labels by states that are reached in turn."""
    p = np.exp(z) / np.exp(z).sum(axis=1)[:, None]
    total: Any = 0
    count = len(labels)
    for path in product(range(count), repeat=len(z)):
        steps = list(pairwise(path))
        allowed = all(
            b - a in (0, 1) or (b - a == 2 and skips[b] == 0) for a, b in steps
        )
        if path[0] < 2 and path[-1] >= count - 2 and allowed:
            total = total + np.prod(p[range(len(z)), labels[list(path)]])
    return -np.log(total)


_STEPS = {
    "logsumexp": "logsumexp(stack([a[t], one, two + skip]), axis=0)",
    "logaddexp": "logaddexp(a[t], logaddexp(one, two + skip))",
}


@pytest.mark.parametrize("step", _STEPS)
def test_states_that_nothing_reaches_count_for_nothing(step: str) -> None:
    one, two = (
        "concatenate([[-inf], a[t, :-1]])",
        "concatenate([[-inf, -inf], a[t, :-2]])",
    )
    text = _STEPS[step].replace("one", one).replace("two", two)
    m = _spec(
        "z: [T, C], lab: {shape: [S], index: C}, skip: [S]",
        f"""
  f:
    where: |
      lp = log_softmax(z, axis=1)
      q[t, s] = lp[t, lab[s]]
      a[0] = where(arange(S) < 2, q[0], -inf)
      a[t + 1] = q[t + 1] + {text}
    expr: -logaddexp(a[T - 1, S - 1], a[T - 1, S - 2])
    wrt: z
    emit: [value, gradient, hvp]
""",
    )
    rng = np.random.default_rng(0)
    z, dz = rng.normal(size=(2, 5, 3))
    labels, skip = np.array([0, 1, 0, 2, 0]), np.array([-INF, -INF, -INF, 0, -INF])
    args = z, labels, skip
    np.testing.assert_allclose(m.f(*args), _paths(*args), rtol=1e-12)
    gradient = _slope(lambda z: _paths(z, labels, skip), z)
    np.testing.assert_allclose(m.f_grad(*args), gradient, rtol=1e-9, atol=1e-12)
    ends = [m.f_grad(z + h * dz, labels, skip) for h in (1e-5, -1e-5)]
    change = (ends[0] - ends[1]) / 2e-5
    np.testing.assert_allclose(m.f_hvp(*args, dz), change, rtol=1e-5, atol=1e-8)


def test_transitions_that_are_forbidden_have_no_slope() -> None:
    m = _spec(
        "W: [K, K], p: [K], B: [T, K]",
        """
  f:
    where: |
      a[0, k] = p[k] + B[0, k]
      a[t + 1, k] = logsumexp(a[t, i] + W[i, k], i) + B[t + 1, k]
    expr: -logsumexp(a[T - 1, k], k)
    wrt: W
    emit: [value, gradient, hvp]
""",
    )
    rng = np.random.default_rng(1)
    W, B, p = (
        rng.normal(size=(3, 3)),
        rng.normal(size=(6, 3)),
        np.array([0, -INF, -INF]),
    )
    W[0, 1] = W[0, 2] = W[1, 2] = W[2, 2] = B[3, 1] = -INF

    def plain(W: Any) -> Any:
        a = np.exp(p + B[0])
        for row in B[1:]:
            a = (a @ np.exp(W)) * np.exp(row)
        return -np.log(a.sum())

    assert m.f(W, p, B) == pytest.approx(plain(W), rel=1e-12)
    low = np.where(np.isfinite(W), W, -1e3)
    gradient = _slope(plain, low)
    np.testing.assert_allclose(m.f_grad(W, p, B), gradient, rtol=1e-9, atol=1e-12)
    assert np.isfinite(m.f_hvp(W, p, B, np.ones((3, 3)))).all()


@pytest.mark.parametrize("cdf", ["ndtr", "sigmoid", "tanh", "erf"])
def test_open_ends_in_data_add_nothing(cdf: str) -> None:
    m = _spec(
        "b: [k], s: scalar, X: [m, k], lo: [m], hi: [m]",
        f"""
  f:
    where: |
      p = {cdf}((hi - X @ b)/s) - {cdf}((lo - X @ b)/s)
    expr: -sum(log(p))
    wrt: [b, s]
    emit: [value, gradient, hessian]
""",
    )
    rng = np.random.default_rng(5)
    X, b, s = rng.normal(size=(5, 2)), np.array([0.2, -0.3]), 1.1
    lo = np.array([-INF, 0.1, -0.5, 0.2, -1])
    hi = np.array([0.3, 0.9, INF, 1.5, INF])
    # So far out that nothing is there.
    far = np.nan_to_num(lo, neginf=-60), np.nan_to_num(hi, posinf=60)

    def found(*ends: Any) -> list[Any]:
        value, gradient, hessian = m.f_value_grad_hess(b, s, X, *ends)
        return [value, gradient.b, gradient.s, hessian.dense()]

    for open_, closed in zip(found(lo, hi), found(*far), strict=True):
        np.testing.assert_allclose(open_, closed, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    "cdf", [pytest.param("ndtr", marks=pytest.mark.thorough), "sigmoid"]
)
def test_open_ends_of_cut_points_add_nothing(cdf: str) -> None:
    m = _spec(
        "b: [k], cuts: [q], X: [m, k], y: {shape: [m], index: q + 1}",
        f"""
  f:
    where: |
      c = concatenate([[-inf], cuts, [inf]])
      eta = X @ b
      p[i] = {cdf}(c[y[i] + 1] - eta[i]) - {cdf}(c[y[i]] - eta[i])
    expr: -sum(log(p))
    wrt: [b, cuts]
    emit: [value, gradient, hessian]
""",
    )
    rng = np.random.default_rng(2)
    X, b, cuts = rng.normal(size=(6, 2)), np.array([0.3, -0.5]), np.array([-0.7, 0.4])
    y = np.array([0, 1, 2, 2, 1, 0])

    def plain(v: Any) -> Any:
        # Ends so far out that nothing is there.
        c = np.concatenate([[-30.0], v[2:], [30.0]])
        at = [c[y + k] - X @ v[:2] for k in (1, 0)]
        return m_plain.f(at[0], at[1])

    m_plain = _spec("u: [m], l: [m]", f"  f: -sum(log({cdf}(u) - {cdf}(l)))\n")
    v = np.concatenate([b, cuts])
    assert m.f(b, cuts, X, y) == pytest.approx(plain(v), rel=1e-9)
    gradient = np.concatenate(m.f_grad(b, cuts, X, y))
    steps = 1e-6 * np.eye(4)
    expected = [(plain(v + h) - plain(v - h)) / 2e-6 for h in steps]
    np.testing.assert_allclose(gradient, expected, rtol=1e-6, atol=1e-8)

    def slope(v: Any) -> Any:
        return np.concatenate(m.f_grad(v[:2], v[2:], X, y))

    expected = [(slope(v + h) - slope(v - h)) / 2e-6 for h in steps]
    hessian = m.f_hess(b, cuts, X, y).dense()
    np.testing.assert_allclose(hessian, expected, rtol=1e-6, atol=1e-8)
