"""What eigenvalues and functions of matrices mean, written apart from the emission.

Complex arguments are taken to first order, or by iterations that no conjugate enters.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tensorgen.operators.references import Array
from tensorgen.operators.references.complex_parts import is_complex, join


def _turned(a: Array) -> Array:
    return np.swapaxes(a, -1, -2)


def _even(a: Array) -> Array:
    return (a + _turned(a)) / 2


def eigvalsh(a: Array) -> Array:
    """Return the eigenvalues of symmetric matrices, the smallest first."""
    values, vectors = np.linalg.eigh(np.real(a))
    if not is_complex(a):
        return values
    slopes = _turned(vectors) @ np.imag(a) @ vectors
    return join(values, np.diagonal(slopes, axis1=-2, axis2=-1))


def eigvecsh(a: Array) -> Array:
    """Return the eigenvectors of symmetric matrices, as columns."""
    values, vectors = np.linalg.eigh(np.real(a))
    if not is_complex(a):
        return vectors
    gaps = values[..., None, :] - values[..., :, None]
    gaps = np.where(gaps == 0, np.inf, gaps)
    slopes = _turned(vectors) @ _even(np.imag(a)) @ vectors
    return join(vectors, vectors @ (slopes / gaps))


def svdvals(a: Array, count: int) -> Array:
    """Return the singular values of matrices, the largest first."""
    u, values, v = np.linalg.svd(np.real(a), full_matrices=False)
    if not is_complex(a):
        return values
    slopes = _turned(u) @ np.imag(a) @ _turned(v)
    return join(values, np.diagonal(slopes, axis1=-2, axis2=-1))


def pinv(a: Array) -> Array:
    """Return the pseudo-inverses of matrices of full rank."""
    if not is_complex(a):
        return np.linalg.pinv(a)
    if a.shape[-1] > a.shape[-2]:
        return _turned(a) @ np.linalg.inv(a @ _turned(a))
    return np.linalg.inv(_turned(a) @ a) @ _turned(a)


def sqrtm(a: Array) -> Array:
    """Return the square roots of positive definite matrices (Denman and Beavers)."""
    root, inverse = a, np.broadcast_to(np.eye(a.shape[-1]), a.shape)
    for _ in range(30):
        other = (root + np.linalg.inv(inverse)) / 2
        root, inverse = other, (inverse + np.linalg.inv(root)) / 2
    return root


def logm(a: Array) -> Array:
    """Return the logarithms of positive definite matrices, of roots of them."""
    one, times = np.eye(a.shape[-1]), 6
    for _ in range(times):
        a = sqrtm(a)
    part = (a - one) @ np.linalg.inv(a + one)
    square, power, total = part @ part, part, part
    for k in range(3, 41, 2):
        power = power @ square
        total = total + power / k
    return total * 2 ** (times + 1)


def _solved(columns: Array, x: Array) -> Array:
    """Return y where a linear map, by its values at unit matrices, gives x."""
    n = x.shape[-1]
    matrix = _turned(columns.reshape(*columns.shape[:-4], n * n, n * n))
    right = x.reshape(*x.shape[:-2], n * n, 1)
    return np.linalg.solve(matrix, right).reshape(x.shape)


def _units(n: int) -> Array:
    return np.eye(n * n).reshape(n, n, n, n)


def lyapunov(s: Array, x: Array) -> Array:
    """Return the y with s @ y + y @ s = x."""
    one, units = s[..., None, None, :, :], _units(s.shape[-1])
    return _solved(one @ units + units @ one, x)


def log_slope(value: Array, x: Array) -> Array:
    """Return the derivative of the logarithm along x, where it is `value`."""
    import scipy.linalg

    n = value.shape[-1]
    one = np.broadcast_to(value[..., None, None, :, :], (*value.shape[:-2], n, n, n, n))
    units = np.broadcast_to(_units(n), one.shape)
    upper = np.concatenate([one, units], -1)
    lower = np.concatenate([0 * one, one], -1)
    whole = scipy.linalg.expm(np.concatenate([upper, lower], -2))
    return _solved(whole[..., :n, n:], x)


OPERATORS: dict[str, Callable[..., Array]] = {
    "eigvalsh": eigvalsh,
    "eigvecsh": eigvecsh,
    "svdvals": svdvals,
    "pinv": pinv,
    "sqrtm": sqrtm,
    "logm": logm,
    "lyapunov": lyapunov,
    "log_slope": log_slope,
}
"""The references by name."""
