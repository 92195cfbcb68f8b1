"""Powers of products and of exponentials, of which some have names."""

from __future__ import annotations

from fractions import Fraction

import pytest

from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Map, Ref
from tensorgen.operators.scalar import apply, power, times, total
from tensorgen.operators.stable import StableForms


def named(graph: Graph, ref: Ref, name: str) -> Ref:
    """A value that the user has given a name."""
    graph.names[ref.node] = name
    return ref


def is_power_of(ref: Ref, base: Ref) -> bool:
    """Whether a value is a power of another one as that stands."""
    node = ref.node
    return isinstance(node, Map) and node.function == "pow" and node.args[0] == base


@pytest.mark.parametrize("e", [-3, -1, 2, 3])
def test_a_number_stands_in_front_of_a_power(e: int) -> None:
    graph = Graph(StableForms())
    x = Ref(graph.input("x", ("n",)), (0,))
    double = times(graph, x, coefficient=2)
    in_front = times(graph, power(graph, x, e), coefficient=Fraction(2) ** e)
    assert power(graph, double, e) == in_front


@pytest.mark.parametrize("e", [-3, -1, 2, 3])
def test_what_has_a_name_is_raised_as_it_stands_and_divides_in_parts(e: int) -> None:
    graph = Graph(StableForms())
    x = Ref(graph.input("x", ("n",)), (0,))
    z = named(graph, times(graph, x, coefficient=2), "z")
    in_front = times(graph, power(graph, x, e), coefficient=Fraction(2) ** e)
    found = power(graph, z, e)
    assert is_power_of(found, z) == (e > 0)
    assert (found == in_front) == (e < 0)


def test_what_divides_is_the_exponential_that_has_a_name() -> None:
    graph = Graph(StableForms())
    t, s = (Ref(graph.input(name, ("n",)), (0,)) for name in "ts")
    z = named(graph, apply(graph, "exp", t), "z")
    assert is_power_of(power(graph, z, -1), z)
    assert power(graph, z, 2) == apply(graph, "exp", times(graph, t, coefficient=2))
    other = power(graph, apply(graph, "exp", s), -1)
    assert other == apply(graph, "exp", times(graph, s, coefficient=-1))


@pytest.mark.parametrize("names", ["", "a", "ab"])
def test_a_sum_is_divided_by_as_it_stands_where_all_terms_have_names(
    names: str,
) -> None:
    graph = Graph(StableForms())
    inputs = [Ref(graph.input(name, ("n",)), (0,)) for name in "ts"]
    terms = [apply(graph, "exp", x) for x in inputs]
    for name, term in zip(names, terms, strict=False):
        named(graph, term, name)
    both = total(graph, [(1, terms[0]), (-1, terms[1])])
    assert is_power_of(power(graph, both, -1), both) == (names == "ab")


def test_quotients_that_divide_one_another_cancel() -> None:
    graph = Graph(StableForms())
    p, q = (Ref(graph.input(name, ("n",)), (0,)) for name in "pq")
    first = times(graph, p, power(graph, q, -1))
    second = times(graph, q, power(graph, p, -2))
    assert times(graph, first, second) == power(graph, p, -1)
    assert times(graph, second, first) == power(graph, p, -1)


@pytest.mark.parametrize("by_caller", [True, False])
def test_a_sum_with_a_number_of_the_callers_has_a_level(by_caller: bool) -> None:
    graph = Graph(StableForms())
    t, c = (Ref(graph.input(name, (), ["positive"]), ()) for name in "tc")
    v = graph.input("v", ("n",), ["positive"])
    other = c if by_caller else Ref(graph.product("", [(v, "i")]), ())
    both = total(graph, [(1, other), (1, apply(graph, "exp", t))])
    assert is_power_of(power(graph, both, -1), both) != by_caller
