"""What is done entry by entry is a kernel of CuPy's, and all else stays as it is."""

from __future__ import annotations

import ast
import re
from fractions import Fraction

import numpy as np
import pytest

from tensorgen.arrays.arrays import Array, array, variable
from tensorgen.arrays.code import Code
from tensorgen.arrays.device_functions import device_function, launches_of
from tensorgen.arrays.kernels import Kernel
from tensorgen.arrays.operations import (
    Add,
    Elementwise,
    Fill,
    Index,
    MatMul,
    Multiply,
    Number,
    Power,
    Reduce,
)
from tensorgen.arrays.places import WHOLE
from tensorgen.arrays.scalar_text import CText, Speaker, Unsaid
from tensorgen.arrays.statements import Let, Loop, Release, Store
from tensorgen.arrays.written import Written, written
from tensorgen.ir.dims import ZERO, Dim
from tensorgen.operators.elementwise import ELEMENTWISE
from tensorgen.operators.references.rows import FUNCTIONS
from tests.device.library import execute, stand_in
from tests.made import generate

M, N = Dim.symbol("m"), Dim.symbol("n")
X = variable("X", (M, N))
U, V, W = (variable(name, (N,)) for name in "uvw")
S = variable("s", ())


def of(name: str, *args: Array) -> Array:
    return array(Elementwise(name), *args)


def times(*args: Array, by: int = 1) -> Array:
    return array(Multiply(Fraction(by), len(args)), *args)


def plus(*args: Array) -> Array:
    return array(Add((1,) * len(args)), *args)


def named(name: str, value: Array) -> Array:
    return variable(name, value.dims, value.kind)


def text_of(code: Code, *kept: str, results: tuple[str, ...] = ()) -> Written:
    return written(code, "cp", True, results, kept)


def shown(text: Written) -> list[str]:
    """Lines and what is returned, kernels by their words."""
    names = {kernel.name: f"_{kernel.word}" for kernel in text.kernels}
    rows = [*text.lines, *(f"return {x}" for x in text.returns)]
    found = []
    for row in rows:
        for name, word in names.items():
            row = row.replace(name, word)
        found.append(row)
    return found


def bodies(text: Written) -> list[tuple[str, ...]]:
    return [kernel.lines for kernel in text.kernels]


# What is fused


def test_a_chain_is_one_kernel_with_the_statements_that_it_was() -> None:
    t = times(U, V, by=-1)
    code = Code((Let("t", t),), (times(U, of("exp", named("t", t))),))
    text = text_of(code, results=("grad",))
    assert shown(text) == ["return _grad(u, v)"]
    assert bodies(text) == [("const T t = -u * v;", "grad = u * exp(t);")]
    (kernel,) = text.kernels
    assert kernel.inputs == ("T u", "T v") and kernel.outputs == ("T grad",)


def test_one_operation_stays_what_it_is() -> None:
    assert shown(text_of(Code((), (times(U, V),)))) == ["return u * v"]


def test_what_others_read_is_made_by_the_same_kernel() -> None:
    e = of("exp", U)
    total = plus(named("e", e), V)
    inner = array(MatMul(), named("e", e), named("b", total))
    text = text_of(Code((Let("e", e), Let("b", total)), (inner,)))
    assert shown(text) == ["e, b = _e_and_b(u, v)", "return e @ b"]
    assert bodies(text) == [("e = exp(u);", "b = e + v;")]


def test_what_waits_for_whole_arrays_is_no_kernel_with_what_it_waits_for() -> None:
    e = of("exp", plus(U, V))
    total = array(Reduce((0,)), named("e", e))
    code = Code((Let("e", e),), (times(named("e", e), of("log", total)),))
    text = text_of(code, results=("p",))
    assert shown(text) == ["e = _e(u, v)", "return _p(e.sum(), e)"]
    assert bodies(text)[1] == ("p = e * log(e_sum);",)


def test_cheap_numbers_are_computed_in_each_kernel_that_reads_them() -> None:
    scale = times(S, S, by=2)
    own = named("scale", scale)
    results = times(own, U), array(MatMul(), X, times(own, V))
    text = text_of(Code((Let("scale", scale),), results), results=("a", "b"))
    lines = shown(text)
    assert lines[0].startswith("return _a(") and "scale" not in text.lines
    assert all("scale = 2 * s * s;" in body[0] for body in bodies(text))


def test_dear_vectors_are_not_computed_for_every_row() -> None:
    wide = plus(times(X, of("exp", plus(U, V))), X)
    text = text_of(Code((), (wide,)), results=("wide",))
    assert len(text.kernels) == 2
    cheap = plus(times(X, plus(U, V)), X)
    assert len(text_of(Code((), (cheap,))).kernels) == 1


def test_names_that_others_read_are_kept() -> None:
    t = plus(U, V)
    code = Code((Let("t", t),), (of("exp", named("t", t)),))
    assert shown(text_of(code, results=("e",))) == ["return _e(u, v)"]
    assert text_of(code, "t").lines == ("t = u + v",)


# What statements see


def test_what_is_changed_is_read_where_it_was() -> None:
    zeros = array(Fill((N,), 0))
    out = variable("out", (N,), base="out")
    whole = Index((WHOLE,), (N,))
    lines = (
        Let("out", zeros),
        Let("a", plus(out, U, V)),
        Store(out, whole, (), "+=", of("exp", plus(U, V))),
        Let("b", plus(out, U, V)),
    )
    a, b = (array(MatMul(), X, named(x, plus(out, U, V))) for x in "ab")
    text = text_of(Code(lines, (a, b)))
    rows = shown(text)
    assert rows[1].startswith("a = ") and rows[2] == "_out_sum(u, v, out, out)"
    assert rows[3].startswith("b = ") and rows[4:] == ["return X @ a", "return X @ b"]


def test_two_names_of_one_value_stay_two_arrays() -> None:
    one, other = plus(U, V, W), plus(U, V, W)
    code = Code((Let("a", one), Let("b", other)), (named("a", one), named("b", one)))
    rows = shown(text_of(code))
    assert rows[0].startswith("a = ") and rows[1].startswith("b = ")
    assert "b = a" not in rows


def test_names_that_are_gone_are_not_given_up() -> None:
    t = plus(U, V)
    e = of("exp", named("t", t))
    lines = (Let("t", t), Let("e", e), Release(("t",)))
    rows = shown(text_of(Code(lines, (array(MatMul(), named("e", e), W),))))
    assert rows == ["e = _e(u, v)", "return e @ w"]


def test_loops_have_kernels_of_their_own() -> None:
    row = array(Index((), (N,)), U)
    body = Let("t", times(row, of("exp", row)))
    out = variable("out", (N,), base="out")
    stored = Store(out, Index((WHOLE,), (N,)), (), "=", plus(named("t", row), V, W))
    loop = Loop("k", ZERO, M, (body, stored))
    text = text_of(Code((Let("out", array(Fill((N,), 0))), loop), (out,)))
    (kernel,) = text.kernels
    assert kernel.lines[0] == "const T t = u * exp(u);"
    assert text.lines[1].endswith(f"\n    {kernel.name}(u[...], v, w, out)")


# The text of kernels


def said(text: str, *conditions: str) -> str:
    names = {x: CText(x, condition=x in conditions) for x in "abcm"}
    speaker = Speaker(names, lambda name: device_function(name).name, hold)
    return speaker.said(ast.parse(text, mode="eval").body).text


def hold(text: CText) -> CText:
    return CText(f"<{text.text}>")


@pytest.mark.parametrize(
    ("numpy", "c"),
    [
        ("a - (b - c)", "a - (b - c)"),
        ("a * (b / c)", "a * (b / c)"),
        ("a**2 / 2", "a * a / 2"),
        ("(a + b)**2", "<a + b> * <a + b>"),
        ("a**3.5", "pow(a, T(3.5))"),
        ("a**-1", "pow(a, T(-1))"),
        ("a**0.5", "sqrt(a)"),
        ("0.5 * a", "T(0.5) * a"),
        ("1 / 3 * a", "T(1) / 3 * a"),
        ("4294967296 * a", "T(4294967296.0) * a"),
        ("np.where(a > 0, 1, 0) / 2", "(a > 0 ? T(1) : 0) / 2"),
        ("np.where(a > 0, b, 0)", "a > 0 ? b : 0"),
        ("np.maximum(a, 0)", "maximum(a, T(0))"),
        ("(a > 0) & (b < 1)", "a > 0 && b < 1"),
        ("a * (b > 0)", "a * T(b > 0)"),
        ("np.where(~m, a, b)", "!m ? a : b"),
        ("m.astype(dtype) + a", "T(m) + a"),
    ],
)
def test_numpys_text_in_c(numpy: str, c: str) -> None:
    assert said(numpy, "m") == c


@pytest.mark.parametrize(
    "numpy", ["a @ b", "np.sort(a)", "a[0]", "a & b", "d", "a % b"]
)
def test_what_is_no_text_of_one_entry_is_refused(numpy: str) -> None:
    with pytest.raises(Unsaid):
        said(numpy)


def test_helpers_that_look_at_whole_arrays_are_no_functions_of_c() -> None:
    for name in ("_log1mexp", "_finite_exp", "_norm", "_softmax"):
        with pytest.raises(Unsaid):
            device_function(name)


def test_no_name_of_a_kernel_is_a_word_of_c_or_a_function() -> None:
    text = generate(
        "tensorgen: 1\n"
        "inputs: {n: [T], i: [T], exp: [T], double: [T], sigmoid: [T]}\n"
        "functions:\n"
        "  f: {expr: 'sigmoid(n * i) + exp(exp) * double * sigmoid'}\n",
        backend="cupy",
    )
    (kernel,) = re.findall(r"ElementwiseKernel\((.*?)\)\n", text, re.DOTALL)
    assert '"T n_, T i_, T exp_2, T double_, T sigmoid_2"' in kernel


ROWS = [name for name in ELEMENTWISE if launches_of(name)]


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_functions_are_in_c_what_they_are_elsewhere(dtype: str) -> None:
    """At all sample points and extremes, of the very text that is emitted."""
    with stand_in() as cupy, np.errstate(all="ignore"):
        for name in ROWS:
            row = ELEMENTWISE[name]
            kinds = [
                "bool" if k in row.conditions else "float" for k in range(row.arity)
            ]
            given = [variable(f"x{k}", (N,), x) for k, x in enumerate(kinds)]  # type: ignore[arg-type]
            value = of(name, *given)
            result = value if value.kind == "bool" else plus(value, value, U)
            text = text_of(Code((), (result,)), results=("y",))
            if not text.kernels:
                assert launches_of(name) == 1
                continue
            kernel = text.kernels[0]
            points = np.array([*row.sample, *row.extreme], dtype)
            args = [np.roll(points, k) for k in range(row.arity)]
            args = [x > 0 if k in row.conditions else x for k, x in enumerate(args)]
            zero = np.zeros(len(points), dtype)
            want = 2 * FUNCTIONS[name](
                *(x.astype(float) if x.dtype != bool else x for x in args)
            )
            own = {f"x{k}": x for k, x in enumerate(args)} | {"u": zero}
            module = execute(source(kernel))
            order = [x.split()[1] for x in kernel.inputs]
            got = module.kernel(*(cupy.asarray(own[x]) for x in order)).get()
            assert got.dtype == dtype, name
            limits = np.finfo(dtype)
            kept = np.abs(want) < limits.max
            scale = np.maximum(np.abs(want[kept]), limits.tiny)
            # Those of single precision have as many digits as their arguments.
            error = np.abs(got[kept] - want[kept]) / scale
            most = 1e-12 if dtype == "float64" else 2e-5
            assert np.nanmax(error, initial=0) < most, (name, points, got, want)


def source(kernel: Kernel) -> str:
    rows = ["import cupy as cp"]
    rows += [f"{f.constant} = '''{f.source}'''" for f in kernel.functions]
    made = kernel.source("cp").replace(f"{kernel.name} =", "kernel =")
    return "\n".join([*rows, made])


def test_what_is_no_number_stays_none() -> None:
    nan = np.array([np.nan, 1.0, np.nan, -np.inf, np.inf])
    other = np.array([1.0, np.nan, np.nan, np.nan, 2.0])
    with stand_in() as cupy, np.errstate(all="ignore"):
        for name in ("maximum", "minimum", "sign", "logaddexp", "relu", "abs"):
            given = (U, V)[: ELEMENTWISE[name].arity]
            zero = array(Number(Fraction(1)))
            text = text_of(Code((), (plus(of(name, *given), U, zero),)))
            kernel = text.kernels[0]
            own = {"u": nan, "v": other}
            order = [x.split()[1] for x in kernel.inputs]
            got = execute(source(kernel)).kernel(*(cupy.asarray(own[x]) for x in order))
            pair = (nan, other)[: len(given)]
            want = FUNCTIONS[name](*pair) + nan + 1
            assert np.array_equal(got.get(), want, equal_nan=True), name


def test_powers_are_products() -> None:
    value = plus(array(Power(Fraction(2)), U), array(Power(Fraction(3)), plus(U, V)))
    (body,) = bodies(text_of(Code((), (value,)), results=("y",)))
    assert body == ("const T base = u + v;", "y = u * u + base * base * base;")
