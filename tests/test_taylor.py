"""Taylor coefficients in expressions: against nested derivatives, series of others."""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest
from jax.experimental.jet import jet
from scipy.integrate import solve_ivp

import tensorgen
from tensorgen.errors import SpecError
from tensorgen.ir.nodes import topological
from tests.lang.speak import HEAD, faults, function, numbers, value
from tests.made import load
from tests.sampled import sampled

N = numbers()
SPD = "A @ A.T + diag(v**2) + 9 * eye(n)"

# Each kind of rule: tangents of rows of the table, linear ones, products, powers,
# solutions, functions of matrices, what steps.
EXPRESSIONS = [
    *("exp(v)", "log(3 + v**2)", "sqrt(2 + sin(v))", "tan(v / 3)", "atan(v)", "erf(v)"),
    *("tanh(v) * sigmoid(v)", "asin(v / 9)", "gelu(v)", "log_ndtr(v)", "lgamma(9 + v)"),
    *("v**3", "(1 + v**2)**2.5", "(1 + v**2)**-1.5", "(4 + v)**(v / 4)", "(9 + v)**c"),
    *("abs(v)", "maximum(v, w)", "relu(v) * v", "where(v > 0, v**2, exp(v))"),
    *("hypot(v, w * v)", "atan2(v, 2 + v**2)", "logaddexp(v, w * v)", "floor(v) * v"),
    *("logsumexp(v)", "softmax(v)", "norm(v)", "max(v) * v", "std(v)", "sort(v) * v"),
    *("prod(v)", "prod(X * v, axis=0)", "cumprod(v)", "cumsum(v) * v", "median(v)"),
    *("v[1:] * v[:-1] * v[1:]", "sum(v[i] * v[j] * v[p] * A[i, j] * A[j, p], i, j, p)"),
    *("A[:, 0] * v**3 * w * sin(v) * exp(v)", "reshape(outer(v, v), (2*n, n//2))"),
    *("solve(A + diag(v), w * v)", "solve((A + diag(v)).T, X.T * v[:, None])"),
    *("v @ inv(A + diag(v)) @ v", "inv(A + diag(v))", "trace(inv(A + diag(v)) @ A)"),
    *("logdet(A + diag(v))", "det(A + diag(v))", f"cholesky({SPD})", f"sqrtm({SPD})"),
    *("expm(A * v)", "eigvalsh(A + A.T + diag(v))", "stop_gradient(v) * v"),
]


def nested(text: str, order: int) -> list[Any]:
    """The coefficients along w, from derivatives of derivatives."""
    found = []
    for k in range(order + 1):
        found.append(value(text) / math.factorial(k))
        text = f"jvp({text}, v, w)"
    return found


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_coefficients_are_derivatives_along_the_line(text: str) -> None:
    found = value(f"taylor({text}, v, w, 3)")
    for one, other in zip(found, nested(text, 3), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("text", sampled(EXPRESSIONS, 3))
def test_the_work_grows_as_the_square_of_the_order(text: str) -> None:
    sizes = []
    for order in (4, 8):
        f = function(f"taylor({text}, v, w, {order})")
        sizes.append(len(topological([f.node])))
    # Four times the work at most; derivatives of derivatives would take 16 times.
    assert sizes[1] <= 4 * sizes[0]


SCALARS: list[tuple[str, Any, float]] = [
    ("exp(c) * sin(c)", lambda t: mpmath.exp(t) * mpmath.sin(t), 0.3),
    ("log(c) / (1 + c**2)", lambda t: mpmath.log(t) / (1 + t**2), 0.7),
    ("tanh(c) * atan(c)", lambda t: mpmath.tanh(t) * mpmath.atan(t), 0.4),
    ("1 / (1 + exp(-c))", lambda t: 1 / (1 + mpmath.exp(-t)), 1.5),
    ("erf(c) + ndtr(c)", lambda t: mpmath.erf(t) + mpmath.ncdf(t), 0.6),
    ("digamma(c)", lambda t: mpmath.digamma(t), 2.5),
    ("c**c", lambda t: t**t, 1.3),
    ("sqrt(c) * sin(c)", lambda t: mpmath.sqrt(t) * mpmath.sin(t), 2.0),
]


SCALAR_SPEC = "tensorgen: 1\ninputs: {c: scalar}\nfunctions:\n" + "".join(
    f"  f{k}: taylor({text}, c, 1, 6)\n" for k, (text, _, _) in enumerate(SCALARS)
)


@pytest.mark.parametrize(("text", "truth", "at"), SCALARS)
def test_coefficients_of_order_six_have_their_digits(
    text: str, truth: Any, at: float
) -> None:
    with mpmath.workdps(60):
        expected = [float(x) for x in mpmath.taylor(truth, mpmath.mpf(at), 6)]
    number = [text for text, _, _ in SCALARS].index(text)
    found = getattr(load(SCALAR_SPEC), f"f{number}")(at)
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_a_network_has_the_series_of_jax() -> None:
    def network(v: Any) -> Any:
        hidden = jnp.tanh(jnp.asarray(N["A"]) @ v)
        return jnp.sum(jnp.exp(hidden) * v) / (1 + jnp.sum(v**2))

    with jax.enable_x64(True):
        curve = [jnp.asarray(N["w"]), *[jnp.zeros(4)] * 5]
        first, rest = jet(network, (jnp.asarray(N["v"]),), (curve,))
        expected = [first, *(x / math.factorial(k) for k, x in enumerate(rest, 1))]
        text = "taylor(sum(exp(tanh(A @ v)) * v) / (1 + sum(v**2)), v, w, 6)"
        np.testing.assert_allclose(value(text), np.array(expected), rtol=1e-11)


def test_what_is_zero_has_powers_and_products_all_the_same() -> None:
    found = value("taylor((v - v[0])**4 + (v - v[0])**2.5, v, w, 2)")
    np.testing.assert_array_equal(found[:, 0], np.zeros(3))


def test_zero_factors_do_not_disturb_products_of_entries() -> None:
    found = value("taylor(prod(v - v[0]), v, ones(n), 3)")
    np.testing.assert_array_equal(found, np.zeros(4))
    # s (a + s) (b + s) (c + s), by its roots.
    rest = N["v"][1:] - N["v"][0]
    expected: Any = np.poly([0, *-rest])[::-1]
    found = value("taylor(prod(v - v[0] + t), t, 1, 4)", where="t = 0 * c")
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-14)


def test_a_curve_is_followed_with_all_of_its_coefficients() -> None:
    a, b, d = N["v"], N["w"], N["w"] ** 2
    found = value("taylor(sum(v**3), v, [w, w**2], 4)")
    cubes = [
        np.polynomial.Polynomial([x, y, z]) ** 3
        for x, y, z in zip(a, b, d, strict=True)
    ]
    expected: Any = sum(cubes, np.polynomial.Polynomial([0])).coef[:5]
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    # A series is a curve for another one.
    where = "q = taylor(tanh(v), v, w, 3)\nq0 = q[0]"
    through = value("taylor(exp(q0), q0, q[1:], 3)", where=where)
    np.testing.assert_allclose(through, value("taylor(exp(tanh(v)), v, w, 3)"))


def test_an_entry_of_a_series_costs_what_it_is_made_of() -> None:
    spec = HEAD + "functions:\n  f: taylor(exp(A @ v) * v, v, w, 5)[1]\n"
    source = tensorgen.generate(spec)
    text = source.split("def f(")[1].split("def _")[0]
    assert "np.zeros" not in text
    assert text.count("@") == 2 + 1  # the docstring's formula has one


def test_a_series_follows_an_index_and_names_under_where() -> None:
    found = value("taylor(sum(X[i, :] * v**2), v, w, 2)", "f[i]")
    X, v, w = N["X"], N["v"], N["w"]
    expected = np.stack([X @ v**2, 2 * X @ (v * w), X @ w**2], axis=1)
    np.testing.assert_allclose(found, expected)
    partial = value("taylor(tanh(h) * v, h, w, 1)", where="h = v**2")
    slope = (1 - np.tanh(v**2) ** 2) * w * v
    np.testing.assert_allclose(partial, [np.tanh(v**2) * v, slope])


@pytest.mark.parametrize("name", ["v", "w"])
def test_coefficients_are_differentiated_like_all_else(name: str) -> None:
    found = value(f"grad(taylor(sum(tanh(A @ v)), v, w, 3)[3], {name})")
    nest = "jvp(jvp(jvp(sum(tanh(A @ v)), v, w), v, w), v, w) / 6"
    if name == "v":
        np.testing.assert_allclose(found, value(f"grad({nest}, v)"), rtol=1e-9)
        return
    # It is homogeneous of order three in the direction: Euler's theorem.
    np.testing.assert_allclose(found @ N["w"], 3 * value(nest), rtol=1e-9)


RECURRENT = """
tensorgen: 1
inputs: {x: [n], v: [n], A: [n, n], u: [T, n]}
unknowns:
  y: {shape: [n], equation: y + 0.3 * tanh(A @ y) - x}
  z: {shape: [n], minimises: sum(z**4) + sum((z - x)**2)}
functions:
"""
STEPS = ["s[0] = x", "s[t + 1] = tanh(A @ s[t]) + u[t] * x"]
MADE = [*STEPS, "p[t] = exp(s[t]) * u[t]"]


@pytest.mark.parametrize(
    ("f", "lines"),
    [
        ("sum(s**2)", STEPS),
        ("s[T]", STEPS),
        ("sum(p)", MADE),
        ("y * x", []),
        ("z", []),
    ],
)
def test_recurrences_and_unknowns_have_series(f: str, lines: list[str]) -> None:
    text = RECURRENT
    below = [*lines, f"g = {f}"]
    text += "  series:\n    where: |\n" + "".join(f"      {x}\n" for x in below)
    text += "    expr: taylor(g, x, v, 3)\n"
    for k in range(3):
        below.append(f"{'g' * (k + 2)} = jvp({'g' * (k + 1)}, x, v)")
    text += "  nested:\n    where: |\n" + "".join(f"      {x}\n" for x in below)
    text += "    expr: '[g, gg, ggg / 2, gggg / 6]'\n"
    module = load(text)
    random = np.random.default_rng(3)
    values = {
        "x": random.normal(size=3),
        "v": random.normal(size=3),
        "A": random.normal(size=(3, 3)) / 3,
        "u": random.normal(size=(4, 3)),
    }
    used = ["x", "v", *("A" if f != "z" else ""), *("u" if lines else "")]
    args = [values[name] for name in used]
    found, expected = module.series(*args), module.nested(*args)
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-10)


PENDULUM = """
tensorgen: 1
dims: [T]
inputs: {x0: [2], h: scalar}
definitions: |
  rhs(a) = [a[1], -sin(a[0])]
  second(a) = taylor(rhs(a), a, [rhs(a)], 1)[1] / 2
  third(a) = taylor(rhs(a), a, [rhs(a), second(a)], 2)[2] / 3
  fourth(a) = taylor(rhs(a), a, [rhs(a), second(a), third(a)], 3)[3] / 4
functions:
  end:
    where: |
      x[0] = x0
      x[t=range(1, T)] = flow(x[t - 1])
    expr: x[T - 1]
"""


def test_steps_along_the_series_of_a_solution_are_of_its_order() -> None:
    flow = "  flow(a) = a + h*(rhs(a) + h*(second(a) + h*(third(a) + h*fourth(a))))\n"
    module = load(PENDULUM.replace("functions:", flow + "functions:"))
    start = np.array([1.0, 0.3])

    def rhs(_: float, a: Any) -> list[Any]:
        return [a[1], -np.sin(a[0])]

    truth = solve_ivp(rhs, (0, 1), start, rtol=1e-12, atol=1e-12).y[:, -1]
    errors = [np.abs(module.end(start, 1 / k, T=k + 1) - truth).max() for k in (5, 10)]
    assert 12 < errors[0] / errors[1] < 20
    assert errors[1] < 1e-5


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("taylor(v, v, w)", "this is not how 'taylor' is called"),
        ("taylor(v, v, w, k=3)", "this is not how 'taylor' is called"),
        ("taylor(v, v, w, n)", "the order of a series is an integer from 0 to 100"),
        ("taylor(v, v, w, -1)", "the order of a series is an integer from 0"),
        ("taylor(v, v, w, 101)", "the order of a series is an integer from 0"),
        ("taylor(v, v, w, True)", "the order of a series is an integer from 0"),
        ("taylor(v, v, u, 2)", "u must have shape (n,)"),
        ("taylor(v, v + w, w, 2)", "'v + w' is not an input to differentiate by"),
        ("sum(taylor(v, v, A[i, :], 2), i)", "a series is along one direction"),
    ],
)
def test_what_is_no_series_is_refused(text: str, message: str) -> None:
    assert message in faults(text)[0].message


def test_what_has_no_derivative_has_no_series() -> None:
    spec = HEAD + "functions: {f: 'taylor(sum(gammainc(v, 2)), v, w, 2)'}\n"
    with pytest.raises(SpecError, match=r"'gammainc' has no derivative by .* 'a'"):
        tensorgen.generate(spec)
