"""What functions mean in NumPy and SciPy, by their names in the language."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import scipy.interpolate
import scipy.linalg
import scipy.signal
import scipy.special

Array = Any

SIZES = {"m": 3, "n": 4, "k": 2}


def _even(a: Array) -> Array:
    return (a + np.swapaxes(a, -1, -2)) / 2


def _by_eigenvalues(function: Callable[[Array], Array], a: Array) -> Array:
    values, vectors = np.linalg.eigh(_even(a))
    return vectors * function(values)[..., None, :] @ np.swapaxes(vectors, -1, -2)


def _softmax(x: Array, axis: Any = None) -> Array:
    return scipy.special.softmax(x, axis=axis)


def _huber(t: Array, d: float) -> Array:
    return np.where(np.abs(t) <= d, t**2 / 2, d * (np.abs(t) - d / 2))


def _cross_entropy(z: Array, p: Array) -> Array:
    return -np.mean(np.sum(p * scipy.special.log_softmax(z, -1), -1))


def _layer_norm(x: Array, g: Array, b: Array, eps: float) -> Array:
    center = x.mean(-1, keepdims=True)
    return (x - center) / np.sqrt(x.var(-1, keepdims=True) + eps) * g + b


def _attention(q: Array, k: Array, v: Array) -> Array:
    return _softmax(q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1]), -1) @ v


def _index_put(x: Array, at: Any, v: Array) -> Array:
    found = x.copy()
    found[at] = v
    return found


def _norm(x: Array, ord: Any = None, axis: Any = None) -> Array:
    flat = x.ravel() if axis is None and ord != "nuc" else x
    axis = (0, 1) if ord == "nuc" else axis
    return np.linalg.norm(flat, ord, -1 if axis is None else axis)


# What the language calls otherwise than NumPy, or NumPy does not have.
NAMESPACE: dict[str, Any] = {
    **{name: getattr(np, name) for name in dir(np) if not name.startswith("_")},
    **SIZES,
    **{name: getattr(np, f"arc{name[1:]}") for name in ("asin", "acos", "atan")},
    **{name: getattr(np, f"arc{name[1:]}") for name in ("asinh", "acosh", "atanh")},
    "atan2": np.arctan2,
    "inv": np.linalg.inv,
    "ln": np.log,
    "det": np.linalg.det,
    "solve": np.linalg.solve,
    "logdet": lambda a: np.linalg.slogdet(a)[1],
    "cholesky": lambda a: np.linalg.cholesky(_even(a)),
    "expm": scipy.linalg.expm,
    "spd": lambda a: a,
    "symmetric": lambda a: a,
    "stop_gradient": lambda x: x,
    "tr": np.trace,
    "norm": _norm,
    "logsumexp": scipy.special.logsumexp,
    "softmax": _softmax,
    "log_softmax": scipy.special.log_softmax,
    "pow": np.power,
    "sigmoid": scipy.special.expit,
    "softplus": lambda t: np.logaddexp(0, t),
    "log_sigmoid": scipy.special.log_expit,
    "relu": lambda t: np.maximum(t, 0),
    "gelu": lambda t: t * scipy.special.ndtr(t),
    "silu": lambda t: t * scipy.special.expit(t),
    "elu": lambda t: np.where(t > 0, t, np.exp(t) - 1),
    "celu": lambda t, a: np.where(t > 0, t, a * (np.exp(t / a) - 1)),
    "selu": lambda t: 1.0507009873554805
    * np.where(t > 0, t, 1.6732632423543772 * (np.exp(t) - 1)),
    "prelu": lambda t, a: np.where(t > 0, t, a * t),
    "leaky_relu": lambda t, a: np.where(t > 0, t, a * t),
    "glu": lambda a, b: a * scipy.special.expit(b),
    "softsign": lambda t: t / (1 + np.abs(t)),
    "mish": lambda t: t * np.tanh(np.logaddexp(0, t)),
    "logit": scipy.special.logit,
    "erf": scipy.special.erf,
    "erfc": scipy.special.erfc,
    "ndtr": scipy.special.ndtr,
    "log_ndtr": scipy.special.log_ndtr,
    "ndtri": scipy.special.ndtri,
    "norm_ppf": scipy.special.ndtri,
    "log_ndtr_diff": lambda a, b: np.log(scipy.special.ndtr(a) - scipy.special.ndtr(b)),
    "log_sub_exp": lambda a, b: np.log(np.exp(a) - np.exp(b)),
    "exprel": scipy.special.exprel,
    "lrising": lambda a, n: np.log(scipy.special.poch(a, n)),
    "i0": scipy.special.i0,
    "i1": scipy.special.i1,
    "log_i0": lambda x: np.log(scipy.special.i0(x)),
    "expit": scipy.special.expit,
    "polygamma": scipy.special.polygamma,
    "trigamma": partial(scipy.special.polygamma, 1),
    "betaln": scipy.special.betaln,
    "gammainc": scipy.special.gammainc,
    "betainc": scipy.special.betainc,
    "i0e": scipy.special.i0e,
    "i1e": scipy.special.i1e,
    "lgamma": scipy.special.gammaln,
    "digamma": scipy.special.digamma,
    "xlogy": scipy.special.xlogy,
    "huber": _huber,
    "smooth_l1": lambda a, b: np.mean(_huber(a - b, 1)),
    "mse": lambda a, b: np.mean((a - b) ** 2),
    "bce": lambda p, y: -np.mean(y * np.log(p) + (1 - y) * np.log(1 - p)),
    "bce_with_logits": lambda z, y: np.mean(np.logaddexp(0, z) - y * z),
    "cross_entropy": _cross_entropy,
    "layer_norm": _layer_norm,
    "attention": _attention,
    "sqrtm": lambda a: _by_eigenvalues(np.sqrt, a),
    "logm": lambda a: _by_eigenvalues(np.log, a),
    "eigvalsh": lambda a: np.linalg.eigvalsh(_even(a)),
    "eigvecsh": lambda a: np.linalg.eigh(_even(a))[1],
    "svdvals": lambda a: np.linalg.svd(a, compute_uv=False),
    "pinv": np.linalg.pinv,
    "lstsq": lambda a, b: np.linalg.lstsq(a, b, rcond=None)[0],
    "solve_triangular": lambda a, b, lower=False: np.linalg.solve(
        (np.tril if lower else np.triu)(a), b
    ),
    "matrix_power": np.linalg.matrix_power,
    "toeplitz": scipy.linalg.toeplitz,
    "block_diag": scipy.linalg.block_diag,
    "convolve": scipy.signal.convolve,
    "correlate": partial(scipy.signal.correlate, mode="valid"),
    "spline": lambda x, xp, fp: scipy.interpolate.CubicSpline(
        xp, fp, bc_type="natural"
    )(x),
    "one_hot": lambda places: np.eye(4)[places],
    "take_along_axis": np.take_along_axis,
    "put": lambda x, at, v: _index_put(x.ravel(), at, v).reshape(x.shape),
    "index_put": _index_put,
    "centered": lambda x: x - x.mean(-1, keepdims=True),
    "row_length": lambda x: x.shape[-1],
    "similarity": lambda q, k: q @ k.T / np.sqrt(q.shape[-1]),
}
