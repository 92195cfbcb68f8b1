"""What passes that always run do to the planned cost: they lower it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tensorgen.errors import Source
from tensorgen.explanation.passes import changes
from tensorgen.explanation.subjects import Explained, explained
from tensorgen.ir.dims import Dim
from tensorgen.ir.graph import Graph
from tensorgen.passes.cost import CostModel

EXAMPLES = Path(__file__).parents[2] / "examples"
m, n = map(Dim.of, "mn")


@pytest.fixture(scope="module")
def logistic() -> Explained:
    path = EXAMPLES / "logistic_regression.yaml"
    source = Source(path.name, path.read_text(encoding="utf-8"))
    return explained(source, in_all_modes=False)


@pytest.mark.parametrize("name", ["mirror_products", "share_exponentials"])
def test_a_pass_that_always_runs_lowers_what_is_planned(
    name: str, logistic: Explained
) -> None:
    pairs = []
    for subject in logistic.subjects:
        cost = CostModel(subject.hints).total
        steps = [x for x in changes(subject) if x[0].name == name]
        pairs += [(cost(before.roots), cost(after.roots)) for _, before, after in steps]
    assert pairs
    assert all(after < before for before, after in pairs)


def test_a_product_of_a_matrix_and_itself_is_half_of_one() -> None:
    g, cost = Graph(), CostModel({"m": 1000, "n": 100})
    X, Y = g.input("X", [m, n]), g.input("Y", [m, n])
    other, same = g.einsum("ki,kj->ij", X, Y), g.einsum("ki,kj->ij", X, X)
    assert cost.work(other) - cost.work(same) == 1000 * 100 * 100 / 2
    assert cost.flops(other) == cost.flops(same)
    square = g.einsum("ik,kj->ij", g.input("A", [n, n]), g.input("A", [n, n]))
    assert cost.work(square) > 100**3
