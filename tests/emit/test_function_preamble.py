"""What generated functions do with their arguments: dtypes, shapes, sizes."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
import pytest

from tensorgen.calculus.kinds import KINDS
from tensorgen.emit.function_preamble import lines, lines_behind
from tensorgen.emit.interface import Body, Function, Parameter
from tensorgen.ir.dims import Dim
from tests.emit.models import M, N, body, load, logistic_module, module

K = Dim.symbol("k")
w = np.linspace(-1, 1, 4)
X = np.linspace(0, 1, 28).reshape(7, 4)
y = np.ones(7)


@pytest.fixture(scope="module")
def logistic() -> ModuleType:
    return load(logistic_module())


def function(*parameters: Parameter, a_body: Body | None = None) -> Function:
    """Make a function that returns its first argument's double."""
    return Function(
        function="f",
        kind=KINDS["value"],
        parameters=parameters,
        wrt=(),
        dims=parameters[0].dims,
        body=a_body or body(returns=f"2 * {parameters[0].name}"),
    )


def vector(name: str, *dims: Dim | int, index: Dim | None = None) -> Parameter:
    return Parameter(name, tuple(map(Dim.of, dims)), index=index)


def called(model: Function, *args: Any) -> Any:
    return load(module(model)).f(*args)


# Dtypes


@pytest.mark.parametrize(
    ("dtypes", "expected"),
    [
        ((np.float64, np.float64, np.float64), np.float64),
        ((np.float32, np.float32, np.float32), np.float32),
        ((np.float32, np.float64, np.float32), np.float64),
        ((np.int32, np.float32, np.float32), np.float64),
        ((np.int64, np.int8, np.bool_), np.float64),
        ((np.float32, np.float32, np.bool_), np.float64),
    ],
)
def test_the_common_dtype_is_that_of_the_arrays(
    logistic: ModuleType, dtypes: tuple[Any, ...], expected: type
) -> None:
    data = [a.astype(t) for a, t in zip((w, X, y), dtypes, strict=True)]
    assert logistic.loss_grad(*data).dtype == expected
    assert logistic.loss(*data).dtype == expected


@pytest.mark.parametrize("lam", [0.5, 1, True])
def test_numbers_of_python_adapt_to_the_arrays(
    logistic: ModuleType, lam: object
) -> None:
    data = [a.astype(np.float32) for a in (w, X, y)]
    assert logistic.loss_grad(*data, lam=lam).dtype == np.float32


def test_scalars_of_numpy_count_as_arrays(logistic: ModuleType) -> None:
    data = [a.astype(np.float32) for a in (w, X, y)]
    assert logistic.loss_grad(*data, lam=np.float64(0.5)).dtype == np.float64
    assert logistic.loss_grad(*data, lam=np.array(0.5, "f4")).dtype == np.float32


def test_lists_and_nested_lists_are_taken(logistic: ModuleType) -> None:
    expected = logistic.loss(w, X, y)
    assert logistic.loss(w.tolist(), X.tolist(), [1] * 7) == expected


@pytest.mark.parametrize(
    "wrong", [w * 1j, w.astype(object), ["a"] * 4, None, w.astype("M8[s]")]
)
def test_what_is_not_real_numbers_is_a_type_error_that_names_it(
    logistic: ModuleType, wrong: object
) -> None:
    with pytest.raises(TypeError, match=r"^w: expected real numbers"):
        logistic.loss(wrong, X, y)


def test_arguments_are_not_written_to_and_results_are_new(
    logistic: ModuleType,
) -> None:
    before = [a.copy() for a in (w, X, y)]
    gradient = logistic.loss_grad(w, X, y)
    gradient[:] = 7
    for array, copy in zip((w, X, y), before, strict=True):
        assert (array == copy).all()


# Shapes


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (
            (w, X[:, :3], y),
            "X: expected shape (m, n) = (7, 4), got (7, 3); n = 4 was set by w",
        ),
        ((w, X, y[1:]), "y: expected shape (m,) = (7,), got (6,); m = 7 was set by X"),
        (
            (w, X[0], y),
            "X: expected shape (m, n) = (m, 4), got (4,); n = 4 was set by w",
        ),
        ((X, X, y), "w: expected shape (n,), got (7, 4)"),
        ((0.0, X, y), "w: expected shape (n,), got ()"),
    ],
)
def test_a_wrong_shape_is_reported_with_what_set_the_sizes(
    logistic: ModuleType, args: tuple[Any, ...], message: str
) -> None:
    with pytest.raises(ValueError) as caught:
        logistic.loss(*args)
    assert str(caught.value) == message


def test_a_scalar_takes_no_vector_of_length_one(logistic: ModuleType) -> None:
    with pytest.raises(ValueError, match=r"^lam: expected shape \(\), got \(1,\)$"):
        logistic.loss(w, X, y, lam=[0.5])


def test_a_matrix_that_should_be_square_sets_its_own_size() -> None:
    square = function(vector("A", N, N))
    assert called(square, np.eye(3)).shape == (3, 3)
    with pytest.raises(ValueError, match=r"got \(3, 4\); n = 3 was set by A$"):
        called(square, np.ones((3, 4)))


def test_a_literal_size_is_compared() -> None:
    colors = function(vector("x", N, 3), vector("y", 3))
    assert called(colors, np.ones((5, 3)), np.ones(3)).shape == (5, 3)
    with pytest.raises(ValueError, match=r"^x: expected shape \(n, 3\)"):
        called(colors, np.ones((5, 4)), np.ones(4))


@pytest.mark.parametrize("size", [(0, 4), (7, 0), (0, 0)])
def test_sizes_of_zero_are_sizes(logistic: ModuleType, size: tuple[int, int]) -> None:
    m, n = size
    gradient = logistic.loss_grad(np.ones(n), np.ones((m, n)), np.ones(m))
    assert gradient.shape == (n,)


def test_a_function_without_arguments_has_no_checks() -> None:
    model = Function("f", KINDS["value"], (), (), (), body(returns="np.float64(3)"))
    assert load(module(model)).f() == 3


def test_more_arguments_than_numpy_takes_at_once_are_fine() -> None:
    many = [vector(f"x{k}", N) for k in range(150)]
    assert called(function(*many), *([np.ones(2)] * 150)).tolist() == [2, 2]


# Affine sizes


def test_an_affine_size_is_compared_with_plain_ones() -> None:
    model = function(vector("x", N + K - 1), vector("h", K), vector("y", N))
    assert called(model, np.ones(8), np.ones(3), np.ones(6)).shape == (8,)
    message = (
        r"^x: expected shape \(k \+ n - 1,\) = \(8,\), got \(9,\); "
        r"k = 3 was set by h, n = 6 was set by y$"
    )
    with pytest.raises(ValueError, match=message):
        called(model, np.ones(9), np.ones(3), np.ones(6))


def test_an_affine_size_is_solved_for_its_one_unknown() -> None:
    model = function(
        vector("x", N + K - 1),
        vector("h", K),
        a_body=body(returns="np.full((n, k), x.sum())", dims="n k"),
    )
    assert called(model, np.ones(8), np.ones(3)).shape == (6, 3)
    with pytest.raises(ValueError, match=r"with n >= 0, got \(1,\); k = 3 was set by"):
        called(model, np.ones(1), np.ones(3))


def test_a_multiple_must_divide() -> None:
    model = function(
        vector("x", 2 * N, 3), a_body=body(returns="np.full(n, x.sum())", dims="n")
    )
    assert called(model, np.ones((8, 3))).shape == (4,)
    with pytest.raises(ValueError, match=r"^x: expected shape \(2\*n, 3\) with n >= 0"):
        called(model, np.ones((7, 3)))


def test_sizes_are_solved_for_one_after_the_other() -> None:
    model = function(
        vector("x", 3 * N + M),
        vector("z", 2 * N - 1),
        a_body=body(returns="np.full((m, n), x.sum())", dims="m n"),
    )
    assert called(model, np.ones(11), np.ones(5)).shape == (2, 3)
    with pytest.raises(ValueError, match=r"^z: "):
        called(model, np.ones(11), np.ones(4))
    with pytest.raises(ValueError, match=r"^x: .* m >= 0.* n = 3 was set by z"):
        called(model, np.ones(8), np.ones(5))


def test_a_size_that_shrinks_with_its_symbol_is_solved_for() -> None:
    model = function(
        vector("x", N - K),
        vector("z", N),
        a_body=body(returns="np.full(k, x.sum())", dims="k"),
    )
    assert called(model, np.ones(3), np.ones(5)).shape == (2,)
    with pytest.raises(ValueError, match=r"^x: "):
        called(model, np.ones(7), np.ones(5))


def test_sizes_with_two_unknowns_are_left_alone() -> None:
    model = function(vector("x", N + K), vector("z", N + K))
    assert called(model, np.ones(3), np.ones(3)).shape == (3,)
    with pytest.raises(ValueError, match=r"n = 3 was set by x|k \+ n = 3 was set by x"):
        called(model, np.ones(3), np.ones(4))


def test_a_size_that_a_proof_takes_to_be_positive_is_checked() -> None:
    model = function(
        vector("x", N), a_body=Body((), ("2 * x",), dims=("n",), positive=("n",))
    )
    assert called(model, np.ones(1)).shape == (1,)
    with pytest.raises(ValueError, match=r"^n: expected a size of at least 1, got 0"):
        called(model, np.ones(0))


def test_sizes_are_bound_as_a_reader_would() -> None:
    model = function(
        vector("w", N),
        vector("X", M, N),
        vector("Y", M, K),
        a_body=body(returns="w", dims="k m n"),
    )
    assert lines(model)[1:] == ["m, n = X.shape", "k = Y.shape[1]"]


# Index arrays

RATINGS = function(
    vector("U", M, K),
    vector("row", N, index=M),
    vector("t", N),
    a_body=body(returns="t * U[row].sum(axis=1)"),
)


@pytest.mark.parametrize("dtype", [np.int8, np.int64, np.uint16])
def test_an_index_array_keeps_its_dtype(dtype: type) -> None:
    model = function(
        vector("t", N), vector("row", N, index=N), a_body=body(returns="row + 0")
    )
    result = called(model, np.ones(3), np.array([0, 2, 2], dtype))
    assert result.dtype == dtype


def test_an_index_array_does_not_set_the_common_dtype() -> None:
    U, t = np.ones((4, 2), np.float32), np.ones(3, np.float32)
    assert called(RATINGS, U, np.array([0, 1, 3]), t).dtype == np.float32


@pytest.mark.parametrize("row", [[0, 1, 4], [-1, 0, 0]])
def test_an_index_out_of_range_is_reported(row: list[int]) -> None:
    message = (
        rf"^row: expected indices from 0 to 3, got {min(row)} to {max(row)}; "
        "m = 4 was set by U$"
    )
    with pytest.raises(ValueError, match=message):
        called(RATINGS, np.ones((4, 2)), row, np.ones(3))


@pytest.mark.parametrize("row", [[0.0, 1.0, 2.0], [True, False, True]])
def test_an_index_array_holds_integers(row: list[object]) -> None:
    with pytest.raises(TypeError, match=r"^row: expected integers"):
        called(RATINGS, np.ones((4, 2)), row, np.ones(3))


def test_an_empty_index_array_is_in_range() -> None:
    empty = np.zeros(0, int)
    assert called(RATINGS, np.ones((4, 2)), empty, np.ones(0)).shape == (0,)


def test_an_index_array_shares_sizes_with_the_others() -> None:
    with pytest.raises(ValueError, match="n = 2 was set by row"):
        called(RATINGS, np.ones((4, 2)), [0, 1], np.ones(3))


def test_behind_a_check_a_size_comes_with_what_it_is_solved_for_by() -> None:
    both = vector("u", M + N - 1), vector("w", M)
    found = lines_behind(function(*both, a_body=body(returns="n", dims="n")), "_f")
    assert found[1:] == ["m = w.shape[0]", "n = u.shape[0] - m + 1"]
