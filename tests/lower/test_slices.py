"""A slice of a function and a function of a slice are one value, at one price."""

from __future__ import annotations

import inspect
import re
from types import ModuleType

import numpy as np
import pytest

import tensorgen
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Constraint, affine
from tests.lower.support import as_text
from tests.made import code_of

FUNCTIONS = {
    # Read nowhere else: only what is read is computed.
    "inner": (
        "sum(sin(x)[3:-3]**2)",
        "sum(sin(x[3:-3])**2)",
        "sum((sin(x)**2)[3:-3])",
    ),
    "scaled": (
        "sum((x*y)[2:] * (x*y)[2:])",
        "sum((x[2:]*y[2:])**2)",
        "sum(((x*y)**2)[2:])",
    ),
    # All of it is read anyhow.
    "whole": (
        "sum(sin(x)) + sum(cos(x[1:])*y[1:])",
        "sum(sin(x)) + sum(cos(x)[1:]*y[1:])",
        "sum(sin(x)) + sum((cos(x)*y)[1:])",
    ),
    # What stands side by side is cut where it stands.
    "joined": (
        "sum(sin(concatenate([x, y])[3:-3])**2)",
        "sum(sin(concatenate([x, y]))[3:-3]**2)",
        "sum((sin(concatenate([x, y]))**2)[3:-3])",
    ),
    # So it is where slices overlap.
    "overlap": (
        "sum(exp(x[1:])*exp(x[:-1]))",
        "sum(exp(x)[1:]*exp(x[:-1]))",
        "sum(exp(x[1:])*exp(x)[:-1])",
    ),
    # Gathered entries stand among all of them.
    "gathered": (
        "sum(exp(x)) + sum(u*exp(x[h]))",
        "sum(exp(x)) + sum(u*exp(x)[h])",
    ),
}
CALLS = {
    "inner": 2,
    "scaled": 0,
    "whole": 2,
    "joined": 2,
    "overlap": 1,
    "gathered": 1,
}
"""How many functions of vectors a value and its gradient take."""


@pytest.fixture(scope="module")
def module() -> ModuleType:
    lines = [
        f'  {name}_{k}: {{expr: "{text}", wrt: x, emit: [value, gradient]}}'
        for name, texts in FUNCTIONS.items()
        for k, text in enumerate(texts)
    ]
    inputs = "{x: [n], y: [n], h: {shape: [m], index: n}, u: [m]}"
    spec = ["tensorgen: 1", "dims: {n: 1000, m: 20}", f"inputs: {inputs}"]
    return tensorgen.load("\n".join([*spec, "functions:", *lines]))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_spellings_take_the_same_functions_of_the_same_sizes(
    module: ModuleType, name: str
) -> None:
    rng = np.random.default_rng(0)
    x, y, u = rng.normal(size=(3, 12))
    every = {"x": x, "y": y, "h": rng.integers(0, 12, 12), "u": u}
    results = []
    for k in range(len(FUNCTIONS[name])):
        function = getattr(module, f"{name}_{k}_value_and_grad")
        source = re.sub(r'"""[\s\S]*?"""', "", code_of(module, function.__name__))
        assert len(re.findall(r"np\.(?:sin|cos|exp)\(", source)) == CALLS[name], source
        assert not re.search(r"np\.(?:where|clip|arange)\(|!= 0", source), source
        if name == "inner":
            assert source.count("(x[3:-3])") == 2
        own = [every[key] for key in inspect.signature(function).parameters]
        results.append(np.hstack(function(*own)))
    for other in results[1:]:
        np.testing.assert_allclose(other, results[0], rtol=1e-14)


def test_what_the_user_named_is_what_he_called_so() -> None:
    source = tensorgen.generate(
        'tensorgen: 1\ninputs: {x: [n]}\nfunctions:\n  f:\n    where: "S = sin(x)"\n'
        '    expr: "sum(S[1:]**3)"\n    emit: [value]\n'
    )
    assert "S = np.sin(x)\n" in source


def test_results_share_no_memory() -> None:
    module = tensorgen.load(
        "tensorgen: 1\ninputs: {x: [n]}\nfunctions:\n  f:\n"
        '    expr: {a: "exp(x)", b: "exp(x[1:])", c: "exp(x)[:-1]"}\n'
        "    emit: [value]\n"
    )
    found = module.f(np.arange(4.0))
    for k, one in enumerate(found):
        assert not any(np.shares_memory(one, other) for other in found[:k])


def test_the_diagonal_of_a_band_squares_once() -> None:
    source = tensorgen.generate(
        "tensorgen: 1\ninputs: {x: [n]}\nfunctions:\n  f:\n"
        '    expr: "sum(100*(x[1:] - x[:-1]**2)**2 + (1 - x[:-1])**2)"\n'
        "    wrt: x\n    emit: [hessian]\n"
    )
    hessian = source[source.index("def f_hess(") : source.index("return FHessian")]
    body = hessian[hessian.rindex('"""') :]
    assert body.count("** 2") == 1 and "(x**2)" not in body


def test_no_function_is_applied_to_rows_that_a_product_drops() -> None:
    graph = Graph()
    x, p = graph.input("x", ["m", "n"]), graph.input("p", ["n"])
    logs = graph.map("log2", "ij", [(x, "ij")])
    later = Constraint("ge", affine([("i", 1)], -1))
    size = {"i": x.dims[0]}
    y = graph.product("i", [(logs, "ij"), (p, "j")], constraints=[later], sizes=size)
    assert "np.log2(x[1:]) @ p" in "\n".join(as_text(graph, [y]).lines)
