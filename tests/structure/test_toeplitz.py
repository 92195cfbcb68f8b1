"""Hessians with equal entries along each diagonal hold one column."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import tensorgen
from tensorgen.ir.dims import Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import delta
from tensorgen.operators.references.rows import FUNCTIONS, OPERATORS
from tensorgen.structure.structures import STRUCTURES, in_order
from tensorgen.structure.toeplitz import Distance, drift, first
from tensorgen.verify.interpret import evaluate

RNG = np.random.default_rng(0)

SPEC = """
tensorgen: 1
dims: {n: 1000, m: 30}
inputs:
  x: [n]
  w: [m]
  k: [2*n - 1]
  d: [n + m - 1]
  lam: {shape: scalar, default: 0.1}
functions:
  blurred:
    where: |
      r[i] = sum(w[l] * x[j] * delta(i, l + j), l, j) - d[i]
    expr: sum(r**2) + lam * sum(x**2)
    wrt: x
    emit: [value, gradient, hessian, dense_hessian]
  padded:
    where: |
      p = concatenate([zeros(m - 1), x, zeros(m - 1)])
      y[i] = sum(p[i + l] * w[l], l)
    expr: sum((y - d)**2)
    wrt: x
    emit: [hessian, dense_hessian]
  kernel:
    expr: sum(k[i - j + n - 1] * x[i] * x[j], i, j)
    wrt: x
    emit: [hessian, dense_hessian]
  distances:
    expr: sum(exp(-(i - j)**2 / 2) * x[i] * x[j], i, j) + sum(x**2)
    wrt: x
    emit: [hessian, dense_hessian]
  inside:
    where: |
      y[i] = sum(x[i + l] * w[l], l)
    expr: sum(y**2)
    wrt: x
    emit: [hessian, dense_hessian]
  weighted:
    expr: sum(k[i - j + n - 1] * x[i] * x[j] * i, i, j)
    wrt: x
    emit: [hessian, dense_hessian]
"""
TOEPLITZ = ("blurred", "padded", "kernel", "distances")


@pytest.fixture(scope="module")
def module() -> Any:
    return tensorgen.load(SPEC)


def given(name: str, n: int, m: int, dtype: Any = float) -> list[Any]:
    arrays = {
        "x": RNG.normal(size=n),
        "w": RNG.normal(size=m) + 3 * (np.arange(m) == 0),
        "k": RNG.normal(size=2 * n - 1) + 4 * n * (np.arange(2 * n - 1) == n - 1),
        "d": RNG.normal(size=n + m - 1),
    }
    names = {"blurred": "xwd", "padded": "xwd", "distances": "x", "inside": "xw"}
    return [arrays[x].astype(dtype) for x in names.get(name, "xk")]


@pytest.mark.parametrize("name", TOEPLITZ)
@pytest.mark.parametrize("n", [1, 2, 9, 128, 129, 300])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_every_method_agrees_with_the_dense_hessian(
    module: Any, name: str, n: int, dtype: Any
) -> None:
    own = given(name, n, 5, dtype)
    hessian = getattr(module, f"{name}_hess")(*own)
    whole = getattr(module, f"{name}_hess_dense")(*own)
    close = 100 * np.finfo(dtype).eps * abs(whole).sum(axis=0).max()
    assert hessian.nbytes == n * np.dtype(dtype).itemsize
    dense = hessian.dense()
    assert dense.flags.writeable and dense.flags.c_contiguous
    assert abs(dense - whole).max() <= close
    assert abs(hessian.diagonal() - np.diagonal(whole)).max() <= close
    for shape in ((n,), (n, 3)):
        v = RNG.normal(size=shape).astype(dtype)
        assert (hessian @ v).dtype == dtype
        assert abs(hessian @ v - whole @ v).max() <= close * abs(v).max()
    for lower in (False, True):
        rows, columns, values = hessian.coo(lower=lower)
        made = np.zeros((n, n))
        np.add.at(made, (rows, columns), values)
        assert abs(made - (np.tril(whole) if lower else whole)).max() <= close
    again = pickle.loads(pickle.dumps(hessian))
    assert np.array_equal(again.dense(), dense)


@pytest.mark.parametrize("name", TOEPLITZ)
@pytest.mark.parametrize("n", [1, 2, 40, 300])
@pytest.mark.parametrize("shift", [0.0, 0.7])
def test_solving_leaves_small_residuals(
    module: Any, name: str, n: int, shift: float
) -> None:
    pytest.importorskip("scipy")
    own = given(name, n, 3)
    hessian = getattr(module, f"{name}_hess")(*own)
    matrix = getattr(module, f"{name}_hess_dense")(*own) + shift * np.eye(n)
    factorization = hessian.factorize(shift)
    assert type(factorization).__name__ == "_ToeplitzFactorization"
    for shape in ((n,), (n, 2)):
        b = RNG.normal(size=shape)
        s = factorization.solve(b)
        size = abs(matrix).sum(axis=0).max() * abs(s).max()
        assert abs(matrix @ s - b).max() <= 1e-13 * size + 1e-13
    sign, logdet = np.linalg.slogdet(matrix)
    assert sign == 1
    assert abs(factorization.logdet - logdet) <= 1e-9 * max(n, abs(logdet))
    assert factorization.is_posdef


def test_a_long_one_takes_no_matrix(module: Any) -> None:
    pytest.importorskip("scipy")
    n = 20_000
    hessian = module.distances_hess(np.zeros(n))
    b = RNG.normal(size=n)
    s = hessian.solve(b)  # a matrix would have 3.2 GB
    assert abs(hessian @ s - b).max() < 1e-11


@pytest.mark.parametrize("name", ["inside", "weighted"])
def test_what_knows_more_than_distances_is_no_toeplitz_matrix(
    module: Any, name: str
) -> None:
    own = given(name, 9, 3)
    hessian = getattr(module, f"{name}_hess")(*own)
    whole = getattr(module, f"{name}_hess_dense")(*own)
    assert hessian.nbytes >= whole.nbytes
    assert abs(hessian.dense() - whole).max() < 1e-12


def test_without_entries_there_is_no_first_one(module: Any) -> None:
    with pytest.raises(ValueError, match="n: expected a size of at least 1"):
        module.distances_hess(np.zeros(0))


def test_entries_at_the_beginning_of_an_axis() -> None:
    graph = Graph()
    n, m = Dim.of("n"), Dim.of("m")
    x, y = graph.input("x", [n, n]), graph.input("y", [m])
    sines = graph.map("sin", "ij", [(x, "ij")])
    places = graph.sum("ij", [(2, sines, "ij"), (-1, graph.iota(n), "j")])
    node = graph.product("ijk", [(places, "ij"), (x, "ji"), (y, "k"), (x, "jj")])
    sizes = {"n": 4, "m": 3}
    arrays = {"x": RNG.normal(size=(4, 4)), "y": RNG.normal(size=3)}
    for axis in range(3):
        both = [node, first(graph, node, axis)]
        whole, part = evaluate(both, arrays, FUNCTIONS, OPERATORS, sizes)
        assert np.allclose(part, np.take(whole, 0, axis))


def test_distances_are_laid_out_on_both_sides() -> None:
    graph = Graph()
    c = graph.input("c", ["n"])
    node = Distance().laid_out(graph, c)
    column = RNG.normal(size=5)
    (found,) = evaluate([node], {"c": column}, FUNCTIONS, OPERATORS)
    assert np.array_equal(found, column[abs(np.subtract.outer(range(5), range(5)))])


def test_positions_drift_with_their_axis() -> None:
    graph = Graph()
    n = Dim.of("n")
    places = graph.iota(n)
    difference = graph.sum("ij", [(3, places, "i"), (-3, places, "j")])
    assert drift(difference, (1, 1)) == 0
    assert drift(difference, (1, 0)) == 3
    assert drift(graph.input("A", [n, n]), (1, 1)) is None


@pytest.mark.parametrize(("reach", "known"), [(0, None), (1, 0)])
def test_a_label_that_may_leave_its_range_keeps_its_place(
    reach: int, known: int | None
) -> None:
    graph = Graph()
    n = Dim.of("n")
    rows, columns = graph.iota(n + reach), graph.iota(n)
    distance = graph.sum("sa", [(1, rows, "s"), (-1, columns, "a")])
    kernel = graph.map("cos", "sa", [(distance, "sa")])
    given = [delta({"s": 1, "b": -1}, Dim.of(-1))]
    node = graph.product("ab", [(kernel, "sa")], constraints=given, sizes={"b": n})
    assert drift(node, (1, 1)) == known


def test_each_structure_has_its_templates_after_those_that_it_needs() -> None:
    every = in_order({row.template for row in STRUCTURES})
    names = [row.template for row in every]
    assert len(set(names)) == len(names)
    for row in every:
        for other in (*row.needs, *row.after):
            assert names.index(other) < names.index(row.template)
