"""Texts become trees whose parts know their places."""

import ast
from fractions import Fraction

import pytest

from tensorgen.errors import Faults, Source, Text
from tensorgen.lang.syntax import Expression, parse


def parsed(value: str) -> Expression:
    """Parse a text that is fine."""
    faults = Faults()
    expression = parse(Text.plain(value), faults)
    faults.raise_if_any()
    assert expression is not None
    return expression


def marked(expression: Expression, tree: ast.AST) -> str:
    """The characters of the file at which a part points."""
    span = expression.span(tree)
    return span.source.text[span.start : span.end]


@pytest.mark.parametrize("value", ["a + bc * d[1]", "\n  a +\n  bc * d[1]\n"])
def test_every_part_knows_its_place(value: str) -> None:
    expression = parsed(value)
    tree = expression.tree
    assert isinstance(tree, ast.BinOp)
    assert marked(expression, tree.left) == "a"
    assert marked(expression, tree.right) == "bc * d[1]"
    operator = expression.operator(tree.left, tree.right, "+")
    assert value[operator.start : operator.end] == "+"


def test_places_go_through_the_positions_of_the_text() -> None:
    source = Source("file", "key:   a  +  b")
    text = Text("a + b", source, (7, 8, 10, 11, 13, 14))
    expression = parse(text, Faults())
    assert expression is not None
    assert isinstance(expression.tree, ast.BinOp)
    assert expression.span(expression.tree.right).start == 13
    left, right = expression.tree.left, expression.tree.right
    assert expression.operator(left, right, "+").start == 10


def test_an_operator_between_parentheses_is_found() -> None:
    expression = parsed("((a)) - (b)")
    assert isinstance(expression.tree, ast.BinOp)
    span = expression.operator(expression.tree.left, expression.tree.right, "-")
    assert span.start == 6


def test_characters_beyond_ascii_in_a_comment_do_not_shift_places() -> None:
    expression = parsed("a +  # \N{GREEK SMALL LETTER ALPHA} (\n b")
    assert isinstance(expression.tree, ast.BinOp)
    assert marked(expression, expression.tree.right) == "b"


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("0.1", Fraction(1, 10)),
        ("1e-3", Fraction(1, 1000)),
        ("2.5E2", Fraction(250)),
        ("1_000", Fraction(1000)),
        (".5", Fraction(1, 2)),
        ("5.", Fraction(5)),
        ("0b11", Fraction(3)),
        ("12345678901234567890.125", Fraction(98765431209876543121, 8)),
        ("1e401", None),
    ],
)
def test_numbers_are_read_exactly(text: str, number: Fraction | None) -> None:
    expression = parsed(text)
    assert isinstance(expression.tree, ast.Constant)
    assert expression.number(expression.tree) == number


def test_a_part_is_quoted_in_one_line_and_shortened() -> None:
    expression = parsed("aaa   +\n  bbb")
    assert expression.source(expression.tree) == "aaa + bbb"
    long = parsed("+".join(["abcdef"] * 20))
    assert long.source(long.tree).endswith("...")
    assert len(long.source(long.tree)) == 40


def test_ranges_may_stand_before_other_indices() -> None:
    expression = parsed("2*sum(a[i, j], j = range(i, n), i, k=range(2), i < 3)")
    call = expression.tree.right  # type: ignore[attr-defined]
    assert [marked(expression, x) for x in call.args] == ["a[i, j]", "i", "i < 3"]
    assert [x.arg for x in call.keywords] == ["j", "k"]
    told = [marked(expression, x) for x in call.keywords]
    assert told == ["j = range(i, n)", "k=range(2)"]
    assert marked(expression, call.keywords[0].value) == "range(i, n)"


@pytest.mark.parametrize("value", ["a) + (b", "a\n)\n(\nb", "", "  ", "#", "a # (\n)"])
def test_the_parentheses_that_wrap_a_text_cannot_be_seen(value: str) -> None:
    faults = Faults()
    assert parse(Text.plain(value), faults) is None
    assert faults


def test_a_text_is_never_evaluated() -> None:
    expression = parsed("__import__('os').system('false')")
    assert isinstance(expression.tree, ast.Call)
