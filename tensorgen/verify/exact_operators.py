"""The functions of whole arrays in mpmath's numbers.

What only compares, adds and multiplies is that of the reference itself: NumPy does so
with numbers of any kind.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from tensorgen.operators.references.places import PLACES
from tensorgen.operators.references.walks import WALKS
from tensorgen.operators.references.whole_arrays import OPERATORS
from tensorgen.verify.exact_functions import functions

Array = Any
Axes = tuple[int, ...]
Table = dict[str, Callable[..., Array]]

OF_ANY_NUMBERS = (
    *("spd", "symmetric", "stop_gradient", "reshape", "packed", "unpacked"),
    *("max", "min", "supremum", "lower_median", "upper_median", "median"),
    *("prod", "prod_others"),
    *("max_by_key", "min_by_key", "prod_by_key", "prod_others_by_key"),
    *PLACES,
    *WALKS,
)


@cache
def operators() -> Table:
    """Return the functions by the names of their rows."""
    return {
        **{name: OPERATORS[name] for name in OF_ANY_NUMBERS},
        **_reductions(),
        **_matrices(),
    }


def _reductions() -> Table:
    exp, log, sqrt = (functions()[name] for name in ("exp", "log", "sqrt"))

    def logsumexp(x: Array, axes: Axes) -> Array:
        return np.asarray(log(np.sum(exp(x), axis=axes)))

    def softmax(x: Array, axes: Axes) -> Array:
        weights = exp(x)
        return weights / np.sum(weights, axis=axes, keepdims=True)

    def norm(x: Array, axes: Axes) -> Array:
        return np.asarray(sqrt(np.sum(x * x, axis=axes)))

    def rnorm(x: Array, axes: Axes) -> Array:
        return functions()["inverse"](norm(x, axes))

    def unit(x: Array, axes: Axes) -> Array:
        return x * np.expand_dims(np.asarray(rnorm(x, axes)), axes)

    def running_logsumexp(z: Array, along: Axes) -> Array:
        return log(np.cumsum(exp(z), axis=along[0]))

    return {
        "logsumexp": logsumexp,
        "softmax": softmax,
        "log_softmax": lambda x, axes: log(softmax(x, axes)),
        "norm": norm,
        "rnorm": rnorm,
        "unit": unit,
        "any": lambda x, axes: np.any(x != 0, axis=axes) * 1.0,
        "running_logsumexp": running_logsumexp,
    }


def _matrices() -> Table:
    import mpmath as mp

    def log_of_det(a: Any) -> Any:
        return mp.log(abs(mp.det(a)))

    def of_eigenvalues(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
        def found(a: Any) -> Any:
            values, vectors = mp.eigsy((a + a.T) / 2)
            return vectors * mp.diag([function(x) for x in values]) * vectors.T

        return found

    def eigenvalues(a: Any) -> Any:
        return mp.matrix(sorted(mp.eigsy((a + a.T) / 2, eigvals_only=True)))

    def pinv(a: Any) -> Any:
        if a.cols > a.rows:
            return a.T * (a * a.T) ** -1
        return (a.T * a) ** -1 * a.T

    return {
        "inv": _each(lambda a: a**-1),
        "det": _each(mp.det),
        "logdet": _each(log_of_det),
        "cholesky": _each(lambda a: mp.cholesky((a + a.T) / 2)),
        "cholesky_inverse": _each(lambda a: (a * a.T) ** -1),
        "expm": _each(mp.expm),
        "sqrtm": _each(of_eigenvalues(mp.sqrt)),
        "logm": _each(of_eigenvalues(mp.log)),
        "eigvalsh": _each(eigenvalues, vectors=True),
        "svdvals": lambda a, count: _each(
            lambda one: mp.svd_r(one, compute_uv=False), vectors=True
        )(a),
        "pinv": _each(pinv),
    }


def _each(
    function: Callable[[Any], Any], vectors: bool = False
) -> Callable[[Array], Array]:
    """Return a function of each of the matrices in the last two axes."""
    import mpmath as mp

    def entries(found: Any) -> Array:
        if not isinstance(found, mp.matrix):
            return np.array(found, dtype=object)
        rows = np.array(found.tolist(), dtype=object).reshape(found.rows, found.cols)
        return rows.ravel() if vectors else rows

    def applied(a: Array) -> Array:
        a = np.asarray(a)
        flat = a.reshape(-1, *a.shape[-2:])
        made = [entries(function(mp.matrix(one.tolist()))) for one in flat]
        whole = np.stack(made) if made else np.empty(0, dtype=object)
        return whole.reshape((*a.shape[:-2], *whole.shape[1:]))

    return applied
