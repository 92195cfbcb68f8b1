"""Products with deltas through index arrays: when to read, and when to add up."""

from __future__ import annotations

from math import inf
from typing import Any

import numpy as np
import pytest

import tensorgen
from tensorgen.ir.dims import Dim
from tensorgen.ir.effort import Effort
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Input, Lookup, Node, Product, delta, topological
from tensorgen.operators.references.rows import FUNCTIONS, OPERATORS
from tensorgen.passes.cost import CostModel
from tensorgen.passes.order import search_trees
from tensorgen.passes.order.networks import Tree
from tensorgen.passes.order.order_contractions import Contraction, order_contractions
from tensorgen.passes.order.search_trees import best_tree
from tensorgen.verify.interpret import evaluate

N, E, A = Dim.of("n"), Dim.of("e"), Dim.of("a")
FEW = {"n": 50, "e": 400, "a": 3}
MANY = {"n": 5000, "e": 4000, "a": 3}


class Mesh:
    """Elements `q` with `a` nodes each, matrices of theirs and of all nodes."""

    def __init__(self) -> None:
        g = self.g = Graph()
        self.dof = g.input("dof", (E, A), index=N)
        self.M = g.input("M", (A, A))
        self.K = g.input("K", (N, N))
        self.W = g.input("W", (N, N))
        self.u = g.input("u", (N,))
        self.rho = g.input("rho", (E,))

    def at(self, label: str, place: str) -> Any:
        names: Any = ("q", place)
        return delta({label: 1, Lookup(self.dof, names): -1})

    def nodes(self) -> dict[str, Node]:
        g, sizes = self.g, {"i": N, "j": N, "q": E, "r": A, "s": A}
        both = [self.at("i", "r"), self.at("j", "s")]
        u, M, rho = self.u, self.M, self.rho
        return {
            "energies": g.product(
                "q",
                [(M, "rs"), (u, "i"), (u, "j"), (rho, "q")],
                constraints=both,
                sizes=sizes,
            ),
            "forces": g.product(
                "k",
                [(self.K, "ki"), (M, "rs"), (rho, "q"), (u, "j")],
                constraints=both,
                sizes={**sizes, "k": N},
            ),
            "assembled": g.product(
                "ij", [(M, "rs"), (rho, "q")], constraints=both, sizes=sizes
            ),
            "first multiplied": g.product(
                "qrk",
                [(self.K, "ij"), (self.W, "jk"), (rho, "q")],
                constraints=[self.at("i", "r")],
                sizes={**sizes, "k": N},
            ),
        }


def intermediates(node: Node) -> list[tuple[Dim, ...]]:
    return [x.dims for x in topological([node]) if isinstance(x, Product) and x != node]


@pytest.mark.parametrize("name", Mesh().nodes())
@pytest.mark.parametrize("hints", [FEW, MANY])
def test_the_order_changes_no_value(name: str, hints: dict[str, int]) -> None:
    mesh, sizes = Mesh(), {"n": 5, "e": 4, "a": 3}
    node = mesh.nodes()[name]
    (ordered,) = order_contractions(mesh.g, [node], CostModel(hints))
    rng = np.random.default_rng(0)
    given: dict[str, Any] = {"dof": rng.integers(0, 5, (4, 3))}
    for other in (mesh.M, mesh.K, mesh.W, mesh.u, mesh.rho):
        shape = [dim.value(sizes) for dim in other.dims]
        assert isinstance(other, Input)
        given[other.name] = rng.normal(size=shape)
    before, after = evaluate([node, ordered], given, FUNCTIONS, OPERATORS, sizes)
    np.testing.assert_allclose(after, before, rtol=1e-12)


def test_without_a_search_the_tree_still_holds_every_link(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def leaves(tree: Tree) -> list[int]:
        if isinstance(tree, int):
            return [tree]
        return [leaf for part in tree for leaf in leaves(part)]

    monkeypatch.setattr(search_trees, "STEPS", 0)
    mesh = Mesh()
    node = mesh.nodes()["energies"]
    assert isinstance(node, Product)
    plan = best_tree(Contraction(mesh.g, node, CostModel(MANY)).network, Effort())
    assert plan.cost == inf
    assert leaves(plan.tree) == [*range(4 + 2)]


def test_entries_are_read_before_they_are_multiplied() -> None:
    mesh = Mesh()
    (ordered,) = order_contractions(mesh.g, [mesh.nodes()["energies"]], CostModel(MANY))
    assert {E, A} in map(set, intermediates(ordered))
    assert not any(N in dims for dims in intermediates(ordered))


def test_entries_are_added_up_before_a_matrix_is_applied() -> None:
    mesh = Mesh()
    (ordered,) = order_contractions(mesh.g, [mesh.nodes()["forces"]], CostModel(MANY))
    found = intermediates(ordered)
    assert (N,) in found
    assert all(dims == (N,) for dims in found if N in dims)


def test_a_matrix_is_assembled_at_once() -> None:
    mesh = Mesh()
    node = mesh.nodes()["assembled"]
    (ordered,) = order_contractions(mesh.g, [node], CostModel(MANY))
    assert not any(N in dims for dims in intermediates(ordered))


@pytest.mark.parametrize("hints", [MANY, {}])
def test_no_matrix_of_zeros_is_filled(hints: dict[str, int]) -> None:
    """Neighbours are added up by rows, without the matrix of who is whose."""
    g = Graph()
    dof = g.input("dof", (E, A), index=N)
    row = g.input("row", (E,), index=N)
    w, x = g.input("w", (E, A)), g.input("x", (N, A))
    names: Any = ("q", "r")
    first: Any = ("q",)
    node = g.product(
        "ic",
        [(w, "qr"), (x, "jc")],
        constraints=[
            delta({"i": 1, Lookup(dof, names): -1}),
            delta({"j": 1, Lookup(row, first): -1}),
        ],
        sizes={"i": N, "j": N, "c": A, "q": E, "r": A},
    )
    (ordered,) = order_contractions(g, [node], CostModel(hints))
    assert all(
        dims.count(N) < 2 and not {N, E} <= {*dims} for dims in intermediates(ordered)
    )


def test_few_rows_are_multiplied_before_many_read_them() -> None:
    mesh = Mesh()
    node = mesh.nodes()["first multiplied"]
    (few,) = order_contractions(mesh.g, [node], CostModel(FEW))
    assert (N, N) in intermediates(few)
    (many,) = order_contractions(mesh.g, [node], CostModel(MANY | {"e": 2}))
    assert (N, N) not in intermediates(many)


COMPLIANCE = """
tensorgen: 1
module: compliance
dims: {e: 1000, a: 8, n: 600}
inputs:
  rho: {shape: [e], positive: true}
  M: {shape: [a, a], spd: true}
  dof: {shape: [e, a], index: n}
  f: [n]
functions:
  c:
    where: |
      K[i, j] = sum(rho[q]**3 * M[r, s], q, r, s, dof[q, r] == i, dof[q, s] == j)
    expr: f @ solve(K + eye(n), f)
    wrt: rho
    emit: [value, gradient, hvp]
"""


def test_a_mesh_is_differentiated_element_by_element() -> None:
    source = tensorgen.generate(COMPLIANCE)
    assert "linalg.inv" not in source
    hvp = source.partition("def c_hvp(")[2].partition("\ndef ")[0]
    code = hvp.rpartition('"""')[2]
    assert code.count("linalg.solve(") == 2
    assert code.count("(dof.T[:, None], dof.T), n, n)") == 1
    assert "einsum" not in code
    rng = np.random.default_rng(0)
    n, e = 7, 9
    rho, d = rng.uniform(0.5, 1, e), rng.normal(size=e)
    root = rng.normal(size=(3, 3))
    M, dof = root @ root.T, rng.integers(0, n, (e, 3))
    f = rng.normal(size=n)

    def solved(weights: Any, right: Any) -> Any:
        K = np.eye(n)
        for q in range(e):
            np.add.at(K, np.ix_(dof[q], dof[q]), weights[q] * M)
        return np.linalg.solve(K, right)

    u = solved(rho**3, f)
    local = u[dof]
    gradient = -3 * rho**2 * np.einsum("qr,rs,qs->q", local, M, local)
    model = tensorgen.load(COMPLIANCE)
    np.testing.assert_allclose(model.c(rho, M, dof, f), f @ u, rtol=1e-10)
    np.testing.assert_allclose(model.c_grad(rho, M, dof, f), gradient, rtol=1e-9)
    force = np.zeros(n)
    np.add.at(force, dof, (3 * rho**2 * d)[:, None] * (local @ M))
    du = -solved(rho**3, force)
    expected = -6 * rho * d * np.einsum("qr,rs,qs->q", local, M, local)
    expected -= 6 * rho**2 * np.einsum("qr,rs,qs->q", local, M, du[dof])
    got = model.c_hvp(rho, M, dof, f, d)
    np.testing.assert_allclose(got, expected, rtol=1e-8, atol=1e-10)


COORDINATES = """
tensorgen: 1
module: coordinates
dims: {e: 20000, ni: 1000, nj: 500, nk: 300, r: 8}
inputs:
  A: [ni, r]
  B: [nj, r]
  C: [nk, r]
  v: [e]
  row: {shape: [e], index: ni}
  col: {shape: [e], index: nj}
  tube: {shape: [e], index: nk}
functions:
  loss:
    expr: sum((v[q] - sum(A[row[q], s] * B[col[q], s] * C[tube[q], s], s))**2, q)
    wrt: [A, B, C]
    emit: [value, gradient, hvp]
"""


def test_factors_of_a_sparse_tensor_meet_entry_by_entry() -> None:
    source = tensorgen.generate(COORDINATES)
    assert "A_C = A.take(row, axis=0) * C.take(tube, axis=0)" in source
    assert "_, residual = _loss_block(" in source
    # No table of all pairs of rows.
    assert "[:, :, None] *" not in source


LABELS = """
tensorgen: 1
module: labels
dims: {n: 1000, c: 5, e: 20000, m: 1000}
inputs:
  w: [e]
  K: [m, c]
  src: {shape: [e], index: m}
  dst: {shape: [e], index: n}
  y: {shape: [n], index: c}
functions:
  score:
    where: Z[i, k] = sum(w[q]*K[src[q], k], q, dst[q] == i)
    expr: sum(Z[i, y[i]], i)
    wrt: w
    emit: [value, gradient]
  loss:
    where: Z[i, k] = sum(w[q]*K[src[q], k], q, dst[q] == i)
    expr: sum(logsumexp(Z, axis=1)) - sum(Z[i, y[i]], i)
    wrt: w
    emit: [value, gradient]
"""


def test_an_entry_at_an_entry_is_one_of_a_composed_array() -> None:
    assert "K[src, y[dst]]" in tensorgen.generate(LABELS)
    model: Any = tensorgen.load(LABELS)
    rng = np.random.default_rng(0)
    n, c, e, m = 6, 3, 40, 5
    w, K = rng.normal(size=e), rng.normal(size=(m, c))
    src, dst, y = (rng.integers(0, k, s) for k, s in ((m, e), (n, e), (c, n)))
    given = (w, K, src, dst, y)
    Z = np.zeros((n, c))
    np.add.at(Z, dst, w[:, None] * K[src])
    own = K[src, y[dst]]
    p = np.exp(Z) / np.exp(Z).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.score(*given), Z[np.arange(n), y].sum())
    np.testing.assert_allclose(model.score_grad(*given), own)
    expected = (K[src] * p[dst]).sum(axis=1) - own
    np.testing.assert_allclose(model.loss_grad(*given), expected, atol=1e-12)
    # No table of who is whose.
    long = {"src": rng.integers(0, m, 200_000), "dst": rng.integers(0, n, 200_000)}
    found = model.loss_grad(rng.normal(size=200_000) / 1e5, K, y=y, **long)
    assert found.shape == (200_000,)
    assert "dst[:, None]" not in tensorgen.generate(LABELS)
