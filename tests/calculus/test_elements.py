"""Derivatives of sums of functions of few entries, element by element, against JAX."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tensorgen.calculus.differentiate import Differentiate
from tensorgen.calculus.elements import by_elements
from tensorgen.errors import Source
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Input, Node, is_zero, topological
from tensorgen.lang import elaborate
from tensorgen.operators.stable import StableForms
from tensorgen.spec.read import read_spec
from tests.made import load

jax.config.update("jax_enable_x64", True)

SPEC = """
tensorgen: 1
dims: {{}}
inputs:
  x: {shape}
  a: [n - 5]
  b: [m]
  k: {{shape: [n - 5], index: m}}
functions:
  f: {{expr: "{expr}", wrt: x, emit: [3]}}
"""
Function = Callable[[Any, Any, Any], Any]

KEYS = np.array([2, 0, 1, 1, 2, 0, 2])

VECTOR: dict[str, tuple[str, Function]] = {
    "neighbours": (
        "sum(a[i] * sin(x[i] * x[i+1] + x[i+2] * x[i+3]**2 + x[i+4] * x[i+5]), i)",
        lambda x, a, b: jnp.sum(
            a * jnp.sin(x[:-5] * x[1:-4] + x[2:-3] * x[3:-2] ** 2 + x[4:-1] * x[5:])
        ),
    ),
    "one is left out": (
        "sum(a[i] * exp(x[i] * x[i+1] - x[i+3] * x[i+4] + x[i+2] * x[i+5]), i) / 3",
        lambda x, a, b: jnp.sum(
            a * jnp.exp(x[:-5] * x[1:-4] - x[3:-2] * x[4:-1] + x[2:-3] * x[5:])
        )
        / 3,
    ),
    "every second, counted down": (
        "sum(sin(x[2*i+10] * x[2*i+8] * x[2*i+6] * (x[2*i] + x[2*i+2] * x[2*i+4])),"
        " i=range(0, (n - 10) // 2))",
        lambda x, a, b: sum(
            jnp.sin(
                x[2 * i + 10]
                * x[2 * i + 8]
                * x[2 * i + 6]
                * (x[2 * i] + x[2 * i + 2] * x[2 * i + 4])
            )
            for i in range((x.size - 10) // 2)
        ),
    ),
    "with what an index array names": (
        "sum(b[k[i]] * sin(x[i] * x[i+1] * x[i+2] + x[i+3] * x[i+4] * x[i+5]), i)",
        lambda x, a, b: jnp.sum(
            b[KEYS] * jnp.sin(x[:-5] * x[1:-4] * x[2:-3] + x[3:-2] * x[4:-1] * x[5:])
        ),
    ),
    "beside another term": (
        "sum(cos(x[i] * x[i+1] * x[i+2] + x[i+3] * x[i+4] * x[i+5]), i) + sum(x)**4",
        lambda x, a, b: jnp.sum(
            jnp.cos(x[:-5] * x[1:-4] * x[2:-3] + x[3:-2] * x[4:-1] * x[5:])
        )
        + jnp.sum(x) ** 4,
    ),
}
MATRIX: dict[str, tuple[str, Function]] = {
    "along rows": (
        "sum(sin(x[i,j] * x[i,j+1] + x[i,j+2] * x[i,j+3] * x[i,j+4] * x[i,j+5]), i, j)",
        lambda x, a, b: jnp.sum(
            jnp.sin(
                x[:, :-5] * x[:, 1:-4] + x[:, 2:-3] * x[:, 3:-2] * x[:, 4:-1] * x[:, 5:]
            )
        ),
    ),
    "along a diagonal": (
        "sum(sin(x[i,j] * x[i+1,j+1] + x[i+2,j+2] * x[i+3,j+3] * x[i+4,j+4]"
        " * x[i+5,j+5]), i, j)",
        lambda x, a, b: jnp.sum(
            jnp.sin(
                x[:-5, :-5] * x[1:-4, 1:-4]
                + x[2:-3, 2:-3] * x[3:-2, 3:-2] * x[4:-1, 4:-1] * x[5:, 5:]
            )
        ),
    ),
}


def node_of(expr: str, shape: str) -> tuple[Graph, Node, Node]:
    """A graph, the node of a function of it, and its variable."""
    spec = read_spec(Source("f.yaml", SPEC.format(expr=expr, shape=shape)))
    graph = Graph(StableForms())
    program = elaborate(spec, graph, Differentiate(graph))
    return graph, program.functions[0].node, program.inputs["x"]


def third(shape: str, expr: str, function: Function, *sizes: int) -> None:
    """Compare the derivative of order three with what JAX finds."""
    rng = np.random.default_rng(len(expr))
    x = rng.uniform(0.5, 1.5, size=sizes)
    a, b = rng.normal(size=sizes[-1] - 5), rng.normal(size=3)
    module = load(SPEC.format(expr=expr, shape=shape))
    given = {"x": x}
    names = module.f_d3.__code__.co_varnames[: module.f_d3.__code__.co_argcount]
    given |= {
        name: {"a": a, "b": b, "k": KEYS}[name] for name in names if name in "abk"
    }
    found = module.f_d3(**given)
    found = found.dense() if hasattr(found, "dense") else found
    wanted = jax.jacfwd(jax.jacfwd(jax.jacrev(lambda x: function(x, a, b))))(x)
    np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-9)


LONG = ("neighbours", "every second, counted down", "beside another term")


@pytest.mark.parametrize(
    "name",
    [pytest.param(x, marks=[pytest.mark.thorough] * (x in LONG)) for x in VECTOR],
)
def test_functions_of_neighbours(name: str) -> None:
    expr, function = VECTOR[name]
    graph, output, x = node_of(expr, "[n]")
    terms, rest = by_elements(graph, output, [x] * 3)
    assert len(terms) == 1
    assert is_zero(rest) == (name != "beside another term")
    third("[n]", expr, function, 12)


@pytest.mark.parametrize(
    "name",
    ["along rows", pytest.param("along a diagonal", marks=pytest.mark.thorough)],
)
def test_functions_of_entries_of_a_matrix(name: str) -> None:
    expr, function = MATRIX[name]
    graph, output, x = node_of(expr, "[m, n]")
    assert len(by_elements(graph, output, [x] * 3)[0]) == 1
    third("[m, n]", expr, function, 6 if name == "along rows" else 7, 7)


def test_only_of_one_input() -> None:
    expr, _ = VECTOR["neighbours"]
    graph, output, x = node_of(expr, "[n]")
    (a,) = (x for x in topological([output]) if isinstance(x, Input) and x.name == "a")
    assert by_elements(graph, output, [x, a, x]) == ([], output)


@pytest.mark.parametrize(
    "expr",
    [
        # Few sequences of what is read, or far apart, or all of the input.
        "sum(sin(x[i] * x[i+1] * x[i+2]), i)",
        "sum(sin(x[i] * x[i+1] * x[i+2] * x[i+20] * x[i+40] * x[i+50]), i)",
        "sum(sin(x))**3",
        # In no row: with one step, places are missed.
        "sum(sin(x[i] * x[i+1] + x[2*i] * x[i+2] * x[i+3] * x[i+4] * x[i+5]),"
        " i=range(0, 3))",
    ],
)
def test_others_are_left(expr: str) -> None:
    graph, output, x = node_of(expr, "[n]")
    assert by_elements(graph, output, [x] * 3) == ([], output)
