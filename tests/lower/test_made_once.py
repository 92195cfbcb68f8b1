"""What libraries have in common is drafted once, and what they have not, for each."""

from __future__ import annotations

from typing import Any

import pytest

from tensorgen.ir.dims import Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Lookup, Node, delta
from tensorgen.lower.lowering import Lowering
from tests.lower.support import as_text

n, k, e = map(Dim.of, "nke")
FEW = {"n": 1000, "k": 3, "e": 5}


def gathered(c: Graph) -> Node:
    """Rows of a matrix, added up and squared."""
    x = c.input("X", [n, k])
    total = c.product("i", [(x, "ij")])
    return c.product("i", [(total, "i"), (total, "i")])


def added(c: Graph) -> Node:
    """A matrix, and a few rows that are added where an index array says."""
    row, values = c.input("row", [e], index=n), c.input("V", [e, k])
    at = delta({"i": 1, Lookup(row, ("e",)): -1})
    rows = c.product("ij", [(values, "ej")], constraints=[at], sizes={"i": n})
    return c.add(c.input("X", [n, k]), rows)


@pytest.mark.parametrize(("make", "times"), [(gathered, 1), (added, 2)])
def test_what_asks_nothing_of_the_library_is_drafted_once(
    make: Any, times: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph, drafts = Graph(), list[Lowering]()
    root, run = make(graph), Lowering.run

    def counted(self: Lowering, *args: Any) -> Any:
        drafts.append(self)
        return run(self, *args)

    monkeypatch.setattr(Lowering, "run", counted)
    for _ in range(2):
        for slow_at in (True, False):
            found = as_text(graph, [root], slow_at=slow_at, hints=FEW)
            with monkeypatch.context() as anew:
                anew.setattr(Lowering, "run", run)
                other = Graph()
                wanted = as_text(other, [make(other)], slow_at=slow_at, hints=FEW)
            assert (found.lines, found.returns) == (wanted.lines, wanted.returns)
    assert len(drafts) == times


def test_other_names_or_sizes_are_lowered_anew() -> None:
    graph = Graph()
    root = gathered(graph)
    plain = as_text(graph, [root], root_names=["y"])
    other = as_text(graph, [root], root_names=["y"], reserved=["X_sum", "total"])
    assert plain.lines == as_text(graph, [root], root_names=["y"]).lines
    assert (
        other.lines
        == as_text(Graph(), [root], root_names=["y"], reserved=["X_sum", "total"]).lines
    )
