"""What is planned for pairs of logistic functions, and for what is but read."""

from __future__ import annotations

from pathlib import Path

from tensorgen.errors import Source
from tensorgen.explanation.passes import changes
from tensorgen.explanation.subjects import explained
from tensorgen.ir.dims import Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Node, delta
from tensorgen.passes.cost import CostModel

EXAMPLES = Path(__file__).parents[2] / "examples"


def test_a_slope_is_planned_for_less_than_two_logistic_functions() -> None:
    path = EXAMPLES / "logistic_regression.yaml"
    source = Source(path.name, path.read_text(encoding="utf-8"))
    pairs = []
    for subject in explained(source, in_all_modes=False).subjects:
        cost = CostModel(subject.hints).total
        steps = [x for x in changes(subject) if x[0].name == "pair_slopes"]
        pairs += [(cost(before.roots), cost(after.roots)) for _, before, after in steps]
    assert pairs
    assert all(after < before for before, after in pairs)


def test_a_slice_costs_nothing() -> None:
    graph = Graph()
    x = graph.input("x", [Dim.symbol("n") + 1])

    def part(low: int, length: Dim) -> Node:
        tie = delta({"s": 1, "i": -1}, -low)
        return graph.product("i", [(x, "s")], constraints=[tie], sizes={"i": length})

    cost, n = CostModel({"n": 50}), Dim.symbol("n")
    assert cost.work(part(1, n)) == cost.work(part(0, n)) == 0
    padded = part(-1, n + 1)  # its first entry is no entry of x
    assert cost.work(padded) > 0
    assert cost.work(graph.scale(part(1, n), 2)) > 0


def test_what_is_read_elsewhere_is_multiplied_and_not_added_up() -> None:
    graph, n = Graph(), Dim.symbol("n")
    x, y = graph.input("x", [n + 1]), graph.input("y", [n])
    tie = delta({"s": 1, "i": -1}, -1)
    factors = [(x, "s"), (y, "i")]
    shifted = graph.product("i", factors, constraints=[tie], sizes={"i": n})
    plain = graph.product("i", [(graph.input("z", [n]), "i"), (y, "i")])
    cost = CostModel({"n": 50})
    assert cost.work(shifted) == cost.work(plain)
