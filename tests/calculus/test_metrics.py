"""Gradients and adjoints in the inner product of a metric, against solving by hand."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensorgen
from tests import made
from tests.device.library import execute, stand_in
from tests.lang.speak import faults_of

pytestmark = pytest.mark.thorough

Array = Any

SPEC = """
tensorgen: 1
inputs:
  x: [n]
  X: [n, k]
  y: [m]
  A: [m, n]
  h: {shape: [n], positive: true}
  M: {shape: [n, n], spd: true}
  B: {shape: [k, k], spd: true}
  F: [n, 2]
  l: {shape: scalar, default: 0.5}
functions:
  f:
    where: |
      D = eye(n)[1:] - eye(n)[:-1]
      chain = l*eye(n) + D.T @ D/l
      r[i] = sum(A[i, j] * VAR, j) - y[i]
    expr: EXPR
    wrt: WRT
    emit: [EMIT]
"""
SCALAR = ("sum(exp(r))", "value, gradient, hessian, hvp, vjp, jvp")
VECTOR = ("exp(r)", "value, jacobian, vjp, jvp")
RANDOM = np.random.default_rng(4)
n, k, m = 5, 3, 4
ROOT, SIDE = RANDOM.normal(size=(n, n)), RANDOM.normal(size=(k, k))
POINT: dict[str, Array] = {
    "x": RANDOM.normal(size=n),
    "X": RANDOM.normal(size=(n, k)) / 3,
    "y": RANDOM.normal(size=m),
    "A": RANDOM.normal(size=(m, n)),
    "h": 1 + RANDOM.random(n),
    "M": ROOT @ ROOT.T + np.eye(n),
    "B": SIDE @ SIDE.T + np.eye(k),
    "F": RANDOM.normal(size=(n, 2)),
}
D = np.diff(np.eye(n), axis=0)
METRICS: dict[str, Array] = {
    "M": POINT["M"],
    "diag(h)": np.diag(POINT["h"]),
    "spd(chain)": 0.5 * np.eye(n) + 2 * D.T @ D,
    "M + l*diag(h)": POINT["M"] + 0.5 * np.diag(POINT["h"]),
    "diag(h) + F @ F.T": np.diag(POINT["h"]) + POINT["F"] @ POINT["F"].T,
    "diag(exp(x))": np.diag(np.exp(POINT["x"])),
}
MATRICES: dict[str, Array] = {
    "M": np.kron(POINT["M"], np.eye(k)),
    "kron(M, B)": np.kron(POINT["M"], POINT["B"]),
    "spd(kron(M, B) + eye(n*k))": np.kron(POINT["M"], POINT["B"]) + np.eye(n * k),
}


def spec(wrt: str, var: str = "x[j]", of: tuple[str, str] = SCALAR) -> str:
    text = SPEC.replace("WRT", wrt).replace("VAR", var)
    return text.replace("EXPR", of[0]).replace("EMIT", of[1])


def caller(wrt: str, var: str, of: tuple[str, str]) -> Callable[..., Any]:
    module = made.load(spec(wrt, var, of))

    def call(name: str, *more: Array) -> Any:
        function = getattr(module, name)
        names = function.__code__.co_varnames[: function.__code__.co_argcount]
        given = [POINT[name] for name in names if name in POINT]
        return function(*given, *more)

    return call


CASES = [("x", "x[j]", *case) for case in METRICS.items()]
CASES += [("X", "X[j, 0] * X[j, 1] + X[j, 2]", *case) for case in MATRICES.items()]


@pytest.mark.parametrize(
    ("name", "var", "metric", "W"), CASES, ids=lambda x: str(x)[:9]
)
def test_vectors_solve_with_the_metric_and_forms_stay(
    name: str, var: str, metric: str, W: Array
) -> None:
    plain = caller(name, var, SCALAR)
    own = caller(f'{{{name}: {{metric: "{metric}"}}}}', var, SCALAR)
    point = POINT[name]
    d = RANDOM.normal(size=point.shape)

    def solved(b: Array) -> Array:
        return np.linalg.solve(W, b.ravel()).reshape(b.shape)

    np.testing.assert_allclose(own("f_grad"), solved(plain("f_grad")), 1e-9, 1e-12)
    np.testing.assert_allclose(own("f_hvp", d), solved(plain("f_hvp", d)), 1e-9, 1e-12)
    adjoint = solved(plain("f_vjp", 2.0)[1])
    np.testing.assert_allclose(own("f_vjp", 2.0)[1], adjoint, 1e-9, 1e-12)
    np.testing.assert_allclose(own("f_jvp", d)[1], plain("f_jvp", d)[1])
    np.testing.assert_allclose(own("f_hess").dense(), plain("f_hess").dense())
    value, gradient = own("f_value_and_grad")
    assert value == pytest.approx(plain("f"))
    # The gradient represents the derivative along all directions.
    assert d.ravel() @ W @ gradient.ravel() == pytest.approx(own("f_jvp", d)[1])


def test_the_cotangents_of_arrays_are_adjoint_to_tangents() -> None:
    own = caller("{x: {metric: M}}", "x[j]", VECTOR)
    plain = caller("x", "x[j]", VECTOR)
    u, c = RANDOM.normal(size=n), RANDOM.normal(size=m)
    assert u @ POINT["M"] @ own("f_vjp", c)[1] == pytest.approx(own("f_jvp", u)[1] @ c)
    np.testing.assert_allclose(own("f_jac").dense(), plain("f_jac").dense())


BOTH = """
tensorgen: 1
inputs:
  x: [n]
  X: [n, k]
  A: [m, n]
  M: {shape: [n, n], spd: true}
  G: {shape: [m, m], spd: true}
  B: {shape: [k, k], spd: true}
  h: {shape: [m], positive: true}
functions:
  f:
    where: |
      kept = A @ x
    expr: sin(kept)
    wrt: {x: {metric: M}}
    metric: spd(G + diag(exp(kept)))
    emit: [value, jvp, vjp, jacobian]
  rows:
    expr: tanh(A @ X)
    wrt: {X: {metric: "kron(M, B)"}}
    metric: diag(h)
    emit: vjp
  every: {expr: "tanh(A @ X)", wrt: X, metric: "kron(G, B)", emit: [vjp]}
  metric: sum(f)
"""


def test_values_have_an_inner_product_of_their_own() -> None:
    module = tensorgen.load(BOTH)
    x, X, A, M, B = (POINT[name] for name in ("x", "X", "A", "M", "B"))
    root, h = RANDOM.normal(size=(m, m)), 1 + RANDOM.random(m)
    G = root @ root.T + np.eye(m)
    u, c = RANDOM.normal(size=n), RANDOM.normal(size=m)
    inner = G + np.diag(np.exp(A @ x))
    value, adjoint = module.f_vjp(x, A, M, G, c)
    np.testing.assert_allclose(value, np.sin(A @ x))
    slope = np.cos(A @ x)[:, None] * A
    np.testing.assert_allclose(adjoint, np.linalg.solve(M, slope.T @ inner @ c))
    # <J u, c> = <u, J* c>, each in the inner product of its space.
    image = module.f_jvp(x, A, M, G, u)[1]
    assert image @ inner @ c == pytest.approx(u @ M @ adjoint)
    np.testing.assert_allclose(module.f_jac(x, A, M, G).dense(), slope)
    assert [*inspect.signature(module.metric).parameters] == ["x", "A"]
    c = RANDOM.normal(size=(m, k))
    bent = 1 - np.tanh(A @ X) ** 2
    plain = A.T @ (bent * (h[:, None] * c))
    expected = np.linalg.solve(np.kron(M, B), plain.ravel()).reshape(n, k)
    np.testing.assert_allclose(module.rows_vjp(X, A, M, B, h, c)[1], expected)
    expected = A.T @ (bent * (G @ c @ B))
    np.testing.assert_allclose(module.every_vjp(X, A, G, B, c)[1], expected)
    told = " ".join(str(module.__doc__).split())
    assert "that of rows is a vector in the inner product of diag(h)" in told


def test_a_gradient_is_the_same_vector_in_any_basis() -> None:
    module = tensorgen.load("""
tensorgen: 1
inputs:
  x: [n]
  z: [n]
  B: [n, n]
  M: {shape: [n, n], spd: true}
functions:
  f: {expr: "sum(exp(x) * x)", wrt: {x: {metric: M}}, emit: [gradient]}
  plain:
    where: |
      y = B @ z
    expr: sum(exp(y) * y)
    wrt: z
    emit: [gradient, hessian]
  moved:
    where: |
      y = B @ z
    expr: sum(exp(y) * y)
    wrt: {z: {metric: B.T @ M @ B}}
    emit: [gradient]
""")
    basis, z = ROOT, np.linalg.solve(ROOT, POINT["x"])
    x, M = basis @ z, POINT["M"]
    form = np.exp(x) * (1 + x)
    np.testing.assert_allclose(module.plain_grad(z, basis), basis.T @ form)
    curvature = basis.T @ np.diag(np.exp(x) * (2 + x)) @ basis
    np.testing.assert_allclose(module.plain_hess(z, basis).dense(), curvature)
    gradient = module.f_grad(x, M)
    np.testing.assert_allclose(gradient, np.linalg.solve(M, form))
    moved = basis @ module.moved_grad(z, basis, M)
    np.testing.assert_allclose(moved, gradient, 1e-8)


def test_of_several_inputs_each_has_its_own() -> None:
    var = "x[j] * X[j, 0]"
    own = caller(
        "[{x: {metric: M}}, X, {h: {metric: diag(h)}}]", f"{var} * h[j]", SCALAR
    )
    plain = caller("[x, X, h]", f"{var} * h[j]", SCALAR)
    found, free = own("f_grad"), plain("f_grad")
    np.testing.assert_allclose(found.x, np.linalg.solve(POINT["M"], free.x))
    np.testing.assert_allclose(found.X, free.X)
    np.testing.assert_allclose(found.h, free.h / POINT["h"])


def test_other_functions_need_nothing_of_a_metric() -> None:
    text = spec("{x: {metric: M}}") + "  g: 2 * f\n"
    assert [*inspect.signature(tensorgen.load(text).g).parameters] == [*"xyAl"]


def test_what_solves_is_what_solves_in_expressions() -> None:
    """A band for a chain, division by a diagonal, a factor for what is promised."""
    texts = {
        metric: tensorgen.generate(
            spec(f'{{x: {{metric: "{metric}"}}}}', of=("sum(exp(r))", "gradient"))
        ).partition("class _Banded")[0]
        for metric in ("spd(chain)", "diag(h)", "M", "diag(h) + F @ F.T")
    }
    assert "_Banded(n, {-1: " in texts["spd(chain)"]
    assert " / h\n" in texts["diag(h)"] and "solve" not in texts["diag(h)"]
    assert "_cholesky_solve(cholesky_M, " in texts["M"]
    assert "(2)" in texts["diag(h) + F @ F.T"]


def test_docstrings_tell_the_inner_product() -> None:
    module = tensorgen.load(spec("{x: {metric: M}}"))
    assert "vectors in the inner product of M" in " ".join(str(module.__doc__).split())


def test_gradients_on_the_device_are_the_same() -> None:
    with stand_in() as cupy:
        module = execute(tensorgen.generate(spec("{x: {metric: M}}"), backend="cupy"))
        given = [cupy.asarray(POINT[name]) for name in ("x", "y", "A", "M")]
        found = module.f_grad(*given).get()
    plain = caller("x", "x[j]", SCALAR)("f_grad")
    np.testing.assert_allclose(found, np.linalg.solve(POINT["M"], plain), 1e-9)


FAULTS = {
    "{x: {metric: A}}": ("the metric of 'x' has shape (m, n)", "(n, n)"),
    "{x: {metric: B}}": ("the metric of 'x' has shape (k, k)", "(n, n)"),
    "{X: {metric: B}}": (
        "the metric of 'X' has shape (k, k)",
        "(n, n) for its first axis, (n * k, n * k) for all of its entries",
    ),
    "{x: {metric: 'F @ F.T + outer(h, x)'}}": (
        "the metric of 'x' is not known to be symmetric",
        "promise it, 'metric: spd(F @ F.T + outer(h, x))'",
    ),
    "{x: {metric: Q}}": ("unknown name 'Q'", ""),
    "{x: {metrics: M}}": ("'metrics' is not a key of 'x' in 'wrt'", "metric"),
    "{M: {metric: M, symmetric: true}}": (
        "'symmetric' is stated by itself, not together with a metric",
        "{M: symmetric}",
    ),
    "{l: {metric: l}}": (
        "'l' is a scalar, whose inner product is a number",
        "multiply",
    ),
    "{x: {metric: [1, 2]}}": ("the metric of 'x' has shape (2,)", "(n, n)"),
}


@pytest.mark.parametrize("wrt", FAULTS)
def test_what_is_no_metric_is_refused(wrt: str) -> None:
    (fault,) = faults_of(spec(f"{wrt}"))
    message, hint = FAULTS[wrt]
    assert fault.message == message
    assert hint in (fault.hint or "")


@pytest.mark.parametrize(
    ("key", "of", "message", "hint"),
    [
        ("h", ("r", "vjp"), "the metric of 'f' has shape (n,)", "(m, m)"),
        ("B", ("r", "vjp"), "the metric of 'f' has shape (k, k)", "(m, m)"),
        ("A @ A.T + A @ M @ A.T + y @ y", ("r", "jvp"), "for the adjoint", "[vjp]"),
        ("A @ M @ M @ A.T", ("r", "vjp"), "not known to be symmetric", "spd(A @ M"),
        ("M", ("sum(r)", "vjp"), "'f' is a scalar, whose inner product", "multiply"),
        ("M", ("{a: r, b: x}", "vjp"), "of the values of one result", "its own"),
        ("Q", ("r", "vjp"), "unknown name 'Q'", ""),
        ("M", ("r +", "vjp"), "", ""),
    ],
)
def test_what_is_no_metric_of_values_is_refused(
    key: str, of: tuple[str, str], message: str, hint: str
) -> None:
    text = spec("x", of=of) + f"    metric: {key}\n"
    fault = faults_of(text)[0]
    assert message in fault.message
    assert hint in (fault.hint or "")


def test_a_problem_has_no_metric() -> None:
    (fault,) = faults_of(spec("{x: {metric: M}}", of=("sum(r)", "problem")))
    assert fault.message == "a problem has no metric, as that of 'x'"
    text = spec("{S: {metric: M}}").replace(
        "  F:", "  S: {shape: [m, n], sparse: true}\n  F:"
    )
    (fault,) = faults_of(text)
    assert "'S' is sparse" in fault.message
