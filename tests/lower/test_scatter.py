"""Entries added where index arrays say, which may say the same place twice."""

from __future__ import annotations

import math
import tracemalloc
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tensorgen.ir.dims import Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Lookup, Node, delta
from tensorgen.operators.helpers.helper_table import HELPERS
from tensorgen.operators.helpers.keys import ADDED_BY_KEY
from tests.lower.support import as_text, check

n, m, k, e = map(Dim.of, "nmke")
SIZES = {"n": 3, "m": 4, "k": 2, "e": 6}


def add_at(*arguments: Any, library: Any = np) -> None:
    space: dict[str, Any] = {"np": library, "math": math}
    exec("from __future__ import annotations\n" + HELPERS["_add_at"], space)
    space["_add_at"](*arguments)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("kind", ["int64", "int32", "uint64", "uint8"])
def test_the_helper_adds_like_add_at(dtype: str, kind: str) -> None:
    rng = np.random.default_rng(0)
    rows, columns = rng.integers(0, 3, (2, 5)).astype(kind)
    for shape, index in (
        ((3,), rows),
        ((3, 4), rows),
        ((3, 3), (rows, columns)),
        ((3, 3, 2), (rows[:, None], columns)),
        ((3, 2, 2), rows[:4].reshape(2, 2)),
        ((3, 5), rows),
        ((3, 17), rows),
        ((3, 0), rows),
        ((3, 2), rows[:0]),
    ):
        for out in (np.zeros(shape, dtype), np.zeros(shape[::-1], dtype).T):
            values = rng.standard_normal(out[index].shape).astype(dtype)
            wanted = out.copy()
            np.add.at(wanted, index, values)
            add_at(out, index, values)
            np.testing.assert_allclose(out, wanted, rtol=1e-6)
            add_at(out, index, -1)
            np.add.at(wanted, index, -1)
            np.testing.assert_allclose(out, wanted, rtol=1e-6)


def scattered(c: Graph, what: str) -> Node:
    row, col = c.input("row", [e], index=n), c.input("col", [e], index=m)
    at = delta({"i": 1, Lookup(row, ("e",)): -1})
    too = delta({"j": 1, Lookup(col, ("e",)): -1})
    v, U = c.input("v", [e]), c.input("U", [e, k])
    sizes: dict[Any, Dim] = {"i": n}
    match what:
        case "vector":
            return c.product("i", [(v, "e")], constraints=[at], sizes=sizes)
        case "counts":
            return c.product("i", [], constraints=[at], sizes={"i": n, "e": e})
        case "rows":
            return c.product("ik", [(U, "ek")], constraints=[at], sizes=sizes)
        case "columns":
            return c.product("kj", [(U, "ek")], constraints=[too], sizes={"j": m})
        case "between":
            T = c.input("T", [k, e, k])
            return c.product("kjl", [(T, "kel")], constraints=[too], sizes={"j": m})
    sizes["j"] = m
    return c.product("ij", [(v, "e")], constraints=[at, too], sizes=sizes)


@pytest.mark.parametrize(
    ("what", "text"),
    [
        ("vector", "_sum_by_key(v, row, n)"),
        ("rows", "_sum_rows_by_key(U, row, n, k)"),
        ("columns", "_sum_rows_by_key(U, col, m, k).T"),
        (
            "between",
            "_sum_rows_by_key(T.transpose(1, 0, 2), col, m, k, k).transpose(1, 0, 2)",
        ),
        ("entries", "_sum_rows_by_key(v, (row, col), n, m)"),
    ],
)
def test_what_is_added_by_key_alone_is_an_expression(what: str, text: str) -> None:
    graph = Graph()
    node = scattered(graph, what)
    for slow_at in (True, False):
        code = as_text(graph, [node], slow_at=slow_at)
        assert code.lines == () and code.returns == (text,)
    for dtype in ("float64", "float32"):
        check(graph, [node], SIZES, dtype=dtype)
    for empty in ("e", "k"):
        check(graph, [node], SIZES | {empty: 0})
    check(graph, [node], dict.fromkeys(SIZES, 0))


def test_entries_are_counted_where_a_number_is_added() -> None:
    graph = Graph()
    node = scattered(graph, "counts")
    code = as_text(graph, [node], root_names=["out"])
    assert code.lines[-1] == "out += np.bincount(row, minlength=n)"
    check(graph, [node], SIZES)
    check(graph, [node], dict.fromkeys(SIZES, 0))


@pytest.mark.parametrize(
    ("hints", "lines"),
    [
        ({"n": 10, "e": 100}, ()),
        ({"n": 100, "e": 10}, ("out = x.copy()", "np.add.at(out, row, v)")),
    ],
)
def test_few_entries_are_added_in_place(
    hints: dict[str, int], lines: tuple[str, ...]
) -> None:
    graph = Graph()
    node = graph.add(graph.input("x", [n]), scattered(graph, "vector"))
    code = as_text(graph, [node], root_names=["out"], hints=hints)
    assert code.lines == lines
    if not lines:
        assert code.returns == ("_sum_by_key(v, row, n) + x",)
    check(graph, [node], SIZES)


@pytest.mark.parametrize("own", [{}, ADDED_BY_KEY])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_sums_by_key_have_the_dtype_of_what_is_added(
    own: dict[str, str], dtype: str
) -> None:
    space: dict[str, Any] = {"np": np, "math": math}
    names = ("_sum_by_key", "_sum_rows_by_key", "_add_at")
    texts = ({**HELPERS, **own}[name] for name in names)
    exec("\n".join(["from __future__ import annotations", *texts]), space)
    rng = np.random.default_rng(0)
    for keys in ([0, 2, 0, 5], []):
        for shape in ((6,), (6, 3), (6, 0)):
            x = rng.normal(size=(len(keys), *shape[1:])).astype(dtype)
            call = space[names[len(shape) - 1]]
            found = call(x, np.array(keys, np.uint8), *shape)
            one_hot = (np.arange(6)[:, None] == np.array(keys)).astype(dtype)
            assert found.dtype == dtype and found.shape == shape
            np.testing.assert_allclose(found, one_hot @ x, rtol=1e-6)


@pytest.mark.parametrize("width", [1, 3, 50])
def test_the_helper_adds_rows_in_memory_for_few_of_them(width: int) -> None:
    rng = np.random.default_rng(0)
    rows, values = rng.integers(0, 100, 40_000), rng.normal(size=(40_000, width))
    out = np.zeros((100, width))
    tracemalloc.start()
    add_at(out, rows, values)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1.5e6
    wanted = [np.bincount(rows, column, 100) for column in values.T]
    np.testing.assert_allclose(out.T, wanted, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize(("width", "calls"), [(1, 1), (4, 2), (7, 4), (18, 1)])
def test_numbers_beside_each_other_are_added_two_at_a_time(
    width: int, calls: int
) -> None:
    kinds: list[str] = []

    def at(target: Any, index: Any, values: Any) -> None:
        kinds.append(target.dtype.kind)
        np.add.at(target, index, values)

    library = SimpleNamespace(**(vars(np) | {"add": SimpleNamespace(at=at)}))
    out, values = np.zeros((3, width)), np.ones((9, width))
    add_at(out, np.arange(9) % 3, values, library=library)
    assert (out == 3).all()
    assert len(kinds) == calls and kinds.count("f") == width % 2


@pytest.mark.parametrize("width", [3, 50])
def test_many_numbers_a_place_are_added_in_double_precision(width: int) -> None:
    values = np.full((30_000, width), 0.1, np.float32)
    out = np.zeros((2, width), np.float32)
    add_at(out, np.ones(30_000, int), values)
    np.testing.assert_allclose(out[1], 30_000 * np.float64(values[0]), rtol=1e-7)
