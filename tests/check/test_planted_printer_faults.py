"""A fault in a row of a printer is seen: an operation, and a wrong text of it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import NamedTuple

import pytest

from tensorgen.arrays import operations as op
from tensorgen.arrays import written
from tensorgen.arrays.arrays import Array
from tensorgen.arrays.printer import Printer
from tensorgen.arrays.statement_text import statement_texts
from tensorgen.arrays.statements import Statement
from tensorgen.arrays.templates import Level, Text
from tensorgen.check import class_methods
from tensorgen.check.factorizations import solvers
from tensorgen.check.residues import Residues
from tensorgen.structure.structures import STRUCTURES
from tests import solving_specs
from tests.check.planting import compiled, is_seen, sound

pytestmark = pytest.mark.thorough

MATRIX = """
inputs: {A: [n, n], B: [n, n], x: [n], T: [n, n, n]}
functions:
  f:
    where: |
      y = A @ x + B.T @ x
      z[i] = sum(T[k, j, i] * x[j] * y[k], j, k)
    expr: sum(exp(A[1:, :] * B[:-1, :])) + y @ z / sum(sqrt(x), axis=0)**2 - x @ y
    wrt: x
    emit: [value, gradient, hessian]
"""
TENSORS = """
inputs: {A: [n, n], x: [n], T: [m, n, k], S: [m, n, k], w: [k], X: [n, m], K: [k, k]}
functions:
  f[i, j]: sum(T[a, b, i] * S[a, b, j], a, b)
  g: {expr: "solve(A, x)"}
  rows: {expr: "sum(exp(A), axis=1)"}
  h:
    where: y[i] = sum(x[i + j] * w[j], j)
    expr: sum(exp(y))
    wrt: x
    emit: [gradient]
  convolved:
    where: y[i, j] = sum(X[i + a, j + b] * K[a, b], a, b)
    expr: y
  hankel: {expr: exp(y), where: "y[i, j] = x[i + j] * w[j]"}
  box: {expr: y, where: "y[i] = sum(x[i + j], j=range(3))"}
  banded: {expr: y, where: "y = correlate(x, w)"}
"""
PLANE = """
inputs: {X: [m, n]}
functions:
  f:
    where: y[i, j] = sum(X[i + a, j + b], a=range(2), b=range(2))
    expr: sum(y**3)
    wrt: X
    emit: [hessian]
"""
ROWS = """
inputs: {x: [n], row: {shape: [e], index: n}, v: [e]}
functions:
  f: {expr: "sum(exp(x[row]) * v)", wrt: x, emit: [gradient]}
"""
FEW_ROWS = """
dims: {n: 1000, e: 20}
inputs: {x: [n], row: {shape: [e], index: n}, v: [e]}
functions:
  f: {expr: "sum(exp(x[row]) * v) + sum(x**2)", wrt: x, emit: [gradient]}
"""
CHAIN = """
inputs: {x: [n], c: {shape: [n], positive: true}}
functions:
  f: {expr: "sum(exp(x[1:] - x[:-1])) + sum(c * x**2)", wrt: x, emit: [hessian]}
"""


class Fault(NamedTuple):
    """A wrong row, from operands and the right text, and where it is seen."""

    spec: str
    text: Callable[[Array, list[Text], Text], Text | None]


def matmul(one: Array, args: list[Text], right: Text) -> Text | None:
    if one.order != 1 or one.args[0].order != 2:
        return None
    return Text(f"{args[1].at(Level.ATOM)} @ {args[0].at(Level.ATOM)}")


def add(one: Array, args: list[Text], right: Text) -> Text | None:
    if one.op != op.Add((1, -1)):
        return None
    return Text(f"{args[1].text} - {args[0].at(Level.ATOM)}", Level.SUM)


def multiply(one: Array, args: list[Text], right: Text) -> Text | None:
    assert isinstance(one.op, op.Multiply)
    if one.op.above == len(args):
        return None
    top = " * ".join(x.at(Level.ATOM) for x in args[: one.op.above])
    return Text(f"{top or 1} * {args[-1].at(Level.ATOM)}", Level.TERM)


def reduce(one: Array, args: list[Text], right: Text) -> Text | None:
    assert isinstance(one.op, op.Reduce)
    if one.order != 1 or len(one.op.axes) != 1:
        return None
    return Text(f"{args[0].at(Level.ATOM)}.sum(axis={1 - one.op.axes[0]})")


def permute(one: Array, args: list[Text], right: Text) -> Text | None:
    return args[0] if one.order == 2 else None


def power(one: Array, args: list[Text], right: Text) -> Text | None:
    assert isinstance(one.op, op.Power)
    if one.op.exponent.denominator != 1:
        return None
    return Text(f"{args[0].at(Level.ATOM)} ** {one.op.exponent + 1}", Level.POWER)


def index(one: Array, args: list[Text], right: Text) -> Text | None:
    return Text(right.text.replace(":-1", "1:")) if ":-1" in right.text else None


def elementwise(one: Array, args: list[Text], right: Text) -> Text | None:
    return Text(f"np.expm1({args[0].text})") if "exp(" in right.text else None


def einsum(one: Array, args: list[Text], right: Text) -> Text | None:
    before, letters, after = right.text.split('"')
    inputs, _, kept = letters.partition("->")
    return Text(f'{before}"{inputs}->{kept[::-1]}"{after}')


def expand(one: Array, args: list[Text], right: Text) -> Text | None:
    if one.op != op.Expand((True, False)):
        return None
    return Text(f"{args[0].at(Level.ATOM)}[None]")


def tensordot(one: Array, args: list[Text], right: Text) -> Text | None:
    first, second = args
    return Text(
        right.text.replace(f"{first.text}, {second.text}", "{1}, {0}", 1).format(
            first.text, second.text
        )
    )


def solve(one: Array, args: list[Text], right: Text) -> Text | None:
    return Text(f"np.linalg.solve({args[0].at(Level.ATOM)}.T, {args[1].text})")


def windows(one: Array, args: list[Text], right: Text) -> Text | None:
    return Text(right.text.replace(f"({args[0].text},", f"({args[0].text}[::-1],"))


def sums(one: Array, args: list[Text], right: Text) -> Text | None:
    return Text(right.text.replace(f"({args[0].text},", f"({args[0].text}[::-1],"))


FAULTS = {
    op.MatMul: Fault(MATRIX, matmul),
    op.Add: Fault(MATRIX, add),
    op.Multiply: Fault(MATRIX, multiply),
    op.Reduce: Fault(TENSORS, reduce),
    op.Permute: Fault(MATRIX, permute),
    op.Power: Fault(MATRIX, power),
    op.Index: Fault(MATRIX, index),
    op.Elementwise: Fault(MATRIX, elementwise),
    op.Expand: Fault(MATRIX, expand),
    op.Einsum: Fault(PLANE, einsum),
    op.TensorDot: Fault(TENSORS, tensordot),
    op.Solve: Fault(TENSORS, solve),
    op.Windows: Fault(TENSORS, windows),
    op.MovingSum: Fault(TENSORS, windows),
    op.Correlate: Fault(TENSORS, windows),
    op.SumByKey: Fault(ROWS, sums),
}


@pytest.mark.parametrize("kind", FAULTS)
def test_a_fault_in_a_row_of_the_printer_is_seen(
    kind: type, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec, fault = FAULTS[kind]
    right = sound(spec)
    write = Printer._write

    def broken(printer: Printer, one: Array) -> Text:
        text = write(printer, one)
        if not isinstance(one.op, kind):
            return text
        return fault(one, [printer.written(arg) for arg in one.args], text) or text

    def afresh(printer: Printer, one: Array) -> Text:
        return printer._write(one)  # what is remembered may be right

    monkeypatch.setattr(Printer, "_write", broken)
    monkeypatch.setattr(Printer, "written", afresh)
    assert is_seen(spec, right)


# Faults of statements


def test_entries_of_the_same_place_that_replace_each_other_are_seen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def texts(printer: Printer, statements: Iterable[Statement]) -> list[str]:
        found = []
        for right in statement_texts(printer, statements):
            if right.startswith("np.add.at("):
                target, places, value = right.removeprefix("np.add.at(")[:-1].split(
                    ", "
                )
                right = f"{target}[{places}] += {value}"
            found.append(right)
        return found

    right = sound(FEW_ROWS)
    monkeypatch.setattr(written, "statement_texts", texts)
    assert is_seen(FEW_ROWS, right)


def test_windows_that_replace_each_other_are_seen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def texts(printer: Printer, statements: Iterable[Statement]) -> list[str]:
        found = statement_texts(printer, statements)
        return [x.replace("+=", "=") if x.startswith("for ") else x for x in found]

    right = sound(TENSORS)
    monkeypatch.setattr(written, "statement_texts", texts)
    assert is_seen(TENSORS, right)


def refused(spec: str, monkeypatch: pytest.MonkeyPatch, old: str, new: str) -> bool:
    """Whether methods of derivatives with other texts are told."""

    def texts(printer: Printer, statements: Iterable[Statement]) -> list[str]:
        found = statement_texts(printer, statements)
        return [re.sub(old, new, one) for one in found]

    sound(spec)
    monkeypatch.setattr(class_methods, "statement_texts", texts)
    return bool(compiled(spec)[1])


@pytest.mark.parametrize("name", ["rows", "columns", "part"])
def test_wrong_entries_in_coordinates_are_seen(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert refused(CHAIN, monkeypatch, f"^{name} = (.*)", rf"{name} = 2 * (\1)")


SOLVERS = sorted(solvers(Residues()))


def test_each_way_to_solve_is_known() -> None:
    assert sorted({row.factorization for row in STRUCTURES}) == SOLVERS


@pytest.mark.parametrize("name", SOLVERS)
def test_what_a_wrong_solver_is_handed_is_seen(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Another matrix than that of the derivative: the shift would be twice as large.
    old = rf"({name}\(.*)\bshift\b"
    assert refused(solving_specs.SPEC, monkeypatch, old, r"\1(2 * shift)")
