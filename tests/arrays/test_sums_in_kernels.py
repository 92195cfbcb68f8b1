"""What is computed entry by entry to be added up is added up by the same kernel."""

from __future__ import annotations

from tensorgen.arrays.arrays import Array, array, variable
from tensorgen.arrays.code import Code
from tensorgen.arrays.kernels import SUMS
from tensorgen.arrays.operations import (
    Compare,
    Conjunction,
    Expand,
    InnerProduct,
    MatMul,
    Reduce,
    Size,
)
from tensorgen.arrays.statements import Let
from tests.arrays.test_fuse import (
    M,
    N,
    S,
    U,
    V,
    W,
    X,
    bodies,
    named,
    of,
    plus,
    shown,
    text_of,
    times,
)

Y = variable("Y", (M, N))


def summed(one: Array, *axes: int) -> Array:
    return array(Reduce(axes or tuple(range(one.order))), one)


def test_the_sum_of_a_chain_is_one_launch() -> None:
    t = times(U, V, by=-1)
    code = Code((Let("t", t),), (summed(of("exp", named("t", t))),))
    text = text_of(code, results=("loss",))
    assert shown(text) == ["return _loss(u, v)"]
    (kernel,) = text.kernels
    assert kernel.adds and kernel.outputs == ("T exp_t",)
    assert kernel.lines == ("const T t = -u * v;", "exp_t = exp(t);")
    assert text.helpers == (SUMS,)
    assert kernel.source("cp").startswith(f"{kernel.name} = _Sums(")


def test_one_operation_and_its_sum_are_one_launch() -> None:
    assert shown(text_of(Code((), (summed(times(U, V)),)))) == ["return _u_v_sum(u, v)"]
    assert shown(text_of(Code((), (summed(U),)))) == ["return u.sum()"]


def test_a_call_says_along_which_axes() -> None:
    row = array(Expand((False, True)), U)
    text = text_of(Code((), (summed(times(X, row), 1),)), results=("a",))
    assert shown(text) == ["return _a(X, u[None], axis=1)"]
    cube = variable("C", (M, N, M))
    text = text_of(Code((), (summed(of("exp", cube), 0, 2),)), results=("a",))
    assert shown(text) == ["return _a(C, axis=(0, 2))"]


def test_what_others_read_too_is_added_up_from_where_it_is_written() -> None:
    e = of("exp", plus(U, V))
    lines = (Let("e", e),)
    text = text_of(Code(lines, (summed(named("e", e)), named("e", e))))
    assert shown(text) == ["e = _e(u, v)", "return e.sum()", "return e"]
    other = times(named("e", e), U, V)
    product = array(MatMul(), X, named("b", other))
    code = Code((*lines, Let("b", other)), (summed(named("e", e)), product))
    text = text_of(code)
    assert shown(text)[0] == "e, b = _e_and_b(u, v)"


def test_inner_products_of_what_is_computed_are_sums() -> None:
    for op in (MatMul(), InnerProduct()):
        text = text_of(Code((), (array(op, U, of("exp", V)),)), results=("a",))
        assert shown(text) == ["return _a(v, u)"]
        assert bodies(text)[0][-1].endswith(" = u * exp(v);")
    text = text_of(Code((), (array(MatMul(), of("sin", U), of("exp", U)),)))
    assert len(text.kernels) == 1 and len(shown(text)) == 1
    text = text_of(Code((), (array(InnerProduct(), X, Y),)))
    assert shown(text) == ["return cp.vdot(X, Y)"]
    text = text_of(Code((), (array(MatMul(), X, of("exp", U)),)))
    assert not text.kernels


def test_what_is_done_after_a_sum_with_numbers_is_done_at_once() -> None:
    number = array(Size(N))
    loss = times(summed(of("exp", plus(U, V))), number, by=2)
    text = text_of(Code((), (loss,)), results=("loss",))
    assert shown(text) == ["return _loss(u, v, n)"]
    (kernel,) = text.kernels
    assert kernel.after is not None
    assert kernel.after.inputs == ("T exp_u_sum_sum", "T n_")
    assert kernel.after.lines == ("loss = 2 * exp_u_sum_sum * n_;",)
    lines = (Let("total", summed(of("exp", plus(U, V)))),)
    named_sum = variable("total", ())
    text = text_of(Code(lines, (times(named_sum, number, by=2),)), results=("loss",))
    assert shown(text) == ["return _loss(u, v, n)"]
    assert 'after=("T exp_u_sum_sum, T n_", "T loss", "loss' in kernel.source("cp")


def test_what_arrays_are_needed_for_waits_for_the_sum() -> None:
    sums = summed(of("exp", plus(U, V)))
    text = text_of(Code((), (plus(sums, S, S),)), results=("loss",))
    assert len(text.kernels) == 2
    assert [kernel.adds for kernel in text.kernels] == [False, True]
    lines = (Let("total", sums),)
    results = times(named("total", sums), by=2), named("total", sums)
    text = text_of(Code(lines, results))
    assert shown(text)[0] == "total = _total(u, v)"
    assert text.kernels[0].after is None


def test_sums_of_whole_numbers_and_of_conditions_are_the_librarys() -> None:
    mask = array(Conjunction(), *(array(Compare("<"), x, V) for x in (U, W)))
    counts = variable("k", (N,), "int")
    for terms in (mask, plus(counts, counts)):
        assert not any(own.adds for own in text_of(Code((), (summed(terms),))).kernels)


def test_a_sum_that_several_kernels_read_is_made_once() -> None:
    sums = summed(of("exp", X), 1)
    twice = times(named("s", sums), by=2)
    total = summed(of("exp", twice))
    result = times(of("sin", twice), of("log", total))
    text = text_of(Code((Let("s", sums),), (result,)), results=("r",))
    assert shown(text) == ["s = _s(X, axis=1)", "return _r(s, _exp_weighted_s_sum(s))"]
