"""Arrays as text: literals, parentheses, templates."""

from fractions import Fraction

import numpy as np
import pytest

from tensorgen.arrays.arrays import Array, array, variable
from tensorgen.arrays.number_text import number, size
from tensorgen.arrays.operations import (
    Add,
    Elementwise,
    Expand,
    Index,
    MatMul,
    Multiply,
    Number,
    Permute,
    Power,
    Size,
)
from tensorgen.arrays.places import WHOLE, At, Entries, Limit, Mark, Slice
from tensorgen.arrays.printer import Printer
from tensorgen.arrays.statement_text import statement_text
from tensorgen.arrays.statements import Scatter, Store
from tensorgen.ir.dims import ZERO, Dim

n, k = Dim.of("n"), Dim.of("k")
a, b, c, x, y, z = (variable(name, (n,)) for name in "abcxyz")
A, B = variable("A", (n, n)), variable("B", (n, n))
SUM = array(Add((1, 1)), a, b)
DIFFERENCE = array(Add((1, -1)), a, b)
MINUS = array(Multiply(Fraction(-1), 1), c)
PRODUCT = array(Multiply(Fraction(1), 2), a, b)


def text(one: Array, alias: str = "np") -> str:
    """Write an array."""
    return Printer(alias).text(one)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("2", "2"),
        ("-3", "-3"),
        ("1/2", "0.5"),
        ("-981/100", "-9.81"),
        ("1/1000", "0.001"),
        ("1/10000000000", "1e-10"),
        ("1/3", "1 / 3"),
        ("100000000000000000000", "1e+20"),
        ("9007199254740993", "9007199254740993.0"),
        ("1.6732632423543772", "1.6732632423543772"),
        ("-123456789/1000000007", "-0.12345678813580248"),
    ],
)
def test_a_rational_is_a_short_exact_literal_or_quotient_or_a_float(
    value: str, expected: str
) -> None:
    assert number(Fraction(value)).text == expected
    assert text(array(Number(Fraction(value)))) == expected


@pytest.mark.parametrize(
    ("coefficient", "above", "below", "expected"),
    [
        ("-1", [x], [], "-x"),
        ("2", [x, y], [], "2 * x * y"),
        ("1/3", [x], [], "x / 3"),
        ("-2/3", [x], [], "-2 / 3 * x"),
        ("1/2", [x], [], "0.5 * x"),
        ("1/2", [x], [y], "x / (2 * y)"),
        ("1", [], [y], "1 / y"),
        ("1", [x], [y, z], "x / (y * z)"),
        ("3", [SUM], [], "3 * (a + b)"),
        ("3", [PRODUCT], [], "3 * a * b"),
        ("3", [x, PRODUCT], [], "3 * x * (a * b)"),
        ("-1", [array(MatMul(), A, x)], [], "-(A @ x)"),
        ("2", [array(MatMul(), A, x)], [], "2 * (A @ x)"),
        ("-1", [MINUS], [], "-(-c)"),
    ],
)
def test_a_product_has_a_natural_coefficient_and_few_parentheses(
    coefficient: str, above: list[Array], below: list[Array], expected: str
) -> None:
    op = Multiply(Fraction(coefficient), len(above))
    assert text(array(op, *above, *below)) == expected


def test_a_sum_subtracts_and_keeps_the_grouping_of_its_terms() -> None:
    assert text(array(Add((-1, -1)), x, y)) == "-x - y"
    assert text(array(Add((1, -1)), x, DIFFERENCE)) == "x - (a - b)"
    assert text(array(Add((1, 1)), DIFFERENCE, x)) == "a - b + x"


def test_a_sum_has_one_sign_before_each_term() -> None:
    less = array(Multiply(Fraction(-1), 1), a)
    half = array(Multiply(Fraction(-1, 2), 2), a, b)
    assert text(array(Add((1, -1)), b, less)) == "b + a"
    assert (
        text(array(Add((1, 1, -1)), b, half, half)) == "b - 0.5 * a * b + 0.5 * a * b"
    )


def test_a_chain_of_matrix_products_needs_parentheses_on_its_right_only() -> None:
    left = array(MatMul(), A, B)
    scaled = array(Multiply(Fraction(2), 1), A)
    assert text(array(MatMul(), left, x)) == "A @ B @ x"
    assert text(array(MatMul(), x, left)) == "x @ (A @ B)"
    assert text(array(MatMul(), scaled, x)) == "(2 * A) @ x"


def test_powers_stand_close_to_simple_operands() -> None:
    assert text(array(Power(Fraction(2)), x)) == "x**2"
    assert text(array(Power(Fraction(2)), SUM)) == "(a + b) ** 2"
    assert text(array(Power(Fraction(1, 3)), x)) == "x ** (1 / 3)"


def test_squares_are_a_function_where_powers_are_of_any_two_numbers() -> None:
    assert text(array(Power(Fraction(2)), SUM), "cp") == "cp.square(a + b)"
    assert text(array(Power(Fraction(3)), x), "cp") == "x**3"
    number = array(Size(Dim.symbol("n")))
    assert text(array(Power(Fraction(2)), number), "cp") == "n**2"


def test_a_template_sets_parentheses_only_where_its_places_need_them() -> None:
    def filled(name: str, *args: Array) -> str:
        return text(array(Elementwise(name), *args), "cp")

    assert filled("exp", SUM) == "cp.exp(a + b)"
    assert filled("log_sigmoid", SUM) == "-cp.logaddexp(0, -(a + b))"
    assert filled("less", SUM, MINUS) == "a + b < -c"
    assert filled("sigmoid", SUM) == "_sigmoid(a + b)"


def test_sizes_read_naturally() -> None:
    sizes = [n - k + 1, 2 * n, n * k, 1 - k, Dim.of(0)]
    texts = [size(dim).text for dim in sizes]
    assert texts == ["n - k + 1", "2 * n", "k * n", "1 - k", "0"]
    assert text(array(Size(n - k, clipped=True))) == "max(n - k, 0)"


def test_places_are_slices_numbers_and_the_entries_of_others() -> None:
    first, rest = At(Limit(ZERO)), Mark("...")
    held = At(Limit(k, clipped=True, most=n - 1))
    back = Slice(Limit(n - 1), None, -2)
    assert text(array(Index((WHOLE, held), ()), A)) == "A[:, min(max(k, 0), n - 1)]"
    assert text(array(Index((back, WHOLE), ()), SUM)) == "(a + b)[n - 1::-2]"
    assert text(array(Index((rest, first, WHOLE), ()), A)) == "A[..., 0, :]"
    assert text(array(Index((Entries(), Entries()), ()), A, x, y)) == "A[x, y]"
    assert text(array(Expand((True, False)), x)) == "x[:, None]"
    assert text(array(Permute((1, 0)), A)) == "A.T"


def test_statements_change_arrays_where_they_stand() -> None:
    def line(statement: Store | Scatter) -> str:
        return statement_text(Printer("np"), statement)

    both, rows = Index((Entries(), WHOLE), ()), Index((Entries(), Slice(Limit(k))), ())
    assert line(Store(A, both, (x,), "-=", B)) == "A[x] -= B"
    assert line(Store(A, Index((WHOLE, WHOLE), ()), (), "=", B)) == "A[...] = B"
    assert line(Scatter(A, both, (x,), B, by_entry=True)) == "_add_at(A, x, B)"
    assert (
        line(Scatter(A, rows, (x,), B, by_entry=False, guarded=True))
        == "if A.size:\n    np.add.at(A, (x, slice(k, None)), B)"
    )


@pytest.mark.parametrize(
    ("parts", "dims", "old", "expected"),
    [
        ((WHOLE, At(Limit(ZERO))), (n,), (True, False), "A[:, 0, None]"),
        ((At(Limit(ZERO)), WHOLE), (n,), (False, True), "A[None, 0]"),
        ((Slice(Limit(Dim.of(1))),), (n, n), (True, False, True), "A[1:, None]"),
        ((At(Limit(ZERO)),), (n,), (True, False), "A[0, :, None]"),
        ((Slice(Limit(Dim.of(1))),), (n, n), (True, True, False), "A[1:, :, None]"),
    ],
)
def test_new_axes_stand_in_the_brackets_of_a_slice(
    parts: tuple[Slice | At, ...],
    dims: tuple[Dim, ...],
    old: tuple[bool, ...],
    expected: str,
) -> None:
    part = array(Index(parts, dims), A)
    assert text(array(Expand(old), part)) == expected
    value = np.arange(9.0).reshape(3, 3)
    marks = tuple(slice(None) if kept else None for kept in old)
    plain = eval(text(part), {"A": value})[marks]
    assert eval(expected, {"A": value}).tolist() == plain.tolist()
