"""Indicators that never hold together make a product zero."""

from __future__ import annotations

import pytest

from tensorgen.ir.dims import Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import indicator, is_zero

H = Dim.symbol("h")


@pytest.mark.parametrize(
    ("below", "zero"), [(H - 1, True), (H, False), (H * 2, False)], ids=str
)
def test_windows_that_exclude_each_other(below: Dim, zero: bool) -> None:
    graph = Graph()
    x = graph.input("x", [H * 2])
    # h <= i and i <= below
    masks = [indicator({0: 1}, -H), indicator({0: -1}, below)]
    product = graph.product((0,), [(x, (0,))], constraints=masks)
    assert is_zero(product) == zero
