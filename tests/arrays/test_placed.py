"""What is stored in an array is made there, in one launch, where that may be."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tensorgen.arrays.arrays import Array, array, variable
from tensorgen.arrays.code import Code
from tensorgen.arrays.kernels import Kernel
from tensorgen.arrays.operations import Fill, Index, MatMul
from tensorgen.arrays.places import At, Limit, Part, Slice
from tensorgen.arrays.statements import Change, Let, Loop, Statement, Store
from tensorgen.check.emitted_text import Program, Unread
from tensorgen.check.kernel_calls import callable_kernel
from tensorgen.check.reals import Reals
from tensorgen.ir.dims import ZERO, Dim
from tests.arrays.test_fuse import M, N, S, U, V, W, X, named, of, plus, shown, times
from tests.arrays.test_fuse import text_of as told

T = Dim.symbol("t")
Z = variable("z", (M, N), base="z")
A = variable("A", (N, N))
ZEROS = Let("z", array(Fill((M, N), 0)))


def row(k: Dim | int) -> Part:
    return At(Limit(k if isinstance(k, Dim) else Dim.of(k)))


def stored(value: Array, k: Dim | int = 0, how: Change = "=") -> Store:
    return Store(Z, Index((row(k),), (N,)), (), how, value)


def rows(*lines: Statement, returns: tuple[Array, ...] = (Z,)) -> list[str]:
    return shown(told(Code((ZEROS, *lines), returns)))[1 : -len(returns)]


def test_a_kernel_writes_to_the_places_where_it_was_stored() -> None:
    (line,) = rows(stored(times(U, of("exp", V))))
    assert line.startswith("_") and line.endswith("(v, u, z[0])")


def test_so_does_a_single_operation_of_the_library() -> None:
    assert rows(stored(times(U, V))) == ["cp.multiply(u, v, out=z[0])"]
    assert rows(stored(of("exp", U))) == ["cp.exp(u, out=z[0])"]
    assert rows(stored(array(MatMul(), A, U))) == ["cp.matmul(A, u, out=z[0])"]
    product = array(MatMul(), X, U)
    column = Store(Z, Index((Slice(), row(1)), (M,)), (), "=", product)
    # BLAS writes to rows of memory alone.
    assert rows(column) == ["z[:, 1] = X @ u"]


def test_what_is_added_is_added_by_the_kernel_that_makes_it() -> None:
    (line,) = rows(stored(times(U, V), how="-="))
    assert line.endswith("(u, v, z[0], z[0])")
    assert rows(stored(U, how="+=")) == ["z[0] += u"]


def test_a_name_is_what_is_stored_where_nothing_else_is() -> None:
    both = times(U, of("exp", V))
    b = named("b", both)
    lines = Let("b", both), stored(b)
    (line,) = rows(*lines, returns=(Z, array(MatMul(), X, b)))
    assert line.startswith("b = _b(") and line.endswith("z[0])")
    product = Let("b", array(MatMul(), A, U))
    found = rows(product, stored(b), returns=(Z, array(MatMul(), X, b)))
    assert found == ["cp.matmul(A, u, out=z[0])", "b = z[0]"]
    # It would change with what is stored there later, and be returned with it.
    kept = rows(*lines, stored(U, 1), returns=(Z, array(MatMul(), X, b)))
    assert kept[1] == "z[0] = b"
    assert rows(*lines, returns=(Z, b))[1] == "z[0] = b"


def test_what_reads_the_array_before_sees_what_was_there() -> None:
    both = times(U, of("exp", V))
    total = plus(array(Index((row(0),), (N,)), Z), W, U)
    lines = Let("b", both), Let("a", total), stored(named("b", both))
    products = (array(MatMul(), X, named(x, both)) for x in "ab")
    assert rows(*lines, returns=(Z, *products))[-1] == "z[0] = b"


@pytest.mark.parametrize(("read", "fits"), [(T, True), (T + 1, True), (Dim.of(0), 0)])
def test_rows_of_the_array_are_read_that_are_not_written(read: Dim, fits: bool) -> None:
    own = array(Index((row(read),), (N,)), Z)
    body = stored(plus(own, U, V), T + 1)
    (line,) = rows(Loop("t", ZERO, M - 1, (body,)))
    assert line.endswith("z[t + 1])") == fits


def test_parts_that_overlap_are_not_written_while_they_are_read() -> None:
    ends = Slice(stop=Limit(M - 1)), Slice(start=Limit(Dim.of(1)))
    before, after = (Index((part,), (M - 1, N)) for part in ends)
    (line,) = rows(Store(Z, after, (), "=", plus(array(before, Z), U, V)))
    assert line.startswith("z[1:] = _")


def test_numbers_are_computed_where_all_entries_are_stored() -> None:
    (line,) = rows(stored(plus(times(S, by=2), S)))
    assert line.startswith("_") and line.endswith("(s, z[0])")
    assert rows(stored(times(S, by=2))) == ["cp.multiply(2, s, out=z[0])"]


# What stands on both sides of a store


def test_values_before_and_behind_a_store_are_one_kernel() -> None:
    a, b = of("exp", U), plus(named("a", of("exp", U)), V)
    lines = Let("a", a), stored(times(U, V)), Let("b", b)
    found = rows(*lines, returns=(Z, array(MatMul(), X, named("b", b))))
    assert found == ["cp.multiply(u, v, out=z[0])", "b = _b(u, v)"]


def test_what_reads_what_was_stored_stands_behind_it() -> None:
    own = array(Index((row(0),), (N,)), Z)
    total = plus(own, V, W)
    lines = Let("a", total), stored(times(U, V)), Let("b", total)
    products = (array(MatMul(), X, named(x, total)) for x in "ab")
    found = rows(*lines, returns=(Z, *products))
    assert [x[:4] for x in found] == ["a = ", "cp.m", "b = "]


def test_arrays_that_are_begun_later_are_there_when_a_name_is_stored() -> None:
    b = of("exp", plus(U, V))
    lines = Let("b", b), ZEROS, stored(named("b", b))
    code = Code(lines, (Z, array(MatMul(), X, named("b", b))))
    first, second, *_ = shown(told(code))
    assert first.startswith("z = cp.zeros") and second.startswith("b = _b(u, v, z[0])")


def test_what_is_made_of_one_array_is_made_in_each_kernel_that_reads_it() -> None:
    b = times(S, U)
    lines: list[Statement] = [
        Let("b", b),
        *(stored(named("b", b), k, "+=") for k in (0, 1)),
    ]
    (line,) = rows(*lines)
    assert line.endswith("(s, u, z[0], z[1], z[0], z[1])")
    # Of two arrays twice as much would have to be read.
    b = times(U, V)
    lines = [Let("b", b), *(stored(named("b", b), k, "+=") for k in (0, 1))]
    assert rows(*lines) == ["b = u * v", "z[0] += b", "z[1] += b"]


def test_what_is_stored_twice_over_is_added_twice() -> None:
    lines = [stored(times(U, V), 0, "+=")] * 2
    assert len(rows(*lines)) == 2


def test_what_is_stored_one_behind_the_other_is_one_launch() -> None:
    one, other = times(U, V), plus(U, V, W)
    (line,) = rows(stored(one), stored(other, 1))
    assert line.endswith("(u, v, w, z[0], z[1])")
    y = variable("y", (M, N), base="y")
    second = replace(stored(other), target=y)
    code = Code((ZEROS, stored(one), replace(ZEROS, name="y"), second), (Z, y))
    zeros, others, line, *_ = shown(told(code))
    assert zeros.startswith("z = ") and others.startswith("y = ")
    assert line.endswith("(u, v, w, z[0], y[0])")


def test_places_that_may_be_the_same_are_written_one_after_the_other() -> None:
    one, other = times(U, V), plus(U, V, W)
    last = M - 1  # which is the first row, where there is one
    assert len(rows(stored(one), stored(other, last))) == 2
    assert len(rows(stored(one), stored(other))) == 2
    row_of = array(Index((row(0),), (N,)), Z)
    assert len(rows(stored(one), stored(plus(row_of, V, W), 1))) == 2
    # The first reads what the second writes: all threads read before that.
    row_of = array(Index((row(1),), (N,)), Z)
    assert len(rows(stored(plus(row_of, V, W)), stored(one, 1))) == 2


def test_the_check_refuses_memory_that_is_read_elsewhere() -> None:
    program = Program(Reals())
    kernel = Kernel("step", ("T x",), ("T y",), ("y = 2 * x;",))
    run = callable_kernel(kernel, program)
    x = program.field.of(program.known["arange"](4))
    run(x[2:], x[:2])
    assert [float(v) for v in x] == [4, 6, 2, 3]
    run(x, x)
    for memory in (x[1:], x[:2]):
        with pytest.raises(Unread, match="memory"):
            run(x[:3], memory)


def test_the_check_refuses_what_is_read_after_it_was_written() -> None:
    """CuPy gives both as references to the same entry."""
    program = Program(Reals())
    lines = "y = 2 * x;", "z = 3 * x;"
    late, early = (
        callable_kernel(Kernel("two", ("T x",), ("T y", "T z"), own), program)
        for own in (lines, lines[::-1])
    )
    x, other = (program.field.of(program.known["arange"](4)) for _ in range(2))
    with pytest.raises(Unread, match="memory"):
        late(x, x, other)
    early(x, x, other)
    assert [float(v) for v in other] == [0, 3, 6, 9]
