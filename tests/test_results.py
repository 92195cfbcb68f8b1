"""Functions with several results: values, derivatives of each, and what is refused."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import jax
import numpy as np
import pytest

import tensorgen
from tests.lang.speak import faults_of

Array = Any

SPEC = """
tensorgen: 1
dims: {m: 7, n: 3}
inputs: {X: [m, n], y: [m], w: [n], b: scalar}
functions:
  f:
    where: |
      r = X @ w + b - y
    expr: {loss: sum(log(1 + exp(r))), pred: r + y, "size": w @ w * b}
    wrt: %s
    emit:
      - value
      - gradient
      - jacobian
      - dense_jacobian
      - hessian
      - dense_hessian
      - hvp
      - jvp
      - vjp
  twice: 2 * f.loss + sum(f.pred) + grad(f.size, w) @ w
  own: {expr: {pred: X @ w, error: sum((pred - y)**2)}, wrt: w}
"""

RANDOM = np.random.default_rng(3)
POINT: dict[str, Any] = {
    "X": RANDOM.normal(size=(7, 3)),
    "y": RANDOM.normal(size=7),
    "w": RANDOM.normal(size=3),
    "b": np.float64(0.4),
}
DIRECTION: dict[str, Any] = {"dw": RANDOM.normal(size=3), "db": np.float64(-0.7)}


@pytest.fixture(scope="module", autouse=True)
def _float64() -> Any:
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", before)


@pytest.fixture(scope="module", params=["w", "[w, b]"])
def module(request: pytest.FixtureRequest) -> ModuleType:
    return tensorgen.load(SPEC % request.param)


def truth(name: str, w: Array, b: Array) -> Array:
    r = POINT["X"] @ w + b - POINT["y"]
    pick = {
        "loss": lambda: jax.numpy.sum(jax.numpy.logaddexp(0, r)),
        "pred": lambda: r + POINT["y"],
        "size": lambda: w @ w * b,
    }
    return pick[name]()


def names(module: ModuleType) -> list[str]:
    """The inputs to differentiate by."""
    return ["w", "b"] if hasattr(module, "FCotangents") else ["w"]


def by_input(module: ModuleType, found: Any) -> dict[str, Array]:
    return found._asdict() if len(names(module)) > 1 else {"w": found}


def derivative(name: str, by: str, of: Any = truth) -> Array:
    return jax.jacobian(of, argnums=1 + ["w", "b"].index(by))(
        name, POINT["w"], POINT["b"]
    )


def close(found: Array, expected: Array) -> None:
    assert np.shape(found) == np.shape(expected)
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_values_are_fields_of_one_tuple(module: ModuleType) -> None:
    found = module.f(**POINT)
    assert found._fields == ("loss", "pred", "size")
    for name, value in found._asdict().items():
        close(value, truth(name, POINT["w"], POINT["b"]))


def test_gradients_are_of_the_scalars(module: ModuleType) -> None:
    value, both = module.f_value_and_grad(**POINT)
    assert value._fields == ("loss", "pred", "size")
    for found in (both, module.f_grad(**POINT)):
        assert found._fields == ("loss", "size")
        for name, part in found._asdict().items():
            for by, block in by_input(module, part).items():
                close(block, derivative(name, by))


def test_jacobians_are_of_all_results(module: ModuleType) -> None:
    dense = module.f_jac_dense(**POINT)
    for name, part in module.f_jac(**POINT)._asdict().items():
        for by, block in by_input(module, part).items():
            close(block.dense(), derivative(name, by))
            close(by_input(module, getattr(dense, name))[by], derivative(name, by))


def test_hessians_are_of_the_scalars_and_dense_ones_of_all(module: ModuleType) -> None:
    value, gradient, found = module.f_value_grad_hess(**POINT)
    assert value._fields == ("loss", "pred", "size")
    assert gradient._fields == found._fields == ("loss", "size")
    dense, alone = module.f_hess_dense(**POINT), module.f_hess(**POINT)
    for name in dense._fields:
        for a in names(module):
            for b in names(module):
                expected = derivative(
                    name, b, lambda n, w, v, a=a: _jacobian(n, w, v, a)
                )
                whole = getattr(dense, name)
                close(whole[a, b] if len(names(module)) > 1 else whole, expected)
                for held in (found, alone) if name in found._fields else ():
                    own = getattr(held, name)
                    block = own.blocks[a, b] if len(names(module)) > 1 else own
                    close(block.dense(), expected)


def _jacobian(name: str, w: Array, b: Array, by: str) -> Array:
    return jax.jacobian(truth, argnums=1 + ["w", "b"].index(by))(name, w, b)


def test_products_are_those_of_each_result(module: ModuleType) -> None:
    given = {f"d{x}": DIRECTION[f"d{x}"] for x in names(module)}
    value, tangent = module.f_jvp(**POINT, **given)
    assert value._fields == tangent._fields == ("loss", "pred", "size")
    for name, part in tangent._asdict().items():
        close(
            part,
            sum(
                (
                    derivative(name, x) @ given[f"d{x}"]
                    if x == "w"
                    else derivative(name, x) * given["db"]
                )
                for x in names(module)
            ),
        )
    dense = module.f_hess_dense(**POINT)
    if names(module) == ["w"]:
        for name, part in module.f_hvp(**POINT, **given)._asdict().items():
            close(part, getattr(dense, name) @ given["dw"])


def test_the_adjoint_is_of_all_results_together(module: ModuleType) -> None:
    weights: dict[str, Any] = {
        "ct_loss": 1.5,
        "ct_pred": RANDOM.normal(size=7),
        "ct_size": -0.3,
    }
    value, found = module.f_vjp(**POINT, **weights)
    assert value._fields == ("loss", "pred", "size")
    for by, part in by_input(module, found).items():
        expected = sum(
            np.tensordot(
                weights[f"ct_{name}"],
                derivative(name, by),
                np.ndim(weights[f"ct_{name}"]),
            )
            for name in value._fields
        )
        close(part, expected)


def test_other_functions_name_a_result(module: ModuleType) -> None:
    w, b = POINT["w"], POINT["b"]
    expected = (
        2 * truth("loss", w, b) + sum(truth("pred", w, b)) + 2 * truth("size", w, b)
    )
    close(module.twice(**POINT), expected)


def test_a_result_sees_those_above_it(module: ModuleType) -> None:
    given = {name: POINT[name] for name in ("X", "y", "w")}
    pred = given["X"] @ given["w"]
    found = module.own(**given)
    close(found.pred, pred)
    close(found.error, np.sum((pred - given["y"]) ** 2))
    # Without 'emit' scalars have gradients, and all have Jacobians beside another.
    close(module.own_grad(**given).error, 2 * given["X"].T @ (pred - given["y"]))
    close(module.own_jac(**given).pred.dense(), given["X"])


def test_what_results_share_is_computed_once() -> None:
    source = tensorgen.generate(SPEC % "w")
    body = source.partition("def f_value_and_grad(")[2].partition("\ndef ")[0]
    assert body.partition('"""')[2].partition('"""')[2].count("X @ w") == 1


FAULTY = """
tensorgen: 1
inputs: {X: [m, n], w: [n], y: [m], ct_loss: [m]}
functions:
  f:
    expr: {loss: sum(X @ w), pred: X @ w}
    wrt: w
    emit: [value]
"""


@pytest.mark.parametrize(
    ("old", "new", "message", "marked", "hint"),
    [
        ("[value]", "[value]\n  g: f + 1", "'f' has several results", "f", "f.loss or"),
        ("[value]", "[value]\n  g: f.lss", "'f' has no result 'lss'", "f.lss", "loss"),
        ("[value]", "[problem]", "a problem is of one result", "problem", "of its own"),
        (
            "[value]",
            "[vjp]",
            "'vjp' names the cotangent of 'loss' 'ct_loss'",
            "vjp",
            "",
        ),
        (
            "pred: X @ w",
            "loss: X @ w",
            "'loss' is the name of a local definition twice",
            "loss",
            "",
        ),
        ("pred: X @ w", "y: X @ w", "'y' is the name of an input", "y", ""),
        (
            "pred: X @ w",
            '"p[0]": sum(w)',
            "the result 'p' is a whole value",
            "p",
            "'where'",
        ),
        (
            "  f:",
            "  f[i]:",
            "'f' has several results, and no indices",
            "f",
            "'loss[i]'",
        ),
        (
            "{loss: sum(X @ w), pred: X @ w}",
            "{}",
            "'expr' must be an expression",
            "{}",
            "",
        ),
        (
            "sum(X @ w), pred: X @ w}\n    wrt: w\n    emit: [value]",
            "X @ w}\n    wrt: w\n    emit: [hessian]",
            "'hessian' is for scalars, and no result of 'f' is one",
            "hessian",
            "dense_hessian",
        ),
        (
            "[value]",
            "[value]\nproblem: {minimize: f, variables: w}",
            "'f' has several results, and a problem takes one",
            "f",
            "f.loss",
        ),
    ],
)
def test_mistakes_are_marked(
    old: str, new: str, message: str, marked: str, hint: str
) -> None:
    found = faults_of(FAULTY.replace(old, new))
    assert [f.message for f in found if message in f.message], found
    fault = next(f for f in found if message in f.message)
    assert fault.span is not None
    text = fault.span.source.text[fault.span.start : fault.span.end]
    assert text == marked
    assert hint in (fault.hint or "")
