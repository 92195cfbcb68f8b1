from fractions import Fraction

import pytest

from tensorgen.ir.dims import Dim
from tensorgen.lower.layout import transposed
from tensorgen.lower.names import Names
from tensorgen.lower.templates import template
from tensorgen.lower.text import Expr, Level, matmul, number, power, product, total
from tensorgen.lower.writer import Writer
from tensorgen.operators.elementwise import ELEMENTWISE

x, y, z = Expr("x"), Expr("y"), Expr("z")
ONE = Fraction(1)


@pytest.mark.parametrize(
    ("value", "text"),
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
    value: str, text: str
) -> None:
    assert number(Fraction(value)).text == text


@pytest.mark.parametrize(
    ("coefficient", "above", "below", "text"),
    [
        ("1", [x], [], "x"),
        ("-1", [x], [], "-x"),
        ("2", [x, y], [], "2 * x * y"),
        ("1/3", [x], [], "x / 3"),
        ("-2/3", [x], [], "-2 / 3 * x"),
        ("1/2", [x], [], "0.5 * x"),
        ("1/2", [x], [y], "x / (2 * y)"),
        ("1", [], [y], "1 / y"),
        ("1", [x], [y, z], "x / (y * z)"),
        ("3", [Expr("a + b", Level.SUM)], [], "3 * (a + b)"),
        ("3", [Expr("a * b", Level.TERM)], [], "3 * a * b"),
        ("3", [x, Expr("a * b", Level.TERM)], [], "3 * x * (a * b)"),
        ("-1", [Expr("A @ x", Level.MATMUL)], [], "-(A @ x)"),
        ("2", [Expr("A @ x", Level.MATMUL)], [], "2 * (A @ x)"),
        ("-1", [Expr("-x", Level.UNARY)], [], "-(-x)"),
        ("2", [Expr("3", weak=True), x], [], "6 * x"),
    ],
)
def test_a_product_has_a_natural_coefficient_and_few_parentheses(
    coefficient: str, above: list[Expr], below: list[Expr], text: str
) -> None:
    assert product(Fraction(coefficient), above, below).text == text


def test_a_sum_subtracts_and_keeps_the_grouping_of_its_terms() -> None:
    nested = Expr("a - b", Level.SUM)
    assert total([(1, x), (-1, y)]).text == "x - y"
    assert total([(-1, x), (-1, y)]).text == "-x - y"
    assert total([(1, x), (-1, nested)]).text == "x - (a - b)"
    assert total([(1, nested), (1, x)]).text == "a - b + x"


def test_a_chain_of_matrix_products_needs_parentheses_on_its_right_only() -> None:
    left = matmul(Expr("A"), Expr("B"), ())
    assert matmul(left, x, ()).text == "A @ B @ x"
    assert matmul(x, left, ()).text == "x @ (A @ B)"
    assert matmul(Expr("2 * A", Level.TERM), x, ()).text == "(2 * A) @ x"


def test_powers_stand_close_to_simple_operands() -> None:
    assert power(x, Fraction(2)).text == "x**2"
    assert power(Expr("a + b", Level.SUM), Fraction(2)).text == "(a + b) ** 2"
    assert power(x, Fraction(1, 3)).text == "x ** (1 / 3)"


def test_a_template_sets_parentheses_only_where_its_places_need_them() -> None:
    writer = Writer("cp", Names(()))
    tail = [Expr("a + b", Level.SUM), Expr("-c", Level.UNARY)]

    def filled(name: str) -> str:
        return template(ELEMENTWISE[name].numpy).fill(writer, tail, ()).text

    assert filled("exp") == "cp.exp(a + b)"
    assert filled("log_sigmoid") == "-cp.logaddexp(0, -(a + b))"
    assert filled("less") == "a + b < -c"
    assert filled("sigmoid") == "_sigmoid(a + b)"
    assert list(writer.helpers) == ["_sigmoid"]


def test_names_avoid_what_is_taken_keywords_and_builtins() -> None:
    names = Names(["z"])
    assert names.pick(["z"]) == "z_2"
    assert names.pick(["z"]) == "z_3"
    assert names.pick(["lambda", "max", "w"]) == "w"
    assert names.pick(["max"]) == "max_2"
    assert names.pick(["2_v"]) == "value"


def test_sizes_read_naturally_and_are_noted() -> None:
    n, k = Dim.of("n"), Dim.of("k")
    writer = Writer("np", Names(()))
    sizes = [n - k + 1, 2 * n, n * k, 1 - k, Dim.of(0)]
    texts = [writer.size(size).text for size in sizes]
    assert texts == ["n - k + 1", "2 * n", "k * n", "1 - k", "0"]
    assert list(writer.dims) == ["k", "n"]
    assert writer.count(n - k).text == "max(n - k, 0)"


def test_a_symmetric_stack_is_transposed_but_for_its_matrices() -> None:
    stack = Expr("T", labels=(0, 1, 2, 3), symmetric=True)
    assert transposed(stack, (0, 1, 3, 2)).text == "T"
    assert transposed(stack, (1, 0, 3, 2)).text == "T.transpose(1, 0, 3, 2)"
    assert transposed(stack, (1, 0, 2, 3)).text == "T.transpose(1, 0, 2, 3)"
