"""What functions return shares no memory that somebody may write to."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import yaml

import tensorgen
from tests.calls import Loaded, arguments, arrays, functions, objects, same, specs
from tests.device.cases import Case

# Derivatives that are arguments themselves, or views of them.
VIEWS = """
tensorgen: 1
inputs: {X: [m, n], W: [n, k], x: [n], y: [n], A: [n, n], B: [n, n], s: scalar}
functions:
  product: {expr: "X @ W", wrt: [X, W]}
  residual: {expr: "A @ x - y", wrt: x}
  residuals: {expr: "A @ x - y", wrt: [A, x]}
  turned: {expr: "X @ X[0]", wrt: X}
  parts: {expr: "x[1:] * x[:-1]", wrt: x}
  scaled: {expr: "s * x", wrt: [s, x]}
  bilinear: {expr: "x @ A @ y", wrt: [x, A, y], emit: [gradient, hessian]}
  cubic: {expr: "sum(x**3) / 6", wrt: x, emit: [hessian, 3]}
  cubed: {expr: "x @ A @ x * s", wrt: [A, x], emit: [[A, x, x], hessian]}
  quadratic: {expr: "s * (x @ x) / 2", wrt: [s, x], emit: [hessian]}
  form: {expr: "x @ (A + A.T) @ x / 2", wrt: x, emit: [hessian, dense_hessian]}
  entries[i, j]: {expr: "A[i, j] * B[i, j]", wrt: [A, B]}
  paired: {expr: "trace(A @ B)", wrt: [A, B], emit: [value, hessian, vjp]}
  named:
    where: |
      d = diagonal(A)
      e = A.T
      g[i] = x[n - 1 - i]
    expr: d * (e @ g)
    wrt: [A, x]
  same: {expr: "A", wrt: A, emit: [value, jvp, vjp, jacobian]}
  view: {expr: "diagonal(A)[1:]", wrt: A, emit: [value, jvp, vjp, dense_jacobian]}
  stretched: {expr: "broadcast_to(x, (n, n))", emit: [value]}
"""


def variables(text: str) -> dict[str, list[str]]:
    """The variables of each function of a spec."""
    found = {}
    for name, function in yaml.safe_load(text)["functions"].items():
        wrt = function.get("wrt", []) if isinstance(function, dict) else []
        found[name.partition("[")[0]] = [wrt] if isinstance(wrt, str) else wrt
    return found


def check(module: Any, wrt: dict[str, list[str]], inputs: Any) -> None:
    """Look for arguments in what functions return, then change all but the data."""
    for name in functions(module):
        given = arguments(module, name, inputs)
        of = [f for f in wrt if f"{name}_".startswith(f"{f}_")]
        if not of:
            continue  # what comes with an unknown is differentiated by nothing
        own = wrt[max(of, key=len)]
        result = vars(module)[name](**given)
        before = copy.deepcopy(dict(arrays(result)))
        held = list(arrays(result))
        for argument, value in given.items():
            if not isinstance(value, np.ndarray):
                continue
            is_data = argument in inputs and argument not in own
            for where, array in held:
                if np.shares_memory(array, value):
                    assert is_data, f"{name}{where} holds the variable {argument}"
                    assert not array.flags.writeable, f"{name}{where} is {argument}"
            if not is_data:
                value[...] = -77
        same(before, dict(arrays(result)), name)


def test_variables_are_copied_and_data_only_to_be_read() -> None:
    rng = np.random.default_rng(0)
    shapes: dict[str, Any] = {
        "X": (5, 4),
        "W": (4, 3),
        "x": 4,
        "y": 4,
        "A": (4, 4),
        "B": (4, 4),
    }
    inputs: dict[str, Any] = {x: rng.normal(size=shapes[x]) for x in shapes}
    module = tensorgen.load(VIEWS)
    check(module, variables(VIEWS), inputs | {"s": np.array(0.3)})
    for name in functions(module):
        result = vars(module)[name](**arguments(module, name, inputs | {"s": 0.3}))
        for where, derivative in objects(result):
            check_methods(derivative, name + where)
    # What makes this a test of views: data do stand in objects.
    J = module.residual_jac(**arguments(module, "residual_jac", inputs))
    assert not any(a.flags.owndata for a in J.factors.values())


def check_methods(derivative: Any, where: str) -> None:
    """Look for the factors and for operands in what the methods of an object give."""
    held = list(derivative.factors.values())
    made: list[Any] = [derivative.dense(), derivative.dense()]
    if not hasattr(derivative, "contract"):
        rows, columns = derivative.shape
        u, v = np.ones(rows), np.ones((columns, 1))
        held += [u, v]
        made += [*derivative.coo(), derivative @ v, derivative.rmatvec(u)]
        if rows == columns:
            made += derivative.coo(lower=True)
    if hasattr(derivative, "solve"):
        made += [derivative.diagonal(), derivative.factorize(99.0).solve(u)]
    for k, array in enumerate(made):
        text = f"{where}: result {k}"
        assert array.flags.writeable, text
        for other in held + made[:k]:
            assert not np.shares_memory(array, other), text


@specs()
def test_what_methods_give_is_new(case: Case) -> None:
    loaded = Loaded(case)
    for name in loaded.names:
        for where, derivative in objects(loaded.call(name)):
            check_methods(derivative, name + where)


@specs()
def test_results_hold_no_variable_and_nothing_to_be_written(case: Case) -> None:
    loaded = Loaded(case)
    check(loaded.module, variables(case.text), loaded.inputs)
