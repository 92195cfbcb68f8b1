"""What is known of arrays: identity, types, memory, needs."""

from fractions import Fraction

from tensorgen.arrays import arrays
from tensorgen.arrays.arrays import array, variable
from tensorgen.arrays.needs import Needs
from tensorgen.arrays.operations import (
    Add,
    Call,
    Copy,
    Diagonal,
    Einsum,
    Elementwise,
    Expand,
    Fill,
    Index,
    MatMul,
    Multiply,
    Number,
    Pad,
    Permute,
    Reduce,
    Size,
    Solve,
    TensorDot,
    Windows,
)
from tensorgen.arrays.places import WHOLE, At, Entries, Limit
from tensorgen.arrays.reading import transposes
from tensorgen.arrays.statements import Let, Statement, Store, changed, reads
from tensorgen.ir.dims import ONE, ZERO, Dim

m, n, k = map(Dim.of, "mnk")
x = variable("x", (n,), base="x")
A, T = variable("A", (m, n), base="A"), variable("T", (k, m, n), base="T")
mask = array(Elementwise("less"), x, array(Number(Fraction(0))))


def test_equal_arrays_are_one_object() -> None:
    assert array(MatMul(), A, x) is array(MatMul(), A, x)
    assert array(MatMul(), A, x) is not array(MatMul(), A, A)


def test_sizes_follow_from_what_is_done() -> None:
    square = array(MatMul(), array(Permute((1, 0)), A), A)
    found = [
        array(MatMul(), A, x),
        array(MatMul(), x, x),
        array(MatMul(), T, array(Permute((1, 0)), A)),
        array(Reduce((0, 2)), T),
        array(Expand((True, False, False)), x),
        array(Windows((Dim.of(3),), (0,)), A),
        array(Add((1, 1)), array(Expand((True, False)), x), A),
        array(Pad(((ONE, ZERO),)), x),
        array(TensorDot((1, 2), (0, 1)), T, A),
        array(Einsum(((0, 1, 2), (1, 2)), (2, 0)), T, A),
        array(Diagonal(0, 2), array(MatMul(), T, square)),
        array(Solve(), square, x),
        array(Solve(), square, array(Permute((1, 0)), A)),
    ]
    assert [one.dims for one in found] == [
        (m,),
        (),
        (k, m, m),
        (m,),
        (n, ONE, ONE),
        (m - 2, n, Dim.of(3)),
        (n, n),
        (n + 1,),
        (k,),
        (n, k),
        (m, k),
        (n,),
        (n, m),
    ]


def test_numbers_stay_weak_and_masks_are_no_numbers() -> None:
    half, n = array(Number(Fraction(1, 2))), array(Size(Dim.of("n")))
    assert array(Multiply(Fraction(2), 2), half, n).weak
    assert not array(Multiply(Fraction(2), 2), half, x).weak
    assert mask.kind == "bool"
    assert array(Elementwise("where"), mask, n, half).kind == "int"
    assert array(Elementwise("where"), mask, x, half).kind == "float"
    assert array(Add((1, 1)), variable("rows", (k,), "int"), n).kind == "int"


def test_views_share_memory_and_copies_do_not() -> None:
    rows = variable("rows", (k,), "int", base="rows")
    assert arrays.base(array(Permute((1, 0)), A)) == "A"
    assert arrays.base(array(Index((WHOLE, At(Limit(ZERO))), (m,)), A)) == "A"
    assert arrays.base(array(Index((Entries(),), (k, n)), A, rows)) is None
    assert arrays.base(array(Copy(), A)) is None
    assert arrays.base(array(MatMul(), A, x)) is None


def test_a_transpose_of_a_term_costs_a_reader_more() -> None:
    term = array(Elementwise("exp"), A)
    assert transposes(array(Permute((1, 0)), A)) == 1
    assert transposes(array(Permute((1, 0)), term)) == 2
    assert transposes(array(MatMul(), array(Permute((1, 0)), A), A)) == 1


def test_code_says_what_it_needs() -> None:
    cut = Index((At(Limit(k, most=n - 1)),), ())
    lines: list[Statement] = [
        Let("out", array(Fill((m,), 0))),
        Store(variable("out", (m,), base="out"), cut, (), "+=", x),
    ]
    needs = Needs(lines, [array(Elementwise("erf"), array(Elementwise("sigmoid"), x))])
    assert list(needs.symbols) == ["k", "n", "m"]
    assert list(needs.helpers) == ["_sigmoid"]
    assert list(needs.modules) == ["scipy.special"]
    assert needs.dtype
    assert changed(lines[1]) == {"out"}
    assert list(reads([array(MatMul(), A, x)])) == ["A", "x"]
    assert not Needs([], [array(Call("inv", (m, m)), A)]).dtype
