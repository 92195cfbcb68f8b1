"""Unknowns that are functions, in steps and elsewhere; and what is wrong with any."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorgen
from tensorgen.errors import SpecError
from tests.device.library import execute

Array = Any

HEAD = "tensorgen: 1\ninputs: {x: [n], A: [n, n]}\nunknowns:\n  "
FAULTS = {
    "y: {shape: [n]}": "'y' has no equation",
    "y: {shape: [n], equation: y - x, fixed_point: x}": "given by several: equation",
    "y: x": "the unknown 'y' needs a shape and an equation",
    "y: {equation: y - x}": "the unknown 'y' has no shape",
    "y: {shape: [n], equaton: y - x}": "did you mean 'equation'?",
    "y: {shape: [n], equation: sum(y) - sum(x)}": "the equation of 'y' has shape ()",
    "y: {shape: [n], minimises: (y - x)**2}": "'y' minimises what has shape (n,)",
    "y: {shape: [2], equation: y**2 - 2}": "the equation of 'y' depends on no input",
    "y: {of: {a: scalar}, shape: [m], equation: y**2 - a - sum(x)}": (
        "the dim 'm' follows from no argument of 'y'"
    ),
    "x: {shape: [n], equation: x}": "'x' is the name of an input and of an unknown",
    "f_step: {shape: [n], equation: f_step - x}\n  f: {shape: [n], equation: f - x}": (
        "'f_step' is the name of"
    ),
    "y: {shape: [n], equation: z - x}\n  z: {shape: [n], equation: y - z}": (
        "unknowns that need each other are one"
    ),
}


@pytest.mark.parametrize("text", FAULTS, ids=range(len(FAULTS)))
def test_what_is_wrong_is_said(text: str) -> None:
    with pytest.raises(SpecError) as caught:
        tensorgen.generate(f"{HEAD}{text}\nfunctions:\n  fun: sum(x)\n")
    assert FAULTS[text] in str(caught.value.render())


def test_where_unknowns_cannot_stand_is_said() -> None:
    text = HEAD + "y: {shape: [n], equation: A @ y - x}\nfunctions:\n  "
    with pytest.raises(SpecError, match="'y' is an unknown"):
        tensorgen.generate(text + "f: {expr: sum(y), wrt: y}")
    with pytest.raises(SpecError, match="what an equation determines is no function"):
        tensorgen.generate(text + "f: {root: y - x}")


STEPS = """
tensorgen: 1
inputs: {x0: [n], A: [n, n], h: scalar, u: [T, n], mu: {shape: scalar, default: 1}}
definitions:
  rhs(x, v): A @ x - mu*x**3 + v
unknowns:
  later:
    of: {x: [n], v: [n]}
    shape: [n]
    equation: later - x - h*rhs(later, v)
    start: x
  path:
    shape: [T, n]
    equation: >-
      path - concatenate([stack([x0]), path[:-1]])
      - h*(path @ A.T - mu*path**3 + u)
functions:
  cost:
    where: |
      y[0] = x0
      y[t + 1] = later(y[t], u[t])
    expr: sum(y[1:]**2)
    wrt: [x0, u, A]
    emit: [value, gradient, hvp]
  at_once: {expr: "sum(path**2)", wrt: [x0, u, A], emit: [value, gradient, hvp]}
"""


def test_implicit_steps_are_taken_one_by_one_or_at_once() -> None:
    module = execute(tensorgen.generate(STEPS))
    rng = np.random.default_rng(4)
    A, x0, u = rng.normal(size=(3, 3)), rng.normal(size=3), rng.normal(size=(9, 3))
    given: dict[str, Array] = {"x0": x0, "A": A, "h": 0.1, "u": u, "mu": 0.7}
    y = x0
    total = 0.0
    for v in u:
        start = y
        for _ in range(30):
            slope = np.eye(3) - 0.1 * (A - np.diag(2.1 * y**2))
            left = y - start - 0.1 * (A @ y - 0.7 * y**3 + v)
            y = y - np.linalg.solve(slope, left)
        total += float(y @ y)
    assert module.cost(**given) == pytest.approx(total, rel=1e-12)
    assert module.at_once(**given) == pytest.approx(total, rel=1e-12)
    one, other = module.cost_grad(**given), module.at_once_grad(**given)
    moves = {f"d{x}": rng.normal(size=given[x].shape) for x in one._fields}
    ends = [
        module.cost(**given | {x: given[x] + s * moves[f"d{x}"] for x in one._fields})
        for s in (1e-5, -1e-5)
    ]
    slope = sum(np.sum(g * d) for g, d in zip(one, moves.values(), strict=True))
    assert slope == pytest.approx((ends[0] - ends[1]) / 2e-5, rel=1e-7)
    twice = module.cost_hvp(**given, **moves), module.at_once_hvp(**given, **moves)
    for a, b in [*zip(one, other, strict=True), *zip(*twice, strict=True)]:
        np.testing.assert_allclose(a, b, 1e-9, 1e-12)


CALLS = {
    "later(x)": "'later' takes 2 arguments",
    "later(x, A)": "'v' of 'later' has shape (n,)",
    "later(A, x)": "one call has one solution: later(a[t], ...)",
    "later": "'later' is an unknown with parameters",
}


@pytest.mark.parametrize("text", CALLS)
def test_wrong_calls_of_unknowns_are_reported(text: str) -> None:
    spec = (
        f"{HEAD}later: {{of: {{a: [n], v: [n]}}, shape: [n], equation: later - a - v}}"
        f"\nfunctions:\n  fun[i]: sum({text})\n"
    )
    with pytest.raises(SpecError) as caught:
        tensorgen.generate(spec)
    assert CALLS[text] in str(caught.value.render())


def test_wrong_arguments_of_unknowns_are_reported() -> None:
    def said(declared: str) -> str:
        with pytest.raises(SpecError) as caught:
            tensorgen.generate(f"{HEAD}{declared}\nfunctions:\n  fun: sum(x)\n")
        return str(caught.value.render())

    assert "'x' is an input, and an argument of an unknown" in said(
        "y: {of: {x: [n]}, shape: [n], equation: y - x}"
    )
    assert "'of' names the arguments of 'y'" in said(
        "y: {of: [a], shape: [n], equation: y - x}"
    )
    assert "'start' has shape (), and 'y' (n,)" in said(
        "y: {shape: [n], equation: y - x, start: sum(x)}"
    )


def test_systems_of_blocks_are_solved_with_once_and_not_inverted() -> None:
    text = tensorgen.generate(
        "tensorgen: 1\ninputs: {Q: [p, p], q: [p], A: [m, p], b: [m]}\nunknowns:\n"
        "  z:\n    shape: [p + m]\n    equation: >-\n"
        "      concatenate([Q @ z[:p] + q + A.T @ z[p:], A @ z[:p] - b])\n"
        "functions:\n"
        "  f: {expr: 'dot(q, z[:p])', wrt: [q, b], emit: [gradient]}\n"
    )
    _, _, gradient = text.partition("def f_grad")
    own, _, _ = gradient.partition("\ndef ")
    assert own.count("np.linalg.solve(") == 1
    assert "linalg.inv" not in text


def test_second_products_form_no_product_of_matrices() -> None:
    text = tensorgen.generate(
        "tensorgen: 1\ndims: {m: 300, n: 30}\n"
        "inputs: {rho: [n], X: [m, n], y: [m], c: [n]}\nunknowns:\n  w:\n"
        "    shape: [n]\n"
        "    minimises: sum(log(1 + exp(-y * (X @ w)))) + sum(exp(rho) * w**2)\n"
        "functions:\n  f: {expr: 'dot(c, w)', wrt: rho, emit: [hvp]}\n"
    )
    _, _, product = text.partition("def f_hvp")
    own, _, _ = product.partition("\ndef ")
    # The Hessian scales the rows of X; what it is multiplied by scales vectors.
    assert own.count("[:, None] * X") == 1


def test_factors_are_arrays_too_that_are_solved_with() -> None:
    module = execute(
        tensorgen.generate(
            "tensorgen: 1\ninputs: {a: scalar, b: [n], T: [m, n]}\nfunctions:\n"
            "  f:\n    where: |\n      u[i] = a*T[0, i]\n"
            "    expr: >-\n      cholesky(outer(u[-1]*ones(n), b)\n"
            "      @ outer(u[-1]*ones(n), b).T + 3*eye(n)) @ (b[-1]*ones(n))\n"
            "    wrt: a\n    emit: [value, jacobian, jvp, vjp]\n"
        )
    )
    rng = np.random.default_rng(2)
    b, T = rng.normal(size=4), rng.normal(size=(2, 4))

    def value(a: Array) -> Array:
        return module.f(a, b, T)

    slope = (value(0.7 + 1e-6) - value(0.7 - 1e-6)) / 2e-6
    np.testing.assert_allclose(module.f_jac(0.7, b, T).dense(), slope, 1e-7)
    _, tangent = module.f_jvp(0.7, b, T, 1.0)
    np.testing.assert_allclose(tangent, slope, 1e-7)


def test_sparse_matrices_say_how_large_unknowns_and_functions_are() -> None:
    scipy_sparse = pytest.importorskip("scipy.sparse")
    module = execute(
        tensorgen.generate(
            "tensorgen: 1\ninputs: {A: {shape: [m, n], sparse: true}, t: scalar}\n"
            "unknowns:\n"
            "  w: {shape: [n], minimises: 'sum((A @ w - t)**2) + sum(w**2)'}\n"
            "functions:\n  f: {expr: sum(w), wrt: t}\n  g: sum(A @ ones(n)) + t\n"
        )
    )
    A = scipy_sparse.csr_array(np.array([[1.0, 2.0, 0.0], [0.0, 0.0, 3.0]]))
    w = np.linalg.solve(A.T @ A + np.eye(3), A.T @ np.full(2, 0.5))
    np.testing.assert_allclose(module.w_solve(A, 0.5), w, 1e-9)
    assert module.f_grad(A, 0.5) == pytest.approx(w.sum() / 0.5)
    assert module.g(A, 0.5) == pytest.approx(6.5)


def test_what_is_solved_with_a_sparse_matrix_fills_nothing_in() -> None:
    scipy_sparse = pytest.importorskip("scipy.sparse")
    head = "tensorgen: 1\ninputs: {A: {shape: [n, n], sparse: true}, b: [n]}\n"
    text = tensorgen.generate(
        f"{head}unknowns: {{r: {{shape: [n], fixed_point: A @ r/2 + b}}}}\n"
        "functions:\n"
        "  slope: grad(sum(r**2), b)\n"
        "  far: {expr: 'sum(solve(2*eye(n) - A, b)**2)', wrt: b}\n"
    )
    module = execute(text)
    A, b = np.array([[0.0, 1.0], [0.5, 0.0]]), np.array([1.0, -2.0])
    inverse = np.linalg.inv(np.eye(2) - A / 2)
    slope = 2 * inverse.T @ inverse @ b
    sparse = scipy_sparse.csr_array(A)
    np.testing.assert_allclose(module.slope(sparse, b), slope, 1e-9)
    np.testing.assert_allclose(module.far_grad(sparse, b), slope / 4, 1e-9)
    own, _, _ = text.partition("def r_residual(")
    assert own.count("_Sparse(") >= 2 and "linalg" not in own
    with pytest.raises(SpecError, match="'whole' would fill in a sparse matrix"):
        tensorgen.generate(f"{head}functions: {{whole: inv(2*eye(n) - A)}}\n")
