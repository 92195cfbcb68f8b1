"""Code that holds less computes the same, and says no more than it must."""

from __future__ import annotations

import tracemalloc
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tensorgen
from tensorgen.arrays import frugal as rule
from tensorgen.arrays.arrays import Array, array, variable
from tensorgen.arrays.code import Code
from tensorgen.arrays.frugal import frugal
from tensorgen.arrays.lifetimes import Lifetimes
from tensorgen.arrays.memory import peak
from tensorgen.arrays.object_operations import Rows
from tensorgen.arrays.operations import (
    Add,
    Elementwise,
    Expand,
    Index,
    Multiply,
    Permute,
)
from tensorgen.arrays.places import WHOLE, Limit, Slice
from tensorgen.arrays.rematerialise import made_again, used_up
from tensorgen.arrays.statements import Let, Loop, Release, Statement, Store
from tensorgen.arrays.written import written
from tensorgen.ir.dims import Dim
from tests.arrays.test_memory import allocated
from tests.lower.support import RandomGraph, check
from tests.made import generate

SIZES = {"n": 120}
n = Dim.of("n")
x = variable("x", (n, n), base="x")

THIRD = """tensorgen: 1
module: third
dims: {b: 10, n: 20}
inputs:
  X: {shape: [b, n]}
  P1: {shape: [n, n]}
  P2: {shape: [n, n]}
  P3: {shape: [n, n]}
functions:
  f:
    expr: sum(softmax(relu(relu(X @ P1) @ P2) @ P3, axis=1)**2)
    wrt: %s
    emit: [3]
"""


def large(name: str) -> Array:
    return variable(name, (n, n, n), base=name)


def wide(scale: int, of: Array = x) -> Array:
    """`scale * x[:, :, None] * x[:, None]`."""
    first = array(Expand((True, True, False)), of)
    second = array(Expand((True, False, True)), of)
    return array(Multiply(Fraction(scale), 2), first, second)


def long_sum(count: int) -> Code:
    """A sum of large arrays, each of which has a name."""
    lines = tuple(Let(f"T{k}", wide(k + 2)) for k in range(count))
    terms = [large(f"T{k}") for k in range(count)]
    turned = [array(Permute((2, 1, 0)), one) for one in terms]
    return Code(lines, (array(Add((1,) * count), *turned[:-1], terms[-1]),))


def named(k: int) -> str:
    return f"result{k}"


def again(name: str) -> str:
    return f"{name}_again"


def text(code: Code) -> str:
    found = written(code, "np")
    return "\n".join([*found.lines, f"return {', '.join(found.returns)}"])


def test_a_long_sum_is_added_up_in_place() -> None:
    code = long_sum(12)
    found = frugal(code, named, again)
    assert text(found).startswith("result0 = 13 * x[:, :, None] * x[:, None]\n")
    assert text(found).count("result0 += (") == 11
    assert peak(found, lambda dim: dim.value(SIZES)) == 2 * 120**3 + 120**2
    given = {"x": np.random.default_rng(0).random((120, 120))}
    assert allocated(found, given, SIZES) == pytest.approx(8 * 2 * 120**3, rel=0.02)
    spaces: list[dict[str, Any]] = [{"np": np, **given} for _ in range(2)]
    for space, one in zip(spaces, (code, found), strict=True):
        exec("def f():\n    " + text(one).replace("\n", "\n    "), space)
    first, second = (space["f"]() for space in spaces)
    np.testing.assert_allclose(first, second, rtol=1e-14)


def test_a_sum_of_transposes_alone_is_added_up_in_place() -> None:
    (whole,) = long_sum(12).returns
    lines = long_sum(12).statements
    turned = array(Add((1,) * 11), *whole.args[:-1])
    found = frugal(Code(lines[:-1], (turned,)), named, again)
    assert text(found).startswith("result0 = (2 * x[:, :, None] * x[:, None]).T\n")
    assert peak(found, lambda dim: dim.value(SIZES)) == 2 * 120**3 + 120**2


def test_a_term_that_has_a_name_is_scaled_as_it_is_made() -> None:
    name = "a_name_that_is_too_long_to_stand_twice"
    of = variable(name, (n, n), base=name)
    lines = [Let(f"T{k}", wide(k + 2, of)) for k in range(12)]
    (whole,) = long_sum(12).returns
    scaled = [array(Multiply(Fraction(3), 1), one) for one in whole.args]
    code = Code(tuple(lines), (array(Add((1,) * 12), *scaled),))
    kept = frugal(code, named, again, ["T5"])
    assert "T4 = 18 * a_name" in text(kept) and "result0 += T4.T\n" in text(kept)
    assert "T5 = 7 * a_name" in text(kept) and "result0 += 3 * T5.T\n" in text(kept)


def is_large(one: Array) -> bool:
    return one.dims == (n, n, n)


def twice() -> Code:
    """A large array that two large sums are made of."""
    lines = [
        Let("T0", wide(2)),
        Let("T1", array(Elementwise("exp"), large("T0"))),
        Let("T2", array(Elementwise("tanh"), large("T0"))),
    ]
    return Code(tuple(lines), (large("T1"), large("T2")))


def test_what_is_cheap_is_made_again_where_it_is_read_again() -> None:
    assert text(made_again(twice(), is_large, again, [])).split("\n") == [
        "T0 = 2 * x[:, :, None] * x[:, None]",
        "T1 = np.exp(T0)",
        "T0_again = 2 * x[:, :, None] * x[:, None]",
        "T2 = np.tanh(T0_again)",
        "return T1, T2",
    ]
    assert made_again(twice(), is_large, again, ["T0"]) == twice()
    # What is read changes: it is not the same any more.
    whole = Index((WHOLE, WHOLE), (n, n))
    first, *rest = twice().statements
    changed = (first, Store(x, whole, (), "*=", x), *rest)
    code = Code(changed, twice().returns)
    assert made_again(code, is_large, again, []) == code


def test_a_term_is_scaled_in_place_where_it_is_last_read() -> None:
    whole = Index((WHOLE,) * 3, (n, n, n))
    scaled = array(
        Multiply(Fraction(3), 2), array(Expand((True, True, False)), x), large("T0")
    )
    lines: list[Statement] = [
        Let("T0", wide(2)),
        Let("T1", wide(3)),
        Store(large("T1"), whole, (), "-=", scaled),
        Store(large("T1"), whole, (), "+=", scaled),
    ]
    code = Code(tuple(lines), (large("T1"),))
    assert text(used_up(code, is_large, [])).split("\n")[2:] == [
        "T1 -= 3 * x[:, :, None] * T0",
        "T0 *= 3 * x[:, :, None]",
        "T1 += T0",
        "return T1",
    ]
    assert used_up(code, is_large, ["T0"]) == code
    # Another name shows it still.
    turned = array(Permute((2, 1, 0)), large("T0"))
    shown = Code((lines[0], Let("V", turned), *lines[1:]), code.returns)
    assert used_up(shown, is_large, []) == shown
    held = Code(code.statements, (large("T1"), large("T0")))
    assert used_up(held, is_large, []) == held


def test_names_of_the_user_stay() -> None:
    assert "T3 = " in text(frugal(long_sum(12), named, again, ["T3"]))


def test_code_without_many_large_arrays_stays_as_it_is() -> None:
    code = long_sum(6)
    assert frugal(code, named, again) is code


def chain(count: int) -> Code:
    """Arrays made of one another, and what all of them come to."""
    lines: list[Statement] = [Let("T0", wide(2))]
    for k in range(1, count):
        lines.append(Let(f"T{k}", array(Elementwise("exp"), large(f"T{k - 1}"))))
    return Code(tuple(lines), (array(Elementwise("tanh"), large(f"T{count - 1}")),))


def test_what_is_dead_is_released_where_that_matters() -> None:
    found = frugal(chain(12), named, again)
    gone = [
        x for line in found.statements if isinstance(line, Release) for x in line.names
    ]
    assert gone == [f"T{k}" for k in range(11)]
    assert 0 < peak(found, lambda dim: dim.value(SIZES)) <= 2 * 120**3


def test_releases_wait_until_memory_is_needed() -> None:
    small = [Let(f"S{k}", array(Elementwise("exp"), wide(2))) for k in range(3)]
    lines = [*small, *chain(4).statements]
    found = frugal(Code(tuple(lines), chain(4).returns), named, again)
    rows = [line.names for line in found.statements if isinstance(line, Release)]
    places = [k for k, line in enumerate(found.statements) if isinstance(line, Release)]
    # What the first ones held is needed when the chain has begun, not before.
    assert all(place > len(small) for place in places)
    assert len({name for row in rows for name in row}) == sum(map(len, rows))


@pytest.mark.parametrize("seed", range(60))
def test_random_programs_compute_the_same(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rule, "ORDINARY", 0)
    monkeypatch.setattr(rule, "_pays", lambda old, new: True)
    sizes = {"n": 3, "m": 2, "k": 4}
    grown = RandomGraph(seed, sizes)
    check(grown.graph, grown.grow(6), sizes, seed)


@pytest.mark.parametrize("wrt", ["X", "P1"])
def test_a_third_derivative_holds_little_more_than_it_returns(
    wrt: str, tmp_path: Path
) -> None:
    path = tmp_path / "third.yaml"
    path.write_text(THIRD % wrt, encoding="utf-8")
    module = tensorgen.load(path)
    rng = np.random.default_rng(0)
    arguments = [rng.standard_normal((10, 20)), *rng.standard_normal((3, 20, 20))]
    module.f_d3(*arguments)  # what is made once is not counted
    tracemalloc.start()
    held = max(module.f_d3(*arguments).nbytes, 8 * 10 * 20**3)  # before it is packed
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 3 * held


CLOSE = """tensorgen: 1
module: close
dims: {n: 1000, d: 2}
inputs: {Y: [n, d], P: {shape: [n, n], positive: true}}
functions:
  f:
    where: |
      q[i, j] = 1/(1 + sum(abs(Y[i, k] - Y[j, k]), k))
      Z = sum(q[i, j], i, j, i != j)
    expr: sum(P[i, j]*log(P[i, j]/(q[i, j]/Z)), i, j, i != j)
    wrt: Y
    emit: [gradient]
"""


def test_what_stands_around_blocks_is_released_too() -> None:
    module = tensorgen.load(CLOSE)
    rng = np.random.default_rng(0)
    Y, P = rng.normal(size=(300, 2)), rng.random((300, 300))
    module.f_grad(Y, P)
    tracemalloc.start()
    module.f_grad(Y, P)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    mask = P.nbytes // 8
    # Two of the eight hold signs; all kept it would be twelve.
    assert most < 8 * P.nbytes + 1.5 * mask


DEEP = """tensorgen: 1
{dims}
inputs: {{x: [n, n], A: [n, n]}}
functions:
  f:
    where: |
      a = exp(A @ x)
      b = sin(A @ a)
      c = exp(A @ b)
      d = sin(A @ c)
      e = exp(A @ d)
    expr: sum(e)
    wrt: x
    emit: [gradient]
"""


@pytest.mark.parametrize("size", [None, 100, 1000])
def test_where_much_is_known_to_be_held_it_is_released(size: int | None) -> None:
    dims = "" if size is None else f"dims: {{n: {size}}}"
    code = generate(DEEP.format(dims=dims)).split("def f_grad(")[1].split("\ndef ")[0]
    assert ("    del " in code) == (size == 1000)


def test_the_number_of_rows_of_a_block_is_known_until_its_loop_ends() -> None:
    step, start = Dim.symbol("step"), Dim.symbol("start")
    part = Slice(Limit(start), Limit(start + step))
    block = Index((part, WHOLE), (step, n))
    y = variable("y", (n, n), base="y")
    lines = (
        Let("step", array(Rows(1000, n))),
        Let("y", array(Elementwise("sin"), x)),
        Loop(
            "start",
            Dim.of(0),
            n,
            (Store(y, block, (), "+=", array(Elementwise("cos"), array(block, x))),),
            step,
            "width",
        ),
    )
    sizes = {**SIZES, "step": 9, "start": 0, "width": 9}
    life = Lifetimes(Code(lines, (y,)), lambda dim: dim.value(sizes))
    made, _, loop, *_ = life.steps
    assert made.precedes(loop) and "step" in loop.reads
