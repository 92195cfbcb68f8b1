"""All derivatives of one order by several inputs, against JAX."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from functools import cache
from itertools import permutations, product
from types import ModuleType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tensorgen
from tests.lang.speak import faults_of

Array = Any

NAMES = ("U", "v", "s")
SPEC = """
tensorgen: 1
dims: {n: 3, k: 2}
inputs: {U: [n, k], v: [n], s: scalar, A: [n, k]}
functions:
  f:
    expr: EXPR
    wrt: [U, v, s]
    emit: [3]
"""
SCALAR = "sum(exp(s * v) * (U**3 @ A.T @ v)) + s**3 * sum(sin(v)) + sum(U**3)"
VECTOR = "exp(s * v) * (U**2 @ A.T @ v)"
RANDOM = np.random.default_rng(8)
POINT: dict[str, Any] = {
    "U": RANDOM.normal(size=(3, 2)),
    "v": RANDOM.normal(size=3),
    "s": np.float64(0.3),
    "A": RANDOM.normal(size=(3, 2)),
}


@pytest.fixture(scope="module", autouse=True)
def _float64() -> Iterator[None]:
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", before)


def scalar(U: Array, v: Array, s: Array) -> Array:
    A = POINT["A"]
    first = jnp.sum(jnp.exp(s * v) * (U**3 @ A.T @ v))
    return first + s**3 * jnp.sum(jnp.sin(v)) + jnp.sum(U**3)


def vector(U: Array, v: Array, s: Array) -> Array:
    return jnp.exp(s * v) * (U**2 @ POINT["A"].T @ v)


CASES = {SCALAR: scalar, VECTOR: vector}


@pytest.fixture(scope="module", params=CASES, ids=["scalar", "vector"])
def case(request: pytest.FixtureRequest) -> tuple[ModuleType, Any]:
    text = request.param
    return tensorgen.load(SPEC.replace("EXPR", text)), CASES[text]


@cache
def third(f: Any) -> Any:
    """All derivatives of order three at once: JAX compiles them as one program."""
    for _ in range(3):
        f = jax.jacfwd(f, argnums=(0, 1, 2))
    return jax.jit(f)(*(POINT[name] for name in NAMES))


def expected(f: Any, names: tuple[str, ...]) -> Array:
    found = third(f)
    for name in names:
        found = found[NAMES.index(name)]
    return np.asarray(found)


def test_every_order_of_inputs_is_a_block(case: tuple[ModuleType, Any]) -> None:
    module, truth = case
    found = module.f_d3(**POINT)
    assert len(found.blocks) == 10
    again = pickle.loads(pickle.dumps(found))
    for names in product(NAMES, repeat=3):
        whole = expected(truth, names)
        block = found.blocks[names]
        assert block.tensor_shape == whole.shape
        np.testing.assert_allclose(block.dense(), whole, atol=1e-11)
        np.testing.assert_allclose(again.blocks[names].dense(), whole, atol=1e-11)


def test_blocks_in_any_order_are_contracted(case: tuple[ModuleType, Any]) -> None:
    module, truth = case
    found = module.f_d3(**POINT)
    shapes = {name: np.shape(POINT[name]) for name in NAMES}
    for names in (*permutations(NAMES), ("v", "U", "v"), ("s", "U", "U")):
        whole = expected(truth, names)
        given = [RANDOM.normal(size=shapes[name]) for name in names]
        for count in (1, 2, 3):
            left = whole
            for direction in given[::-1][:count]:
                left = np.tensordot(left, direction, np.ndim(direction))
            made = found.blocks[names].contract(*given[3 - count :])
            np.testing.assert_allclose(made, left, atol=1e-10)


def test_each_block_has_a_structure_of_its_own() -> None:
    module = tensorgen.load(SPEC.replace("EXPR", "sum(v**4) * s + sum(sin(U))"))
    found = module.f_d3(**{name: POINT[name] for name in NAMES})
    assert "diagonal" in found.blocks["v", "v", "s"].structure
    assert found.blocks["U", "v", "s"].nbytes < 100
    assert found.nbytes < 3000


def test_what_is_no_block_is_not_found(case: tuple[ModuleType, Any]) -> None:
    found = case[0].f_d3(**POINT)
    for names in (("U", "v"), ("U", "v", "x"), "U", ("U", "v", "s", "s")):
        with pytest.raises(KeyError):
            found.blocks[names]


def test_too_many_blocks_are_refused() -> None:
    text = (
        SPEC.replace("EXPR", SCALAR).replace("[3]", "[9]").replace("v, s]", "v, s, A]")
    )
    (fault,) = faults_of(text)
    assert "there are 220 derivatives of order 9 by 4 inputs" in fault.message
    assert fault.span is not None and (fault.span.line, fault.span.column) == (9, 12)
    assert "[U, v, s, A, U, v, s, A, U]" in (fault.hint or "")


def test_results_have_all_blocks_each() -> None:
    text = SPEC.replace("EXPR", f"{{one: '{SCALAR}', other: '{VECTOR}'}}")
    found = tensorgen.load(text).f_d3(**POINT)
    for own, truth in ((found.one, scalar), (found.other, vector)):
        for names in (("U", "v", "s"), ("v", "v", "U")):
            whole = expected(truth, names)
            np.testing.assert_allclose(own.blocks[names].dense(), whole, atol=1e-11)
