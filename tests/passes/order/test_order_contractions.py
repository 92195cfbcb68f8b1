"""The order of contractions against brute force, on products with hyper-indices."""

import random
from collections.abc import Iterator
from itertools import combinations, pairwise
from math import prod

import numpy as np
import pytest

import tensorgen
from tensorgen.ir.dims import Dim
from tensorgen.ir.effort import Effort
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Node, Product, topological
from tensorgen.operators.references.rows import FUNCTIONS, OPERATORS
from tensorgen.passes.cost import CostModel
from tensorgen.passes.order import merge_greedily
from tensorgen.passes.order import order_contractions as module
from tensorgen.passes.order.merge_greedily import Greedy
from tensorgen.passes.order.networks import Network, Plan, Tree
from tensorgen.passes.order.order_contractions import Contraction, order_contractions
from tensorgen.passes.order.search_trees import EXACT, best_tree
from tensorgen.prices.price_table import CALL, ENTRY
from tensorgen.verify.interpret import evaluate
from tests.ir.verify import verify
from tests.made import generate

COST = CostModel({})
LETTERS = "abcdef"


def random_product(seed: int) -> tuple[str, dict[str, int]]:
    """Subscripts of three to five factors in which labels stand in up to all."""
    rng = random.Random(seed)
    sizes = {letter: rng.choice([2, 3, 5, 10, 40]) for letter in LETTERS}
    factors = [
        "".join(rng.sample(LETTERS[: rng.choice([3, 4, 5])], rng.choice([1, 2, 2, 3])))
        for _ in range(rng.choice([3, 4, 4, 5]))
    ]
    present = sorted(set("".join(factors)))
    out = "".join(rng.sample(present, rng.randrange(0, min(4, len(present) + 1))))
    return ",".join(factors) + "->" + out, sizes


def build(graph: Graph, subscripts: str, sizes: dict[str, int]) -> Node:
    factors = subscripts.split("->")[0]
    nodes = [
        graph.input(f"x{k}", [Dim.of(sizes[i]) for i in labels])
        for k, labels in enumerate(factors.split(","))
    ]
    return graph.einsum(subscripts, *nodes)


def trees(parts: list[frozenset[int]]) -> Iterator[list[tuple[frozenset[int], ...]]]:
    """Every sequence of merges of two parts, as lists of (left, right)."""
    if len(parts) == 1:
        yield []
    for i in range(len(parts)):
        for j in range(i):
            rest = [p for k, p in enumerate(parts) if k not in (i, j)]
            for merges in trees([*rest, parts[i] | parts[j]]):
                yield [(parts[i], parts[j]), *merges]


def brute_force(subscripts: str, sizes: dict[str, int]) -> float:
    """The least cost over all trees, every label summed as soon as it can be."""
    left, out = subscripts.split("->")
    factors = left.split(",")

    def kept(part: frozenset[int]) -> set[str]:
        inside = set("".join(factors[k] for k in part))
        outside = "".join(f for k, f in enumerate(factors) if k not in part)
        return inside & (set(outside) | set(out))

    def size(labels: set[str]) -> int:
        return prod(sizes[x] for x in labels)

    def merge(every: set[str], result: set[str], factors: int) -> float:
        if every == result:
            return CALL.planned + ENTRY.planned * size(result) * (factors - 1)
        return CALL.planned + size(every) + ENTRY.planned * size(result)

    leaves = [frozenset([k]) for k in range(len(factors))]
    alone = sum(
        merge(set(factors[k]), kept(leaf), 1)
        for k, leaf in enumerate(leaves)
        if kept(leaf) != set(factors[k])
    )
    return alone + min(
        sum(merge(kept(a) | kept(b), kept(a | b), 2) for a, b in merges)
        for merges in trees(leaves)
    )


@pytest.mark.parametrize("seed", range(120))
def test_the_order_found_costs_what_the_best_of_all_orders_costs(seed: int) -> None:
    subscripts, sizes = random_product(seed)
    graph = Graph()
    node = build(graph, subscripts, sizes)
    if not isinstance(node, Product) or len(node.factors) < 3:
        return
    found = Contraction(graph, node, COST).plan().cost
    assert found == pytest.approx(brute_force(subscripts, sizes))


@pytest.mark.parametrize("seed", range(60))
def test_ordering_keeps_the_value(seed: int) -> None:
    subscripts, sizes = random_product(seed)
    sizes = {x: min(n, 3) for x, n in sizes.items()}
    graph = Graph()
    node = build(graph, subscripts, sizes)
    (ordered,) = order_contractions(graph, [node], COST)
    verify([ordered])
    rng = np.random.default_rng(seed)
    left, _ = subscripts.split("->")
    arrays = [rng.normal(size=[sizes[i] for i in x]) for x in left.split(",")]
    arguments = {f"x{k}": a for k, a in enumerate(arrays)}
    (got,) = evaluate([ordered], arguments, FUNCTIONS, OPERATORS)
    np.testing.assert_allclose(got, np.einsum(subscripts, *arrays), atol=1e-12)


def test_a_label_in_three_factors_is_not_mistaken() -> None:
    # A search that treats labels pairwise finds 5000 multiplications here.
    sizes = {"a": 2, "b": 10, "c": 100}
    graph = Graph()
    node = build(graph, "ab,bc,b->ac", sizes)
    (ordered,) = order_contractions(graph, [node], COST)
    products = [n for n in topological([ordered]) if isinstance(n, Product)]
    work = [prod(d.value({}) for d in n.sizes) for n in products]
    assert sorted(work) == [20, 2000]


def test_vectors_are_multiplied_before_matrices() -> None:
    graph = Graph()
    x = [graph.input(n, d) for n, d in [("B", "pq"), ("s", "q"), ("c", "q")]]
    a = graph.input("A", "qn")
    node = graph.einsum("ij,j,j,jk->ik", *x, a)
    (ordered,) = order_contractions(graph, [node], COST)
    vectors = [n for n in topological([ordered]) if isinstance(n, Product)]
    assert vectors[0].order == 1


def test_a_chain_that_stands_twice_in_a_product_is_computed_once() -> None:
    # J' diag(s) J with J = B @ A: one product B @ A, not two chains.
    graph = Graph()
    a, b = graph.input("A", ["k", "n"]), graph.input("B", ["m", "k"])
    s = graph.input("s", ["m"])
    node = graph.product("kl", [(b, "ai"), (a, "ik"), (s, "a"), (b, "aj"), (a, "jl")])
    cost = CostModel({"m": 500, "k": 400, "n": 300})
    (ordered,) = order_contractions(graph, [node], cost)
    pairs = [n for n in topological([ordered]) if isinstance(n, Product) and n.inner]
    # B @ A once, then (s * J).T @ J.
    assert len(pairs) == 2
    assert cost.total_flops([ordered]) < 2.2 * (500 * 400 * 300 + 500 * 300 * 300)


def test_products_of_one_shape_are_searched_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    graph, cost = Graph(), CostModel({})
    x = [graph.input(name, ["n", "n"]) for name in "ABCDE"]
    chains = [graph.einsum("ij,jk,kl->il", *x[k : k + 3]) for k in range(3)]
    found: list[Network] = []

    def counted(network: Network, effort: Effort) -> Plan:
        found.append(network)
        return best_tree(network, effort)

    monkeypatch.setattr(module, "best_tree", counted)
    order_contractions(graph, chains, cost)
    assert len(found) == 1


def test_products_of_many_factors_are_ordered_in_few_steps() -> None:
    graph = Graph()
    nodes = [graph.input(f"A{k}", [f"d{k}", f"d{k + 1}"]) for k in range(12)]
    factors = [(node, (k, k + 1)) for k, node in enumerate(nodes)]
    node = graph.product((0, 12), factors)
    (ordered,) = order_contractions(graph, [node], COST)
    assert graph.effort.spent < 1_500
    assert all(
        len(n.factors) == 2 for n in topological([ordered]) if isinstance(n, Product)
    )


@pytest.mark.parametrize("many", [4, 48])
def test_every_factor_of_many_is_multiplied_once(
    many: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def leaves(tree: Tree) -> list[int]:
        if isinstance(tree, int):
            return [tree]
        return [leaf for part in tree for leaf in leaves(part)]

    monkeypatch.setattr(merge_greedily, "MANY", many)
    graph = Graph()
    pairs = ",".join(x + y for x, y in pairwise("abcdefghijklm"))
    node = build(graph, f"{pairs}->am", dict.fromkeys("abcdefghijklm", 5))
    assert isinstance(node, Product)
    plan = best_tree(Contraction(graph, node, COST).network, Effort())
    assert sorted(leaves(plan.tree)) == [*range(12)]


@pytest.mark.parametrize("seed", range(4))
def test_of_many_factors_the_cheapest_pair_is_merged_first(seed: int) -> None:
    class Watched(Greedy):
        def _merge(self, i: int, j: int) -> float:
            pairs = combinations(sorted(self.left), 2)
            assert self._priced(i, j) == min(self._priced(*pair) for pair in pairs)
            return super()._merge(i, j)

    names = "abcdefghijklmno"
    random_sizes = random.Random(seed)
    sizes = {name: random_sizes.choice([2, 3, 5, 10, 40]) for name in names}
    pairs = ",".join(x + y for x, y in pairwise(names))
    node = build(Graph(), f"{pairs}->ao", sizes)
    assert isinstance(node, Product)
    network = Contraction(Graph(), node, COST).network
    leaves = [(1 << k, k) for k in range(len(network.factors))]
    greedy = Watched(network, leaves, Effort())
    greedy.run(EXACT)
    assert len(greedy.leaves()) == EXACT


FILTERS = [
    "sum(w[i] * x[i + k] * h[k], i, k)",
    "sum(sum(x[i - j + n - 1] * h[j], j) * w[i], i)",
    "mean(mean(x[i - j + n - 1] * h[j], j) * w[i]**2, i)",
    "sum(w[i] * w[i] * h[k] * x[i + k]**2, i, k)",
]


@pytest.mark.parametrize("expr", FILTERS)
def test_a_filter_is_applied_before_what_weighs_it(expr: str) -> None:
    spec = f"""tensorgen: 1
inputs: {{w: [m], h: [n], x: [m + n - 1]}}
functions:
  f:
    expr: {expr}
    wrt: [x, w, h]
    emit: [value, gradient, hvp]
"""
    text = generate(spec).partition("def _")[0]
    assert "outer" not in text
    assert "\n    for " not in text.partition("def f_hvp")[0]
    module = tensorgen.load(spec)
    rng = np.random.default_rng(0)
    w, h, x = (rng.normal(size=size) for size in (4, 3, 6))
    y = x**2 if "x[i + k]**2" in expr else x
    turned = h if "i + k" in expr else h[::-1]
    weights = w**2 if "**2" in expr else w
    scale = 1 / 12 if "mean" in expr else 1
    expected = scale * (weights @ np.correlate(y, turned, "valid"))
    assert module.f(w, h, x) == pytest.approx(expected, rel=1e-12)
    step = 1e-6 * rng.normal(size=6)
    rise = module.f(w, h, x + step) - module.f(w, h, x - step)
    slope = module.f_grad(w, h, x).x @ step
    assert rise / 2 == pytest.approx(slope, rel=1e-6)


def test_windows_that_weights_meet_are_read_before_they_are_multiplied() -> None:
    spec = """tensorgen: 1
dims: {T: 4000, p: 8}
inputs: {Q: [p, p], x: [T + p - 1], y: [T]}
functions:
  f:
    where: |
      z[t] = sum(Q[i, j] * x[t + i] * x[t + j], i, j)
    expr: sum((z - y)**2)
    wrt: Q
    emit: [value, gradient, hvp]
"""
    text = generate(spec)
    assert "outer" not in text and "T**2" not in text
    module = tensorgen.load(spec)
    rng = np.random.default_rng(0)
    Q, x, y = (rng.normal(size=size) for size in ((3, 3), 9, 7))
    windows = np.lib.stride_tricks.sliding_window_view(x, 3)
    r = ((windows @ Q) * windows).sum(1) - y
    expected = 2 * windows.T @ (r[:, None] * windows)
    assert module.f_grad(Q, x, y) == pytest.approx(expected, rel=1e-12)
