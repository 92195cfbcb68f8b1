"""Programs with loops, reused memory and several results, in every backend there is."""

from __future__ import annotations

import ctypes
import re
import subprocess
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tensorgen.arrays import frugal as rule
from tensorgen.arrays.arrays import Array, array, bound, variable
from tensorgen.arrays.code import Code
from tensorgen.arrays.lifetimes import Lifetimes
from tensorgen.arrays.memory import peak
from tensorgen.arrays.needs import Needs
from tensorgen.arrays.object_operations import Results
from tensorgen.arrays.operations import (
    Add,
    Elementwise,
    Expand,
    Fill,
    Index,
    InnerProduct,
    MatMul,
    Multiply,
    Number,
    Permute,
    Power,
    Reduce,
    Size,
)
from tensorgen.arrays.out_text import filling, last_operation
from tensorgen.arrays.places import WHOLE, At, Entries, Limit, Slice
from tensorgen.arrays.printer import Printer
from tensorgen.arrays.statement_text import statement_text
from tensorgen.arrays.statements import (
    Let,
    Loop,
    Store,
    Unpack,
    bindings,
    changed,
    everything,
    operands,
    reads,
    rebuilt,
)
from tensorgen.arrays.work import arithmetic
from tensorgen.arrays.written import written
from tensorgen.check.emitted_text import Program
from tensorgen.check.residues import PRIME, Residues
from tensorgen.ir.dims import ONE, ZERO, Dim
from tensorgen.operators.elementwise import ELEMENTWISE
from tests.arrays.loop_printer import Unprintable, function
from tests.arrays.test_loops import COMPILER, HEADER
from tests.arrays.test_memory import allocated

SIZES = {"n": 1000, "m": 1500, "k": 64}
n, m, k = map(Dim.of, SIZES)
t, r, rows = Dim.of("t"), Dim.of("r"), Dim.of("rows")


def named(name: str, *dims: Dim) -> Array:
    return variable(name, dims, base=name)


def at(whole: Array, place: Dim) -> tuple[Array, Index]:
    return whole, Index((At(Limit(place)),), whole.dims[1:])


def row(whole: Array, place: Dim) -> Array:
    _, index = at(whole, place)
    return array(index, whole)


def block(whole: Array) -> Array:
    """The rows from `r` on."""
    part = Slice(Limit(r), Limit(r + rows))
    return array(Index((part,), (rows, *whole.dims[1:])), whole)


A, B, X, W = named("A", n, n), named("b", k, n), named("X", m, n), named("w", m)
x, first = named("x", k + 1, n), named("x0", n)


def recurrence(hidden: bool) -> Code:
    """`x[t + 1] = tanh(A @ x[t] + b[t])`, `hidden` under a name of its own."""
    new = array(Add((1, 1)), array(MatMul(), A, row(x, t)), row(B, t))
    step = named("step", n)
    known = step if hidden else new
    body = Store(*at(x, t + 1), (), "out=", array(Elementwise("tanh"), known))
    return Code(
        (
            Let("x", array(Fill(x.dims, 0))),
            Store(*at(x, ZERO), (), "=", first),
            Loop("t", ZERO, k, (*[Let("step", new)] * hidden, body)),
        ),
        (x,),
    )


def gram() -> Code:
    """`X.T @ diag(w) @ X`, block by block of rows, in the same memory."""
    total, scaled = named("total", n, n), named("scaled", k, n)
    square = named("square", n, n)
    spread = array(Expand((True, False)), block(W))
    part = Index((Slice(stop=Limit(rows)),), (rows, n))
    cut, whole = array(part, scaled), Index((WHOLE, WHOLE), (n, n))
    turned = array(Permute((1, 0)), block(X))
    product = array(Multiply(Fraction(1), 2), spread, block(X))
    body = (
        Store(scaled, part, (), "out=", product),
        Store(square, whole, (), "out=", array(MatMul(), turned, cut)),
        Store(total, whole, (), "+=", square),
    )
    return Code(
        (
            Let("total", array(Fill((n, n), 0))),
            Let("scaled", array(Fill((k, n), 0))),
            Let("square", array(Fill((n, n), 0))),
            Loop("r", ZERO, m, body, k, "rows"),
        ),
        (total,),
    )


def both() -> Code:
    """The sign and the logarithm of a determinant, from one factorisation."""
    line = Unpack(("sign", "size"), array(Results("linalg.slogdet", ((), ())), A))
    results = [bound(name, one) for name, one in bindings(line)]
    return Code((line,), (array(Multiply(Fraction(1), 2), *results),))


PROGRAMS = {
    "recurrence": recurrence(False),
    "hidden": recurrence(True),
    "gram": gram(),
    "both": both(),
}
TEXTS = {
    "recurrence": """\
x = np.zeros((k + 1, n), dtype=dtype)
x[0] = x0
for t in range(k):
    np.tanh(A @ x[t] + b[t], out=x[t + 1])""",
    "hidden": """\
x = np.zeros((k + 1, n), dtype=dtype)
x[0] = x0
for t in range(k):
    step = A @ x[t] + b[t]
    np.tanh(step, out=x[t + 1])""",
    "gram": """\
total = np.zeros((n, n), dtype=dtype)
scaled = np.zeros((k, n), dtype=dtype)
square = np.zeros((n, n), dtype=dtype)
for r in range(0, m, k):
    rows = min(k, m - r)
    np.multiply(w[r:r + rows, None], X[r:r + rows], out=scaled[:rows])
    np.matmul(X[r:r + rows].T, scaled[:rows], out=square)
    total += square""",
    "both": "sign, size = np.linalg.slogdet(A)",
}


def given(name: str, sizes: dict[str, int]) -> dict[str, Any]:
    roots = [one for line in PROGRAMS[name].statements for one in operands(line)]
    asked = {*reads(roots)}
    rng = np.random.default_rng(0)
    shapes = {one: one.dims for one in (A, B, X, W, first)}
    return {
        Printer("np").text(one): rng.standard_normal([d.value(sizes) for d in dims])
        / np.sqrt(sizes["n"])
        for one, dims in shapes.items()
        if Printer("np").text(one) in asked
    }


def expected(name: str, A: Any = None, **others: Any) -> Any:
    match name:
        case "gram":
            return others["X"].T @ (others["w"][:, None] * others["X"])
        case "both":
            sign, size = np.linalg.slogdet(A)
            return sign * size
        case _:
            found = [others["x0"]]
            for b in others["b"]:
                found.append(np.tanh(A @ found[-1] + b))
            return np.array(found)


def run(code: Code, arrays: dict[str, Any], sizes: dict[str, int]) -> Any:
    text = written(code, "np")
    space = {"np": np, "dtype": np.dtype(float), **arrays, **sizes}
    exec("\n".join(text.lines), space)
    return eval(text.returns[0], space)


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_are_printed_for_numpy_and_run(name: str) -> None:
    code = PROGRAMS[name]
    assert "\n".join(written(code, "np").lines) == TEXTS[name]
    assert sorted(Needs(code.statements, code.returns).symbols) == (
        {"gram": ["k", "m", "n"], "both": []}.get(name, ["k", "n"])
    )
    for sizes in ({"n": 30, "m": 100, "k": 16}, {"n": 2, "m": 3, "k": 5}):
        arrays = given(name, sizes)
        found = run(code, arrays, sizes)
        np.testing.assert_allclose(found, expected(name, **arrays), rtol=1e-10)


@pytest.mark.skipif(COMPILER is None, reason="there is no C compiler")
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_run_as_scalar_loops(name: str, tmp_path: Path) -> None:
    sizes, code = {"n": 3, "m": 11, "k": 4}, PROGRAMS[name]
    arrays = given(name, sizes)
    if name == "both":  # it calls a library
        with pytest.raises(Unprintable):
            function(name, code, list(arrays))
        return
    source, target = tmp_path / "loops.c", tmp_path / "loops.so"
    source.write_text(HEADER + function(name, code, list(arrays)), encoding="utf-8")
    assert COMPILER is not None
    options = ["-O0", "-shared", "-fPIC", "-o", str(target), str(source), "-lm"]
    subprocess.run([COMPILER, *options], check=True)
    bound = [line for line in everything(code.statements) if isinstance(line, Let)]
    values = [*(line.value for line in bound), *code.returns]
    made = [np.zeros([dim.value(sizes) for dim in one.dims]) for one in values]
    pointers = [ctypes.c_void_p(one.ctypes.data) for one in (*arrays.values(), *made)]
    numbers = (ctypes.c_long(sizes[symbol]) for symbol in "nmk")
    ctypes.CDLL(str(target))[name](*numbers, *pointers)
    np.testing.assert_allclose(made[-1], expected(name, **arrays), rtol=1e-12)


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_are_interpreted_modulo_a_prime(name: str) -> None:
    sizes, code = {"n": 3, "m": 11, "k": 4}, PROGRAMS[name]
    field = Residues()
    rng = np.random.default_rng(0)
    arrays = {
        key: field.of(rng.integers(0, PRIME, value.shape))
        for key, value in given(name, sizes).items()
    }
    program, text = Program(field), written(code, "np")
    values = {**arrays, **sizes}
    program.run(text.lines, values)
    found = program.expression(text.returns[0], values)
    if name == "gram":
        exact = arrays["X"].T @ (arrays["w"][:, None] * arrays["X"]) % PRIME
    elif name == "both":
        sign, size = program.known["slogdet"](arrays["A"])
        exact = sign * size % PRIME
    else:
        steps = [arrays["x0"]]
        for b in arrays["b"]:
            inner = (arrays["A"] @ steps[-1] + b) % PRIME
            steps.append(program.known["tanh"](inner))
        exact = np.array(steps)
    assert np.array_equal(found, exact)


HELD = {
    "recurrence": (k + 2) * n,
    "hidden": (k + 3) * n,  # the old step is held until there is a new one
    "gram": 2 * n * n + k * n,
    "both": Dim.of(2),
}
WORK = {
    "recurrence": k * (2 * n * n + 2 * n),
    "hidden": k * (2 * n * n + 2 * n),
    "gram": m * n + 2 * m * n * n,
    "both": n * n * n + 1,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_programs_hold_and_do_is_known(name: str) -> None:
    code = PROGRAMS[name]
    assert arithmetic(code) == WORK[name]
    held = HELD[name].value(SIZES)
    assert peak(code, lambda dim: dim.value(SIZES)) == held
    measured = allocated(code, given(name, SIZES), SIZES)
    if name != "both":  # the library has memory of its own
        assert 8 * held == pytest.approx(measured, rel=0.02, abs=8192)
    life = Lifetimes(code, lambda dim: dim.value(SIZES))
    assert max(life.profile({})) == held
    # What a loop binds is not given up behind it: it need not have run.
    outside = [line for line in code.statements if not isinstance(line, Loop)]
    assert [*life.sizes] == [x for line in outside for x, _ in bindings(line)]


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_that_hold_less_compute_the_same(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rule, "ORDINARY", 0)
    monkeypatch.setattr(rule, "_pays", lambda old, new: True)
    sizes = {"n": 30, "m": 100, "k": 16}
    arrays = given(name, sizes)
    found = rule.frugal(PROGRAMS[name], lambda k: f"result{k}", lambda old: f"{old}_2")
    result = run(found, arrays, sizes)
    np.testing.assert_allclose(result, expected(name, **arrays), rtol=1e-10)


def test_a_loop_reads_and_changes_what_its_body_does() -> None:
    loop = gram().statements[-1]
    assert isinstance(loop, Loop)
    assert changed(loop) == {"scaled", "square", "total"}
    assert {*reads(operands(loop))} == {"w", "X", "scaled", "square", "total"}
    assert [*everything([loop])] == [loop, *loop.body]
    again = rebuilt(loop, lambda one: x if one is X else one)
    assert rebuilt(again, lambda one: one) == again
    assert bindings(recurrence(True).statements[-1]) == ()


def test_loops_are_nested_and_count_with_their_positions() -> None:
    inner = Loop("j", r, n, (Store(*at(first, Dim.of("j")), (), "+=", array(Size(r))),))
    outer = Loop("r", ONE, n, (inner,), Dim.of(2))
    assert statement_text(Printer("np"), outer) == (
        "for r in range(1, n, 2):\n    for j in range(r, n):\n        x0[j] += r"
    )
    found = Program(Residues())
    values: dict[str, Any] = {"n": 6, "x0": np.zeros(6, dtype=object)}
    found.run([statement_text(Printer("np"), outer)], values)
    assert values["x0"].tolist() == [0, 1, 1, 4, 4, 9]


def test_steps_that_grow_count_as_the_longest() -> None:
    head = Index((Slice(stop=Limit(t + 1)),), (t + 1,))
    sums = named("sums", n)
    dot = array(InnerProduct(), array(head, first), array(head, first))
    line = Store(*at(sums, t), (), "=", dot)
    assert arithmetic(Code((Loop("t", ZERO, n, (line,)),), ())) == 2 * n * n
    copies = Let("copies", array(Add((1, 1)), array(head, first), array(head, first)))
    code = Code((Loop("t", ZERO, n, (copies,)),), ())
    assert peak(code, lambda dim: dim.value(SIZES)) == 2 * SIZES["n"]


SQUARES = array(Power(Fraction(2)), A)


@pytest.mark.parametrize(
    ("one", "text"),
    [
        (array(Multiply(Fraction(2), 3), A, X, B), "np.multiply(2 * A * X, b, out=C)"),
        (array(Multiply(Fraction(1), 1), A, B), "np.divide(A, b, out=C)"),
        (array(Multiply(Fraction(1), 1), A, B, X), "np.divide(A / b, X, out=C)"),
        (array(Multiply(Fraction(3), 1), A), "np.multiply(3, A, out=C)"),
        (array(Multiply(Fraction(1), 0), A), "np.divide(1, A, out=C)"),
        (array(Add((1, -1, -1)), A, B, X), "np.subtract(A - b, X, out=C)"),
        (array(Add((-1, 1)), A, B), "np.add(-A, b, out=C)"),
        (SQUARES, "np.square(A, out=C)"),
        (array(Elementwise("relu"), A), "np.maximum(A, 0, out=C)"),
    ],
)
def test_the_last_operation_takes_memory(one: Array, text: str) -> None:
    assert filling(Printer("np"), one, "C") == text


@pytest.mark.parametrize("one", [A, array(Reduce((0,)), A), array(Number(Fraction(2)))])
def test_what_takes_no_memory_is_refused(one: Array) -> None:
    assert last_operation(one) is None
    with pytest.raises(ValueError, match="takes no memory"):
        filling(Printer("np"), one, "C")


def test_places_here_and_there_are_no_memory() -> None:
    places = variable("i", (n,), "int", base="i")
    line = Store(first, Index((Entries(),), (n,)), (places,), "out=", SQUARES)
    with pytest.raises(ValueError, match="not memory"):
        statement_text(Printer("np"), line)


WRITTEN = [name for name, row in ELEMENTWISE.items() if row.numpy]


@pytest.mark.parametrize("name", WRITTEN)
def test_functions_that_take_memory_write_to_it(name: str) -> None:
    text = ELEMENTWISE[name].numpy
    names = [one for k, one in enumerate("xyz") if f"{{{k}}}" in text]
    one = array(Elementwise(name), *(named(x, n) for x in names))
    if last_operation(one) is None:
        called = re.fullmatch(r"np\.(\w+)\([^()]*\)", text)
        assert not (called and isinstance(getattr(np, called[1]), np.ufunc))
        return
    space: dict[str, Any] = {"np": np, **dict.fromkeys(names, np.array([1.3, 1.7]))}
    with np.errstate(invalid="ignore"):
        wanted = eval(Printer("np").text(one), space)
        space["C"] = np.zeros_like(wanted)
        eval(filling(Printer("np"), one, "C"), space)
    np.testing.assert_array_equal(space["C"], wanted)
