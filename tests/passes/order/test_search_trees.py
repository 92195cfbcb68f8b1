"""The search for trees over label sets: exhaustive search, and that of opt_einsum."""

import random
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from itertools import pairwise
from math import prod

import opt_einsum
import pytest

from tensorgen.ir.effort import Effort
from tensorgen.ir.nodes import Constraint, affine
from tensorgen.passes.cost import merge
from tensorgen.passes.order.networks import Network, Plan, Price, Tree, set_of
from tensorgen.passes.order.search_trees import EXACT, best_tree
from tensorgen.passes.order.spans import Span
from tests.sampled import sampled


def flops(_: float, every: Span, sums: bool, factors: int) -> float:
    """A multiplication and, where labels are summed, an addition for each term."""
    return every.terms * (factors - 1 + sums)


def network(subscripts: str, sizes: dict[str, int], price: Price = flops) -> Network:
    left, out = subscripts.split("->")
    place = {x: k for k, x in enumerate(sorted({*left} - {","}))}
    factors = tuple(set_of(place[x] for x in labels) for labels in left.split(","))
    numbers = tuple(float(sizes[x]) for x in place)
    return Network(factors, set_of(place[x] for x in out), numbers, price)


def random_subscripts(seed: int, count: int) -> tuple[str, dict[str, int]]:
    """Factors with one to four labels each, of which some stand in many."""
    rng = random.Random(seed)
    letters = "abcdefghijkl"[: rng.choice([4, 6, 8, 12])]
    sizes = {x: rng.choice([2, 3, 10, 40]) for x in letters}
    factors = [
        "".join(rng.sample(letters, rng.choice([1, 2, 2, 2, 3, 4])))
        for _ in range(count)
    ]
    present = sorted({*"".join(factors)})
    out = "".join(rng.sample(present, rng.randrange(min(4, len(present)) + 1)))
    return ",".join(factors) + "->" + out, sizes


def halves(whole: int) -> Iterator[int]:
    part = (whole - 1) & whole
    while part:
        yield part
        part = (part - 1) & whole


def exhaustive(subject: Network) -> float:
    """The least cost over all trees of pairs, none left out."""

    @cache
    def least(mask: int) -> float:
        if mask & (mask - 1) == 0:
            return subject.alone(mask)
        return min(
            least(a) + least(mask ^ a) + subject.spent(mask, a, mask ^ a)
            for a in halves(mask)
        )

    return least(subject.full)


def cost_of(subject: Network, tree: Tree) -> float:
    def priced(part: Tree) -> tuple[int, float]:
        if isinstance(part, int):
            return 1 << part, subject.alone(1 << part)
        masks, costs = zip(*map(priced, part), strict=True)
        return sum(masks), sum(costs) + subject.spent(sum(masks), *masks)

    mask, cost = priced(tree)
    assert mask == subject.full
    return cost


def searched(subject: Network) -> Plan:
    plan = best_tree(subject, Effort())
    assert plan.cost == pytest.approx(cost_of(subject, plan.tree))
    return plan


@pytest.mark.parametrize("price", [flops, merge])
@pytest.mark.parametrize("seed", range(40))
def test_a_short_product_has_the_best_tree(seed: int, price: Price) -> None:
    subscripts, sizes = random_subscripts(seed, 3 + seed % 5)
    subject = network(subscripts, sizes, price)
    assert searched(subject).cost == pytest.approx(exhaustive(subject))


@pytest.mark.parametrize("price", [flops, merge])
@pytest.mark.parametrize("seed", sampled(range(12), 2))
def test_a_longer_product_has_a_tree_next_to_the_best(seed: int, price: Price) -> None:
    subscripts, sizes = random_subscripts(seed, EXACT + 1 + seed % 2)
    subject = network(subscripts, sizes, price)
    assert searched(subject).cost <= 1.05 * exhaustive(subject)


def test_a_label_in_three_factors_is_summed_with_the_last() -> None:
    # A search that sums labels in pairs alone finds 5000 operations here.
    subject = network("ab,bc,b->ac", {"a": 2, "b": 10, "c": 100})
    plan = searched(subject)
    assert plan.cost == 4020
    tree = theirs("ab,bc,b->ac", {"a": 2, "b": 10, "c": 100}, "optimal")
    assert cost_of(subject, tree) == 5000


def theirs(subscripts: str, sizes: dict[str, int], optimiser: str) -> Tree:
    """The tree that opt_einsum finds."""
    shapes = [[sizes[x] for x in part] for part in subscripts.split("->")[0].split(",")]
    path, _ = opt_einsum.contract_path(
        subscripts, *shapes, shapes=True, optimize=optimiser
    )
    parts: list[Tree] = list(range(len(shapes)))
    for places in path:
        chosen = tuple(parts[k] for k in places)
        parts = [p for k, p in enumerate(parts) if k not in places] + [chosen]
    (tree,) = parts
    return tree


@pytest.mark.parametrize(
    ("optimiser", "count"),
    [("optimal", 4), ("optimal", 5), ("auto", 7), ("auto", 10), ("auto", 14)],
)
@pytest.mark.parametrize("seed", range(12))
def test_no_tree_of_opt_einsum_takes_fewer_flops(
    seed: int, optimiser: str, count: int
) -> None:
    subscripts, sizes = random_subscripts(seed, count)
    subject = network(subscripts, sizes)
    tree = theirs(subscripts, sizes, optimiser)
    assert searched(subject).cost <= cost_of(subject, tree) * (1 + 1e-12)


def test_what_the_search_reads_tells_networks_apart() -> None:
    subject = network("ab,bc->ac", {"a": 2, "b": 3, "c": 4})
    assert subject == network("ab,bc->ac", {"a": 2, "b": 3, "c": 4})
    others = [
        network("ab,ac->bc", {"a": 2, "b": 3, "c": 4}),
        network("ab,bc->ab", {"a": 2, "b": 3, "c": 4}),
        network("ab,bc->ac", {"a": 2, "b": 3, "c": 5}),
        network("ab,bc->ac", {"a": 2, "b": 3, "c": 4}, merge),
        replace(subject, constraints=(Constraint("eq", affine([(0, 1), (1, -1)])),)),
    ]
    assert len({subject, *others}) == 1 + len(others)


def test_a_chain_of_many_matrices_has_the_best_order() -> None:
    rng = random.Random(1)
    for count in (12, 20, 30):
        sizes = {chr(97 + k): rng.choice([2, 5, 20, 50]) for k in range(count + 1)}
        names = [*sizes]
        pairs = [a + b for a, b in pairwise(names)]
        subject = network(",".join(pairs) + f"->{names[0]}{names[-1]}", sizes)
        sides = [*sizes.values()]

        @cache
        def least(i: int, j: int, sides: tuple[int, ...] = tuple(sides)) -> float:
            if j - i == 1:
                return 0.0
            return min(
                least(i, k) + least(k, j) + 2 * prod((sides[i], sides[k], sides[j]))
                for k in range(i + 1, j)
            )

        assert searched(subject).cost == pytest.approx(least(0, count))
