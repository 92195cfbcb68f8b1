"""Calls that carry tangents and cotangents themselves: reshapes, matrix functions."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

from tensorgen.calculus.derive import jacobian, jvp, vjp
from tensorgen.ir.dims import Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Call, Node, delta, topological
from tensorgen.operators.calls import OPERATORS, apply
from tensorgen.operators.matrices.matrix_functions import cholesky
from tensorgen.operators.matrices.spectral import of_symmetric
from tensorgen.operators.matrices.symmetry import even_part, is_even, is_symmetric
from tensorgen.operators.references.rows import FUNCTIONS
from tensorgen.operators.references.rows import OPERATORS as REFERENCE
from tensorgen.operators.reshape import Segment, reshape, segments
from tensorgen.operators.scans.running import running
from tensorgen.operators.stable import StableForms
from tensorgen.verify.interpret import evaluate
from tests.ir.verify import verify
from tests.lower.support import check

Array = Any
SIZES = {"m": 3, "n": 4, "k": 2}
M, N, K = (Dim.symbol(name) for name in "mnk")
RANDOM = np.random.default_rng(2)

MAKERS: dict[str, tuple[tuple[Dim, ...], Callable[[Graph, Node], Node]]] = {
    "reshape": ((K, M, N), lambda g, x: reshape(g, x, (M, N * K))),
    "cholesky": ((K, M, M), cholesky),
    "expm": ((K, M, M), lambda g, x: apply(g, "expm", [x])),
    **{
        name: ((K, M, M), partial(lambda name, g, x: of_symmetric(g, name, x), name))
        for name in ("eigvalsh", "eigvecsh", "sqrtm", "logm")
    },
    **{
        name: ((K, M, M), partial(lambda name, g, x: slope(g, name, x), name))
        for name in ("lyapunov", "log_slope")
    },
    **{
        f"running_{name}": (
            (K, N, M),
            partial(lambda name, g, x: running(g, x, 1, f"running_{name}"), name),
        )
        for name in ("logsumexp", "max", "min")
    },
    "running_mean": ((K, N), lambda g, x: triangular(g, "running_mean", x)),
    "running_share": ((K, N), lambda g, x: triangular(g, "running_share", x)),
    "tied_mean": ((K, N), lambda g, x: tied(g, "tied_mean", x)),
    "tied_share": ((K, N), lambda g, x: tied(g, "tied_share", x)),
}


def slope(graph: Graph, operator: str, x: Node) -> Node:
    """The slope of a function of matrices, of which both arguments depend on x."""
    axes = range(x.order)
    wave = graph.map("sin", axes, [(x, axes)])
    return apply(graph, operator, [even_part(graph, x, 1, 2), wave])


def triangular(graph: Graph, operator: str, x: Node) -> Node:
    """A product with a triangle of which all three arguments depend on x."""
    axes = range(x.order)
    args = [x, graph.map("sin", axes, [(x, axes)]), graph.map("cos", axes, [(x, axes)])]
    return apply(graph, operator, args, along=(1,))


def tied(graph: Graph, operator: str, x: Node) -> Node:
    """A product with the triangle of what equals the largest so far."""
    axes = range(x.order)
    args = [x, running(graph, x, 1, "running_max"), graph.map("sin", axes, [(x, axes)])]
    return apply(graph, operator, args, along=(1,))


def value(nodes: list[Node], **given: Array) -> list[Array]:
    """Verify nodes and interpret them."""
    verify(nodes)
    return evaluate(nodes, given, FUNCTIONS, REFERENCE, SIZES)


def entries(dims: tuple[Dim, ...]) -> Array:
    """Random entries; matrices among them are far from singular."""
    found = RANDOM.normal(size=tuple(dim.value(SIZES) for dim in dims))
    square = len(dims) > 1 and dims[-1] == dims[-2]
    return found + 5 * np.eye(found.shape[-1]) if square else found


def test_every_call_with_rules_of_its_own_is_tested() -> None:
    rules = {n: row.derivative for n, row in OPERATORS.items()}
    own = [n for n, rule in rules.items() if isinstance(rule, tuple) and rule]
    assert sorted(own) == sorted(MAKERS)


@pytest.mark.parametrize("name", MAKERS)
def test_reverse_is_the_transpose_of_forward(name: str) -> None:
    dims, make = MAKERS[name]
    graph = Graph()
    x, dx = graph.input("x", dims), graph.input("dx", dims)
    y = make(graph, x)
    ct = graph.input("ct", y.dims)
    given = {"x": entries(dims), "dx": entries(dims), "ct": entries(y.dims)}
    tangent, cotangent = value(
        [jvp(graph, y, {x: dx}), *vjp(graph, y, ct, [x])], **given
    )
    forth, back = np.vdot(given["ct"], tangent), np.vdot(given["dx"], cotangent)
    np.testing.assert_allclose(forth, back, rtol=1e-11)


@pytest.mark.parametrize("name", MAKERS)
def test_both_modes_give_the_jacobian_that_a_complex_step_gives(name: str) -> None:
    dims, make = MAKERS[name]
    graph = Graph(StableForms())
    x = graph.input("x", dims)
    y = make(graph, x)
    at = entries(dims)
    found = value(
        [jacobian(graph, y, [x], way)[0] for way in ("forward", "reverse")], x=at
    )
    expected = np.zeros(found[0].shape)
    for place in np.ndindex(at.shape):
        moved = at.astype(complex)
        moved[place] += 1e-30j
        (slope,) = value([y], x=moved)
        expected[(..., *place)] = np.imag(slope) / 1e-30
    for one in found:
        np.testing.assert_allclose(one, expected, rtol=1e-9, atol=1e-10)


# Segments, and the normal form of reshapes


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        ((M, N), (M * N,), [((0, 2), (0, 1))]),
        ((M, N, K), (M, N * K), [((0, 1), (0, 1)), ((1, 3), (1, 2))]),
        ((M, N), (N, M), [((0, 2), (0, 2))]),
        (
            (M, Dim.of(6)),
            (M, Dim.of(2), Dim.of(3)),
            [((0, 1), (0, 1)), ((1, 2), (1, 3))],
        ),
        ((M, Dim.of(1)), (Dim.of(1), M), [((0, 2), (0, 2))]),
        ((), (Dim.of(1),), [((0, 0), (0, 1))]),
    ],
)
def test_axes_are_parted_wherever_as_many_entries_lie_before(
    source: tuple[Dim, ...],
    target: tuple[Dim, ...],
    expected: list[tuple[tuple[int, int], tuple[int, int]]],
) -> None:
    parts = [Segment(range(*a), range(*b)) for a, b in expected]
    assert segments(source, target) == parts


def is_reshape(node: Node) -> bool:
    """Whether a node is a reshape."""
    return isinstance(node, Call) and node.operator == "reshape"


def test_a_reshape_back_is_the_array_itself() -> None:
    graph = Graph()
    x = graph.input("x", (M, N))
    flat = reshape(graph, x, (M * N,))
    assert reshape(graph, flat, (M, N)) is x
    assert reshape(graph, graph.constant(2, (M, N)), (N, M)).dims == (N, M)
    scaled = reshape(graph, graph.scale(x, 3), (M * N,))
    assert scaled is graph.scale(flat, 3)


def test_axes_of_length_one_come_and_go_as_a_product() -> None:
    graph = Graph()
    x = graph.input("x", (M, Dim.of(1), N))
    thin = reshape(graph, x, (Dim.of(1), M, N, Dim.of(1)))
    assert not any(map(is_reshape, topological([thin])))
    np.testing.assert_array_equal(
        value([thin], x=np.arange(12.0).reshape(3, 1, 4))[0],
        np.arange(12.0).reshape(1, 3, 4, 1),
    )


def test_a_unit_matrix_splits_into_units() -> None:
    graph = Graph()
    split = reshape(graph, graph.unit([M * N]), (M, N, M, N))
    assert split is graph.unit([M, N])
    diagonal = graph.product(
        (0, 1),
        [(graph.input("d", [Dim.of(6)]), (0,))],
        constraints=[delta({0: 1, 1: -1})],
        sizes={1: Dim.of(6)},
    )
    two, three = Dim.of(2), Dim.of(3)
    found = reshape(graph, diagonal, (two, three, two, three))
    assert not is_reshape(found)
    d = np.arange(6.0)
    expected = np.diag(d).reshape(2, 3, 2, 3)
    np.testing.assert_array_equal(value([found], d=d)[0], expected)


def test_reshapes_move_outwards() -> None:
    graph = Graph(StableForms())
    x, y = graph.input("x", (M, N)), graph.input("y", (M, N))
    a, b = (reshape(graph, node, (M * N,)) for node in (x, y))
    axes = range(1)
    whole = range(2)
    mapped = graph.map("maximum", axes, [(a, axes), (b, axes)])
    inner = graph.map("maximum", whole, [(x, whole), (y, whole)])
    assert mapped is reshape(graph, inner, (M * N,))
    times = graph.product(axes, [(a, axes), (b, axes)])
    assert times is reshape(graph, graph.einsum("ij,ij->ij", x, y), (M * N,))
    total = graph.sum(axes, [(2, a, axes), (-1, b, axes)])
    both = graph.sum(whole, [(2, x, whole), (-1, y, whole)])
    assert total is reshape(graph, both, (M * N,))


def test_a_product_is_reshaped_where_one_factor_has_all_axes() -> None:
    graph = Graph(StableForms())
    t, x = graph.input("t", (M, N, K)), graph.input("x", (M, N))
    long, flat = reshape(graph, t, (M * N, K)), reshape(graph, x, (M * N,))
    found = graph.einsum("pk,p->pk", long, flat)
    assert is_reshape(found)
    given = {"t": entries((M, N, K)), "x": entries((M, N))}
    expected = given["t"].reshape(12, 2) * given["x"].reshape(12, 1)
    np.testing.assert_allclose(value([found], **given)[0], expected)
    other = reshape(graph, graph.input("z", (N, M)), (M * N,))
    assert not is_reshape(graph.einsum("p,p->p", other, flat))


def test_a_padded_array_is_reshaped_as_it_is() -> None:
    graph = Graph()
    short = graph.input("short", (Dim.of(5),))
    padded = graph.product(
        "i",
        [(short, "k")],
        constraints=[delta({"i": 1, "k": -1})],
        sizes={"i": Dim.of(6)},
    )
    found = reshape(graph, padded, (Dim.of(2), Dim.of(3)))
    (matrix,) = value([found], short=np.arange(1.0, 6))
    np.testing.assert_array_equal(matrix, [[1, 2, 3], [4, 5, 0]])


def test_beside_a_reshape_other_arrays_stay_as_they_are() -> None:
    graph = Graph(StableForms())
    x, y = graph.input("x", (M, M)), graph.input("y", (K, K * K))
    flat, inverse = reshape(graph, y, (K * K * K,)), apply(graph, "inv", [x])
    axes, one = range(2), graph.input("z", (K * K * K,))
    nodes = [
        graph.map("sin", axes, [(inverse, axes)]),
        graph.sum("ij", [(1, inverse, "ij"), (2, inverse, "ij"), (1, x, "ij")]),
        graph.einsum("p,p->p", flat, one),
        graph.map("maximum", "p", [(flat, "p"), (one, "p")]),
        graph.sum("p", [(1, flat, "p"), (1, one, "p")]),
    ]
    at, long, z = entries((M, M)), RANDOM.normal(size=(2, 4)), RANDOM.normal(size=8)
    back, ravelled = np.linalg.inv(at), long.ravel()
    expected = [
        np.sin(back),
        3 * back + at,
        ravelled * z,
        np.maximum(ravelled, z),
        ravelled + z,
    ]
    for found, wanted in zip(value(nodes, x=at, y=long, z=z), expected, strict=True):
        np.testing.assert_allclose(found, wanted, atol=1e-12)


def test_the_hessian_of_a_ravelled_elementwise_function_is_a_diagonal() -> None:
    graph = Graph(StableForms())
    x = graph.input("x", (M, N))
    flat = reshape(graph, x, (M * N,))
    axes = range(1)
    whole = graph.product((), [(graph.map("sin", axes, [(flat, axes)]), axes)])
    (gradient,) = jacobian(graph, whole, [x], "reverse")
    (hessian,) = jacobian(graph, gradient, [x], "forward")
    assert not any(map(is_reshape, topological([gradient, hessian])))


def test_a_reshape_is_a_view_in_code_and_a_copy_when_returned() -> None:
    graph = Graph()
    x = graph.input("x", (M, N))
    flat, other = reshape(graph, x, (M * N,)), reshape(graph, x, (N, M))
    code = check(graph, [flat, other], SIZES)
    assert code.returns == ("x.reshape(-1).copy()", "x.reshape(n, m).copy()")


# Symmetric matrices


def test_symmetric_matrices_are_recognised() -> None:
    graph = Graph()
    x, a = graph.input("x", (M, N)), graph.input("a", (N, N))
    promised = graph.input("s", (N, N), ["symmetric"])
    gram = graph.einsum("ki,kj->ij", x, x)
    both = graph.sum((0, 1), [(1, a, (0, 1)), (1, a, (1, 0))])
    for node in (gram, both, graph.add(gram, graph.unit([N]))):
        assert is_even(node)
    kernel = graph.map("exp", (0, 1), [(graph.scale(promised, -2), (0, 1))])
    for node in (promised, kernel, graph.add(promised, graph.unit([N]))):
        assert is_symmetric(node)
        assert not is_even(node)
    assert not is_symmetric(a)
    assert not is_symmetric(graph.einsum("ij,jk->ik", a, promised))


def test_only_what_may_not_be_symmetric_is_symmetrised() -> None:
    graph = Graph()
    promised = graph.input("s", (N, N), ["spd"])
    factor = cholesky(graph, promised)
    assert isinstance(factor, Call) and factor.args == (promised,)
    plain = cholesky(graph, graph.input("a", (N, N)))
    assert isinstance(plain, Call) and is_even(plain.args[0])


def test_the_tangent_of_a_cholesky_factor_is_lower_triangular() -> None:
    graph = Graph()
    s, ds = graph.input("s", (N, N), ["spd"]), graph.input("ds", (N, N))
    factor = cholesky(graph, s)
    root = RANDOM.normal(size=(4, 4))
    at, way = root @ root.T + np.eye(4), root + root.T
    low, slope = value([factor, jvp(graph, factor, {s: ds})], s=at, ds=way)
    np.testing.assert_allclose(slope, np.tril(slope))
    np.testing.assert_allclose(slope @ low.T + low @ slope.T, way, atol=1e-11)
