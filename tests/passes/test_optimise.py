"""Flattening, distributing and factoring: what they find, and that values stay."""

from fractions import Fraction

import numpy as np
import pytest

from tensorgen.calculus.derive import hessian, vjp
from tensorgen.calculus.requests import MODES, Mode, Request, hessians, jacobians
from tensorgen.ir.dims import Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import (
    Map,
    Node,
    Product,
    Sum,
    children,
    indicator,
    is_zero,
    topological,
)
from tensorgen.operators.references.rows import FUNCTIONS, OPERATORS
from tensorgen.operators.stable import StableForms
from tensorgen.passes.context import Context
from tensorgen.passes.cost import CostModel
from tensorgen.passes.optimise import optimise
from tensorgen.passes.order import distribute_products
from tensorgen.passes.order.factor_sums import Effort, factor_sum
from tensorgen.passes.order.flatten_products import flatten_products
from tensorgen.prices.limits import DISTRIBUTED_TERMS_IN_ALL, TRIALS_IN_ALL
from tensorgen.verify.interpret import evaluate
from tests.ir.verify import verify
from tests.passes.programs import chain, network

COST = CostModel({})


def test_a_networks_hessian_holds_no_fourth_order_tensor_but_the_result() -> None:
    net = network(10)
    first = net.weights[0]
    block = hessian(net.graph, net.loss, [first], "reverse", "forward")[first, first]
    before = net.graph.effort.spent
    (flat,) = flatten_products(Context(net.graph, COST), [block])
    assert net.graph.effort.spent - before < 15_000
    verify([flat])
    assert isinstance(flat, Product)
    # x_j x_l stands outside, and what is beside it is a matrix.
    assert sorted(ref.node.order for ref in flat.factors) == [1, 1, 2]
    assert max(n.order for n in topological([flat]) if n is not flat) == 2


def test_the_hessian_of_logsumexp_stays_diagonal_plus_rank_one() -> None:
    graph = Graph(StableForms())
    x = graph.input("x", ["n"])
    exps = graph.map("exp", "i", [(x, "i")])
    f = graph.map("log", (), [(graph.einsum("i->", exps), ())])
    block = hessian(graph, f, [x], "reverse", "forward")[x, x]
    (flat,) = flatten_products(Context(graph, COST), [block])
    assert isinstance(flat, Sum)
    products = [t.node for t in flat.terms if isinstance(t.node, Product)]
    assert [bool(p.constraints) for p in products] == [True, False]
    assert all(ref.node.order == 1 for p in products for ref in p.factors)


def test_after_many_trials_only_what_never_costs_is_factored() -> None:
    # x * y costs less as x * (y + z); A[i] * v[j] + A[i] * w[j] is never larger so.
    graph = Graph()
    x, y, z = (graph.input(name, ["n", "m"]) for name in "xyz")
    v, w = (graph.input(name, ["m"]) for name in "vw")
    a = graph.input("a", ["n"])
    priced = graph.sum(
        "ij",
        [(1, graph.einsum("ij,ij->ij", x, other), "ij") for other in (y, z)],
    )
    free = graph.sum(
        "ij", [(1, graph.einsum("i,j->ij", a, other), "ij") for other in (v, w)]
    )

    def factored(node: Node, effort: Effort) -> bool:
        found = factor_sum(graph, node, COST, lambda term: True, effort=effort)
        return isinstance(found, Product)

    spent = Effort(trials=TRIALS_IN_ALL + 1)
    assert factored(priced, Effort())
    assert not factored(priced, spent)
    assert factored(free, spent)


def test_after_many_terms_nothing_is_distributed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # A[i, j] * (delta(i, k) + b[i] * c[k]), summed over i.
    graph = Graph()
    a, b = graph.input("A", ["n", "m"]), graph.input("b", ["n"])
    c = graph.input("c", ["n"])
    sparse = graph.sum(
        "ik",
        [
            (1, graph.unit([Dim.of("n")]), "ik"),
            (1, graph.einsum("i,k->ik", b, c), "ik"),
        ],
    )
    node = graph.product("jk", [(a, "ij"), (sparse, "ik")])
    for most, kind in ((DISTRIBUTED_TERMS_IN_ALL, Sum), (-1, Product)):
        monkeypatch.setattr(distribute_products, "DISTRIBUTED_TERMS_IN_ALL", most)
        (flat,) = flatten_products(Context(graph, COST), [node])
        assert isinstance(flat, kind)


@pytest.mark.parametrize("mode", MODES)
def test_all_modes_agree_in_value_for_a_network(mode: Mode) -> None:
    net = network(3)
    graph, rng = net.graph, np.random.default_rng(0)
    request = Request(net.loss, (net.weights[0],), {})
    arguments = {"x": rng.normal(size=3), "y": rng.normal(size=3)}
    arguments.update({f"W{k}": rng.normal(size=(3, 3)) for k in range(3)})
    w = net.weights[0]
    plain = hessian(graph, net.loss, [w], "reverse", "forward")[w, w]
    (expected,) = evaluate([plain], arguments, FUNCTIONS, OPERATORS)
    plan = optimise(
        Context(graph, cross_country=mode == "cross-country"),
        hessians(graph, request, mode),
    )
    verify(plan.roots)
    (got,) = evaluate(plan.roots, arguments, FUNCTIONS, OPERATORS)
    np.testing.assert_allclose(got, expected, rtol=1e-11, atol=1e-12)


def test_the_modes_differ_in_flops_for_a_chain() -> None:
    # With p < n, reverse scales rows of B and forward rows of A; cross-country
    # multiplies the two vectors first.
    hints = {"p": 100, "q": 200, "n": 300}
    flops = {}
    for mode in MODES:
        graph, f, x = chain()
        ways = jacobians(graph, Request(f, (x,), {}), mode)
        plan = optimise(
            Context(graph, CostModel(hints), cross_country=mode == "cross-country"),
            ways,
        )
        flops[mode] = CostModel(hints).total_flops(plan.roots)
    assert flops["cross-country"] < flops["reverse"] < flops["forward"]


def test_the_modes_differ_in_flops_for_a_networks_hessian() -> None:
    flops = {}
    for mode in MODES:
        net = network(4)
        request = Request(net.loss, (net.weights[0],), {})
        ways = hessians(net.graph, request, mode)
        plan = optimise(
            Context(
                net.graph, CostModel({"n": 50}), cross_country=mode == "cross-country"
            ),
            ways,
        )
        flops[mode] = CostModel({"n": 50}).total_flops(plan.roots)
    assert flops["cross-country"] < flops["reverse"] < flops["forward"]


def test_repeated_squaring_stays_small() -> None:
    graph = Graph(StableForms())
    x = graph.input("x", ["n", "n"])
    node = x
    for _ in range(20):
        node = graph.einsum("ij,jk->ik", node, node)
    f = graph.einsum("ii->", node)
    (gradient,) = vjp(graph, f, graph.constant(1), [x])
    plan = optimise(Context(graph), [[gradient]])
    assert graph.effort.spent < 5_000
    assert len(topological(plan.roots)) < 200


def test_a_deep_network_takes_time_linear_in_depth() -> None:
    sizes = {}
    for depth in (50, 200):
        net = network(depth)
        gradients = vjp(net.graph, net.loss, net.graph.constant(1), net.weights)
        plan = optimise(Context(net.graph), [[net.loss, *gradients]])
        sizes[depth] = len(topological(plan.roots))
    assert sizes[200] < 4.2 * sizes[50]


def test_common_factors_move_outside_when_that_is_cheaper() -> None:
    graph = Graph()
    a, b, c = (graph.input(n, ["n", "n"]) for n in "abc")
    left, right = graph.einsum("ij,jk->ik", a, c), graph.einsum("ij,jk->ik", b, c)
    (flat,) = flatten_products(Context(graph, COST), [graph.add(left, right)])
    assert isinstance(flat, Product)
    assert sorted(type(ref.node).__name__ for ref in flat.factors) == ["Input", "Sum"]


def test_common_factors_stay_inside_when_that_is_cheaper() -> None:
    # u v' C + w z' C: two outer products, cheaper than (u v' + w z') @ C.
    graph = Graph()
    u, v, w, z = (graph.input(n, ["n"]) for n in "uvwz")
    c = graph.input("c", ["n", "n"])
    terms = [graph.einsum("i,j,jk->ik", p, q, c) for p, q in ((u, v), (w, z))]
    (flat,) = flatten_products(Context(graph, COST), [graph.add(*terms)])
    assert isinstance(flat, Sum)


def test_a_sum_of_outer_products_is_contracted_term_by_term() -> None:
    # The weighted covariances of softmax's Hessian: each term apart is two products
    # of matrices, together they are an array of third order.
    graph = Graph()
    X = graph.input("X", ["n", "p"])
    S, e = graph.input("S", ["n", "n"]), graph.input("e", ["n"])
    later = [indicator({"l": 1, "k": -1})]
    means = graph.product("kj", [(S, "kl"), (X, "lj")], constraints=later)
    outer = graph.product("klj", [(S, "kl"), (X, "lj")], constraints=later)
    centred = graph.sum(
        "klj", [(1, outer, "klj"), (-1, graph.einsum("kl,kj->klj", S, means), "klj")]
    )
    factors = [(e, "k"), (centred, "klj"), (X, "li")]
    covariance = graph.product("ij", factors, constraints=later)
    hints = {"n": 500, "p": 8}
    plan = optimise(Context(graph, CostModel(hints)), [[covariance]])
    assert max(node.order for node in topological(plan.roots)) == 2
    rng = np.random.default_rng(0)
    arguments = {"X": rng.random((4, 2)), "S": rng.random((4, 4)), "e": rng.random(4)}
    got, expected = evaluate([*plan.roots, covariance], arguments, FUNCTIONS, OPERATORS)
    np.testing.assert_allclose(got, expected, rtol=1e-13)


def test_the_opposite_of_an_equation_is_an_equation() -> None:
    graph = Graph(StableForms())
    x, y = (graph.input(name, ["n"]) for name in "xy")
    same = graph.map("equal", "i", [(x, "i"), (y, "i")])
    other = graph.map("not_equal", "i", [(x, "i"), (y, "i")])
    assert graph.map("logical_not", "i", [(same, "i")]) is other
    assert graph.map("logical_not", "i", [(other, "i")]) is same
    less = graph.map("less", "i", [(x, "i"), (y, "i")])
    # Both this and x >= y are false where one is NaN.
    assert "logical_not" in repr(graph.map("logical_not", "i", [(less, "i")]))
    squared = graph.map("pow", "i", [(same, "i"), (graph.constant(2), ())])
    assert squared is same


def test_a_product_of_differences_keeps_its_digits() -> None:
    # Expanded, (x_i - x_j)(y_i - y_j) would lose ten digits of sixteen here.
    graph = Graph()
    x, y = (graph.input(name, ["n", "d"]) for name in "xy")
    w = graph.input("w", ["n", "n"])
    first, second = (graph.sum("ikj", [(1, v, "ik"), (-1, v, "jk")]) for v in (x, y))
    f = graph.product("k", [(w, "ij"), (first, "ikj"), (second, "ikj")])
    plan = optimise(Context(graph, CostModel({"n": 1000, "d": 10})), [[f]])
    rng = np.random.default_rng(0)
    arguments = {"w": rng.random((4, 4))}
    arguments.update({name: 1e5 + rng.random((4, 2)) for name in "xy"})
    arguments = {k: np.round(a * 1024) / 1024 for k, a in arguments.items()}
    got, expected = evaluate([*plan.roots, f], arguments, FUNCTIONS, OPERATORS)
    np.testing.assert_allclose(got, expected, rtol=1e-14)


def test_powers_of_one_base_are_one_power() -> None:
    graph = Graph(StableForms())
    x = graph.input("x", ["n"])

    def power(exponent: int) -> Node:
        return graph.map("pow", "i", [(x, "i"), (graph.constant(exponent), ())])

    assert graph.product("i", [(power(-2), "i"), (power(-1), "i")]) is power(-3)
    assert graph.product("i", [(power(-2), "i"), (x, "i")]) is power(-1)
    assert graph.product("i", [(power(3), "i"), (power(-2), "i")]) is x
    assert graph.product("i", [(power(-1), "i"), (x, "i")]) is graph.product(
        "i", [], sizes={"i": Dim.symbol("n")}
    )
    # A label that is left to nothing counts.
    count = graph.product("", [(power(-1), "i"), (x, "i")])
    assert count is graph.size(Dim.symbol("n"))


def test_powers_of_products_leave_numbers_outside_and_turn_quotients_over() -> None:
    graph = Graph(StableForms())
    x, y = graph.input("x", ["n"]), graph.input("y", ["n"])

    def power(node: Node, exponent: int) -> Node:
        return graph.map("pow", "i", [(node, "i"), (graph.constant(exponent), ())])

    double = graph.product("i", [(x, "i")], coefficient=2)
    assert power(double, -3) is graph.product(
        "i", [(power(x, -3), "i")], coefficient=Fraction(1, 8)
    )
    quotient = graph.product("i", [(x, "i"), (power(y, -2), "i")])
    assert power(quotient, -1) is graph.product(
        "i", [(power(x, -1), "i"), (power(y, 2), "i")]
    )
    both = graph.product("i", [(x, "i"), (y, "i")])
    assert isinstance(power(both, -1), Map)
    zero = graph.zeros([Dim.symbol("n")])
    assert not is_zero(power(zero, -1))


@pytest.mark.parametrize(("size", "expanded"), [(30, False), (3000, True)])
def test_a_difference_is_expanded_only_where_that_is_far_cheaper(
    size: int, expanded: bool
) -> None:
    # sum(K[i, j] * (x[i] - z[j])): the difference keeps its digits.
    graph = Graph()
    weights = graph.input("K", ["n", "m"])
    x, z = graph.input("x", ["n"]), graph.input("z", ["m"])
    difference = graph.sum("ij", [(1, x, "i"), (-1, z, "j")])
    whole = graph.product((), [(weights, "ij"), (difference, "ij")])
    (flat,) = flatten_products(
        Context(graph, CostModel({"n": size, "m": size})), [whole]
    )
    assert isinstance(flat, Sum) == expanded


@pytest.mark.parametrize("size", [2, 30])
def test_a_table_of_differences_is_left_for_products_of_matrices(size: int) -> None:
    # sum(W[i, j] * (Y[i, k] - Y[j, k]), j): no n x n x d array, also where W needs it.
    graph = Graph()
    W, Y = graph.input("W", ["n", "n"]), graph.input("Y", ["n", "d"])
    difference = graph.sum("ijk", [(1, Y, "ik"), (-1, Y, "jk")])
    squares = graph.product("ij", [(difference, "ijk"), (difference, "ijk")])
    weights = graph.product("ij", [(W, "ij"), (squares, "ij")])
    whole = graph.product("ik", [(weights, "ij"), (difference, "ijk")])
    context = Context(graph, CostModel({"n": 3000, "d": size}))
    flat, _ = flatten_products(context, [whole, squares])
    assert isinstance(flat, Sum)
    assert all(difference not in children(term.node) for term in flat.terms)
