"""What stands beside the logistic function, of logarithms of sums as well."""

from __future__ import annotations

from fractions import Fraction

import pytest

from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Ref
from tensorgen.operators.scalar import apply, power, ref, times
from tensorgen.operators.stable import StableForms
from tensorgen.operators.stable.match import negative


def log_of_sum(graph: Graph) -> Ref:
    x, y = (ref(graph.input(name, ("n",))) for name in "xy")
    return apply(graph, "logaddexp", x, y)


@pytest.mark.parametrize("log", [True, False])
def test_half_an_angle_is_what_expm1_leaves_beside_a_sigmoid(log: bool) -> None:
    graph = Graph(StableForms())
    t = log_of_sum(graph) if log else ref(graph.input("t", ("n",)))
    factors = [apply(graph, "expm1", t), apply(graph, "sigmoid", negative(graph, t))]
    half = times(graph, t, coefficient=Fraction(1, 2))
    assert times(graph, *factors) == apply(graph, "tanh", half)


def test_what_is_summed_in_an_exponential_leaves_shares() -> None:
    graph = Graph(StableForms())
    t = log_of_sum(graph)
    factors = [apply(graph, "exp", t), apply(graph, "sigmoid", negative(graph, t))]
    assert times(graph, *factors) == apply(graph, "sigmoid", t)


@pytest.mark.parametrize("k", [Fraction(3, 2), Fraction(2), Fraction(5)])
def test_a_larger_exponential_is_a_share_times_what_is_left(k: Fraction) -> None:
    graph = Graph(StableForms())
    t = ref(graph.input("t", ("n",)))
    large = apply(graph, "exp", times(graph, t, coefficient=k))
    left = apply(graph, "exp", times(graph, t, coefficient=k - 1))
    factors = [large, apply(graph, "sigmoid", negative(graph, t))]
    assert times(graph, *factors) == times(graph, left, apply(graph, "sigmoid", t))


@pytest.mark.parametrize("k", [Fraction(1), Fraction(3, 2), Fraction(2)])
def test_exponentials_of_its_logarithm_are_its_powers(k: Fraction) -> None:
    graph = Graph(StableForms())
    t = ref(graph.input("t", ("n",)))
    log, s = (apply(graph, name, t) for name in ("log_sigmoid", "sigmoid"))
    whole = apply(graph, "exp", times(graph, log, coefficient=k))
    assert whole == power(graph, s, k)
