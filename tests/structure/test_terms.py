"""Equal functions in other spellings hold the same, and a second term costs no more."""

from __future__ import annotations

import inspect
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from tensorgen import load
from tensorgen.ir.dims import Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import delta
from tensorgen.passes.cost import CostModel
from tensorgen.structure.compress import compress

Array = Any


def module(expr: str, inputs: str, dims: str, where: str = "", wrt: str = "x") -> Any:
    """A function with its Hessian, as an object and as an array."""
    lines = "".join(f"      {line}\n" for line in where.splitlines())
    return load(
        f"tensorgen: 1\ndims: {{{dims}}}\ninputs: {{{inputs}}}\nfunctions:\n  f:\n"
        + ("    where: |\n" + lines) * bool(where)
        + f"    expr: '{expr}'\n    wrt: {wrt}\n"
        + "    emit: [gradient, hessian, dense_hessian]\n"
    )


def hessian(made: Any, **given: Array) -> Any:
    """The Hessian at what it takes of some arguments."""
    names = inspect.signature(made.f_hess).parameters
    return made.f_hess(**{name: given[name] for name in names})


def check(made: Any, **given: Array) -> Any:
    """Hold a Hessian against differences of the gradient; return it."""
    names = inspect.signature(made.f_hess).parameters
    own = {name: given[name] for name in names}
    found = made.f_hess(**own)
    first = next(iter(names)) if "x" not in names else "x"
    x, step = np.asarray(own[first]), 1e-6
    columns = []
    for k in range(x.size):
        e = np.zeros(x.size)
        e[k] = step
        ahead, behind = (
            made.f_grad(**own | {first: x + s * e.reshape(x.shape)}) for s in (1, -1)
        )
        columns.append((ahead - behind).ravel() / (2 * step))
    wanted = np.array(columns)
    scale = 1 + abs(wanted).max()
    np.testing.assert_allclose(np.asarray(found), wanted, atol=1e-7 * scale)
    rows, places, values = found.coo()
    added = np.zeros_like(wanted)
    np.add.at(added, (rows, places), values)
    np.testing.assert_allclose(added, wanted, atol=1e-7 * scale)
    dense = made.f_hess_dense(**own).reshape(wanted.shape)
    np.testing.assert_allclose(dense, np.asarray(found), atol=1e-11 * scale)
    return found


LENGTHS = [
    "sum(sqrt(1 + ((x[1:] - x[:-1])/h)**2))",
    "h*sum(sqrt(1 + ((x[1:] - x[:-1])/h)**2))",
    "sum(h*sqrt(1 + ((x[1:] - x[:-1])/h)**2))",
    "sum(sqrt(1 + ((x[1:] - x[:-1])*(1/h))**2))",
    "sum(sqrt(1 + (x[1:]/h - x[:-1]/h)**2))",
    "sum(sqrt(1 + (x[1:] - x[:-1])**2/h**2)/h)",
    "sum(sqrt(1 + ((x[1:] - x[:-1])/0.1)**2))/h",
    "sum(sqrt(1 + ((x[1:] - x[:-1])*n)**2))*h",
]


@pytest.mark.parametrize("expr", LENGTHS)
def test_a_band_is_one_however_scalars_are_placed(expr: str) -> None:
    made = module(expr, "x: [n], h: []", "n: 4000")
    rng = np.random.default_rng(0)
    check(made, x=rng.normal(size=7), h=0.3)
    found = hessian(made, x=rng.normal(size=4000), h=0.3)
    assert found.nbytes == 8 * 2 * 4000


PAIRS = {
    "r2[i,j]**-6 - r2[i,j]**-3": 6,
    "1/r2[i,j] + log(r2[i,j])": 6,
    "(1 - exp(-(sqrt(r2[i,j]) - 1)))**2": 6,
}


@pytest.mark.parametrize("potential", PAIRS)
def test_pairs_hold_blocks_whatever_the_terms_of_their_potential(
    potential: str,
) -> None:
    made = module(
        f"sum({potential}, i, j, i < j)",
        "x: [n, 3]",
        "n: 300",
        "r2[i, j] = sum((x[i, k] - x[j, k])**2, k)",
    )
    rng = np.random.default_rng(1)
    check(made, x=rng.normal(size=(5, 3)))
    n = 60
    # Blocks of 3 x 3 for all pairs would be nine numbers a pair.
    held = PAIRS[potential] * n**2 + (9 + 1) * n
    assert hessian(made, x=rng.normal(size=(n, 3))).nbytes <= 8 * held
    assert "(n, n, n" not in inspect.getsource(made.f_hess)


RANKS = {
    "x @ (diag(d) + F @ O @ F.T) @ x/2": lambda n, r: n + n * r + r**2,
    "x @ (diag(d) + alpha*ones(n, n)) @ x/2": lambda n, r: n + 1,
    "x @ (diag(d) + F @ F.T + alpha) @ x/2": lambda n, r: n + n * r + 1,
    "x @ (alpha*eye(n) + F @ O @ F.T + diag(d)) @ x/2": lambda n, r: n + n * r + r**2,
    "x @ (diag(d) + F @ A @ F.T) @ x/2": lambda n, r: n + 2 * n * r,
    "sum((n - sum(cos(x)) + (i+1)*(1 - cos(x[i])) - sin(x[i]))**2, i)": (
        lambda n, r: 4 * n
    ),
}


@pytest.mark.parametrize("expr", RANKS)
def test_low_rank_is_solved_with_whatever_stands_in_it(
    expr: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = module(
        expr,
        "x: [n], F: [n, r], O: {shape: [r, r], symmetric: true}, A: [r, r], "
        "d: [n], alpha: []",
        "n: 2000, r: 5",
    )
    rng = np.random.default_rng(2)

    def given(n: int, r: int) -> dict[str, Array]:
        root = rng.normal(size=(r, r))
        return {
            "x": rng.normal(size=n) / n + 1 / n,
            "F": rng.normal(size=(n, r)),
            "O": root @ root.T,
            "A": np.eye(r) + root / 10,
            "d": rng.uniform(1, 2, n),
            "alpha": 0.7,
        }

    check(made, **given(6, 2))
    n, r = 400, 5
    found = hessian(made, **given(n, r))
    assert found.nbytes <= 8 * RANKS[expr](n, r)
    b, matrix = np.cos(np.arange(n)), np.asarray(found).copy()
    wanted = np.linalg.solve(matrix, b)
    factors = found.factorize()
    with monkeypatch.context() as without:
        without.setattr(type(found), "dense", None)
        solved = factors.solve(b)
    np.testing.assert_allclose(solved, wanted, atol=1e-10 * abs(wanted).max())
    assert abs(factors.logdet - np.linalg.slogdet(matrix)[1]) < 1e-9
    assert factors.is_posdef == bool((np.linalg.eigvalsh(matrix) > 0).all())


def test_terms_that_cancel_are_no_terms() -> None:
    graph, n = Graph(), Dim.of("n")
    u, v, w = (graph.input(name, (n,)) for name in "uvw")
    where, sizes = [delta({"i": 1, "j": -1})], {"i": n, "j": n}

    def term(first: Any, second: Any, third: Any) -> Any:
        inner = graph.product("i", [(first, "i"), (second, "i")])
        whole = graph.product("i", [(inner, "i"), (third, "i")])
        return graph.product("ij", [(whole, "i")], constraints=where, sizes=sizes)

    off = graph.product("ij", [(u, "i"), (v, "j")])
    terms = [(1, term(u, v, w), "ij"), (-1, term(u, w, v), "ij"), (1, off, "ij")]
    found = compress(graph, graph.sum("ij", terms), CostModel({"n": 1000}))
    (left,) = found.terms
    assert [node for node, _ in left.factors] == [u, v]
    nothing = compress(graph, graph.sum("ij", terms[:2]), CostModel({"n": 1000}))
    assert nothing.vanishes
    assert nothing.terms[0].coefficient == Fraction(0)
