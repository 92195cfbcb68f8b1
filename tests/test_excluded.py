"""What a condition or a range excludes never reaches values or derivatives.

Each program reads data under a mask. With NaN, infinities or huge numbers in the
places that are not read, all that is emitted must be what it is with harmless ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import tensorgen
from tests.sampled import sampled

N, D, K = 5, 3, 2
SHAPES = {
    **dict.fromkeys(["b", "m", "s"], "scalar"),
    **dict.fromkeys(["c", "M", "q", "t", "x", "y"], "[n]"),
    **dict.fromkeys(["MM", "W", "Y"], "[n, n]"),
    **dict.fromkeys(["P", "X"], "[n, d]"),
    **dict.fromkeys(["U", "V"], "[n, k]"),
    "A": "[n, k, k]",
    "w": "[d]",
}
ONES = np.ones((N, N))
ROWS = np.array([1, 1, 0, 1, 0])
ENTRIES = np.array(
    [
        [1, 0, 1, 1, 0],
        [1, 1, 1, 0, 1],
        [0, 1, 1, 0, 1],
        [1, 1, 0, 1, 1],
        [1, 0, 1, 1, 1],
    ]
)
BELOW, ABOVE, APART = np.tril(ONES, -1), np.triu(ONES, 1), 1 - np.eye(N)
WRONG = (np.nan, np.inf, -1e300)

# Expression, variables, what is read of the data.
PROGRAMS = {
    # Missing data and weights.
    "sum(where(M > 0, (y - X@w)**2, 0))": ("w", {"y": ROWS, "X": ROWS}),
    "sum(where(M > 0, ((y - X@w)/q)**2, 0))": ("w", {"y": ROWS, "q": ROWS}),
    "sum(where(MM > 0, W*(Y - U@V.T)**2, 0))": ("[U, V]", {"Y": ENTRIES, "W": ENTRIES}),
    "sum(where(MM > 0, log(1 + exp(-Y*(U@V.T))), 0))": ("U", {"Y": ENTRIES}),
    "sum(where(MM > 0, exp(U@V.T) - Y*(U@V.T), 0))": ("U", {"Y": ENTRIES}),
    "sum(where(M > 0, xlogy(y, s*q) - s*q - lgamma(y + 1), 0))": (
        "s",
        {"y": ROWS, "q": ROWS},
    ),
    "sum(where(M > 0, y**(-s), 0))": ("s", {"y": ROWS}),
    "sum(where(M > 0, where(y > 1, log(y)*s, s**2*y), 0))": ("s", {"y": ROWS}),
    "sum(where((M > 0) & (y > 1), log(y)*s, 0))": ("s", {"y": ROWS}),
    "sum(where(M > 0, atan2(s*y, q) + hypot(s*y, q), 0))": ("s", {"y": ROWS}),
    "sum(where(M > 0, abs(s*y) + maximum(s*y, q), 0))": ("s", {"y": ROWS}),
    "sum(where((M[1:] > 0) & (M[:-1] > 0), (y[1:] - s*y[:-1])**2, 0))": (
        "s",
        {"y": ROWS},
    ),
    "sum(where(M > 0, cumsum(x)*y, 0))": ("x", {"y": ROWS}),
    "sum(exp(where(M > 0, s*y, 0)))": ("s", {"y": ROWS}),
    "sum(where(M > 0, log(where(c > 0, s*y, 1)), 0))": ("s", {"y": ROWS}),
    "sum(where(M[1:, None] > 0, exp(s*triu(W)[1:, :]), 0))": (
        "s",
        {"W": np.triu(ONES) * ROWS[:, None]},
    ),
    # Data of a row, where all entries of the row are hidden.
    "sum(where(MM*M[:, None] > 0, (s*y[:, None] - Y)**2, 0))": ("s", {"y": ROWS}),
    "sum(where(MM*M[:, None] > 0, (s*log(y)[:, None] - Y)**2, 0))": ("s", {"y": ROWS}),
    "sum(where(MM*M[:, None] > 0, s*y[:, None], 0))": ("s", {"y": ROWS}),
    "sum(where(MM*M[:, None] > 0, (W - y[:, None])**2, 0))": ("W", {"y": ROWS}),
    "sum(where(MM*M[:, None] > 0, (W*y[:, None] - Y)**2, 0))": ("W", {"y": ROWS}),
    "sum(where(MM*M[:, None] > 0, x*log(y)[:, None], 0))": ("x", {"y": ROWS}),
    "sum(where(MM*M[:, None] > 0, y[:, None]**(-x), 0))": ("x", {"y": ROWS}),
    "sum(where(MM*M[:, None] > 0, atan2(x, y[:, None]), 0))": ("x", {"y": ROWS}),
    "sum(where(MM*M[:, None] > 0, exp(x - y[:, None])*q, 0))": ("x", {"y": ROWS}),
    "sum(where(MM*M[:, None] > 0, maximum(s*y[:, None], Y), 0))": ("s", {"y": ROWS}),
    "sum(where(MM*M[:, None] > 0, ((X@w)[:, None] - Y)**2, 0))": ("w", {"X": ROWS}),
    "sum(where((MM > 0) & (MM*M[:, None] + 1 > MM), (s*y[:, None] - Y)**2, 0))": (
        "s",
        {"y": ROWS},
    ),
    "sum((s*y[j] - Y[i, j])**2, i, j, MM[i, j]*M[j] > 0)": ("s", {"y": ROWS}),
    # Reductions with conditions.
    "norm(y[i] - X[i, :]@w, i, M[i] > 0)": ("w", {"y": ROWS, "X": ROWS}),
    "var(y[i] - X[i, :]@w, i, M[i] > 0)": ("w", {"y": ROWS, "X": ROWS}),
    "max(y[i] - X[i, :]@w, i, M[i] > 0)": ("w", {"y": ROWS, "X": ROWS}),
    "prod(y[i] - X[i, :]@w, i, M[i] > 0)": ("w", {"y": ROWS, "X": ROWS}),
    "logsumexp(y[i] - X[i, :]@w, i, M[i] > 0)": ("w", {"y": ROWS, "X": ROWS}),
    # Ranges.
    "sum(exp(-b*(t[i] - t[j])), j=range(i), i=range(n))": ("b", {}),
    "sum(W[i, j]*exp(-b*Y[i, j])*x[j], j=range(i), i=range(n))": (
        "[b, x]",
        {"W": BELOW, "Y": BELOW},
    ),
    "sum(W[i, j]*Y[i, j]*x[i]*x[j], i, j, i < j)": ("x", {"W": ABOVE, "Y": ABOVE}),
    "sum(W[i, j]*Y[i, j], i, j, i < j)*s": ("s", {"W": ABOVE, "Y": ABOVE}),
    "sum(triu(W)*Y*outer(x, x))": ("x", {"W": np.triu(ONES)}),
    # Pairs.
    "sum(log(norm(P[i, :] - P[j, :]))*W[i, j], i, j, i != j)": ("P", {"W": APART}),
    "sum(s*norm(X[i, :] - X[j, :])**-2, i, j, (M[i] > 0) & (M[j] > 0) & (i < j))": (
        "s",
        {"X": ROWS},
    ),
    "sum(exp(-s*sum((X[i, k] - X[j, k])**2, k))*y[j], i, j, M[i] > 0, M[j] > 0)": (
        "s",
        {"X": ROWS, "y": ROWS},
    ),
    # Functions of rows and of whole matrices.
    "sum(where(M[i] > 0, logsumexp(X[i, :]*w), 0), i)": ("w", {"X": ROWS}),
    "sum(where(M[i] > 0, logdet(A[i, :, :]*s), 0), i)": ("s", {"A": ROWS}),
    "sum(where(M[i] > 0, V[i, :] @ inv(A[i, :, :]) @ U[i, :], 0), i)": (
        "U",
        {"A": ROWS, "V": ROWS},
    ),
    "sum(where(M[i] > 0, expm(A[i, :, :]*s)[0, 1], 0), i)": ("s", {"A": ROWS}),
    # Attention: what a score of -inf hides, also in rows that are hidden whole.
    "sum(where(M > 0, softmax(where(MM*M[:, None] > 0, s*Y, -inf), axis=1)@c, 0))": (
        "s",
        {"Y": ENTRIES * ROWS[:, None]},
    ),
    "sum(softmax(where(MM > 0, s*Y, -inf), axis=1)@c)": ("s", {"Y": ENTRIES}),
}


def arguments() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(7)
    sizes = {"n": N, "d": D, "k": K}
    found = {"M": ROWS, "MM": ENTRIES, "t": np.array([0, 1, 300, 1000, 1200.0])}
    for name, shape in SHAPES.items():
        axes = [] if shape == "scalar" else shape.strip("[]").split(", ")
        found.setdefault(name, rng.uniform(0.5, 2, [sizes[a] for a in axes]))
    found["A"] = found["A"] + 4 * np.eye(K)
    return found


def spec(expr: str, wrt: str, names: list[str]) -> str:
    inputs = ", ".join(f"{name}: {SHAPES[name]}" for name in names)
    return f"""tensorgen: 1
inputs: {{{inputs}}}
functions:
  f:
    expr: {expr}
    wrt: {wrt}
    emit: [value, gradient, dense_hessian, hvp]
"""


def flat(result: Any) -> np.ndarray:
    if isinstance(result, dict):
        result = tuple(result.values())
    if isinstance(result, tuple):
        return np.concatenate([flat(part) for part in result])
    return np.ravel(result)


def results(
    module: ModuleType, given: list[np.ndarray], directions: list[np.ndarray]
) -> Iterator[tuple[str, np.ndarray]]:
    for name in ("f", "f_grad", "f_value_and_grad", "f_hess_dense", "f_hvp"):
        extra = directions if name == "f_hvp" else []
        yield name, flat(getattr(module, name)(*given, *extra))


@pytest.mark.parametrize("expr", sampled(PROGRAMS, 2))
def test_excluded_data_leave_no_trace(expr: str) -> None:
    wrt, read = PROGRAMS[expr]
    variables = wrt.strip("[]").split(", ")
    mentioned = words(expr)
    names = [*variables, *(n for n in SHAPES if n in mentioned and n not in variables)]
    module = tensorgen.load(spec(expr, wrt, names))
    given = arguments()
    directions = [0.3 + 0 * given[name] for name in variables]
    with np.errstate(all="ignore"):
        expected = dict(results(module, [given[n] for n in names], directions))
        for name, value in expected.items():
            assert np.isfinite(value).all(), name
        for name, mask in read.items():
            axes = (...,) + (None,) * (given[name].ndim - mask.ndim)
            for wrong in WRONG:
                spoilt = np.where(mask[axes] > 0, given[name], wrong)
                changed = [spoilt if n == name else given[n] for n in names]
                for kind, value in results(module, changed, directions):
                    message = f"{kind} with {wrong} in {name}"
                    np.testing.assert_allclose(
                        value, expected[kind], 1e-12, 1e-12, err_msg=message
                    )


def words(expr: str) -> set[str]:
    word = "".join(c if c.isalnum() else " " for c in expr)
    return set(word.split())


def load(expr: str, inputs: str, wrt: str, where: str = "unused = 1") -> ModuleType:
    return tensorgen.load(f"""tensorgen: 1
inputs: {{{inputs}}}
functions:
  f:
    where: |
      {where}
    expr: {expr}
    wrt: {wrt}
    emit: [value, gradient, dense_hessian, hvp]
""")


def test_a_log_normal_likelihood_of_data_with_zeros() -> None:
    module = load(
        "sum(where(y > 0, -log(s) - z**2/2, 0))",
        "s: scalar, y: [n], m: scalar",
        "s",
        "z = (log(y) - m)/s",
    )
    y, s, m = np.array([0, 1, 2, 5.0]), 1.5, 0.3
    distance = ((np.log(y[1:]) - m) ** 2).sum()
    assert module.f_grad(s, y, m) == pytest.approx(distance / s**3 - 3 / s)
    curvature = 3 / s**2 - 3 * distance / s**4
    assert module.f_hess_dense(s, y, m) == pytest.approx(curvature)
    assert module.f_hvp(s, y, m, 2.0) == pytest.approx(2 * curvature)


@pytest.mark.parametrize("expr", ["exp(-s*log(d))", "d**(-s)"])
def test_a_power_law_of_a_distance_of_zero(expr: str) -> None:
    module = load(f"sum(where(d > 0, {expr}, 0))", "s: scalar, d: [n]", "s")
    d, s = np.array([0, 0.5, 2]), 1.5
    logs, powers = np.log(d[1:]), d[1:] ** -s
    assert module.f(s, d) == pytest.approx(powers.sum())
    assert module.f_grad(s, d) == pytest.approx(-(logs * powers).sum())
    assert module.f_hvp(s, d, 1.0) == pytest.approx((logs**2 * powers).sum())


@pytest.mark.parametrize("bounds", ["j=range(i), i=range(n)", "i, j, j < i"])
def test_a_self_exciting_process_over_a_long_time(bounds: str) -> None:
    module = load(f"sum(exp(-b*(t[i] - t[j])), {bounds})", "b: scalar, t: [n]", "b")
    t, b = np.array([0, 1, 300, 1000.0]), 4.0
    assert module.f(b, t) == pytest.approx(np.exp(-b))
    assert module.f_grad(b, t) == pytest.approx(-np.exp(-b))
    assert module.f_hess_dense(b, t) == pytest.approx(np.exp(-b))
    assert module.f_hvp(b, t, 3.0) == pytest.approx(3 * np.exp(-b))


@pytest.mark.parametrize(
    ("expr", "point", "slope"),
    [
        ("where(x > 0, sqrt(x), 0)", 0.0, 0.0),
        ("where(x > 0, x*log(x), 0)", 0.0, 0.0),
        ("where(x > 0, sin(x)/x, 1)", 0.0, 0.0),
        ("where(abs(x) < 1, asin(x), 0)", 1.0, 0.0),
        ("where(abs(x) < 1, asin(x), 0)", 2.0, 0.0),
        ("where(x < 1, log(1 - x), x)", 1.0, 1.0),
        ("where(x < 9, exp(x), x)", 1000.0, 1.0),
        ("where(x > 0, log(where(x > 0, x, 1)), 0)", 0.0, 0.0),
        ("where(x > 0, x**1.5, 0)", -1.0, 0.0),
        ("where(x > 0, expm1(-x)/x, -1)", 0.0, 0.0),
    ],
)
def test_the_other_branch_of_a_piecewise_function(
    expr: str, point: float, slope: float
) -> None:
    module = load(f"sum(a@({expr}))", "x: [n], a: [m, n]", "x")
    x, a = np.array([point, 0.5]), np.array([[2.0, 0.0]])
    assert module.f_grad(x, a)[0] == 2 * slope
    assert np.isfinite(module.f_hess_dense(x, a)[:, 0]).all()
    assert np.isfinite(module.f_hvp(x, a, x)[0])


def test_powers_that_are_left_out_of_a_base_that_is_read() -> None:
    """Coefficients of a polynomial's derivative, at the time 0."""
    expr = "sum(where(i > 3, i*t[e]**(i - 4), 0)*c[e, i]**2, e, i)"
    module = load(expr, "t: [n], c: [n, 8]", "t")
    t, c = np.array([0.0, 1.0]), np.ones((2, 8))
    with np.errstate(all="raise"):
        assert module.f(t, c) == 4 + 4 + 5 + 6 + 7
        assert module.f_grad(t, c).tolist() == [5, 38]
        assert module.f_hess_dense(t, c).tolist() == [[12, 0], [0, 12 + 42]]


def test_a_mask_is_applied_once_and_to_what_needs_it() -> None:
    inputs = "{U: [m, k], V: [n, k], Y: [m, n], M: [m, n], w: [n], W: [n, n]}"
    text = tensorgen.generate(f"""tensorgen: 1
inputs: {inputs}
functions:
  f: {{expr: "sum(where(M > 0, (Y - U@V.T)**2, 0))", wrt: U}}
  g: {{expr: "sum(W[i, j]*(w[i] - w[j])**2, i, j, i < j)", wrt: w}}
  h: {{expr: "sum((W[i, j] - w[i]*w[j])**2, i, j, i < j)", wrt: w, emit: [value]}}
""")
    assert "return -2 * (np.where(M > 0, Y - U @ V.T, 0) @ V)" in text
    assert "(w[:, None] - w) * np.triu(W, 1)" in text
    assert "np.triu(W - np.outer(w, w), 1)" in text


@pytest.mark.parametrize(
    ("expr", "count"),
    [
        ("s*y + s**2*q", 2),  # terms that are 0 make a sum that is
        ("log(cbrt(s*y))", 2),  # only the logarithm asks what its argument is
        ("atanh(sin(s*y)/2)", 2),
    ],
)
def test_what_is_harmless_where_nothing_is_read_is_selected_no_more(
    expr: str, count: int
) -> None:
    text = tensorgen.generate(f"""tensorgen: 1
inputs: {{s: scalar, M: [n], y: [n], q: [n]}}
functions:
  f: {{expr: "sum(where(M > 0, {expr}, 0))", wrt: s, emit: [value]}}
""")
    assert text.partition("def f(")[2].count("np.where(") == count


@pytest.mark.parametrize(
    "expr",
    [
        "b @ b * logdet(s*A)",
        "b @ b * det(s*A)",
        "(b @ inv(s*A) @ b)",
        "(b @ solve(s*A, b))",
    ],
)
def test_excluded_matrices_may_be_singular(expr: str) -> None:
    row = expr.replace("A", "A[i, :, :]")
    module = load(
        f"sum(where(M[i] > 0, {row}, 0), i)",
        "s: scalar, A: [n, k, k], b: [k], M: [n]",
        "s",
    )
    matrices = np.array([[[2, 1], [0, 3]], [[0, 0], [0, 0]], [[1, 0], [0, 1.0]]])
    regular = matrices + [[[0.0]], [[1]], [[0]]] * np.eye(2)
    given = {"s": 1.5, "b": np.array([1.0, 2]), "M": np.array([1, 0, 1])}
    for name in ("f", "f_grad", "f_hess_dense"):
        function = getattr(module, name)
        found, wanted = (function(A=a, **given) for a in (matrices, regular))
        np.testing.assert_allclose(found, wanted, 1e-12)


@pytest.mark.parametrize("row", ["max(-log(Y[i, :]))", "norm(2*log(Y[i, :]))"])
def test_rows_that_are_not_read_have_no_logarithm(row: str) -> None:
    module = tensorgen.load(f"""tensorgen: 1
inputs: {{M: [n], Y: [n, d]}}
functions:
  f: {{expr: "sum(where(M[i] > 0, {row}, 0), i)"}}
""")
    read, spoilt = np.full((2, 3), 2.0), np.array([[2.0] * 3, [-1] * 3])
    with np.errstate(all="raise"):
        assert module.f(np.array([1, 0]), spoilt) == module.f(np.array([1, 0]), read)


@pytest.mark.parametrize("expr", ["z", "z.T", "-z", "z[1:, :]"])
def test_a_value_takes_no_logarithm_of_what_is_not_read(expr: str) -> None:
    module = tensorgen.load(f"""tensorgen: 1
inputs: {{Y: [n, n], X: [n, d]}}
functions:
  f:
    where: |
      z[i, k] = sum(log(Y[i, j])*X[j, k], j=range(i))
    expr: {expr}
""")
    y, x = np.tril(1 + ENTRIES, -1), np.ones((N, D))
    sums = np.tril(np.log(y + 1 - np.tril(ONES, -1)), -1) @ x
    expected = {"z": sums, "z.T": sums.T, "-z": -sums, "z[1:, :]": sums[1:]}
    with np.errstate(all="raise"):
        np.testing.assert_allclose(module.f(y, x), expected[expr], 1e-12)


def test_a_shift_by_the_largest_exponent_guards_nothing_of_its_own() -> None:
    # A number that may be 0 leaves its exponent out of the shift, and that is selected.
    source = tensorgen.generate(
        "tensorgen: 1\n"
        "inputs: {w: [k], A: [n, k], b: [n], c: [n], p: scalar}\n"
        "functions:\n"
        "  f:\n"
        "    where: s = A @ w\n"
        "    expr: sum(where(c > 0, log(p*exp(s) + (1 - p)*exp(b)), 0))\n"
        "    wrt: w\n"
        "    emit: [value]\n"
    )
    _, _, body = source.partition("def f(")[2].split('"""', 2)
    assert body.count("@ w") == 1
