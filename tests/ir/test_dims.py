"""Dims are polynomials: arithmetic agrees with numbers, and proofs are sound."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tensorgen.ir.dims import ONE, ZERO, Dim

SYMBOLS = ("k", "m", "n")

dims = st.builds(
    Dim,
    st.lists(
        st.tuples(
            st.lists(st.sampled_from(SYMBOLS), max_size=2).map(tuple),
            st.integers(-4, 4),
        ),
        max_size=4,
    ),
)
sizes = st.fixed_dictionaries({name: st.integers(0, 7) for name in SYMBOLS})


@given(dims, dims, sizes)
def test_arithmetic_agrees_with_that_of_values(
    a: Dim, b: Dim, at: dict[str, int]
) -> None:
    x, y = a.value(at), b.value(at)
    assert (a + b).value(at) == x + y
    assert (a - b).value(at) == x - y
    assert (a * b).value(at) == x * y
    assert (-a).value(at) == -x
    assert (3 - a).value(at) == 3 - x
    assert (2 * a + 1).value(at) == 2 * x + 1


@given(dims, dims, dims)
def test_equal_polynomials_are_equal_and_hash_alike(a: Dim, b: Dim, c: Dim) -> None:
    left, right = a * (b + c), c * a + b * a
    assert left == right
    assert hash(left) == hash(right)
    assert a - a == ZERO == 0


@given(dims)
def test_a_proof_of_a_bound_holds_for_all_sizes_from_one(dim: Dim) -> None:
    values = [
        dim.value(dict(zip(SYMBOLS, at, strict=True)))
        for at in product((1, 2, 3, 9), repeat=len(SYMBOLS))
    ]
    if dim.is_nonnegative():
        assert min(values) >= 0
    if dim.is_positive():
        assert min(values) >= 1


@given(st.lists(st.integers(-5, 5), min_size=4, max_size=4))
def test_bounds_of_affine_dims_are_proved_whenever_they_hold(c: list[int]) -> None:
    dim = Dim([((), c[0]), *(((s,), x) for s, x in zip(SYMBOLS, c[1:], strict=True))])
    holds = min(c[1:]) >= 0 and sum(c) >= 0
    assert dim.is_nonnegative() == holds


@pytest.mark.parametrize(
    ("dim", "text"),
    [
        (Dim.of("n") + Dim.of("k") - 1, "k + n - 1"),
        (Dim.of("n") * Dim.of("n") - 2 * Dim.of("m"), "n*n - 2*m"),
        (-Dim.of("n") + 1, "-n + 1"),
        (ZERO, "0"),
        (ONE, "1"),
        (Dim.of(-3), "-3"),
    ],
)
def test_a_dim_prints_highest_degree_first(dim: Dim, text: str) -> None:
    assert str(dim) == text


@given(dims, sizes)
def test_a_printed_dim_reads_back_as_its_value(dim: Dim, at: dict[str, int]) -> None:
    assert eval(str(dim), {}, at) == dim.value(at)


@given(dims)
def test_a_constant_is_what_has_no_symbols(dim: Dim) -> None:
    assert (dim.constant is None) == bool(dim.symbols)
    if dim.constant is not None:
        assert dim == dim.constant


@given(dims, st.lists(dims, max_size=2), sizes)
def test_what_is_proved_beside_sizes_holds_wherever_these_are_positive(
    a: Dim, beside: list[Dim], at: dict[str, int]
) -> None:
    if a.is_nonnegative_beside(beside) and all(x.value(at) >= 1 for x in beside):
        assert a.value(at) >= 0


def test_a_symbol_may_be_zero_unless_a_size_says_otherwise() -> None:
    n, k = Dim.of("n"), Dim.of("k")
    assert (n - 1).is_nonnegative() and not (n - 1).is_nonnegative_beside([])
    assert not (n - 1).is_nonnegative_beside([n + 1, k])
    assert (n - 1).is_nonnegative_beside([n * k - k])
