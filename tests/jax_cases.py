"""Cases that JAX judges: an expression of `x` in the language, and again for JAX."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

import tensorgen

TOLERANCE = 1e-9
SIZES = {"n": 3, "m": 2, "p": 4}


class Case(NamedTuple):
    """A function in an expression: `x` has the shape given, the rest is data."""

    shape: str
    expr: str
    oracle: Callable[..., Any]
    data: str = ""  # "y n, B n p, row E < m": names, shapes, bounds of index arrays
    low: float = 0.2  # the range of x: where the function is smooth
    high: float = 0.9
    left: str = "f"
    where: str = ""
    sizes: Mapping[str, int] = SIZES


def _shapes(case: Case) -> dict[str, tuple[list[str], str]]:
    """The shape of each input, `x` first, and the bound of index arrays."""
    found = {"x": (case.shape.split(), "")}
    for part in filter(None, case.data.split(",")):
        shape, _, bound = part.partition("<")
        name, *dims = shape.split()
        found[name] = (dims, bound.strip())
    return found


def _spec(case: Case) -> str:
    lines = ["tensorgen: 1", "inputs:"]
    for name, (dims, bound) in _shapes(case).items():
        listed = f"[{', '.join(dims)}]"
        if bound:
            listed = f"{{shape: {listed}, index: {bound}}}"
        lines.append(f"  {name}: {listed}")
    lines += ["functions:", f"  {case.left}:"]
    if case.where:
        lines += ["    where: |", *("      " + x for x in case.where.splitlines())]
    lines += ["    expr: |", f"      {case.expr}", "    wrt: x"]
    lines.append("    emit: [value, dense_jacobian, dense_hessian]")
    return "\n".join(lines) + "\n"


def _arguments(case: Case) -> dict[str, NDArray[Any]]:
    """Random arguments; the entries of index arrays repeat."""
    rng = np.random.default_rng(3)
    found: dict[str, NDArray[Any]] = {}
    for name, (dims, bound) in _shapes(case).items():
        shape = [_size(case, dim) for dim in dims]
        if bound:
            found[name] = rng.integers(0, _size(case, bound), shape)
        elif name == "x":
            found[name] = rng.uniform(case.low, case.high, shape)
        else:
            found[name] = rng.uniform(0.25, 0.8, shape)
    return found


def _size(case: Case, dim: str) -> int:
    return case.sizes[dim] if dim in case.sizes else int(dim)


def check(case: Case) -> None:
    """Compare value, first and second derivative with JAX."""
    module = tensorgen.load(_spec(case))
    arguments = _arguments(case)
    x, *data = map(jnp.asarray, arguments.values())

    def judge(x: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
        # Each order hands on those below it: written out once, they compile once.
        def value(at: jax.Array) -> tuple[jax.Array, jax.Array]:
            found = jnp.asarray(case.oracle(at, *data))
            return found, found

        def first(at: jax.Array) -> tuple[jax.Array, tuple[jax.Array, jax.Array]]:
            slope, found = jax.jacfwd(value, has_aux=True)(at)
            return slope, (found, slope)

        second, (found, slope) = jax.jacfwd(first, has_aux=True)(x)
        return found, slope, second

    # One compilation a case takes a fraction of what one an operation would.
    compiled = jax.jit(judge)
    got = (
        module.f(**arguments),
        module.f_jac_dense(**arguments),
        module.f_hess_dense(**arguments),
    )
    for found, expected in zip(got, map(np.asarray, compiled(x)), strict=True):
        assert np.shape(found) == expected.shape
        scale = max(1.0, float(np.max(np.abs(expected), initial=0.0)))
        assert np.max(np.abs(found - expected), initial=0.0) <= TOLERANCE * scale
