"""Small arrays of numbers are lists of these."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from tensorgen.arrays.arrays import Array, array, variable
from tensorgen.arrays.code import Code
from tensorgen.arrays.list_entries import listed
from tensorgen.arrays.operations import Elementwise, Fill, Index, Multiply, Number
from tensorgen.arrays.places import At, Limit
from tensorgen.arrays.statements import Let, Release, Statement, Store
from tensorgen.arrays.written import written
from tensorgen.ir.dims import Dim
from tests.made import generate, load

VECTOR, MATRIX = (Dim.of(2),), (Dim.of(2), Dim.of(2))
a, b, c = (variable(x, ()) for x in "abc")


def zeros(dims: tuple[Dim, ...]) -> Let:
    return Let("y", array(Fill(dims, 0)))


def store(value: Array, *place: int, how: str = "=") -> Store:
    whole = variable("y", VECTOR if len(place) == 1 else MATRIX, base="y")
    parts = tuple(At(Limit(Dim.of(k))) for k in place)
    return Store(whole, Index(parts, ()), (), how, value)  # type: ignore[arg-type]


def text(*lines: Statement, dims: tuple[Dim, ...] = VECTOR, more: int = 0) -> list[str]:
    y = variable("y", dims, base="y")
    made = written(Code(lines, (y, *[y] * more)), "np")
    return [*made.lines, *(f"return {x}" for x in made.returns)]


def test_entries_of_a_vector_are_a_list() -> None:
    lines = zeros(VECTOR), store(a, 0), store(array(Elementwise("exp"), b), 1)
    assert text(*lines) == ["return np.array([a, np.exp(b)])"]
    assert text(*lines, more=1) == [
        "y = np.array([a, np.exp(b)])",
        *["return y"] * 2,
    ]
    # A number of Python's would make an array of another type.
    half = array(Number(Fraction(1, 2)))
    assert text(zeros(VECTOR), store(half, 0), store(b, 1)) == [
        "return np.array([0.5, b], dtype=dtype)"
    ]


def test_what_stands_twice_is_a_name() -> None:
    # Others may be anything: the rows of a rotation.
    turned = array(Multiply(Fraction(-1), 1), b)
    places = ((0, 0), (0, 1), (1, 0), (1, 1))
    rotation = [store(x, *at) for x, at in zip((a, turned, b, a), places, strict=True)]
    assert text(zeros(MATRIX), *rotation, dims=MATRIX) == [
        "return np.array([[a, -b], [b, a]])"
    ]


def test_entries_of_a_matrix_are_rows() -> None:
    order = ((0, 1), (0, 0), (1, 0), (1, 1))
    lines = [store(x, *at) for x, at in zip((b, a, b, c), order, strict=True)]
    assert text(zeros(MATRIX), *lines, dims=MATRIX) == [
        "return np.array([[a, b], [b, c]])"
    ]
    # What is computed once is not computed twice.
    lines[0] = store(array(Elementwise("exp"), b), 0, 1)
    lines[2] = store(array(Elementwise("exp"), b), 1, 0)
    found = text(zeros(MATRIX), *lines, dims=MATRIX)
    assert found[0].startswith("y = np.zeros") and len(found) > 4


def test_what_changes_meanwhile_is_read_before() -> None:
    x = variable("x", VECTOR, base="x")
    first = array(Index((At(Limit(Dim.of(0))),), ()), x)
    change = Store(x, Index((At(Limit(Dim.of(0))),), ()), (), "=", b)
    lines = zeros(VECTOR), store(first, 0), change, store(b, 1)
    assert listed(Code(lines, (a,))).statements == lines
    # Another name may be given up only behind the list.
    gone = zeros(VECTOR), store(first, 0), Release(("x", "z")), store(b, 1)
    found = listed(Code(gone, (a,))).statements
    assert [x for x in found if isinstance(x, Release)] == [
        *(Release(("z",)), Release(("x",))),
    ]
    assert isinstance(found[1], Let) and found[1].name == "y"


def test_what_is_added_to_each_entry_is_a_list() -> None:
    x = variable("x", VECTOR, base="x")
    begun = Let("y", array(Multiply(Fraction(2), 1), x))
    more = [store(a, 1, how="+="), store(array(Elementwise("exp"), b), 0, how="+=")]
    assert text(begun, *more) == [
        "y = 2 * x",
        "y += np.array([np.exp(b), a])",
        "return y",
    ]


def test_what_is_added_to_or_left_out_is_no_list() -> None:
    for lines in (
        (zeros(VECTOR), store(a, 0)),
        (zeros(VECTOR), store(a, 0), store(b, 1, how="+=")),
        (zeros(VECTOR), store(a, 0), store(b, 0), store(c, 1)),
    ):
        assert listed(Code(lines, (a,))).statements == lines


def test_places_stay_integers() -> None:
    begun = Let("y", array(Fill(VECTOR, 0, "int")))
    i, j = (variable(x, (), "int") for x in "ij")
    lines = begun, store(i, 0), store(j, 1)
    assert listed(Code(lines, (a,))).statements == lines


SCALES = """
tensorgen: 1
inputs: {p: [2], x: [n], y: [n]}
functions:
  f:
    expr: sum((y - exp(p[0]) * x)**2) * exp(-2 * p[1]) + 2 * n * p[1]
    wrt: p
    emit: [value, gradient]
"""


def test_a_gradient_by_parameters_has_the_type_of_these() -> None:
    assert "np.array(" in generate(SCALES).partition("def f_value_and_grad")[2]
    module = load(SCALES)
    rng = np.random.default_rng(0)
    for dtype in (np.float32, np.float64):
        p, x, y = (rng.normal(size=k).astype(dtype) for k in (2, 5, 5))
        found = module.f_grad(p, x, y)
        assert found.dtype == dtype
        residual = y - np.exp(p[0]) * x
        weight = np.exp(-2 * p[1])
        expected = [
            -2 * weight * np.exp(p[0]) * (residual @ x),
            10 - 2 * weight * (residual @ residual),
        ]
        assert np.allclose(found, expected, rtol=1e-5)
