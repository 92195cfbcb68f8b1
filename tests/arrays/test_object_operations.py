"""What methods take apart and hand on: texts, needs, what is read."""

from fractions import Fraction

import pytest

from tensorgen.arrays.arrays import Array, array, base, variable
from tensorgen.arrays.needs import Needs
from tensorgen.arrays.object_operations import (
    Answer,
    AsPlaces,
    Attribute,
    Extent,
    GramEntries,
    GramPlaces,
    Join,
    Later,
    Made,
    Nothing,
    Numbered,
    Pack,
    Places,
    Reshape,
    ZerosLike,
)
from tensorgen.arrays.operations import Add, Copy, Fill, Index, Multiply, Number, Size
from tensorgen.arrays.places import Entries
from tensorgen.arrays.printer import Printer
from tensorgen.arrays.statement_text import statement_text
from tensorgen.arrays.statements import (
    Let,
    Loop,
    Return,
    Statement,
    Unpack,
    everything,
    operands,
    reads,
    rebuilt,
)
from tensorgen.ir.dims import ZERO, Dim

k, m, n = map(Dim.of, "kmn")
x, A = variable("x", (n,), base="x"), variable("A", (m, n), base="A")
i, kept = variable("i", (n,), "int"), variable("kept", (n,), "bool")
one = array(Number(Fraction(1)))
TOTAL = array(Add((1, 1)), x, x)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (array(Attribute("columns")), "self.columns"),
        (array(Made("_F"), array(Answer("coo", True)), one), "_F(*self.coo(), 1)"),
        (array(Answer("diagonal")), "self.diagonal()"),
        (array(Pack(), one), "(1,)"),
        (array(Pack(), one, array(Nothing())), "(1, None)"),
        (array(Pack(listed=True)), "[]"),
        (array(Numbered((0, 3)), x, TOTAL), "{0: x, 3: x + x}"),
        (array(Later(), array(Made("_F"), x)), "lambda: _F(x)"),
        (array(Join((m + n,)), x, x), "np.concatenate([x, x])"),
        (array(Join((m, n)), A, A), "np.hstack([A, A])"),
        (array(Extent(-1), TOTAL), "(x + x).shape[-1]"),
        (array(Reshape((m, n)), TOTAL), "np.reshape(x + x, (m, n))"),
        (array(Reshape((m,)), A), "np.reshape(A, m)"),
        (array(Places((m, n))), "np.indices((m, n)).reshape(2, -1)"),
        (array(ZerosLike((n,)), i), "np.zeros_like(i)"),
        (array(AsPlaces((n,)), TOTAL), "(x + x).astype(int)"),
        (array(GramEntries(), A, x), "A.gram(x)"),
        (array(GramEntries(transposed=True), A, x), "A.gram(x, transposed=True)"),
        (array(GramPlaces(), A), "A.gram_places()"),
        (array(GramPlaces(transposed=True), A), "A.gram_places(transposed=True)"),
        (array(Fill((n,), 0, "int")), "np.zeros(n, dtype=int)"),
    ],
)
def test_objects_read_as_python(given: Array, expected: str) -> None:
    assert Printer("np").text(given) == expected


ROWS = array(Index((Entries(),), (n,)), i, kept)


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        (Unpack(("n",), array(Attribute("sizes"))), "n, = self.sizes"),
        (Unpack((None, "n"), array(Attribute("sizes"))), "_, n = self.sizes"),
        (Unpack(("x", "i"), array(Pack(), i, x)), "x, i = i, x"),
        (
            Loop("k", ZERO, n, (Let("i", ROWS), Loop("m", k, n, (Let("x", x),)))),
            "for k in range(n):\n    i = i[kept]\n"
            "    for m in range(k, n):\n        x = x",
        ),
        (Return((x, TOTAL)), "return x, x + x"),
    ],
)
def test_statements_read_as_python(statement: Statement, expected: str) -> None:
    assert statement_text(Printer("np"), statement) == expected


def test_what_stands_inside_of_a_statement_counts() -> None:
    inner = Let("x", array(Multiply(Fraction(1), 2), i, array(Size(n))))
    outer = Loop("k", ZERO, m, (inner, Let("A", A)))
    assert list(everything([outer])) == [outer, *outer.body]
    assert {*reads(operands(outer))} == {"i", "A"}
    assert list(Needs([outer]).symbols) == ["m", "n"]


def test_shapes_need_their_sizes_and_whole_numbers_no_dtype() -> None:
    needs = Needs([Let("x", array(Reshape((m, n)), x)), Let("i", array(Places((m,))))])
    assert sorted(needs.symbols) == ["m", "n"]
    assert not Needs([Let("i", array(Fill((n,), 0, "int")))]).dtype
    assert Needs([Let("x", array(Fill((n,), 0)))]).dtype


def test_statements_are_rebuilt_over_other_arrays() -> None:
    def other(given: Array) -> Array:
        return A if given is x else given

    for statement in (
        Unpack(("y",), x),
        Loop("k", ZERO, n, (Let("z", x), Let("y", x))),
        Return((x, x)),
    ):
        made = rebuilt(statement, other)
        assert {*reads(operands(made))} == {"A"}
        assert rebuilt(made, other) == made


def test_kinds_and_memory_are_known() -> None:
    assert array(Places((m, n))).kind == array(AsPlaces((n,)), i).kind == "int"
    assert array(Places((m, n))).order == 2
    assert array(Reshape((m, n)), x).order == 2
    assert base(array(Reshape((m, n)), x)) == "x"
    assert base(array(Copy(), x)) is None
