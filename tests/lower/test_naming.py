"""What stands in several places is made once; what is too long is made in parts."""

from __future__ import annotations

import ast
import re
from collections import Counter
from fractions import Fraction

import pytest

from tensorgen import generate
from tensorgen.arrays.arrays import Array, array, variable
from tensorgen.arrays.code import Code
from tensorgen.arrays.operations import (
    Add,
    Elementwise,
    Fill,
    Index,
    MatMul,
    Multiply,
    Number,
    Permute,
    Reduce,
    Triangle,
    Trim,
)
from tensorgen.arrays.places import WHOLE
from tensorgen.arrays.statements import Store
from tensorgen.arrays.written import written
from tensorgen.ir.dims import ZERO, Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Input, Lookup, Node, delta
from tensorgen.lower.draft import Draft, Result
from tensorgen.lower.naming import Naming
from tensorgen.lower.plan import Plan
from tensorgen.lower.value_names import Names
from tensorgen.operators.word_shapes import multiple, says_little
from tensorgen.operators.words import describe

n = Dim.of("n")
mask, x = variable("mask", (n, n), "bool", "mask"), variable("x", (n, n), base="x")
y, z = (variable(name, (n,), base=name) for name in "yz")
ONE = array(Number(Fraction(1)))
ZEROS = array(Fill((n, n), 0))

graph = Graph()
names = {name: graph.input(name, ("n", "n")) for name in ("a", "b", "c")}
graph.suggestions.update({node: name for name, node in names.items()})
# Nodes that nobody has named.
sums = {k: graph.sum((0,), [(k, graph.input("v", ("n",)), (0,))]) for k in (2, 3)}


def where(held: Array) -> Array:
    """Select entries of x."""
    return array(Elementwise("where"), held, x, array(Number(Fraction(0))))


def turned(one: Array) -> Array:
    """Swap the axes of a matrix."""
    return array(Permute((1, 0)), one)


def doubled(one: Array) -> Array:
    """Twice an array."""
    return array(Multiply(Fraction(2), 1), one)


MASKED, TRI = where(mask), array(Triangle(n, n, ZERO))
COLUMNS, APPLIED = array(Reduce((0,)), MASKED), array(MatMul(), y, MASKED)
UPPER = array(Trim(lower=False, shift=ZERO), where(TRI))
SQUARE = array(MatMul(), x, x)
SHIFTED = array(Add((1, 1)), x, y)

SHARED: dict[str, tuple[list[Array], str]] = {
    "inside of expressions": (
        [COLUMNS, APPLIED],
        "masked = np.where(mask, x, 0)\na = masked.sum(axis=0)\nb = y @ masked",
    ),
    "the name that it has": (
        [MASKED, APPLIED],
        "a = np.where(mask, x, 0)\nb = y @ a",
    ),
    "a mask within a mask": (
        [turned(UPPER), doubled(TRI)],
        "mask_2 = np.tri(n, dtype=bool)\na = np.triu(np.where(mask_2, x, 0)).T\n"
        "b = 2 * mask_2",
    ),
    "a product": (
        [array(Reduce((0,)), SQUARE), turned(SQUARE)],
        "x_x = x @ x\na = x_x.sum(axis=0)\nb = x_x.T",
    ),
    "a later statement that is just this": (
        [array(Reduce((0,)), SHIFTED), SHIFTED],
        "b = x + y\na = b.sum(axis=0)",
    ),
    "a whole statement": ([MASKED, MASKED], "a = np.where(mask, x, 0)"),
    "arithmetic that is of no node": (
        [array(Reduce((0,)), SHIFTED), array(Reduce((1,)), SHIFTED)],
        "x_sum = x + y\na = x_sum.sum(axis=0)\nb = x_sum.sum(axis=1)",
    ),
    "no new array": (
        [array(MatMul(), y, ZEROS), array(MatMul(), z, ZEROS)],
        "a = y @ np.zeros((n, n), dtype=dtype)\nb = z @ np.zeros((n, n), dtype=dtype)",
    ),
}


def text(draft: Draft, *results: Array) -> tuple[str, list[str]]:
    """Write a draft and results."""
    node = graph.input("root", ())
    plan = Plan(graph, [node] * len(results))
    naming = Naming(plan, Names(["mask", "x", "y", "z"]), ["root"] * len(results))
    lines, returns = naming.run(draft, [Result(node, one, True) for one in results])
    found = written(Code(tuple(lines), tuple(returns)), "np")
    return "\n".join(found.lines), list(found.returns)


def drafted(*values: tuple[Node, Array]) -> Draft:
    """Bind values of nodes."""
    draft = Draft(slow_at=True)
    for node, value in values:
        draft.variable(node, value)
    return draft


@pytest.mark.parametrize("case", SHARED)
def test_a_value_is_made_once(case: str) -> None:
    values, expected = SHARED[case]
    draft = drafted(*zip((names["a"], names["b"]), values, strict=True))
    assert text(draft) == (expected, [])


def test_a_view_of_what_others_read_is_copied_before_it_is_changed() -> None:
    draft = Draft(slow_at=True)
    draft.value(sums[2], SHIFTED)
    draft.filled(names["a"], turned(SHIFTED))
    draft.variable(names["b"], array(Reduce((0,)), SHIFTED))
    whole = "twice_v = x + y\na = twice_v.T.copy()\nb = twice_v.sum(axis=0)"
    assert text(draft) == (whole, [])


def test_arithmetic_of_a_node_is_made_once() -> None:
    draft = Draft(slow_at=True)
    draft.value(sums[2], SHIFTED)
    draft.variable(names["a"], array(Reduce((0,)), SHIFTED))
    draft.variable(names["b"], array(Reduce((1,)), SHIFTED))
    whole = "twice_v = x + y\na = twice_v.sum(axis=0)\nb = twice_v.sum(axis=1)"
    assert text(draft) == (whole, [])


def test_what_is_filled_stays_apart() -> None:
    draft = Draft(slow_at=True)
    for name in ("a", "b"):
        whole = draft.filled(names[name], MASKED)
        at = Index((WHOLE, WHOLE), (n, n))
        draft.add(Store(whole, at, (), "+=", ONE))
    lines = [f"{k} = np.where(mask, x, 0)\n{k} += 1" for k in "ab"]
    assert text(draft) == ("\n".join(lines), [])


def test_results_stay_apart() -> None:
    both = array(Reduce((0, 1)), MASKED)
    lines, found = text(Draft(slow_at=True), MASKED, MASKED, both, APPLIED)
    whole = "np.where(mask, x, 0)"
    assert lines == (
        f"root = {whole}\nroot_2 = {whole}\nmasked = {whole}\n"
        "root_3 = masked.sum()\nroot_4 = y @ masked"
    )
    assert found == ["root", "root_2", "root_3", "root_4"]


def test_nothing_that_nobody_asks_for_is_written() -> None:
    draft = Draft(slow_at=True)
    draft.value(sums[2], SHIFTED)
    draft.value(sums[3], array(Add((1, 1)), SHIFTED, SQUARE))
    assert text(draft) == ("", [])


def test_a_part_of_a_change_that_is_too_long_has_a_name() -> None:
    draft = Draft(slow_at=True)
    long = SHIFTED
    for _ in range(8):
        long = array(MatMul(), long, x)
    draft.value(sums[2], turned(long))
    whole = draft.filled(names["a"], ZEROS)
    value = array(Add((1, 1)), array(MatMul(), turned(long), z), array(MatMul(), x, y))
    value = array(Multiply(Fraction(1, 3), 1), value)
    draft.add(Store(whole, Index((WHOLE, WHOLE), (n, n)), (), "+=", value))
    lines = text(draft)[0].split("\n")
    assert lines[1:] == [
        "twice_v = (x + y) @ x @ x @ x @ x @ x @ x @ x @ x",
        "a += (twice_v.T @ z + x @ y) / 3",
    ]


def test_values_are_called_by_operands_and_what_is_done_with_them() -> None:
    g = Graph()
    x, y = (g.input(name, ("n",)) for name in "xy")
    s, A = g.input("s", ()), g.input("A", ("n", "n"))
    row = g.input("row", ("n",), index=n)
    squared = g.map("pow", (0,), [(x, (0,)), (g.constant(2), ())])
    minus = g.sum((0,), [(1, x, (0,)), (-1, y, (0,))])
    at = Lookup(row, (0,))
    words = {
        g.product((0,), [(x, (0,)), (y, (0,))]): "x_y",
        g.product((), [(x, (0,)), (y, (0,))]): "x_dot_y",
        g.product((0,), [(x, (0,)), (x, (0,))]): "x_squared",
        g.product((0,), [(A, (0, 1)), (x, (1,))]): "A_x",
        g.product((0,), [(x, (0,))], coefficient=-1): "neg_x",
        g.product((0,), [(x, (0,)), (minus, (0,))]): "weighted_x",
        g.product((0,), [(A, (0, 0))]): "diagonal_A",
        g.product((0,), [(A, (0, 1))]): "A_sums",
        g.product((), [(x, (0,))]): "sum_x",
        g.product((0,), [(x, (1,))], constraints=[delta({1: 1, at: -1})]): "x_row",
        g.map("exp", (0,), [(minus, (0,))]): "exp_x_minus_y",
        g.map("pow", (0,), [(x, (0,)), (g.constant(-2), ())]): "inv_x_squared",
        minus: "x_minus_y",
        g.sum((0,), [(2, x, (0,)), (1, y, (0,))]): "y_plus_twice_x",
        g.sum((0,), [(5, x, (0,)), (-1, y, (0,))]): "x_diff",
        g.sum((0,), [(-1, squared, (0,)), (1, g.constant(1), ())]): (
            "one_minus_x_squared"
        ),
        g.product((), [(s, ()), (g.product((), [(minus, (0,))]), ())]): "s_term",
    }
    found = {word: describe(node, name)[0] for node, word in words.items()}
    assert found == {word: word for word in found}


def name(node: Node) -> str | None:
    """The name of an input."""
    return node.name if isinstance(node, Input) else None


def test_what_is_computed_does_not_depend_on_what_values_are_called() -> None:
    long = "a_rather_long_name_of_a_vector"
    done = []
    for name in ("word", "another_word", long):
        text = generate(
            "tensorgen: 1\ninputs: {x: [n], y: [n]}\nfunctions:\n"
            f"  f: {{where: {{{name}: x * exp(y)}}, expr: 'sum({name}**3 / (1 + "
            f"{name}**2) + sin({name} + y) * cos({name} - y))', wrt: x}}"
        )
        nodes = ast.walk(ast.parse(text))
        operations = (
            x for x in nodes if isinstance(x, ast.BinOp | ast.AugAssign | ast.Call)
        )
        done.append(Counter(type(getattr(x, "op", x)) for x in operations))
    assert done[0] == done[1] == done[2]


def test_what_no_word_says_stands_where_it_is_used_a_term_a_line() -> None:
    names = ["amplitude", "frequency", "phase", "damping", "drift", "offset", "slope"]
    text = generate(
        f"tensorgen: 1\ninputs: {{{', '.join(f'{name}: [n]' for name in names)}}}\n"
        "functions:\n  f[i]: amplitude[i]*frequency[i]*phase[i]*damping[i] + "
        "drift[i]*offset[i]*slope[i]*phase[i] - damping[i]*slope[i]*offset[i]**2\n"
    )
    body = text.split("def f(")[1].split("\n\n\n")[0].split('"""')[2]
    assert not re.search(r"^    \w+ = ", body, re.MULTILINE)
    assert body.count(" + ") == body.count(" - ") == 1


@pytest.mark.parametrize(
    ("name", "little"),
    [
        *[(name, True) for name in ("weighted_2", "product_X", "x_diff_3")],
        *[(name, False) for name in ("residual", "d_z", "X_w", "exp_t")],
    ],
)
def test_a_name_says_little_that_tells_of_one_operand(name: str, little: bool) -> None:
    assert says_little(name) == little


def test_entries_that_the_user_named_are_read_by_that_name() -> None:
    text = generate(
        "tensorgen: 1\ninputs: {x: [n + 1], h: scalar}\nfunctions:\n"
        "  f:\n    where: |\n      a = x[:-1]\n      b = x[1:] + h/2*a\n"
        "    expr: 'sum(b**2*a)'\n    wrt: x\n    emit: [gradient, hessian, hvp]\n"
    )
    bodies = [function.split('"""')[2] for function in text.split("\ndef ")[1:]]
    reading = [body for body in bodies if "x[:-1]" in body]
    assert reading
    assert all("    a = x[:-1]\n" in body for body in reading)
    assert all(body.count("x[:-1]") == 1 + body.count("dx[:-1]") for body in reading)


def test_the_negative_of_a_negative_has_the_word_of_what_it_is() -> None:
    assert multiple("d_z", -1) == "neg_d_z"
    assert multiple("neg_d_z", -1) == "d_z"


def test_multiples_of_multiples_are_told_once() -> None:
    assert multiple("half_d_z", -2) == "neg_d_z"
    assert multiple("twice_d_z", -1) == "neg_twice_d_z"
    assert multiple("twice_d_z", 2) is None
