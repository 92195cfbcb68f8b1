"""The table of prices: each is asked for, and a backend is a column of it."""

from __future__ import annotations

import ast
from pathlib import Path

from tensorgen.arrays.arrays import array, variable
from tensorgen.arrays.code import Code
from tensorgen.arrays.operations import Add, Elementwise, MatMul
from tensorgen.arrays.speed import Speed
from tensorgen.arrays.work import arithmetic
from tensorgen.ir.dims import Dim
from tensorgen.prices import limits, price_table, thresholds
from tensorgen.prices.price_table import Price

PACKAGE = Path(price_table.__file__).parent.parent
n = Dim.of("n")
SIZES = {"n": 100}
X, Y = variable("X", (n, n)), variable("Y", (n, n))


def test_what_is_stated_is_asked_for() -> None:
    trees = [
        ast.parse(path.read_text(encoding="utf-8"))
        for path in PACKAGE.rglob("*")
        if path.suffix == ".py"
    ]
    read = {
        node.id
        for tree in trees
        for node in ast.walk(tree)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
    }
    stated = {
        x
        for room in (limits, price_table, thresholds)
        for x in vars(room)
        if x.isupper()
    }
    assert len(stated) > 60
    assert stated - read == set()


def test_the_unit_is_a_term_of_a_contraction() -> None:
    assert price_table.MULTIPLY_ADD.planned == price_table.MULTIPLY_ADD.numpy == 1


def test_a_backend_is_a_column() -> None:
    def flops(price: Price) -> float:
        return price.flops

    counted = Speed(SIZES, flops)
    for one in (
        array(MatMul(), X, Y),
        array(Add((1, 1)), X, Y),
        array(Elementwise("exp"), X),
    ):
        assert counted.work(one) == arithmetic(Code((), (one,))).value(SIZES)
        assert counted.work(one) != Speed(SIZES).work(one) > 0
