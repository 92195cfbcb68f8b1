"""What is computed of a block is a function of its rows, and a loop calls it."""

from __future__ import annotations

import ast
import re
import tracemalloc
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tensorgen.arrays.arrays import array, variable
from tensorgen.arrays.block_bodies import blocks_apart, called_by
from tensorgen.arrays.code import Code
from tensorgen.arrays.object_operations import Rows
from tensorgen.arrays.operations import Elementwise, Index, InnerProduct, Multiply
from tensorgen.arrays.places import Limit, Slice
from tensorgen.arrays.statements import Blocks, Let, Loop, Statement, Store
from tensorgen.ir.dims import ONE, ZERO, Dim
from tests.made import generate, load

HEAD = "tensorgen: 1\nmodule: blocks\n"
MASKED = """
inputs: {U: [m, k], V: [n, k], R: [m, n], M: [m, n]}
functions:
  f:
    expr: sum(log(1 + (M*(U @ V.T - R))**2)) + sum(U**2)
    wrt: [U, V]
    emit: [value, gradient, hvp]
"""
RATINGS = """
inputs:
  U: [m, k]
  V: [p, k]
  row: {shape: [E], index: m}
  col: {shape: [E], index: p}
  x: [E]
functions:
  f:
    where: r[e] = x[e] - sum(U[row[e], a]*V[col[e], a], a)
    expr: sum(r**2) + sum(U**2)
    wrt: U
    emit: [value, gradient, hessian]
"""
HINTED = {
    "masked": f"{HEAD}dims: {{m: 4000, n: 4000, k: 5}}\n{MASKED}",
    "ratings": f"{HEAD}dims: {{E: 66000, m: 3000, p: 1000, k: 4}}\n{RATINGS}",
}


def functions(spec: str) -> dict[str, ast.FunctionDef]:
    found = ast.parse(generate(spec)).body
    return {x.name: x for x in found if isinstance(x, ast.FunctionDef)}


def loops(own: ast.FunctionDef) -> Iterator[ast.For]:
    return (x for x in ast.walk(own) if isinstance(x, ast.For))


@pytest.mark.parametrize("name", HINTED)
def test_a_loop_over_blocks_calls_what_the_formula_is_read_in(name: str) -> None:
    own = {x: f for x, f in functions(HINTED[name]).items() if "f" in x.split("_")}
    loopy = {x: list(loops(f)) for x, f in own.items() if list(loops(f))}
    assert len(loopy) > 2
    for (loop,) in loopy.values():
        assert ast.unparse(loop.iter).startswith("_blocks(")
        lets = [x for x in loop.body if isinstance(x, ast.Assign)]
        computed = [
            x
            for x in lets
            if isinstance(x.targets[0], ast.Name) and not _calls_block(x.value)
        ]
        assert len(computed) < 2


def _calls_block(value: ast.expr) -> bool:
    return isinstance(value, ast.Call) and ast.unparse(value.func).endswith("_block")


def test_all_functions_of_a_formula_call_one_for_what_they_have_in_common() -> None:
    own = functions(HINTED["ratings"])
    body = ast.unparse(own["_f_block"])
    assert "r = x - " in body and "start" not in body and "block]" not in body
    texts = {x: ast.unparse(f) for x, f in own.items()}
    users = {x for x, text in texts.items() if " _f_block(" in text}
    assert users >= {"f", "f_grad", "f_value_and_grad", "f_value_grad_hess"}
    # Nobody states the residual again.
    whole = "\n".join(text for x, text in texts.items() if "f" in x.split("_"))
    assert len(re.findall(r"\n +r = ", whole)) == 1


def test_who_returns_all_goes_by_blocks_as_its_parts_do() -> None:
    text = generate(HINTED["ratings"])
    for name in ("f_hess", "f_value_grad_hess"):
        (cost,) = re.findall(
            rf"def {name}\((?s:.*?)peak memory ([^;]*?) numbers\n", text
        )
        assert "E" not in cost, name


@pytest.mark.parametrize("name", HINTED)
def test_small_problems_allocate_no_more_than_without_blocks(name: str) -> None:
    rng = np.random.default_rng(0)
    shapes = {"U": (15, 3), "V": (12, 3)}
    if name == "masked":
        shapes |= {"R": (15, 12), "M": (15, 12)}
    given: dict[str, Any] = {x: rng.normal(size=shape) for x, shape in shapes.items()}
    if name == "ratings":
        given |= {"row": rng.integers(0, 15, 60), "col": rng.integers(0, 12, 60)}
        given |= {"x": rng.normal(size=60)}
    hinted, plain = load(HINTED[name]), load(re.sub("dims: .*\n", "", HINTED[name]))
    for function in ("f", "f_grad", "f_value_and_grad"):
        most, least = (_peak(getattr(x, function), given) for x in (hinted, plain))
        assert most < 1.5 * least + 2048, function


def _peak(call: Callable[..., object], given: dict[str, Any]) -> int:
    call(**given)
    tracemalloc.start()
    call(**given)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return most


def test_sums_are_called_what_is_added_up() -> None:
    text = generate(HINTED["ratings"])
    assert "r_squares: Scalar = 0" in text
    assert not re.search(r"\b(space|sums|total)(_\d)?\b.* = (0|np.zeros)", text)


def test_costs_of_blocks_are_told_without_hints() -> None:
    for spec in HINTED.values():
        costs = re.findall(r"peak memory (.*) numbers", generate(spec))
        assert costs and not re.search(r"\d{3,}\*", " ".join(costs))


# By itself

n, start, width = (Dim.symbol(x) for x in ("n", "start", "width"))
PART = Slice(Limit(start), Limit(start + width), held="block")
x, w = (variable(name, (n,), base=name) for name in "xw")
a, b = (variable(name, (width,), base=name) for name in "ab")
f = variable("f", (), base="f")


def code(before: Statement, *body: Statement) -> Code:
    blocks = Blocks("block", Rows(100, ONE))
    zero = Let("f", array(InnerProduct(), x, x))
    loop = Loop("start", ZERO, n, body, Dim.of(100), "width", blocks=blocks)
    return Code((before, zero, loop), (f,))


def block(name: str) -> tuple[Statement, Statement, Statement]:
    rows = array(Index((PART,), (width,)), variable(name, (n,), base=name))
    added = array(InnerProduct(), b, b)
    return (
        Let("a", array(Elementwise("exp"), rows)),
        Let("b", array(Elementwise("sin"), a)),
        Store(f, Index((), ()), (), "+=", added),
    )


def apart(*codes: Code) -> list[str]:
    """The names of functions that are called, by each."""
    names = iter("pqrs")
    own = {str(k): one for k, one in enumerate(codes)}
    found = blocks_apart(own, lambda users: (next(names), ""), ["x"])
    return ["".join(y.function for y in called_by([one])) for one in found.values()]


def test_what_is_called_alike_and_is_not_stays_apart() -> None:
    first, other = (
        code(Let("w", array(Elementwise(name), x)), *block("w"))
        for name in ("exp", "cos")
    )
    assert apart(first, first) == ["p", "p"]
    assert apart(first, other) == ["p", "q"]


def test_rows_have_the_name_of_the_whole_unless_that_is_read_as_well() -> None:
    lines = block("x")
    again = Let("b", array(Multiply(Fraction(1), 2), a, array(InnerProduct(), x, x)))
    known = {"f": code(Let("w", x), lines[0], again, lines[2])}
    found = blocks_apart(known, lambda users: ("p", ""), ["x"])["f"]
    (op,) = called_by([found])
    assert op.takes == ("x", "x_part")


def test_what_changes_after_it_was_read_stays_in_the_loop() -> None:
    first, second, added = block("x")
    change = Store(b, Index((Slice(),), (width,)), (), "*=", a)
    assert apart(code(Let("w", x), first, second, change, added)) == ["p"]
    assert apart(code(Let("w", x), first, second, added, change)) == [""]


def test_the_recommender_states_each_formula_once() -> None:
    path = Path(__file__).resolve().parents[2] / "examples" / "recommender.yaml"
    text = generate(path.read_text(encoding="utf-8"))
    assert len(re.findall(r"value - predicted\n", text)) == 3  # one a formula
