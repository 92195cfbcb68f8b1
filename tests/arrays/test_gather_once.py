"""What index arrays read of an array repeatedly is read once."""

from __future__ import annotations

from tensorgen.arrays.arrays import array, variable
from tensorgen.arrays.code import Code
from tensorgen.arrays.gather_once import gathered_once
from tensorgen.arrays.operations import Elementwise, Index, Permute
from tensorgen.arrays.places import WHOLE, Entries
from tensorgen.arrays.statements import Let, Scatter, Store
from tensorgen.ir.dims import Dim

n, m = Dim.of("n"), Dim.of("m")
k = variable("k", (m,), "int")
AT = Index((Entries(),), (m,))


def twice(name: str) -> tuple[Let, Let]:
    one = array(AT, variable(name, (n,)), k)
    return Let("u", array(Elementwise("sin"), one)), Let(
        "w", array(Elementwise("cos"), one)
    )


def test_what_is_changed_afterwards_is_no_name_for_what_was_read() -> None:
    one = array(AT, variable("x", (n,)), k)
    start, change = Let("y", one), Scatter(
        variable("y", (m,)), AT, (k,), variable("z", (m,)), False
    )
    lines = (start, change, Let("u", array(Elementwise("sin"), one)))
    code = gathered_once(Code(lines, ()), lambda name: name)
    found = [line for line in code.statements if isinstance(line, Let)]
    assert [line.name for line in found] == ["y", "u"]
    assert [line.value for line in found] == [one, array(Elementwise("sin"), one)]


def test_what_is_changed_through_a_view_is_no_name_either() -> None:
    one = array(Index((Entries(),), (m, n)), variable("x", (n, n)), k)
    turned = array(Permute((1, 0)), one)
    change = Store(
        variable("y", (n, m)), Index((WHOLE,), (n, m)), (), "+=", variable("z", (n, m))
    )
    lines = (
        Let("y", turned),
        change,
        Let("u", array(Elementwise("sin"), one)),
        Let("v", array(Elementwise("cos"), one)),
    )
    code = gathered_once(Code(lines, ()), lambda name: name)
    assert code.statements[:2] == lines[:2]


def test_what_is_there_before_has_a_name() -> None:
    code = gathered_once(Code(twice("x"), ()), lambda name: name)
    assert [line.name for line in code.statements if isinstance(line, Let)] == [
        *("x_k", "u", "w")
    ]
