"""What the Hessian of a three-layer network holds, block by block."""

from collections.abc import Iterator
from math import prod

import numpy as np

import tensorgen
from tensorgen.calculus.differentiate import Differentiate
from tensorgen.errors import Source
from tensorgen.ir.graph import Graph
from tensorgen.lang import elaborate
from tensorgen.operators.stable import StableForms
from tensorgen.passes.cost import CostModel
from tensorgen.plans.planner import Planner
from tensorgen.spec.read import read_spec

SIZES = {"d": 80, "h": 60, "k": 50, "q": 10, "s": 64}
NETWORK = """
tensorgen: 1
module: network
dims: {d: 80, h: 60, k: 50, q: 10, s: 64}
inputs:
  A: [h, d]
  B: [k, h]
  C: [q, k]
  X: [d, s]
  Y: [q, s]
functions:
  loss:
    expr: norm(C @ tanh(B @ tanh(A @ X)) - Y)**2
    wrt: [A, B, C]
    emit: [hessian]
"""
HEADER = f"{'layers':<8}{'dense':>12}{'modelled':>12}{'actual':>12}  structure"
WIDTH = 100


def modelled() -> list[int]:
    """Return how many numbers the cost model expects each block to hold."""
    graph = Graph(StableForms())
    spec = read_spec(Source("<network>", NETWORK))
    program = elaborate(spec, graph, Differentiate(graph))
    (function,) = program.functions
    planner = Planner(graph, spec, program, function, "cross-country")
    (planned,) = planner.plans()
    cost = CostModel(planner.hints)
    sizes = []
    for tensor, formula in zip(
        planned.plan.tensors, planned.plan.formulas, strict=True
    ):
        arrays = [formula] if tensor is None else tensor.arrays
        sizes.append(round(sum(cost.size(node.dims) for node in arrays)))
    return sizes


def rows() -> Iterator[str]:
    """Yield a row for each pair of layers: numbers held, and the structure."""
    rng = np.random.default_rng(0)
    shapes = {"A": "hd", "B": "kh", "C": "qk", "X": "ds", "Y": "qs"}
    data = {
        name: rng.standard_normal([SIZES[dim] for dim in dims]) / 5
        for name, dims in shapes.items()
    }
    H = tensorgen.load(NETWORK).loss_hess(**data)
    for (pair, block), expected in zip(H.pairs.items(), modelled(), strict=True):
        actual = block.nbytes // block.dtype.itemsize
        assert actual <= expected, f"{pair} holds {actual} numbers, not {expected}"
        structure = block.structure.partition("\n")[0]
        row = f"{', '.join(pair):<8}{prod(block.shape):>12}{expected:>12}{actual:>12}"
        line = f"{row}  {structure}"
        yield line if len(line) <= WIDTH else f"{line[:WIDTH - 3]}..."
    whole = prod(H.shape)
    yield f"{'all':<8}{whole:>12}{'':>12}{H.nbytes // H.dtype.itemsize:>12}"
