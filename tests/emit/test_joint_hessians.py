"""Joint Hessians of structured blocks: products, entries, elimination."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import reverse_cuthill_mckee

import tensorgen
from tests.emit.pieces import load
from tests.emit.solving import DTYPES, PIECES, WAYS, check, shifted

RNG = np.random.default_rng(2)


@pytest.fixture(scope="module")
def ways() -> ModuleType:
    pieces = [piece for piece in PIECES if piece != "factorization"]
    result = load("jacobian", "hessian", "structured", *pieces, "joint_hessian")
    exec(_DIAGONAL, result.__dict__)
    return result


# What a generated class of a diagonal Hessian has.
_DIAGONAL = '''
class Diagonal(_Hessian):
    """A diagonal, which must not be made a matrix of."""

    _ease = 0

    def __init__(self, entries):
        vars(self).update(entries=entries, structure="diagonal")

    factors = property(lambda self: {"entries": self.entries})
    rows = columns = property(lambda self: self.entries.shape)

    @property
    def matrix(self):
        assert self.entries.size < 1000, "a matrix of this size"
        return np.diag(self.entries.ravel())

    def _times(self, v):
        return (self.entries.ravel() * v.T).T

    def diagonal(self):
        return self.entries.copy()

    def _values(self):
        return [self.entries]

    def _places(self):
        own = np.arange(self.entries.size)
        return [(own, own)]

    def factorize(self, shift=0.0):
        return _DiagonalFactorization(self.entries, self.columns, shift)


class Zero(Jacobian):
    """A block without entries."""

    _vanishes = True
'''


def entries(*shape: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).normal(size=shape)


def joint(ways: ModuleType, dtype: Any = float, *, middle: int = 3) -> Any:
    """Two diagonals that nothing joins, and a dense block that touches both."""
    B = entries(middle, middle)
    blocks = {
        ("x", "x"): ways.Diagonal(entries(5, 4, seed=1).astype(dtype)),
        ("x", "b"): ways.Jacobian(entries(5, 4, middle).astype(dtype), 1, "C"),
        ("x", "z"): ways.Zero(np.zeros((5, 4, 6), dtype), 1, "0"),
        ("b", "b"): ways.Hessian((B + B.T).astype(dtype), 1, "B"),
        ("b", "z"): ways.Jacobian(entries(middle, 6).astype(dtype), 1, "D"),
        ("z", "z"): ways.Diagonal(entries(6, seed=3).astype(dtype)),
    }
    return ways.JointHessian(blocks)


def part(H: Any, *names: str) -> Any:
    pairs = {pair: h for pair, h in H.pairs.items() if {*pair} <= {*names}}
    return type(H)(pairs)


@pytest.mark.parametrize("names", ["xbz", "xb", "bz", "xz", "x", "b"])
def test_everything_agrees_with_the_matrix(ways: ModuleType, names: str) -> None:
    H = part(joint(ways), *names)
    matrix = H.dense()
    assert (matrix == matrix.T).all()
    assert (H.diagonal() == np.diagonal(matrix)).all()
    v = RNG.normal(size=(len(matrix), 2))
    assert np.allclose(H @ v, matrix @ v)
    assert np.allclose(H.rmatvec(v[:, 0]), matrix @ v[:, 0])
    assert H.nbytes == sum(block.nbytes for block in H.pairs.values())
    for lower in (False, True):
        rows, columns, values = H.coo(lower=lower)
        found = np.zeros_like(matrix)
        np.add.at(found, (rows, columns), values)
        assert (found == (np.tril(matrix) if lower else matrix)).all()


def test_a_block_below_the_diagonal_is_a_transposed_view(ways: ModuleType) -> None:
    H = joint(ways)
    block, turned = H.blocks["x", "b"], H.blocks["b", "x"]
    assert turned.tensor_shape == (3, 5, 4)
    assert turned.factors["array"] is block.factors["array"]
    assert (turned.dense() == np.moveaxis(block.dense(), 2, 0)).all()
    u, v = RNG.normal(size=3), RNG.normal(size=(5, 4))
    assert np.allclose(turned @ v, np.tensordot(turned.dense(), v))
    assert np.allclose(turned.rmatvec(u), block @ u)
    assert turned.nbytes == block.nbytes
    for lower in (False, True):
        rows, columns, values = turned.coo(lower=lower)
        found = np.zeros(turned.shape)
        found[rows, columns] = values
        assert (found == (np.tril(turned.matrix) if lower else turned.matrix)).all()


def test_buffers_that_blocks_share_count_once(ways: ModuleType) -> None:
    A = entries(4, 4)
    pairs = {
        ("x", "x"): ways.Hessian(A + A.T, 1, "A"),
        ("x", "y"): ways.Jacobian(A, 1, "A"),
        ("y", "y"): ways.Hessian(A, 1, "A"),
    }
    assert ways.JointHessian(pairs).nbytes == 2 * 8 * 16


@WAYS
@pytest.mark.parametrize(
    ("names", "first"),
    [("xbz", "xz"), ("xb", "x"), ("bz", "z"), ("xz", "xz"), ("x", "x"), ("b", "")],
)
def test_easy_blocks_are_eliminated(
    ways: ModuleType, names: str, first: str, shift: float, dtype: Any
) -> None:
    H = part(joint(ways, dtype), *names)
    assert H._eliminated() == [*first]
    matrix = shifted(H.dense(), shift, dtype)
    check(lambda: H.factorize(shift), matrix, H.columns)


@pytest.mark.parametrize("dtype", DTYPES)
def test_an_input_without_entries_changes_nothing(ways: ModuleType, dtype: Any) -> None:
    H = joint(ways, dtype, middle=0)
    check(lambda: H.factorize(0.5), shifted(H.dense(), 0.5, dtype), H.columns)


def test_a_singular_block_falls_back_to_the_whole_matrix(ways: ModuleType) -> None:
    H = part(joint(ways), "x", "b")
    H.pairs["x", "x"].entries[2, 1] = 0
    assert H.factorize()._whole is not None
    check(H.factorize, H.dense(), H.columns)


def test_a_small_pivot_of_a_block_costs_no_digits(ways: ModuleType) -> None:
    H = part(joint(ways), "x", "b")
    # Its own draws: which others have been made depends on how tests are spread.
    random = np.random.default_rng(8)
    for small in (1e-5, 1e-8, 1e-11, 1e-14):
        H.pairs["x", "x"].entries[2, 1] = small
        b = random.normal(size=23)
        assert abs(H @ H.solve(b) - b).max() < 1e-12
        check(H.factorize, H.dense(), H.columns)


def test_joint_hessians_that_are_singular_are_refused(ways: ModuleType) -> None:
    d, C = 1 + np.random.default_rng(1).random((5, 4)), entries(5, 4, 1)
    B = np.array([[(C[..., 0] ** 2 / d).sum()]])
    pairs = {
        ("x", "x"): ways.Diagonal(d),
        ("x", "b"): ways.Jacobian(C, 1, "C"),
        ("b", "b"): ways.Hessian(B, 1, "B"),
    }
    with pytest.raises(np.linalg.LinAlgError):
        ways.JointHessian(pairs).factorize()
    pairs["b", "b"] = ways.Hessian(B + 1e-3, 1, "B")
    assert ways.JointHessian(pairs).factorize().is_posdef


def test_the_largest_easy_block_is_eliminated_however_large(ways: ModuleType) -> None:
    n = 100_000
    pairs = {
        ("a", "a"): ways.Diagonal(np.full(1, 5.0)),
        ("a", "x"): ways.Jacobian(entries(1, n) / n, 1, "C"),
        ("x", "x"): ways.Diagonal(1 + RNG.random(n)),
    }
    H = ways.JointHessian(pairs)
    b = RNG.normal(size=n + 1)
    factorization = H.factorize()
    assert abs(H @ factorization.solve(b) - b).max() < 1e-12
    assert factorization.is_posdef
    assert len(factorization._complement.columns) == 1


COUPLED = """
tensorgen: 1
module: coupled
inputs:
  x: {shape: [n]}
  u: {shape: [m]}
  s: {shape: [e], index: n}
  t: {shape: [e], index: m}
functions:
  chain:
    expr: sum((x[i + 1] - sin(x[i]) - u[i])**2, i=range(m)) + sum(x**4) + sum(u**4)
    wrt: [x, u]
    emit: hessian
  graph:
    expr: sum(exp(x[s] * u[t])) + sum(x**4) + sum(u**4)
    wrt: [x, u]
    emit: hessian
"""


@pytest.fixture(scope="module")
def coupled() -> Any:
    return tensorgen.load(COUPLED)


def solved_by(H: Any) -> str:
    """Solve with a Hessian and name the way that did."""
    factorization, b = H.factorize(1.0), RNG.normal(size=H.rows)
    s = factorization.solve(b)
    assert abs(H @ s + s - b).max() < 1e-9
    return type(factorization).__name__


def test_inputs_coupled_in_a_narrow_band_are_eliminated_as_it(coupled: Any) -> None:
    x, u = RNG.normal(size=400), RNG.normal(size=399)
    assert solved_by(coupled.chain_hess(x, u)) == "_SparseFactorization"
    # Shuffled, it is as narrow in another order.
    s, t = RNG.permutation(400)[:300], RNG.permutation(399)[:300]
    assert solved_by(coupled.graph_hess(x, u, s, t)) == "_SparseFactorization"


def test_inputs_coupled_at_random_leave_a_dense_system(coupled: Any) -> None:
    s, t = RNG.integers(0, 600, 3000), RNG.integers(0, 300, 3000)
    H = coupled.graph_hess(RNG.normal(size=600), RNG.normal(size=300), s, t)
    assert solved_by(H) == "_SchurFactorization"


def test_inputs_coupled_along_a_path_with_some_chords_are_sparse(coupled: Any) -> None:
    """No order leaves them near the diagonal, but elimination fills in little."""
    n = 1300
    chords = RNG.integers(0, n, (2, 400))
    s = np.concatenate([np.arange(n), np.arange(1, n), chords[0]])
    t = np.concatenate([np.arange(n), np.arange(n - 1), chords[1]])
    H = coupled.graph_hess(RNG.normal(size=n), RNG.normal(size=n), s, t)
    i, j, values = H.coo()
    graph = csr_matrix((np.ones_like(values), (i, j)))
    place = np.argsort(reverse_cuthill_mckee(graph, symmetric_mode=True))
    assert 10 * len(place) * abs(place[i] - place[j]).max() ** 2 > n**3
    assert solved_by(H) == "_SparseFactorization"


def test_a_tuple_of_fields_is_refused_by_name(coupled: Any) -> None:
    H = coupled.chain_hess(RNG.normal(size=3), RNG.normal(size=2))
    with pytest.raises(TypeError, match="flat vector, got tuple; join its fields"):
        H.solve((np.ones(3), np.ones(2)))


def test_a_narrow_band_without_scipy_leaves_a_dense_system(
    coupled: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "scipy.sparse", None)
    H = coupled.chain_hess(RNG.normal(size=300), RNG.normal(size=299))
    assert solved_by(H) in ("_SchurFactorization", "_DenseFactorization")


def test_joint_hessians_are_solved_with_on_the_device(cupy: ModuleType) -> None:
    pieces = [piece for piece in PIECES if piece != "factorization"]
    theirs = load(
        "jacobian", "hessian", "structured", *pieces, "joint_hessian", backend="cupy"
    )
    exec(_DIAGONAL.replace("np.", "cp."), theirs.__dict__)
    d, C, B = 1 + RNG.random(6), entries(6, 2), np.eye(2)
    H = theirs.JointHessian(
        {
            ("x", "x"): theirs.Diagonal(cupy.asarray(d)),
            ("x", "b"): theirs.Jacobian(cupy.asarray(C), 1, "C"),
            ("b", "b"): theirs.Hessian(cupy.asarray(B), 1, "B"),
        }
    )
    matrix = np.block([[np.diag(d), C], [C.T, B]])
    assert np.allclose(H.dense().get(), matrix)
    assert np.allclose(H.diagonal().get(), np.diagonal(matrix))
    b = RNG.normal(size=8)
    factorization = H.factorize(0.5)
    solution = factorization.solve(cupy.asarray(b)).get()
    assert np.allclose((matrix + 0.5 * np.eye(8)) @ solution, b)
    assert factorization._whole is None
    assert H.nbytes == 8 * (6 + 12 + 4)
