"""What is known of arrays: identity, types, memory, needs."""

from fractions import Fraction

from tensorgen.arrays import arrays
from tensorgen.arrays.arrays import array, transposes, variable
from tensorgen.arrays.needs import Needs
from tensorgen.arrays.operations import (
    WHOLE,
    Add,
    At,
    Call,
    Copy,
    Elementwise,
    Entries,
    Expand,
    Fill,
    Index,
    Limit,
    MatMul,
    Multiply,
    Number,
    Permute,
    Reduce,
    Size,
    Windows,
)
from tensorgen.arrays.statements import Let, Statement, Store, changed, reads
from tensorgen.ir.dims import ZERO, Dim

x = variable("x", 1, base="x")
A, T = variable("A", 2, base="A"), variable("T", 3, base="T")
mask = array(Elementwise("less"), x, array(Number(Fraction(0))))


def test_equal_arrays_are_one_object() -> None:
    assert array(MatMul(), A, x) is array(MatMul(), A, x)
    assert array(MatMul(), A, x) is not array(MatMul(), A, A)


def test_the_number_of_axes_follows_from_what_is_done() -> None:
    first = At(Limit(ZERO))
    orders = [
        array(MatMul(), A, x),
        array(MatMul(), x, x),
        array(MatMul(), T, A),
        array(Reduce((0, 2)), T),
        array(Index((WHOLE, first)), T),
        array(Index((Entries(), Entries())), T, A, x),
        array(Expand((True, False, False)), x),
        array(Windows((Dim.of(3),), (0,)), A),
    ]
    assert [one.order for one in orders] == [1, 0, 3, 1, 2, 3, 3, 3]


def test_numbers_stay_weak_and_masks_are_no_numbers() -> None:
    half, n = array(Number(Fraction(1, 2))), array(Size(Dim.of("n")))
    assert array(Multiply(Fraction(2), 2), half, n).weak
    assert not array(Multiply(Fraction(2), 2), half, x).weak
    assert mask.kind == "bool"
    assert array(Elementwise("where"), mask, n, half).kind == "int"
    assert array(Elementwise("where"), mask, x, half).kind == "float"
    assert array(Add((1, 1)), variable("rows", 1, "int"), n).kind == "int"


def test_views_share_memory_and_copies_do_not() -> None:
    rows = variable("rows", 1, "int", base="rows")
    assert arrays.base(array(Permute((1, 0)), A)) == "A"
    assert arrays.base(array(Index((WHOLE, At(Limit(ZERO)))), A)) == "A"
    assert arrays.base(array(Index((Entries(),)), A, rows)) is None
    assert arrays.base(array(Copy(), A)) is None
    assert arrays.base(array(MatMul(), A, x)) is None


def test_a_transpose_of_a_term_costs_a_reader_more() -> None:
    term = array(Elementwise("exp"), A)
    assert transposes(array(Permute((1, 0)), A)) == 1
    assert transposes(array(Permute((1, 0)), term)) == 2
    assert transposes(array(MatMul(), array(Permute((1, 0)), A), A)) == 1


def test_code_says_what_it_needs() -> None:
    n, k = Dim.of("n"), Dim.of("k")
    cut = Index((At(Limit(k, most=n - 1)),))
    lines: list[Statement] = [
        Let("out", array(Fill((Dim.of("m"),), 0))),
        Store(variable("out", 1, base="out"), cut, (), "+=", x),
    ]
    needs = Needs(lines, [array(Elementwise("erf"), array(Elementwise("sigmoid"), x))])
    assert list(needs.symbols) == ["k", "n", "m"]
    assert list(needs.helpers) == ["_sigmoid"]
    assert list(needs.modules) == ["scipy.special"]
    assert needs.dtype
    assert changed(lines[1]) == "out"
    assert list(reads([array(MatMul(), A, x)])) == ["A", "x"]
    assert not Needs([], [array(Call("inv", 2), A)]).dtype
