"""Wrong arguments, arithmetic of arrays, and conditions on sizes."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from tensorgen.ir.dims import Dim
from tensorgen.ir.nodes import Map
from tensorgen.operators.functions import FUNCTIONS
from tensorgen.operators.functions.arithmetic import (
    elementwise,
    is_condition,
    matmul,
    power,
    times,
    total,
)
from tensorgen.operators.functions.array import Array, Misuse, condition, verdict
from tests.operators.bench import NUMBERS as V
from tests.operators.bench import Bench, K, M, N

WRONG: list[tuple[str, tuple[object, ...], str]] = [
    ("sum", ("X", 2), "axis 2 is outside of an array with 2 axes"),
    ("sum", ("X", (0, -2)), "an axis is given twice"),
    ("cumsum", ("X",), "'cumsum' of more than one axis needs axis="),
    ("cumsum", ("X", (0, 1)), "one axis is expected, written as a number"),
    ("norm", ("X", 3), "there is no norm of order 3"),
    ("dot", ("X", "u"), "shapes do not match in 'dot'"),
    ("vdot", ("X", "A"), "shapes do not match in 'vdot'"),
    ("cross", ("p", "u"), "shapes do not match in 'cross'"),
    ("cholesky", ("X",), "'cholesky' needs a square matrix"),
    ("expm", ("v",), "'expm' needs a square matrix"),
    ("spd", ("X",), "'spd' needs a square matrix"),
    ("symmetric", ("v",), "'symmetric' needs a square matrix"),
    ("cross", ("v", "w"), "shapes do not match in 'cross'"),
    ("matmul", ("X", "u"), "shapes do not match in 'matmul'"),
    ("matmul", ("T", "T"), "shapes do not match in 'matmul'"),
    ("matmul", ("c", "X"), "'matmul' needs an axis on both sides"),
    ("einsum", ("ij,jk", ("X",)), "the subscripts name 2 operands, 1 are given"),
    ("einsum", ("ijk", ("X",)), "'ijk' does not fit an array with 2 axes"),
    ("einsum", ("i1", ("X",)), "'i1' is not a row of letters"),
    ("einsum", ("ij->ii", ("X",)), "a label occurs twice in the result"),
    ("einsum", ("ij->k", ("X",)), "'k' occurs in the result but in no operand"),
    ("einsum", ("ii", ("X",)), "'i' is an axis of length m and of length n"),
    ("einsum", ("...i->i", ("X",)), "the result lacks the '...' of the operands"),
    ("tensordot", ("X", "Y", 1), "shapes do not match in 'tensordot'"),
    ("tensordot", ("X", "Y", 3), "these axes cannot be paired"),
    ("tensordot", ("X", "Y", ((0, 0), (0, 1))), "these axes cannot be paired"),
    ("trace", ("v",), "'trace' needs a matrix"),
    ("diagonal", ("X",), "which of m and n is shorter is not known"),
    ("diagonal", ("A", 0, 1, -1), "'diagonal' needs two different axes"),
    ("diagonal", ("F", 6), "the diagonal needs 0 <= -1"),
    ("diagonal", ("v",), "'diagonal' needs two axes; diag builds a matrix"),
    ("diag", ("T",), "'diag' needs a vector or a matrix"),
    ("tril", ("v",), "'tril' needs a matrix"),
    ("transpose", ("X", (0, 0)), "'axes' must name each of the 2 axes once"),
    ("take", ("X", "v"), "integers are expected here"),
    ("take", ("X", "label", 2), "axis 2 is outside of an array with 2 axes"),
    ("put", ("v", "label", "v"), "(n,) does not broadcast to that of the places, (m,)"),
    ("index_put", ("v", ("label", "label"), "c"), "needs from 1 to 1 index arrays"),
    ("index_put", ("A", ("label", "v"), "c"), "integers are expected here"),
    ("index_put", ("A", ("label", "order"), "c"), "shapes do not match"),
    ("inv", ("X",), "'inv' needs a square matrix"),
    ("det", ("v",), "'det' needs a square matrix"),
    ("solve", ("A", "u"), "shapes do not match in 'solve'"),
    ("arange", (Dim.of(3), Dim.of(2)), "arange needs 3 <= 2"),
    ("reshape", ("X", (M, N * 2)), "m*n entries cannot have shape (m, 2*n)"),
    ("reshape", ("X", (Dim.of(-1), K)), "m*n entries do not divide by k"),
    ("reshape", ("X", (Dim.of(-1),) * 2), "only one length can be -1"),
    ("broadcast_to", ("u", (M, N)), "shape (m,) does not broadcast to (m, n)"),
    ("squeeze", ("X", 0), "axis 0 has length m, not 1"),
    ("roll", ("X", 1), "'roll' of more than one axis needs axis="),
    ("concatenate", ((),), "'concatenate' needs at least one array"),
    ("concatenate", (("X", "v"),), "arrays with the same number of axes"),
    ("concatenate", (("X", "A"), 1), "shapes do not match in 'concatenate'"),
    ("stack", (("u", "v"),), "'stack' needs arrays of one shape"),
    ("maximum", ("u", "v"), "shapes do not match in 'maximum'"),
]


@pytest.mark.parametrize(("name", "args", "message"), WRONG)
def test_a_function_says_what_is_wrong_with_its_arguments(
    name: str, args: tuple[object, ...], message: str
) -> None:
    with pytest.raises(Misuse) as caught:
        Bench().call(name, *args)
    assert message in caught.value.message


def test_a_mismatch_names_the_arguments_and_their_shapes() -> None:
    with pytest.raises(Misuse) as caught:
        Bench().call("maximum", "u", "X")
    assert caught.value.marks == (("x", "(m,)"), ("y", "(m, n)"))


# Arithmetic


def test_sums_and_products_broadcast_positional_and_named_axes() -> None:
    bench = Bench()
    rows, v, c = bench.array("X", "i"), bench.array("v"), bench.array("c")
    added = total(bench.build, [(2, rows), (-1, v), (1, c)])
    assert added.batch == ("i",)
    np.testing.assert_allclose(bench.value(added), 2 * V["X"] - V["v"] + V["c"])
    columns = bench.array("Y", "j")
    scaled = times(bench.build, [rows, columns], 3)
    assert scaled.batch == ("i", "j")
    expected = 3 * V["X"][:, None] * V["Y"][None]
    np.testing.assert_allclose(bench.value(scaled), expected)


def test_a_product_of_stacks_aligns_leading_axes() -> None:
    bench = Bench()
    found = matmul(bench.build, bench.array("X", "i"), bench.array("B"))
    assert found.batch == ("i",)
    expected = np.einsum("in,knm->ikm", V["X"], V["B"])
    np.testing.assert_allclose(bench.value(found), expected)


def test_powers_of_rational_numbers_are_exact_and_bounded() -> None:
    build = Bench().build
    two, three = (Array(build.graph.constant(n)) for n in (2, 3))
    assert power(build, two, three).node is build.graph.constant(8)
    large = Array(build.graph.constant(10**9))
    with pytest.raises(Misuse, match="outside the range of float64"):
        power(build, two, large)
    close = Array(build.graph.constant(Fraction(10**8 + 1, 10**8)))
    assert isinstance(power(build, close, large).node, Map)


def test_conditions_are_told_from_numbers() -> None:
    bench = Bench()
    v = bench.array("v")
    below = elementwise(bench.build, "less", [v, bench.array("w")])
    assert is_condition(below.node)
    assert is_condition(FUNCTIONS["flip"].build(bench.build, x=below).node)
    assert not is_condition(v.node)
    assert not is_condition(total(bench.build, [(1, below), (1, below)]).node)


# Sizes


@pytest.mark.parametrize(
    ("size", "answer"),
    [
        (N, "always"),
        (N + K, "always"),
        (Dim(), "always"),
        (N - 1, "check"),
        (N - K, "check"),
        (Dim.of(-1), "never"),
        (-N, "never"),
        (1 - N, "check"),
    ],
)
def test_a_size_is_proved_refuted_or_checked(size: Dim, answer: str) -> None:
    assert verdict(size) == answer


def test_a_condition_reads_without_minus_signs() -> None:
    assert condition(N - K - 2) == "k + 2 <= n"
    assert condition(N * 2 - 1) == "1 <= 2*n"
    assert condition(3 - N) == "n <= 3"


def test_a_size_condition_is_noted_once() -> None:
    build = Bench().build
    build.require(1, N, "x")
    build.require(1, N, "x")
    assert [(str(c.size), c.message) for c in build.checks] == [
        ("n - 1", "x needs 1 <= n")
    ]
    with pytest.raises(Misuse, match="y needs 2 <= 1"):
        build.require(2, 1, "y")


def test_a_reshape_checks_sizes_that_it_cannot_compare() -> None:
    bench = Bench()
    bench.call("reshape", "v", (Dim.of(2), K))
    message = "an array of n entries cannot have shape (2, k)"
    assert {(str(c.size), c.message) for c in bench.build.checks} == {
        ("-2*k + n", message),
        ("2*k - n", message),
    }
    proved = Bench()
    proved.call("reshape", "T", (N * K, M))
    assert proved.build.checks == {}
