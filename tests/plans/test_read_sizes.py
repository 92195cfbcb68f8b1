"""Private functions read sizes and the type off the arrays that they are given."""

from __future__ import annotations

import ast

from tensorgen.arrays.arrays import Array, variable
from tensorgen.ir.dims import Dim
from tensorgen.plans.read_sizes import bound_by, read_sizes
from tests.made import generate

n, m = Dim.of("n"), Dim.of("m")
NETWORK = """
tensorgen: 1
inputs: {A: [k, k], x: [t, k], y: [t]}
functions:
  f:
    where: |
      P = softmax(A, axis=1)
      s[0] = x[0]
      s[i + 1] = tanh(P @ s[i]) + x[i + 1]
    expr: sum((s[-1] - y[0])**2) + sum(y**2)
    wrt: [A, x]
    emit: [value, gradient, hvp]
"""
RATINGS = """
tensorgen: 1
inputs:
  U: [m, k]
  V: [n, k]
  row: {shape: [e], index: m}
  col: {shape: [e], index: n}
  r: [e]
functions:
  loss:
    expr: sum((sum(U[row] * V[col], axis=1) - r)**2)
    wrt: U
    emit: [value, gradient, hessian]
"""


def array(name: str, *dims: Dim) -> tuple[str, Array]:
    """A variable by its name."""
    return name, variable(name, dims)


def test_sizes_are_read_off_the_first_array_that_has_them() -> None:
    given = dict([array("x", n), array("A", m, n), array("b", m + 1)])
    assert read_sizes(given, ["n"]) == ["n = x.shape[0]"]
    assert read_sizes(given, ["m", "n"]) == ["m, n = A.shape"]
    assert read_sizes(dict([array("b", m + 1)]), ["m"]) == []
    assert read_sizes({}, ["n"]) == []


def test_what_statements_bind() -> None:
    assert bound_by(["m, n = A.shape", "k = x.shape[0]"]) == {"m", "n", "k"}


def private(text: str) -> list[ast.FunctionDef]:
    """The functions of a module that are of its formulas, and not public."""
    return [
        f
        for f in ast.parse(generate(text)).body
        if isinstance(f, ast.FunctionDef) and f.name.startswith(("_f_", "_loss_"))
        if "argument" not in f.name
    ]


def numbers(function: ast.FunctionDef) -> list[str]:
    """What a function takes that is no array."""
    arguments = [a for a in function.args.args if a.annotation is not None]
    sizes = [a.arg for a in arguments if ast.unparse(a.annotation or a) == "int"]
    return [*sizes, *(a.arg for a in arguments if a.arg == "dtype")]


def test_private_functions_take_no_size_that_their_arrays_have() -> None:
    found = private(NETWORK)
    assert found
    assert [x for function in found for x in numbers(function)] == []


def test_private_functions_take_what_none_of_their_arrays_has() -> None:
    (gradient,) = (f for f in private(RATINGS) if f.name == "_loss_grad")
    assert numbers(gradient) == ["m"]  # how many keys there are
