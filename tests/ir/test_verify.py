"""The verifier finds nodes that no graph would make."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any, cast

import pytest

from tensorgen.calculus.partials import partials
from tensorgen.errors import InternalError
from tensorgen.ir.dims import Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import (
    Affine,
    BaseNode,
    Call,
    Constant,
    Constraint,
    Input,
    Iota,
    Lookup,
    Map,
    Node,
    Product,
    Ref,
    Size,
    Sum,
    Term,
    delta,
)
from tensorgen.ir.rebuild import with_operands
from tensorgen.operators.index_notation import formula
from tensorgen.passes.cost import CostModel
from tests.ir.verify import LAWS, verify

n, m, ONE, NOTHING = Dim.of("n"), Dim.of("m"), Fraction(1), Dim()
X, Y = Input(0, (n,), "x"), Input(1, (n,), "y")
A, ROW = Input(2, (n, n), "A"), Input(3, (m,), "row", frozenset(), n)


class Strange(BaseNode):
    """A kind that nobody knows."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "operands", (X,))


ZERO = Product(4, (n,), Fraction(0), (), (), ())
DIFFERENCE = Affine(((0, 1), (1, -1)), NOTHING)


def product(**fields: Any) -> Product:
    """The matrix-vector product, or what `fields` make of it."""
    good: dict[str, Any] = {
        "dims": (n,),
        "coefficient": ONE,
        "factors": (Ref(X, (1,)), Ref(A, (0, 1))),
        "constraints": (),
        "inner": (n,),
    }
    return Product(9, **{**good, **fields})


def constrained(kind: Any, form: Affine, **fields: Any) -> Product:
    """A matrix with a constraint on its labels."""
    good: dict[str, Any] = {"dims": (n, n), "factors": (Ref(A, (0, 1)),), "inner": ()}
    return product(**{**good, "constraints": (Constraint(kind, form),), **fields})


SCALED = Product(8, (n,), Fraction(2), (Ref(X, (0,)),), (), ())
OWN = Product(8, (n,), Fraction(2), (Ref(X, (0,)), Ref(Y, (0,))), (), ())
MOVED = Product(8, (n, n), ONE, (Ref(A, (1, 0)),), (), ())

BROKEN: list[tuple[str, Node]] = [
    ("labels for an operand", product(factors=(Ref(A, (0,)),))),
    ("out of range", product(factors=(Ref(X, (1,)), Ref(A, (0, 2))))),
    ("at an axis of dim", product(inner=(m,))),
    ("nothing mentions", product(factors=(Ref(X, (0,)), Ref(Y, (0,))))),
    ("a zero with", product(coefficient=Fraction(0))),
    ("a zero factor", product(factors=(Ref(X, (0,)), Ref(ZERO, (0,))), inner=())),
    ("merely scales", product(factors=(Ref(X, (0,)), Ref(SCALED, (0,))), inner=())),
    ("of its own", product(factors=(Ref(X, (0,)), Ref(OWN, (0,))), inner=())),
    ("its only factor", product(factors=(Ref(X, (0,)),), inner=())),
    ("factors out of order", product(factors=(Ref(A, (0, 1)), Ref(X, (1,))))),
    (
        "canonical",
        product(
            dims=(), inner=(n, n), factors=(Ref(X, (1,)), Ref(Y, (0,)), Ref(A, (0, 1)))
        ),
    ),
    ("no index array", constrained("eq", Affine(((Lookup(X, (0,)), 1),), NOTHING))),
    ("in a constraint", constrained("eq", Affine(((0, 1), (5, -1)), NOTHING))),
    ("of kind", constrained("lt", DIFFERENCE)),
    ("coefficient 0", constrained("eq", Affine(((0, 0), (1, 1)), NOTHING))),
    ("out of order", constrained("ge", Affine(((1, -1), (0, 1)), NOTHING))),
    ("decided", constrained("ge", Affine((), Dim.of(3)))),
    ("negative coefficient", constrained("eq", Affine(((0, -1), (1, 1)), NOTHING))),
    ("common divisor", constrained("eq", Affine(((0, 2), (1, -2)), Dim.of(4)))),
    ("only renames", constrained("eq", DIFFERENCE, dims=(n,), inner=(n,))),
    ("ranges imply", constrained("ge", Affine(((0, 1), (1, 1)), NOTHING))),
    (
        "constraints out of order or twice",
        constrained("eq", DIFFERENCE, constraints=(Constraint("eq", DIFFERENCE),) * 2),
    ),
    ("fewer than two", Sum(9, (n,), (Term(ONE, X, (0,)),))),
    ("zero term", Sum(9, (n,), (Term(ONE, X, (0,)), Term(ONE, ZERO, (0,))))),
    ("of its own", Sum(9, (n,), (Term(ONE, X, (0,)), Term(ONE, OWN, (0,))))),
    ("terms out of order", Sum(9, (n,), (Term(ONE, Y, (0,)), Term(ONE, X, (0,))))),
    ("terms out of order", Sum(9, (n,), (Term(ONE, X, (0,)), Term(ONE, X, (0,))))),
    ("has axis 1", Sum(9, (n, n), (Term(ONE, X, (0,)), Term(ONE, Y, (0,))))),
    ("label twice", Sum(9, (n,), (Term(ONE, X, (0,)), Term(ONE, A, (0, 0))))),
    ("at an axis", Sum(9, (m,), (Term(ONE, X, (0,)), Term(ONE, Y, (0,))))),
    ("merely moves", Map(9, (n, n), "sin", (Ref(MOVED, (0, 1)),))),
    ("has axis 0", Map(9, (n,), "sin", (Ref(Input(5, (), "s"), ()),))),
    ("labels for an operand", Map(9, (n,), "sin", (Ref(X, ()),))),
    ("before its operand", Map(0, (n,), "sin", (Ref(Y, (0,)),))),
    ("not a scalar", Constant(9, (n,), "pi")),
    ("no constant", Constant(9, (), "tau")),
    ("without factors", Size(9, (), Dim.of(3))),
    ("not a vector", Iota(9, (n, n))),
    ("no name", Input(9, (n,), "two words")),
    ("negative dim", Input(9, (Dim.of(-1),), "x")),
    ("without arguments", Call(9, (), "det", ())),
    ("parameters", Call(9, (), "max", (X,), (("b", 1), ("a", 2)))),
    (
        "same content",
        Map(9, (n,), "atan2", (Ref(X, (0,)), Ref(Input(7, (n,), "x"), (0,)))),
    ),
]


@pytest.mark.parametrize(("complaint", "node"), BROKEN)
def test_a_node_broken_by_hand_is_refused(complaint: str, node: Node) -> None:
    with pytest.raises(InternalError, match=complaint):
        verify([node])


def test_every_law_is_broken_by_some_node_above() -> None:
    broken = set()
    for _, node in BROKEN:
        for law in (*LAWS[BaseNode], *LAWS.get(type(node), ())):
            if list(law(node)):
                broken.add(law)
    assert broken == {law for laws in LAWS.values() for law in laws}


def test_a_lawful_graph_passes() -> None:
    graph = Graph()
    a, x = graph.input("A", (n, n)), graph.input("x", (n,))
    at_row = Lookup(graph.input("row", (m,), index=n), (0,))
    gather = graph.product([0], [(x, [1])], constraints=[delta({1: 1, at_row: -1})])
    z = graph.map("tanh", "i", [(graph.einsum("ij,j->i", a, x), "i")])
    verify([gather, graph.add(z, x), graph.call("inv", [a], a.dims)])


@pytest.mark.parametrize(
    "function",
    [
        BaseNode.__post_init__,
        formula,
        CostModel({}).flops,
        CostModel({}).work,
        lambda node: partials(Graph(), node, ()),
        lambda node: with_operands(Graph(), node, {}),
    ],
)
def test_what_takes_nodes_apart_refuses_a_kind_that_it_does_not_know(
    function: Callable[[Node], object],
) -> None:
    with pytest.raises(AssertionError, match="unreachable"):
        function(cast(Node, Strange(9, ())))
