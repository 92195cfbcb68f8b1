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
    first = next(name for name in ("x", "rot") if name in names)
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
    "c[i,j]*(1 - exp(-a*(sqrt(r2[i,j]) - 1)))**2 + q[i]*q[j]/sqrt(r2[i,j])": 6,
}


@pytest.mark.parametrize("potential", PAIRS)
def test_pairs_hold_blocks_whatever_the_terms_of_their_potential(
    potential: str,
) -> None:
    made = module(
        f"sum({potential}, i, j, i < j)",
        "x: [n, 3], q: [n], c: [n, n], a: []",
        "n: 300",
        "r2[i, j] = sum((x[i, k] - x[j, k])**2, k)",
    )
    rng = np.random.default_rng(1)

    def given(n: int) -> dict[str, Array]:
        shapes = {"x": (n, 3), "q": (n,), "c": (n, n), "a": ()}
        return {name: rng.normal(size=shape) for name, shape in shapes.items()}

    check(made, **given(5))
    n = 60
    # Blocks of 3 x 3 for all pairs would be nine numbers a pair.
    held = PAIRS[potential] * n**2 + (9 + 1) * n
    assert hessian(made, **given(n)).nbytes <= 8 * held
    assert "(n, n, n" not in inspect.getsource(made.f_hess)


RANKS = {
    "x @ (diag(d) + F @ O @ F.T) @ x/2": lambda n, r: n + n * r + r**2,
    "x @ (diag(d) + alpha*ones(n, n)) @ x/2": lambda n, r: n + 1,
    "x @ (diag(d) + F @ F.T + alpha) @ x/2": lambda n, r: n + n * r + 1,
    "x @ (alpha*eye(n) + F @ O @ F.T + diag(d)) @ x/2": lambda n, r: n + n * r + r**2,
    "x @ (diag(d) + F @ A @ F.T) @ x/2": lambda n, r: n + 2 * n * r,
    "sum(d*cosh(x)) + sum(x)**2*norm(F.T @ x)**2": (lambda n, r: 2 * (n + n * r) + n),
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
    n, r = 150, 5
    found = hessian(made, **given(n, r))
    assert found.nbytes <= 8 * RANKS[expr](n, r)
    b, matrix = np.cos(np.arange(n)), np.asarray(found).copy()
    wanted = np.linalg.solve(matrix, b)
    factors = found.factorize()
    assert type(factors).__name__ == "_LowRankFactorization"
    with monkeypatch.context() as without:
        without.setattr(type(found), "dense", None)
        solved = factors.solve(b)
    np.testing.assert_allclose(solved, wanted, atol=1e-10 * abs(wanted).max())
    assert abs(factors.logdet - np.linalg.slogdet(matrix)[1]) < 1e-9
    assert factors.is_posdef == bool((np.linalg.eigvalsh(matrix) > 0).all())


POSES = [
    "sum(atan2(sin(x[t] - x[s] - z), cos(x[t] - x[s] - z))**2)",
    "sum(w*atan2(sin(x[t] - x[s] - z), cos(x[t] - x[s] - z))**2)",
    "sum(w[e]*(1 - cos(x[t[e]] - x[s[e]] - z[e])), e)",
]


@pytest.mark.parametrize("expr", POSES)
def test_poses_hold_a_number_an_edge(expr: str) -> None:
    inputs = "x: [n], z: [m], w: [m]"
    inputs += "".join(f", {k}: {{shape: [m], index: n}}" for k in "st")
    made = module(expr, inputs, "n: 8000, m: 8000")
    rng = np.random.default_rng(6)

    def given(n: int, m: int) -> dict[str, Array]:
        ends = {k: rng.integers(0, n, m) for k in "st"}
        return {
            "x": rng.normal(size=n),
            "z": rng.normal(size=m) / 3,
            "w": rng.uniform(1, 2, m),
            **ends,
        }

    check(made, **given(5, 9))
    n = m = 8000
    found = hessian(made, **given(n, m))
    assert found.nbytes <= 8 * 3 * m
    assert len(found.coo()[2]) <= 4 * m + 2 * n


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


BROYDEN = [
    "sum((x[i+5]*(2 + 5*x[i+5]**2) + 1 - z[i] - z[i+1] - z[i+2] - z[i+3] - z[i+4]"
    " - z[i+6])**2, i)",
    "sum((x[5:n-1]*(2 + 5*x[5:n-1]**2) + 1 - z[0:n-6] - z[1:n-5] - z[2:n-4]"
    " - z[3:n-3] - z[4:n-2] - z[6:n])**2)",
    "sum((x*(2 + 5*x**2) + 1 - p[0:n] - p[1:n+1] - p[2:n+2] - p[3:n+3] - p[4:n+4]"
    " - p[6:n+6])**2)",
]


@pytest.mark.parametrize("expr", BROYDEN)
def test_a_stencil_of_many_terms_is_a_band(expr: str) -> None:
    where = "z = x*(1 + x)\np = concatenate([zeros(5), z, zeros(1)])"
    made = module(expr, "x: [n]", "n: 4000", where)
    rng = np.random.default_rng(3)
    check(made, x=rng.normal(size=11) / 2)
    n = 4000
    assert hessian(made, x=rng.normal(size=n)).nbytes == 8 * 7 * n


TRAPEZOIDS = {
    "sum(d**2)": "F = stack([x[:, 1], -g*sin(x[:, 0])], axis=1)\n"
    "d = x[1:] - x[:-1] - h/2*(F[1:] + F[:-1])",
    "sum(a**2) + sum(b**2)": "a = x[1:, 0] - x[:-1, 0] - h/2*(x[1:, 1] + x[:-1, 1])\n"
    "b = x[1:, 1] - x[:-1, 1] + h/2*g*(sin(x[1:, 0]) + sin(x[:-1, 0]))",
}


@pytest.mark.parametrize("expr", TRAPEZOIDS)
def test_stacked_states_are_blocks_of_neighbours(expr: str) -> None:
    made = module(expr, "x: [n, 2], g: [], h: []", "n: 1000", TRAPEZOIDS[expr])
    rng = np.random.default_rng(4)
    check(made, x=rng.normal(size=(5, 2)), g=9.81, h=0.1)
    n = 1000
    found = hessian(made, x=rng.normal(size=(n, 2)), g=9.81, h=0.1)
    # Two bands of blocks of 2 x 2, and a diagonal.
    assert found.nbytes <= 8 * (9 * n + 1)


CAMERAS = {
    "of a camera": ("t[c[q]]", "t[a] = norm(rot[a, :])"),
    "of an observation": ("norm(rot[c[q], :])", ""),
}


@pytest.mark.parametrize("angle", CAMERAS)
def test_what_is_computed_for_each_camera_ties_none(angle: str) -> None:
    term, where = CAMERAS[angle]
    made = module(
        f"sum((cos({term})*P[q] + sin({term})*sum(rot[c[q], k], k) - y[q])**2, q)",
        "rot: [m, 3], P: [o], y: [o], c: {shape: [o], index: m}",
        "m: 50, o: 20000",
        where,
        "rot",
    )
    rng = np.random.default_rng(5)

    def given(m: int, o: int) -> dict[str, Array]:
        shapes = {"rot": (m, 3), "P": (o,), "y": (o,)}
        arrays = {name: rng.normal(size=shape) for name, shape in shapes.items()}
        return {**arrays, "c": rng.integers(0, m, o)}

    check(made, **given(3, 9))
    m = 50
    # At most the blocks, and what they are made of.
    assert hessian(made, **given(m, 2000)).nbytes <= 8 * (9 + 9 + 8) * m


def test_what_two_terms_are_sums_over_is_held_once() -> None:
    # The gradient by w of a norm over another: B has a core, and vectors besides it.
    made = module(
        "(x @ s)/sqrt(sum((B.T @ x)**2) + sum(d*x**2))",
        "x: [n], B: [n, k], d: {shape: [n], positive: true}, s: [n]",
        "n: 5000, k: 20",
    )
    rng = np.random.default_rng(0)
    B, d = rng.normal(size=(9, 3)), rng.random(9) + 1
    found = check(made, x=rng.normal(size=9), B=B, d=d, s=rng.normal(size=9))
    matrices = [array for array in found.factors.values() if np.ndim(array) == 2]
    assert len(matrices) == 1
    assert "diagonal plus rank k + 2" in found.structure


def test_products_over_a_common_label_are_one_product() -> None:
    # Two Gram products with other weights: sum_m X[m, i] * X[m, k] * (a - b)[m, j].
    made = module(
        "sum(lgamma(alpha + Y) - lgamma(alpha)) - sum(lgamma(s + t) - lgamma(s))",
        "x: [p, K], X: [n, p], Y: {shape: [n, K], nonnegative: true}",
        "n: 300, p: 40, K: 8",
        "alpha = exp(X @ x)\ns = sum(alpha, axis=1)\nt = sum(Y, axis=1)",
    )
    rng = np.random.default_rng(5)
    check(
        made,
        x=rng.normal(size=(2, 3)),
        X=rng.normal(size=(4, 2)),
        Y=rng.integers(0, 5, size=(4, 3)).astype(float),
    )
    assert len(made.FHessian.fields) == 4  # X, what weights it in blocks, alpha and d


def test_what_index_arrays_add_up_is_one_array_beside_what_they_read() -> None:
    # sum_r,j X[order[r, j], a] * B[r, j, b] = X.T @ C, C the sums of B by item.
    made = module(
        "sum(rest - s)",
        "x: [p], X: [items, p], order: {shape: [races, k], index: items}",
        "items: 50, p: 9000, races: 40, k: 6",
        "u = X @ x\ns[r, j] = u[order[r, j]]\n"
        "rest[r, j=range(k)] = logsumexp(s[r, l], l, l >= j)",
    )
    rng = np.random.default_rng(6)
    check(
        made,
        x=rng.normal(size=7),
        X=rng.normal(size=(3, 7)),
        order=np.array([[0, 2, 1], [1, 0, 2], [2, 1, 0], [0, 1, 2]]),
    )
    assert made.FHessian.structure.startswith("rank items:")
