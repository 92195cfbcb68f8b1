"""Sums of Kronecker products of two matrices for each part of x."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
import pytest

import tensorgen
from tests.emit.pieces import load
from tests.emit.solving import DTYPES, PIECES, RNG, check, hessian, refused, symmetric


@pytest.fixture(scope="module")
def ways() -> ModuleType:
    return load(*PIECES)


def definite(side: int, sign: float = 1.0) -> Any:
    root = RNG.normal(size=(side, side))
    return sign * (root @ root.T + 0.5 * np.eye(side))


def factorized(
    ways: ModuleType,
    parts: Any,
    terms: Any,
    shape: tuple[int, ...],
    shift: float = 0.0,
) -> tuple[Any, Any]:
    """How to make a factorization, and the matrix."""
    acted = [a for *_, axes in parts for a in axes]
    rest = [a for a in range(len(shape)) if a not in acted]
    sides = [len(first) for first, *_ in parts]
    product: Any = 0
    for weight, chosen in terms:
        summand = np.full((1, 1), float(weight))
        for side, part, k in zip(sides, parts, chosen, strict=True):
            summand = np.kron(summand, np.eye(side) if part[k] is None else part[k])
        product = product + summand
    product = np.kron(product, np.eye(int(np.prod([shape[a] for a in rest]))))
    places = np.arange(len(product)).reshape(shape).transpose(acted + rest).ravel()
    H = np.zeros_like(product)
    H[np.ix_(places, places)] = product
    dtype = parts[0][0].dtype
    H = H.astype(dtype)

    def make() -> Any:
        return ways._PencilFactorization(hessian(H, shape), shift, parts, terms)

    return make, (H + shift * np.eye(len(H))).astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(4, 3), (1, 5), (0, 3), (2, 4, 3)])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_two_matrices_a_part_have_common_vectors(
    ways: ModuleType, shape: Any, sign: float, dtype: Any
) -> None:
    m, n = shape[:2]
    # Of the first pair the second matrix is definite, of the second pair the first.
    first = (symmetric(m, m).astype(dtype), definite(m, sign).astype(dtype), (0,))
    second = (definite(n).astype(dtype), symmetric(n, n).astype(dtype), (1,))
    terms = ((1, (0, 0)), (-2 / 3, (1, 1)))
    make, H = factorized(ways, (first, second), terms, shape)
    assert make()._whole is None or not H.size
    check(make, H, shape)


@pytest.mark.parametrize("terms", [((1, (0, 0)), (2, (1, 1))), ((1, (0, 1)),) * 2])
def test_the_identity_may_be_one_of_a_pair(ways: ModuleType, terms: Any) -> None:
    parts = ((definite(4), definite(4), (1,)), (definite(3), None, (0,)))
    make, H = factorized(ways, parts, terms, (3, 4))
    assert make()._whole is None
    check(make, H, (3, 4))


@pytest.mark.parametrize("shift", [0.7, -0.3])
def test_a_shift_takes_the_dense_matrix(ways: ModuleType, shift: float) -> None:
    parts = ((definite(4), definite(4), (0,)), (definite(3), definite(3), (1,)))
    terms = ((1, (0, 0)), (1, (1, 1)))
    make, H = factorized(ways, parts, terms, (4, 3), shift)
    check(make, H, (4, 3))


def test_indefinite_pairs_take_the_dense_matrix(ways: ModuleType) -> None:
    indefinite = np.diag([1.0, -2.0, 3.0])
    parts = (
        (indefinite, indefinite[::-1, ::-1].copy(), (0,)),
        (definite(2), definite(2), (1,)),
    )
    make, H = factorized(ways, parts, ((1, (0, 0)), (1, (1, 1))), (3, 2))
    assert make()._whole is not None
    check(make, H, (3, 2))


def test_a_singular_sum_is_refused(ways: ModuleType) -> None:
    A, B = definite(3), definite(2)
    parts = ((A, 2 * A, (0,)), (B, B / 2, (1,)))
    make, _ = factorized(ways, parts, ((1, (0, 0)), (-1, (1, 1))), (3, 2))
    assert refused(make)


def test_nearly_singular_metrics_lose_no_digits(ways: ModuleType) -> None:
    # Neither of a pair is regular, but their sum is.
    parts = (
        (np.diag([1.0, 1e-15]), np.diag([1e-15, 1.0]), (0,)),
        (definite(2), definite(2), (1,)),
    )
    make, H = factorized(ways, parts, ((1, (0, 0)), (1, (1, 1))), (2, 2))
    check(make, H, (2, 2))


SPEC = """
tensorgen: 1
module: pencil
inputs: {x: [m, n], A: [m, m], B: [n, n], C: [m, m], D: [n, n]}
functions:
  two: {expr: norm(A @ x @ B)**2 + norm(C @ x @ D)**2, wrt: x, emit: [hessian]}
  three:
    expr: norm(A @ x @ B)**2 + norm(C @ x @ D)**2 + norm(x)**2
    wrt: x
    emit: [hessian]
"""


@pytest.mark.parametrize("backend", ["numpy", "cupy"])
def test_an_unlike_pair_of_products_is_solved_with(
    backend: str, request: pytest.FixtureRequest
) -> None:
    library: Any = request.getfixturevalue("cupy") if backend == "cupy" else np
    module: Any = tensorgen.load(SPEC, backend=backend)
    A, C = RNG.normal(size=(2, 40, 40))
    B, D = RNG.normal(size=(2, 30, 30))
    x, b = RNG.normal(size=(2, 40, 30))
    given = [library.asarray(a) for a in (x, A, B, C, D)]
    H = module.two_hess(*given)
    factorization = H.factorize()
    assert type(factorization).__name__ == "_PencilFactorization"
    assert factorization._whole is None
    right = library.asarray(b)
    residual = H @ factorization.solve(right) - right
    assert abs(residual).max() < 1e-8
    assert factorization.is_posdef
    # A third product has no vectors in common with two others.
    assert type(module.three_hess(*given).factorize()).__name__ == "_DenseFactorization"


def test_transposes_of_one_matrix_are_no_pair() -> None:
    text = tensorgen.generate(
        SPEC.replace("norm(A @ x @ B)**2 + norm(C @ x @ D)**2,", "trace(x.T@A@x@B),")
    )
    assert "class _PencilFactorization" not in text
