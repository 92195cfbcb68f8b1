"""A node means the same over all fields: whole numbers are the same in each of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import jax
import mpmath
import numpy as np
import pytest

from tensorgen.bench.twin import Twin
from tensorgen.check.emitted_text import Program
from tensorgen.check.meaning import Meaning
from tensorgen.check.reals import Reals
from tensorgen.check.residues import PRIME, Residues
from tensorgen.check.walks import Field
from tensorgen.errors import InternalError, Source
from tensorgen.fields.doubles import Doubles
from tensorgen.ir.dims import Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Node
from tensorgen.lang import ElaboratedFunction
from tensorgen.operators.references.rows import FUNCTIONS, OPERATORS
from tensorgen.spec.read import read_spec
from tensorgen.verify import Verification
from tensorgen.verify.exact import Digits
from tensorgen.verify.interpret import evaluate

Array = Any
Given = Mapping[str, Array]
SPEC = """\
tensorgen: 1
inputs:
  x: [n]
  v: [2*n]
  X: [m, n]
  row: {shape: [e], index: m}
functions:
  number: 3 * n - 2
  indices[i]: i * x[i]
  contracted: X.T @ X @ x
  summed: X - x + 2
  slices: x[1:] - 3 * x[:-1]
  stride[i]: v[2*i + 1]
  turned: concatenate([x[::-1], 2 * x[1:]])
  diagonals: diag(X @ X.T) * trace(X @ X.T)
  eyes: eye(n) + diag(x) + outer(x, x)
  triangle: tril(X) + triu(X)
  window[i]: sum(v[i + k], k=range(3))
  part[i]: sum(x[j]**2, j=range(i + 1))
  gathered[p, i]: X[row[p], i] * x[i]
  scattered[i]: sum(x[0] + p, p, row[p] == i)
  products: prod(x) + prod(X)
  forwards:
    where: |
      y[0] = 1
      y[t + 1] = y[t]**2 + x[t]
    expr: y
  backwards:
    where: |
      z[n] = x
      z[t] = x[t] * z[t + 1] - 1
    expr: z
  last:
    where: |
      z[n] = x[0]
      z[t] = z[t + 1] * x[t]
    expr: z[0]
"""
SIZES = {"n": 4, "m": 3, "e": 5}
GIVEN: Given = {
    "x": np.array([2.0, -1.0, 3.0, 1.0]),
    "v": np.arange(8.0) - 3,
    "X": np.arange(12.0).reshape(3, 4) % 5 - 1,
    "row": np.array([2, 0, 0, 1, 2]),
}


def functions() -> list[ElaboratedFunction]:
    return list(Verification(read_spec(Source("whole", SPEC))).program.functions)


def by_interpreter(node: Node, given: Given, field: type[Doubles] = Doubles) -> Array:
    (found,) = evaluate([node], given, FUNCTIONS, OPERATORS, SIZES, field)
    return found


def in_digits(node: Node) -> Array:
    exact = np.frompyfunc(mpmath.mpf, 1, 1)
    given = {k: exact(x) if x.dtype == float else x for k, x in GIVEN.items()}
    return by_interpreter(node, given, Digits)


def in_complex_numbers(node: Node) -> Array:
    given = {k: x + 0j if x.dtype == float else x for k, x in GIVEN.items()}
    return np.real(by_interpreter(node, given))


def by_check(field: Field, node: Node) -> Array:
    given = {
        k: field.of(x.astype(int)) if x.dtype == float else x for k, x in GIVEN.items()
    }
    meaning = Meaning(Program(field), SIZES, lambda node: given[node.name])
    found = field.of(meaning.of(node))
    if isinstance(field, Residues):
        return np.where(found > PRIME // 2, found - PRIME, found)
    return found


def traced(node: Node) -> Array:
    jax.config.update("jax_enable_x64", True)
    (found,) = jax.jit(Twin([node], SIZES))(GIVEN)
    return np.asarray(found)


@pytest.mark.parametrize(
    "value",
    [
        in_complex_numbers,
        in_digits,
        partial(by_check, Residues()),
        partial(by_check, Reals()),
        traced,
    ],
    ids=["complex", "digits", "residues", "reals", "traced"],
)
def test_whole_numbers_are_the_same_in_all_fields(
    value: Callable[[Node], Array],
) -> None:
    for function in functions():
        wanted, found = by_interpreter(function.node, GIVEN), value(function.node)
        name = function.spec.name
        assert np.all(wanted == np.round(wanted)), name
        assert found.shape == wanted.shape, name
        assert np.array_equal(found.astype(float), wanted), name


def test_a_size_that_nobody_gives_is_told_in_all_fields() -> None:
    node = Graph().zeros((Dim.of("n"),))
    for field in (Residues(), Reals()):
        with pytest.raises(InternalError, match="the dim n"):
            Meaning(Program(field), {}, dict[Node, Array]().__getitem__).of(node)
