"""What products with deltas, running sums and index arrays cost."""

from __future__ import annotations

from tensorgen.ir.dims import Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Lookup, Node, Product, delta, indicator, topological
from tensorgen.passes.cost import CostModel
from tensorgen.passes.order.order_contractions import order_contractions
from tensorgen.prices.price_table import SCATTERED

n, m = map(Dim.of, "nm")
COST = CostModel({"n": 1000, "m": 1000})


def test_a_running_sum_costs_what_one_walk_costs() -> None:
    g = Graph()
    x, y = g.input("x", [n]), g.input("y", [n])
    plain = g.einsum("i,i->", x, y)
    running = g.product(
        "", [(x, "i"), (y, "j")], constraints=[indicator({"i": 1, "j": -1})]
    )
    assert COST.work(running) < 3 * COST.work(plain)


def test_a_delta_costs_no_more_than_what_it_reads() -> None:
    g = Graph()
    x, y = g.input("x", [n + 1]), g.input("y", [n])
    shifted = g.product(
        "", [(x, "p"), (y, "i")], constraints=[delta({"i": 1, "p": -1}, 1)]
    )
    assert COST.work(shifted) < 3 * COST.work(g.einsum("i,i->", y, y))


def test_scattering_costs_by_entry_and_more_than_adding() -> None:
    g = Graph()
    row, v = g.input("row", [n], index=m), g.input("v", [n])
    at = {"i": 1, Lookup(row, ("e",)): -1}
    ones = g.product("i", [], constraints=[delta(at)], sizes={"e": n, "i": m})
    sums = g.product("i", [(v, "e")], constraints=[delta(at)], sizes={"i": m})
    for node in (ones, sums):
        assert 1000 * SCATTERED.planned < COST.work(node) < 3000 * SCATTERED.planned


def orders(node: Node) -> list[int]:
    return [part.order for part in topological([node]) if isinstance(part, Product)]


def test_factors_tied_through_an_axis_are_multiplied_entry_by_entry() -> None:
    g = Graph()
    names = [g.input(f"A{k}", [n, m]) for k in range(3)]
    node = g.product(
        "ij",
        [(array, f"{label}j") for array, label in zip(names, "pqr", strict=True)],
        constraints=[delta({"i": 1, x: -1}, -1 - k) for k, x in enumerate("pqr")],
        sizes={"i": n},
    )
    (ordered,) = order_contractions(g, [node], COST)
    assert max(orders(ordered)) == 2
