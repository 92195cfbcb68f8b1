"""Formulas with ranges, as trees and in matrix notation, against emitted functions."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

import tensorgen
from tensorgen.explanation.formula_tree import Raw, Sign, Tree, names_in, read
from tensorgen.explanation.subjects import Subject
from tensorgen.explanation.sum_ranges import SPACE, Equation, marked, plain
from tensorgen.operators.matrix_notation import matrix_notation
from tests.explanation.evaluate import FUNCTIONS, value
from tests.explanation.told import GOLDEN, subject, told, told_of

WINDOWS = """
tensorgen: 1
module: windows
inputs:
  x: {shape: [n]}
  h: {shape: [k]}
functions:
  c:
    expr: convolve(x, h)
    wrt: [x, h]
    emit: [value, jacobian]
"""
SIZES = {"m": 4, "n": 3, "k": 2, "p": 5}
MATRICES: dict[str, Any] = {
    **FUNCTIONS,
    **{x: getattr(np, x) for x in ("diag", "eye", "outer", "sum", "trace", "ones")},
}


def arguments(of: Subject) -> dict[str, Any]:
    """Arguments of small sizes, the same for all functions."""
    found: dict[str, Any] = {}
    for p in of.planned.parameters:
        random = np.random.default_rng([ord(c) for c in p.name])
        found[p.name] = random.standard_normal([int(d.value(SIZES)) for d in p.dims])
    return found


def emitted(module: Any, of: Subject) -> list[Any]:
    """What the emitted function returns, a root each."""
    given = arguments(of)
    sizes = {p.name: SIZES[p.name] for p in of.planned.parameters if p.role == "size"}
    returned = getattr(module, of.name)(**{**given, **sizes})
    parts = returned if isinstance(returned, tuple) else (returned,)
    flat = [x for part in parts for x in (part if isinstance(part, tuple) else (part,))]
    return [x.dense() if hasattr(x, "dense") else x for x in flat]


def by_indices(equations: list[Equation], known: dict[str, Any]) -> dict[str, Any]:
    """The values of equations, those that others rest on first."""
    waiting, own = list(equations), {e.name for e in equations}
    while waiting:
        told = next(
            e for e in waiting if own.isdisjoint({*names_in(read(e.body))} - {*known})
        )
        waiting.remove(told)
        tree = read(told.body)
        shape = [int(dim.value(SIZES)) for dim in told.dims]
        array = np.zeros(shape)
        for place in np.ndindex(*shape):
            at = dict(zip(told.indices, place, strict=True))
            of = [value(read(x), {**known, **at}) for x in told.indices]
            if of == [*place]:
                array[place] = value(tree, {**known, **at})
            else:
                assert told.tied
        known[told.name] = array
    return known


def module_of(name: str) -> Any:
    return tensorgen.load(GOLDEN[name])


@pytest.mark.parametrize("name", GOLDEN)
def test_formulas_are_what_functions_compute(name: str) -> None:
    module, checked, in_matrices = module_of(name), 0, 0
    for of in told(name).subjects:
        known = by_indices(of.equations, {**SIZES, **arguments(of)})
        for root, right in zip(of.planned.root_names, emitted(module, of), strict=True):
            np.testing.assert_allclose(known[root], right, rtol=1e-9, atol=1e-12)
            checked += 1
        for e in of.equations:
            text = matrix_notation(e.node, of.names, [e.name])
            if text is not None:
                found = eval(text, {**MATRICES, **known})  # ours, of our own spec
                np.testing.assert_allclose(found, known[e.name], rtol=1e-9, atol=1e-12)
                in_matrices += 1
    assert checked >= 5
    assert in_matrices >= 2


def test_a_sum_that_an_equation_fixes_is_its_one_point() -> None:
    of = subject(told_of(WINDOWS, "c_jac"), "c_jac")
    texts = {e.left: e.text.replace(SPACE, " ") for e in of.equations}
    assert texts["jac_x[i, j]"] == "jac_x[i, j] = h[i - j] * [j <= i] * [i < j + k]"
    known = by_indices(of.equations, {**SIZES, **arguments(of)})
    module = tensorgen.load(WINDOWS)
    for root, right in zip(("jac_x", "jac_h"), emitted(module, of), strict=True):
        np.testing.assert_allclose(known[root], right)


SUMS = """
tensorgen: 1
module: sums
inputs:
  A: {shape: [m, n]}
  B: {shape: [m, k]}
functions:
  f[i]: {expr: "sum(A[j, i] * B[j, l], j, l)"}
  g: {expr: "sum(A[j, i] * B[j, l], i, j, l)"}
"""


def test_a_sum_over_one_factor_leaves_indices_of_others_alone() -> None:
    module = tensorgen.load(SUMS)
    for of, text in zip(told_of(SUMS).subjects, ("A.T @ B.sum(1)", ""), strict=True):
        (e,) = of.equations
        found = matrix_notation(e.node, of.names, [e.name])
        assert found is not None
        assert text in ("", found)
        (right,) = emitted(module, of)
        np.testing.assert_allclose(eval(found, {**MATRICES, **arguments(of)}), right)


def test_a_condition_that_follows_from_another_is_left_out() -> None:
    of = subject(told("rosenbrock"), "f_grad")
    first, *_ = of.equations
    text = first.text.replace(SPACE, " ")
    assert "T1[i - 1] * [0 < i] +" in text
    assert text.endswith("* x[i] * T1[i]) * [i <= n - 2]")


def test_ranges_of_sums_are_limited_by_what_else_depends_on_them() -> None:
    of = subject(told_of(WINDOWS, "c"), "c")
    (told,) = of.equations
    limits = "sum_{j=max(0, i - n + 1)}^{min(k - 1, i)}"
    assert told.text.replace(SPACE, " ") == f"c[i] = {limits} x[i - j] * h[j]"


def notation(expr: str, **shapes: str) -> str | None:
    inputs = "".join(f"  {name}: {{shape: [{s}]}}\n" for name, s in shapes.items())
    spec = (
        f"tensorgen: 1\nmodule: a\ninputs:\n{inputs}functions:\n  f: {{expr: '{expr}'}}"
    )
    of = subject(told_of(spec, "f"), "f")
    return matrix_notation(of.equations[0].node, of.names, ["f"])


@pytest.mark.parametrize(
    ("expr", "shapes", "expected"),
    [
        ("A @ diag(v) @ A.T", {"A": "m, n", "v": "n"}, "A @ diag(v) @ A.T"),
        ("outer(u, v)", {"u": "m", "v": "n"}, "outer(u, v)"),
        ("trace(A)", {"A": "n, n"}, "trace(A)"),
        ("sum(A * B)", {"A": "m, n", "B": "m, n"}, "sum(A * B)"),
        ("v @ A @ v", {"A": "n, n", "v": "n"}, "v @ A @ v"),
        ("v**2 / w", {"v": "n", "w": "n"}, "v**2 / w"),
        ("inv(A) @ v", {"A": "n, n", "v": "n"}, "inv(A) @ v"),
        ("A + diag(v)", {"A": "n, n", "v": "n"}, "A + diag(v)"),
        ("(A @ B).T", {"A": "m, n", "B": "n, m"}, "B.T @ A.T"),
        ("T * 2", {"T": "n, n, n"}, None),
    ],
)
def test_products_have_matrix_notation(
    expr: str, shapes: Mapping[str, str], expected: str | None
) -> None:
    assert notation(expr, **shapes) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a * b / c", "((a * b) / c)"),
        ("-a * b + c", "(-(a * b) + c)"),
        ("a - b - c", "((a - b) - c)"),
        ("a**(-2) * b", "((a ** ((- 2))) * b)"),
    ],
)
def test_operators_hold_together_as_in_python(text: str, expected: str) -> None:
    known = {"a": 3.0, "b": 5.0, "c": 7.0}
    assert expected.count("(") == expected.count(")")
    assert value(read(text), known) == eval(text, {}, known)


def test_a_sign_of_summation_takes_all_factors_that_follow() -> None:
    tree = read(f"2 * sum_i⟨0…n{SPACE}-{SPACE}1⟩ x[i] * y[i] + z")
    assert {*names_in(tree)} == {"i", "n", "x", "y", "z"}
    signs = [x for x in walk(tree) if isinstance(x, Sign)]
    assert len(signs) == 1
    assert {*names_in(signs[0].body)} == {"x", "y", "i"}


def walk(tree: Tree) -> list[Tree]:
    found: list[Tree] = [tree]
    for name in ("left", "right", "operand", "body"):
        below = getattr(tree, name, None)
        found += walk(below) if below is not None else []
    return found


@pytest.mark.parametrize("text", ["a ! b", "f(", "(a", "[i <= ", "", "-" * 200 + "a"])
def test_what_is_no_formula_stays_as_it_is(text: str) -> None:
    assert read(text) == Raw(text)


SPARSE = """
tensorgen: 1
inputs: {x: [n], row: {shape: [e], index: n}, col: {shape: [e], index: n}}
functions:
  f: {expr: "sum(x[row[k]] * x[col[k]], k)**2", wrt: x}
"""


@pytest.mark.parametrize("name", [*GOLDEN, "sparse"])
def test_a_formula_is_read_again_as_it_is_printed(name: str) -> None:
    all_of_it = told(name) if name in GOLDEN else told_of(SPARSE)
    for of in all_of_it.subjects:
        for equation in of.equations:
            printed = plain(equation.body).replace(SPACE, " ")
            assert read(marked(printed)) == read(equation.body)


def test_conditions_of_a_sum_are_told_from_its_limit() -> None:
    tree = read(marked("sum_{k=max(0, i - n), row[k, i] == i}^{m - 1} x[k]"))
    assert isinstance(tree, Sign) and len(tree.if_) == 1
    assert [*names_in(tree.low)] == ["i", "n"]
