"""Set M: the order in which the chain rule is multiplied, and what is compressed.

Laue, Mitterreiter and Giesen 2020 compare reverse and cross-country mode, and Hessians
with all entries with compressed ones, on three functions (Figure 3); Montes Lorenzo
2025 a batch that is kept once with one that is written out (Figure 8.3).
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from cases import Case, Contender, Data, Set
from numpy.random import Generator
from peers import ours
from tables import Row

from sets import factorisation, high_orders, logistic, networks
from tensorgen.calculus.differentiate import Differentiate
from tensorgen.calculus.requests import MODES, Mode
from tensorgen.errors import Source
from tensorgen.ir.graph import Graph
from tensorgen.lang import elaborate
from tensorgen.operators.stable import StableForms
from tensorgen.passes.cost import CostModel
from tensorgen.plans.planner import Planner
from tensorgen.spec.read import read_spec

Array = Any


def chain(n: int) -> str:
    """A chain for which neither end is the best to start from."""
    return _spec(n, "x: [n], A: [n, n], B: [n, n]", "B @ tanh(sin(A @ x))")


def waist(n: int) -> str:
    """An autoencoder with a narrow waist."""
    inputs = "x: [n], A: [n, n], B: [10, n], C: [n, 10], D: [n, n]"
    return _spec(n, inputs, "D @ tanh(C @ tanh(B @ tanh(A @ x)))")


def _spec(n: int, inputs: str, expr: str) -> str:
    return f"""
tensorgen: 1
module: modes
dims: {{n: {n}}}
inputs: {{{inputs}}}
functions:
  f: {{expr: "{expr}", wrt: x, emit: [dense_jacobian]}}
"""


def _chain_data(n: int, rng: Generator) -> Data:
    shapes = {"x": (n,), "A": (n, n), "B": (n, n)}
    return {k: rng.normal(size=s) / np.sqrt(s[-1]) for k, s in shapes.items()}


def _waist_data(n: int, rng: Generator) -> Data:
    shapes = {"x": (n,), "A": (n, n), "B": (10, n), "C": (n, 10), "D": (n, n)}
    return {k: rng.normal(size=s) / np.sqrt(s[-1]) for k, s in shapes.items()}


def flops(text: str, call: str, sizes: dict[str, int], mode: Mode) -> float:
    """Return the arithmetic of the plan for a function, as the model counts it."""
    spec = read_spec(Source("<benchmark>", text))
    graph = Graph(StableForms())
    elaborated = elaborate(spec, graph, Differentiate(graph))
    (function,) = elaborated.functions
    plans = Planner(graph, spec, elaborated, function, mode).plans()
    (plan,) = (p.plan for p in plans if p.name == call)
    return CostModel(sizes).total_flops(plan.roots)


def _modelled(text: str, call: str, sizes: dict[str, int], rows: dict[str, Row]) -> str:
    counts = (f"{m} {flops(text, call, sizes, m) / 1e6:.4g}" for m in MODES)
    return f"Mflop: {', '.join(counts)}"


def of_second_order(text: str) -> str:
    """Return a spec with the Hessian alone, compressed and with all entries."""
    text = text.replace("gradient, hessian", "hessian").replace("value, ", "")
    if "dense_hessian" in text:
        return text
    return text.replace("emit: [hessian]", "emit: [hessian, dense_hessian]")


def in_all_modes(
    text: str, call: str, result: Callable[[Any], list[Array]]
) -> tuple[Contender, ...]:
    """All entries in each mode, and of a Hessian the compressed one."""
    found = [
        ours(
            text,
            call,
            name="tensorgen" if mode == "cross-country" else f"tensorgen, {mode}",
            mode=mode,
            result=result,
        )
        for mode in MODES
    ]
    if call == "f_hess_dense":
        compressed = ours(text, "f_hess", name="tensorgen, compressed", result=result)
        found.append(compressed)
    return tuple(found)


def _case(
    problem: str, text: str, size: int, data: Any, dim: str = "n", **sizes: int
) -> Case:
    """A Jacobian in all modes, or a Hessian in all modes and compressed."""
    second = "hessian" in text
    call = "f_hess_dense" if second else "f_jac_dense"
    text = of_second_order(text) if second else text

    def result(found: Any) -> list[Array]:
        dense = not hasattr(found, "matvec")
        entries = np.asarray(found) if dense else found.dense()
        flat = entries.reshape(int(np.sqrt(entries.size)), -1) if second else entries
        return [flat @ np.random.default_rng(1).normal(size=flat.shape[1])]

    return Case(
        problem,
        dim,
        size,
        data,
        in_all_modes(text, call, result),
        judge=partial(_modelled, text, call, {dim: size} | sizes),
    )


def cases() -> Iterator[Case]:
    """Jacobians of two chains, and the Hessians of the papers."""
    for n in (30, 100, 300, 1000):
        yield _case("chain, Jacobian", chain(n), n, partial(_chain_data, n))
    for n in (30, 100, 300, 1000):
        yield _case("narrow waist, Jacobian", waist(n), n, partial(_waist_data, n))
    for n in (30, 100, 300, 1000):
        data = partial(logistic.data, n)
        yield _case("logistic, Hessian", logistic.spec(n), n, data, m=2 * n)
    k = factorisation.RANK
    for m in (50, 100, 200, 400):
        data = partial(factorisation.data, m, k, True)
        text = factorisation.spec(m, k, True)
        yield _case("masked factorisation, Hessian", text, m, data, dim="m", k=k)
    for n in (10, 20, 40):
        text = networks.spec(n, 1, "relu")
        yield _case("relu network, Hessian", text, n, partial(networks.data, n, 1))
    for b in (10, 30, 100):
        text = high_orders.spec(b, 10, 2)
        data = partial(high_orders.data, b, 10)
        yield _case("rows of a softmax, Hessian", text, b, data, dim="b", p=10)


SET = Set(
    "M",
    "modes",
    "The three modes with all entries, cross-country first, and the compressed\n"
    "derivative; arithmetic as the cost model counts it.",
    cases,
)
