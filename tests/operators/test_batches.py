"""What is stated of one sample is lifted to all of them, as the interpreter says."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tensorgen.errors import Source
from tensorgen.ir.dims import Dim
from tensorgen.ir.nodes import Call, Input, topological
from tensorgen.lang import program_of
from tensorgen.operators.batches import NoBatch, Samples, without_batch
from tensorgen.operators.recurrences.recurrence import Recurrence, is_recurrence
from tensorgen.operators.references.rows import FUNCTIONS, OPERATORS
from tensorgen.spec.read import read_spec
from tensorgen.verify.interpret import evaluate
from tests.ir.verify import verify

Array = Any
HEAD = """tensorgen: 1
inputs:
  x: [n]
  y: [n]
  A: [n, n]
  w: [n]
  c: scalar
  u: [T, n]
  at: {shape: [k], index: n}
functions:
  f:
"""
SIZES = {"n": 3, "T": 4, "k": 2, "B": 5}
BATCH = ("x", "A", "c", "u", "at")
TEXTS = [
    "x + w",
    "w",
    "x * y * c",
    "A @ x + w",
    "inv(A + 3*eye(n)) @ w",
    "softmax(x) * logsumexp(A @ w)",
    "max(A, axis=0)",
    "cumsum(x)[1:]",
    "x[at]",
    "where(x > c, x, w)",
    "sort(x)",
    "interp(x, arange(n), w)",
    "reshape(A @ A, (n * n,))",
    "concatenate([x, w, x[::-1]])",
]
STEPS = {
    "z[0] = x; z[t + 1] = tanh(A @ z[t]) + u[t]": "z",
    "z[0] = w; z[t + 1] = sin(z[t]) + u[t]": "z[T]",
    "z[T] = w; z[t - 1] = z[t] * c + u[t - 1]": "z[0]",
    "P[0] = y; m[0] = w; P[t + 1] = cos(P[t]); m[t + 1] = m[t] * P[t] + u[t]": "m * P",
    "z[0] = w; r[t=range(T)] = z[t] * c; z[t + 1] = r[t] + u[t]": "r + z[1:]",
}


def _inputs(rng: np.random.Generator) -> dict[str, Array]:
    shapes = {"x": (3,), "y": (3,), "A": (3, 3), "w": (3,), "c": (), "u": (4, 3)}
    found = {
        name: rng.normal(size=((5,) if name in BATCH else ()) + shape)
        for name, shape in shapes.items()
    }
    return {**found, "at": rng.integers(0, 3, (5, 2))}


@pytest.mark.parametrize(
    ("where", "text"), [*(("", text) for text in TEXTS), *STEPS.items()]
)
def test_nodes_over_a_batch_are_those_of_each_sample(where: str, text: str) -> None:
    lines = "".join(f"      {line}\n" for line in where.split("; ")) if where else ""
    spec = HEAD + (f"    where: |\n{lines}" if lines else "") + f"    expr: {text}\n"
    graph, program = program_of(read_spec(Source("a.yaml", spec)))
    (function,) = program.functions
    samples = {}
    for name in BATCH:
        own = program.inputs[name]
        assert isinstance(own, Input)
        dims = (Dim.symbol("B"), *own.dims)
        samples[own] = graph.input(name, dims, own.properties, own.index)
    lifted = Samples(graph, Dim.symbol("B"), samples).of(function.node)
    verify([lifted])
    assert lifted.dims == (Dim.symbol("B"), *function.node.dims)
    given = _inputs(np.random.default_rng(0))
    (found,) = evaluate([lifted], given, FUNCTIONS, OPERATORS, SIZES)
    for k in range(5):
        one = {name: x[k] if name in BATCH else x for name, x in given.items()}
        (wanted,) = evaluate([function.node], one, FUNCTIONS, OPERATORS, SIZES)
        np.testing.assert_allclose(found[k], wanted, rtol=1e-12)


def test_states_that_are_the_same_for_all_samples_have_no_axis() -> None:
    where = "P[0] = y; m[0] = w; P[t + 1] = cos(P[t]); m[t + 1] = m[t] * P[t] + u[t]"
    lines = "".join(f"      {line}\n" for line in where.split("; "))
    spec = f"{HEAD}    where: |\n{lines}    expr: m[T]\n"
    graph, program = program_of(read_spec(Source("a.yaml", spec)))
    own = program.inputs["u"]
    samples = {own: graph.input("u", (Dim.symbol("B"), *own.dims))}
    lifted = Samples(graph, Dim.symbol("B"), samples).of(program.functions[0].node)
    call = next(x for x in topological([lifted]) if is_recurrence(x))
    shared, varying = Recurrence.of(call).steps.states
    assert (shared.order, varying.order) == (1, 2)


def test_what_takes_one_sample_alone_is_told_by_its_name() -> None:
    text = HEAD + "    expr: sum(prod(x[i], i, x[i] > x[j]) * x[j], j)\n"
    graph, program = program_of(read_spec(Source("a.yaml", text)))
    x, node = program.inputs["x"], program.functions[0].node
    samples = {x: graph.input("x", (Dim.symbol("B"), *x.dims))}
    assert all(isinstance(call, Call) for call in without_batch([node], samples))
    assert without_batch([node], [program.inputs["y"]]) == []
    with pytest.raises(NoBatch, match="in no order together"):
        Samples(graph, Dim.symbol("B"), samples).of(node)
