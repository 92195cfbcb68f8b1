"""Multiples of derivative objects: of the same class, and right in all they offer."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests import made
from tests.calls import given, objects, regular
from tests.device.library import execute, stand_in
from tests.solving_specs import SPEC, WAYS, hessians, inputs

# What no choice of arrays is linear in, a joint chain, and derivatives of all kinds.
OTHERS = """
tensorgen: 1
inputs:
  x: [n]
  scale: [n]
  U: [m, k]
  P: {shape: [m, m], symmetric: true}
  S: {shape: [n, n], sparse: true}
functions:
  soft: {expr: logsumexp(x), wrt: x, emit: [hessian, 3]}
  twice: {expr: "sum((P @ U) * (P @ U))", wrt: U, emit: [hessian]}
  product: {expr: "trace(U.T @ P @ U @ U.T @ P @ U)", wrt: U, emit: [hessian]}
  outer: {expr: "exp(scale @ x)", wrt: x, emit: [hessian]}
  chain: {expr: "sum(x[1:] * sin(scale[:-1]))", wrt: [x, scale], emit: [hessian, 3]}
  both: {expr: "sum(exp(x)) * sum(scale**2)", wrt: [x, scale], emit: [hessian, 3]}
  mapped: {expr: "x**2 * (scale @ x)", wrt: x, emit: [jacobian, 3]}
  gram: {expr: "sum(exp(S @ x))", wrt: x, emit: [hessian]}
  beside: {expr: "sum(exp(S @ x)) + sum(scale * x**2) + (scale @ x)**4", wrt: x,
    emit: [hessian]}
  nothing: {expr: "sum(x)", wrt: x, emit: [hessian]}
"""
MULTIPLES: dict[str, tuple[float, Callable[[Any], Any]]] = {
    "negative": (-1, lambda h: -h),
    "left": (2.5, lambda h: 2.5 * h),
    "right": (np.float64(-3), lambda h: h * np.float64(-3)),
    "quotient": (0.25, lambda h: h / 4),
    "array": (2, lambda h: np.array(2) * h),
    "again": (-4, lambda h: 2 * (h * -2)),
}


def others(dtype: Any = float) -> dict[str, Any]:
    """The derivative objects of OTHERS."""
    from scipy import sparse

    rng = np.random.default_rng(5)
    P = rng.normal(size=(4, 4))
    S = sparse.random_array((6, 6), density=0.4, rng=rng).astype(dtype)
    arrays = {"x": rng.normal(size=6), "scale": rng.normal(size=6), "P": P + P.T}
    arrays |= {"U": rng.normal(size=(4, 2))}
    point = {name: array.astype(dtype) for name, array in arrays.items()} | {"S": S}
    module = made.load(OTHERS)
    calls = {
        "soft": "x",
        "twice": "UP",
        "product": "UP",
        "outer": ("x", "scale"),
        "chain": ("x", "scale"),
        "both": ("x", "scale"),
        "mapped": ("x", "scale"),
        "gram": ("x", "S"),
        "beside": ("x", "scale", "S"),
        "nothing": "x",
    }
    found = {}
    for name, names in calls.items():
        for kind in ("hess", "jac", "d3"):
            function = getattr(module, f"{name}_{kind}", None)
            if function is not None:
                found[f"{name} {kind}"] = function(*(point[x] for x in names))
    return found


def close(want: Any, got: Any, where: str, eps: float = 1e-12) -> None:
    assert np.asarray(got).dtype == np.asarray(want).dtype, where
    size = np.abs(want).max(initial=0) + 1e-30
    np.testing.assert_allclose(got, want, 0, eps * size, err_msg=where)


def is_multiple(h: Any, multiple: Any, factor: float, where: str) -> None:
    """Require that all that an object gives is that of another one, multiplied."""
    eps = 1e-12 if h.dtype == np.float64 else 1e-4
    assert type(multiple) is type(h), where
    assert multiple.nbytes == h.nbytes and multiple.tensor_shape == h.tensor_shape
    before, after = given(h), given(multiple)
    for name in ("dense", "matvec", "rmatvec", "matrix", "diagonal", "contract"):
        if name in before:
            close(factor * before[name], after[name], f"{where} {name}", eps)
    for name in ("coo", "lower"):
        if name in before:
            *places, values = before[name]
            *others, multiplied = after[name]
            assert all(map(np.array_equal, places, others)), where
            close(factor * values, multiplied, f"{where} {name}", eps)
    if hasattr(h, "solve"):
        is_solved(multiple, factor * np.asarray(before["matrix"], float), where, eps)


def is_solved(multiple: Any, matrix: Any, where: str, eps: float) -> None:
    b = np.cos(np.arange(len(matrix))).astype(multiple.dtype)
    for sign in (1.0, -1.0):  # definite, and negative definite
        shift = sign * regular(multiple)
        whole = matrix + shift * np.eye(len(matrix))
        found = multiple.factorize(shift)
        want = np.linalg.solve(whole, b).astype(b.dtype)
        close(want, found.solve(b), where, eps)
        np.testing.assert_allclose(found.logdet, np.linalg.slogdet(whole)[1], 10 * eps)
        assert found.is_posdef is (sign > 0), where


@pytest.mark.parametrize("name", MULTIPLES)
def test_a_multiple_of_any_structure_is_of_its_class(name: str) -> None:
    factor, multiplied = MULTIPLES[name]
    for case, h in (hessians(made.load(SPEC), inputs()) | others()).items():
        for where, part in objects(h):
            is_multiple(part, multiplied(part), factor, f"{case}{where}")
        if "blocks" in dir(h):
            for pair, block in h.blocks.items():
                expected = factor * block.dense()
                close(expected, multiplied(h).blocks[pair].dense(), f"{case} {pair}")


def test_it_is_solved_in_the_same_way() -> None:
    for name, h in hessians(made.load(SPEC), inputs()).items():
        shift = 3.0 if name == "springs" else 0.0
        way = (-h).factorize(-shift)
        assert type(way).__name__ == WAYS[name]
        b = np.ones(h.shape[0])
        close(-h.solve(b, shift), (-h).solve(b, -shift), name, 1e-9)
        assert not way.is_posdef and (-1 * -h).factorize(shift).is_posdef


def test_single_precision_stays() -> None:
    for case, h in others(np.float32).items():
        for where, part in objects(h):
            is_multiple(part, np.float64(-2) * part, -2, f"{case}{where}")


def test_blocks_in_another_order_have_multiples() -> None:
    h = others()["both d3"]
    block = h.blocks["scale", "x", "x"]
    for found in ((-2 * block), (h * -2).blocks["scale", "x", "x"]):
        close(-2 * block.dense(), found.dense(), "rearranged")


def test_texts_say_that_something_is_a_multiple() -> None:
    found = others() | hessians(made.load(SPEC), inputs())
    for name in ("dense", "soft hess", "soft d3"):
        h = found[name]
        assert (-h).structure == (2 * (-h)).structure == f"{h.structure}, scaled"
    assert (-found["diagonal"]).structure == found["diagonal"].structure


def test_multiples_are_kept_by_pickle_and_are_as_frozen() -> None:
    for name, h in others().items():
        multiple = -3 * h
        back = pickle.loads(pickle.dumps(multiple))
        for (where, one), (_, other) in zip(
            objects(multiple), objects(back), strict=True
        ):
            close(one.dense(), other.dense(), f"{name}{where}")
            assert not any(a.flags.writeable for a in one.factors.values())
        for array in h.factors.values():
            assert not array.flags.writeable


@pytest.mark.parametrize("by", ["2", 2j, None, [2.0], np.ones(6), np.array(2j)])
def test_only_real_numbers_multiply(by: Any) -> None:
    found = others()
    for h in (found["soft hess"], found["soft d3"], found["both hess"]):
        with pytest.raises(TypeError):
            h * by
        with pytest.raises(TypeError):
            by * h
        with pytest.raises(TypeError):
            h / by
        with pytest.raises(TypeError):
            h * h
        with pytest.raises(ZeroDivisionError):
            h / 0


def test_multiples_stay_on_the_device() -> None:
    with stand_in() as cupy:
        module = execute(made.generate(SPEC, backend="cupy"))
        arguments = {x: cupy.asarray(a) for x, a in inputs().items()}
        for name, h in hessians(module, arguments).items():
            b = cupy.asarray(np.cos(np.arange(1.0 * h.shape[0])))
            for multiple in (-2 * h, cupy.asarray(-2.0) * h):
                close(-2 * (h @ b).get(), (multiple @ b).get(), name)
                want = h.solve(b, 5.0).get() / -2
                close(want, multiple.solve(b, -10.0).get(), name, 1e-9)
                assert not multiple.factorize(-10.0).is_posdef
