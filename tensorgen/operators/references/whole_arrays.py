"""What the functions of whole arrays mean, written in NumPy apart from the emission.

Like the elementwise ones in `reference`, they take complex arrays too.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import numpy as np

from tensorgen.operators.matrices.capacitance import NAMES as CAPACITANCE
from tensorgen.operators.references import Array
from tensorgen.operators.references import spectral as spectral_reference
from tensorgen.operators.references.complex_parts import is_complex, join
from tensorgen.operators.references.places import PLACES
from tensorgen.operators.references.walks import WALKS

# An array or NumPy scalar, real or complex: NumPy's types know no more of arithmetic.
Axes = tuple[int, ...]


def logdet(a: Array) -> Array:
    """Return `log|det a|` over the last two axes."""
    sign, size = np.linalg.slogdet(a)
    if not is_complex(a):
        return np.asarray(size)
    return np.asarray(join(size, np.angle(sign * np.sign(sign.real))))


def _top(x: Array, axes: Axes) -> Array:
    """The largest real part along the axes, 0 where it is not finite."""
    top = np.max(x.real, axis=axes, keepdims=True, initial=-np.inf)
    return np.where(np.isfinite(top), top, 0.0)


def logsumexp(x: Array, axes: Axes) -> Array:
    """Return `log(sum(exp(x)))` along the axes."""
    top = _top(x, axes)
    total = np.sum(np.exp(x - top), axis=axes)
    return np.log(total) + np.squeeze(top, axis=axes)


def softmax(x: Array, axes: Axes) -> Array:
    """Return `exp(x) / sum(exp(x))` along the axes."""
    weights = np.exp(x - _top(x, axes))
    return weights / np.sum(weights, axis=axes, keepdims=True)


def log_softmax(x: Array, axes: Axes) -> Array:
    """Return the logarithm of the softmax."""
    shifted = x - _top(x, axes)
    return shifted - np.log(np.sum(np.exp(shifted), axis=axes, keepdims=True))


def norm(x: Array, axes: Axes) -> Array:
    """Return the Euclidean norm along the axes."""
    top = np.max(np.abs(x.real), axis=axes, keepdims=True, initial=0.0)
    scale = np.where(np.isfinite(top) & (top > 0), top, 1.0)
    root = np.sqrt(np.sum((x / scale) ** 2, axis=axes, keepdims=True))
    return np.squeeze(scale * root, axis=axes)


def rnorm(x: Array, axes: Axes) -> Array:
    """Return one over the Euclidean norm, and 0 where it is 0."""
    length = norm(x, axes)
    return np.where(length == 0, 0.0, 1 / np.where(length == 0, 1.0, length))


def unit(x: Array, axes: Axes) -> Array:
    """Return `x` over its norm, and 0 where that is 0."""
    return x * np.expand_dims(rnorm(x, axes), axes)


def any_(x: Array, axes: Axes) -> Array:
    """Return 1 where a condition holds somewhere along the axes, else 0."""
    return np.any(x != 0, axis=axes).astype(float)


def max_(x: Array, axes: Axes) -> Array:
    """Return the mean of the largest entries along the axes."""
    hit = x.real == np.max(x.real, axis=axes, keepdims=True)
    return np.sum(np.where(hit, x, 0.0), axis=axes) / np.sum(hit, axis=axes)


def supremum(x: Array, axes: Axes) -> Array:
    """Return the largest entries along the axes, -inf where there are none."""
    if all(x.shape[axis] for axis in axes):
        return max_(x, axes)
    return np.full(np.sum(x, axis=axes).shape, -np.inf, dtype=x.dtype)


def min_(x: Array, axes: Axes) -> Array:
    """Return the mean of the smallest entries along the axes."""
    return -max_(-x, axes)


def _middle(x: Array, axes: Axes, upper: bool) -> Array:
    """Return the mean of the entries that are equal to one in the middle."""
    kept = [axis for axis in range(x.ndim) if axis not in axes]
    rows = x.transpose(*kept, *axes).reshape(*(x.shape[k] for k in kept), -1)
    size = rows.shape[-1]
    place = size // 2 if upper else (size - 1) // 2
    hit = rows.real == np.sort(rows.real, axis=-1)[..., place, None]
    return np.sum(np.where(hit, rows, 0.0), axis=-1) / np.sum(hit, axis=-1)


def lower_median(x: Array, axes: Axes) -> Array:
    """Return the last entry of the lower half along the axes."""
    return _middle(x, axes, upper=False)


def upper_median(x: Array, axes: Axes) -> Array:
    """Return the first entry of the upper half along the axes."""
    return _middle(x, axes, upper=True)


def median(x: Array, axes: Axes) -> Array:
    """Return the middle entry along the axes, or the mean of both."""
    return (lower_median(x, axes) + upper_median(x, axes)) / 2


def prod(x: Array, axes: Axes) -> Array:
    """Return the product along the axes."""
    return np.asarray(np.prod(x, axis=axes))


def max_of_alike(x: Array, keys: Array, read: Array) -> Array:
    """Return the largest entries that have each key, -inf where there is none."""
    rest = np.full((1, *x.shape[1:]), -np.inf)
    return np.array([max_(np.concatenate([rest, x[keys == k]]), (0,)) for k in read])


def by_key(
    reduce: Callable[[Array, Axes], Array], start: float
) -> Callable[[Array, Array, tuple[int, ...]], Array]:
    """Return a reduction of the entries that have each key, `start` without any."""

    def reduced(x: Array, keys: Array, shape: tuple[int, ...]) -> Array:
        found = np.full(shape, start, dtype=x.dtype)
        for key in {*keys.ravel().tolist()}:
            # In arrays of objects a number has no axes.
            found[key] = np.asarray(reduce(x[keys == key], (0,)))[()]
        return found

    return reduced


def prod_others_by_key(x: Array, keys: Array, whole: Array) -> Array:
    """Return for each entry the product of the others that have its key."""
    value = np.ones_like(x)
    for key in {*keys.ravel().tolist()}:
        value[keys == key] = prod_others(x[keys == key], (0,))
    return value


def prod_others(x: Array, axes: Axes) -> Array:
    """Return for each entry the product of the others along the axes."""
    value = np.ones_like(x)
    kept = [axis for axis in range(x.ndim) if axis not in axes]
    for at, other in product(np.ndindex(x.shape), repeat=2):
        if at != other and all(at[axis] == other[axis] for axis in kept):
            value[at] *= x[other]
    return value


def packed(x: Array, axes: Axes) -> Array:
    """Return the entries whose indices along the last axes do not rise."""
    places = np.ndindex(*(x.shape[axis] for axis in axes))
    kept = [at for at in places if list(at) == sorted(at, reverse=True)]
    return np.stack([x[(..., *at)] for at in kept], axis=-1)


def unpacked(x: Array, shape: tuple[int, ...]) -> Array:
    """Return the array, symmetric in its last axes, of which `packed` has kept x."""
    own = shape[x.ndim - 1 :]
    order = [at for at in np.ndindex(own) if list(at) == sorted(at, reverse=True)]
    value = np.empty(shape, x.dtype)
    for at in np.ndindex(own):
        value[(..., *at)] = x[..., order.index(tuple(sorted(at, reverse=True)))]
    return value


def running_logsumexp(z: Array, along: Axes) -> Array:
    """Return the logarithms of the running sums of `exp(z)` along an axis."""
    sums = [
        logsumexp(part, along)
        for part in (
            np.take(z, range(k + 1), axis=along[0]) for k in range(z.shape[along[0]])
        )
    ]
    return np.stack(sums, axis=along[0]) if sums else z


def squared_distances(x: Array, y: Array, scale: Array = 1) -> Array:
    """Return the sums over k of (scale[k] * (x[i, k] - y[j, k]))**2."""
    return np.sum((scale * (x[:, None, :] - y[None, :, :])) ** 2, axis=-1)


def metric_distances(x: Array, y: Array, metric: Array) -> Array:
    """Return the products (x[i] - y[j]) @ metric @ (x[i] - y[j])."""
    difference = x[:, None, :] - y[None, :, :]
    return np.sum((difference @ metric) * difference, axis=-1)


def cholesky(a: Array) -> Array:
    """Return the lower Cholesky factor; complex arguments are not conjugated."""
    factor = np.zeros_like(a)
    for j in range(a.shape[-1]):
        rest = factor[..., j:, :j] @ factor[..., j, :j, None]
        column = a[..., j:, j] - rest[..., 0]
        factor[..., j:, j] = column / np.sqrt(column[..., :1])
    return factor


def expm(a: Array) -> Array:
    """Return the matrix exponential over the last two axes."""
    import scipy.linalg

    return np.asarray(scipy.linalg.expm(a))


def reshape(x: Array, shape: tuple[int, ...]) -> Array:
    """Return the entries in C order in another shape."""
    return np.reshape(x, shape)


OPERATORS: dict[str, Callable[..., Array]] = {
    **PLACES,
    **WALKS,
    **spectral_reference.OPERATORS,
    "cholesky": cholesky,
    "expm": expm,
    "reshape": reshape,
    "cholesky_inverse": lambda a: np.linalg.inv(a @ np.swapaxes(a, -1, -2)),
    **dict.fromkeys(CAPACITANCE, lambda small, *others: np.asarray(small)),
    "spd": np.asarray,
    "stop_gradient": np.asarray,
    "symmetric": np.asarray,
    "inv": np.linalg.inv,
    "det": np.linalg.det,
    "logdet": logdet,
    "logsumexp": logsumexp,
    "softmax": softmax,
    "log_softmax": log_softmax,
    "norm": norm,
    "unit": unit,
    "rnorm": rnorm,
    "any": any_,
    "max": max_,
    "max_of_alike": max_of_alike,
    "max_by_key": by_key(max_, -np.inf),
    "min_by_key": by_key(min_, np.inf),
    "prod_by_key": by_key(prod, 1),
    "prod_others_by_key": prod_others_by_key,
    "supremum": supremum,
    "min": min_,
    "median": median,
    "lower_median": lower_median,
    "upper_median": upper_median,
    "prod": prod,
    "prod_others": prod_others,
    "packed": packed,
    "unpacked": unpacked,
    "running_logsumexp": running_logsumexp,
    "distances": lambda x, y: np.sqrt(squared_distances(x, y)),
    "scaled_distances": lambda x, y, s: np.sqrt(squared_distances(x, y, s)),
    "squared_distances": squared_distances,
    "scaled_squared_distances": squared_distances,
    "metric_distances": metric_distances,
}
