"""Windows: moving sums, moving products with a kernel, convolutions, a blur."""

from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.random import Generator

from by_hand.problem import Data, Problem

Array = Any
N = 20_000


def _moving(inner: str, extra: str = "") -> str:
    return f"""
tensorgen: 1
module: windows
dims: {{n: {N}}}
inputs: {{z: [n]{extra}}}
functions:
  f:
    where: |
      s[i] = {inner}
    expr: sum(s**2)/2
    wrt: z
    emit: [value, gradient]
"""


def _sequence(rng: Generator) -> Data:
    return {"z": rng.normal(size=N)}


def _with_kernel(rng: Generator) -> Data:
    return {"z": rng.normal(size=N), "w": rng.normal(size=7)}


def moving_sum(z: Array) -> tuple[Array, Array]:
    """A window of seven, correlated, and full convolution back."""
    s = np.convolve(z, np.ones(7), "valid")
    return s @ s / 2, np.convolve(s, np.ones(7), "full")


def moving_product(z: Array, w: Array) -> tuple[Array, Array]:
    """The same with weights."""
    s = np.correlate(z, w, "valid")
    return s @ s / 2, np.convolve(s, w, "full")


def centred_sum(z: Array) -> tuple[Array, Array]:
    """Of the neighbours at most three away, as many as there are."""
    s = np.convolve(z, np.ones(7), "same")
    return s @ s / 2, np.convolve(s, np.ones(7), "same")


BAND = f"""
tensorgen: 1
module: windows
dims: {{n: {N}}}
inputs: {{z: [n]}}
functions:
  f:
    where: |
      s[i] = sum(z[i + k], k=range(7))
    expr: sum(exp(s))
    wrt: z
    emit: [hessian]
"""


def band(z: Array) -> Array:
    """The diagonals from the outermost to the main one, each a moving sum."""
    e = np.exp(np.convolve(z, np.ones(7), "valid"))
    found = np.zeros((7, len(z)))
    for k in range(7):
        found[k, : len(z) - 6 + k] = np.convolve(e, np.ones(k + 1), "full")
    return found


def _diagonals(module: Any, data: Data) -> Any:
    return lambda: [*module.f_hess(**data).factors.values()]


CAUSAL = """
tensorgen: 1
module: windows
dims: {B: 8, T: 256, C: 16, F: 16}
inputs: {x: [B, T, C], W: [3, C, F], V: [B, T, F]}
functions:
  f:
    where: |
      z = concatenate([zeros(B, 2, C), x], axis=1)
      y[b, t, o] = sum(z[b, t + k, c]*W[k, c, o], k, c)
    expr: sum(V * tanh(y))
    wrt: W
    emit: [value, gradient]
"""


def _causal_data(rng: Generator) -> Data:
    return {
        "x": rng.normal(size=(8, 256, 16)),
        "W": rng.normal(size=(3, 16, 16)) / 7,
        "V": rng.normal(size=(8, 256, 16)),
    }


def causal(x: Array, W: Array, V: Array) -> tuple[Array, Array]:
    """A matrix product for each tap of the kernel."""
    T = x.shape[1]
    z = np.pad(x, ((0, 0), (2, 0), (0, 0)))
    y = z[:, :T] @ W[0] + z[:, 1 : T + 1] @ W[1] + z[:, 2:] @ W[2]
    a = np.tanh(y)
    d = (V * (1 - a * a)).reshape(-1, V.shape[2])
    taps = [z[:, k : k + T].reshape(-1, x.shape[2]).T @ d for k in range(3)]
    return np.vdot(V, a), np.stack(taps)


CHANNELS = """
tensorgen: 1
module: windows
dims: {B: 16, T: 128, C: 16, F: 32}
inputs: {x: [B, T, C], W: [5, C, F]}
functions:
  f:
    where: |
      y[b, t, o] = relu(sum(x[b, t + k, c]*W[k, c, o], k, c))
    expr: sum(y**2)
    wrt: W
    emit: [value, gradient]
"""


def _channel_data(rng: Generator) -> Data:
    return {"x": rng.normal(size=(16, 128, 16)), "W": rng.normal(size=(5, 16, 32)) / 9}


def channels(x: Array, W: Array) -> tuple[Array, Array]:
    """One product over gathered windows."""
    B, T, C = x.shape
    K, _, F = W.shape
    windows = sliding_window_view(x, K, axis=1).transpose(0, 1, 3, 2)
    columns = windows.reshape(B * (T - K + 1), K * C)
    y = np.maximum(columns @ W.reshape(K * C, F), 0)
    return np.vdot(y, y), (columns.T @ (2 * y)).reshape(W.shape)


IMAGES = """
tensorgen: 1
module: windows
dims: {B: 16, n: 32, C: 8, F: 16}
inputs: {x: [B, n, n, C], W: [3, 3, C, F]}
functions:
  f:
    where: |
      y[b, i, j, o] = relu(sum(x[b, i + k, j + l, c]*W[k, l, c, o], k, l, c))
    expr: sum(y**2)
    wrt: W
    emit: [value, gradient]
"""


def _image_data(rng: Generator) -> Data:
    return {
        "x": rng.normal(size=(16, 32, 32, 8)),
        "W": rng.normal(size=(3, 3, 8, 16)) / 9,
    }


def images(x: Array, W: Array) -> tuple[Array, Array]:
    """One product over gathered windows."""
    B, n, _, C = x.shape
    K, _, _, F = W.shape
    windows = sliding_window_view(x, (K, K), axis=(1, 2)).transpose(0, 1, 2, 4, 5, 3)
    columns = windows.reshape(B * (n - K + 1) ** 2, K * K * C)
    y = np.maximum(columns @ W.reshape(K * K * C, F), 0)
    return np.vdot(y, y), (columns.T @ (2 * y)).reshape(W.shape)


BLUR = """
tensorgen: 1
module: windows
dims: {n: 1024}
inputs: {x: [n, n], w: [5, 5], y: [n - 4, n - 4]}
functions:
  f:
    where: |
      r[i, j] = sum(w[k, l]*x[i + k, j + l], k, l) - y[i, j]
    expr: sum(r**2)/2
    wrt: x
    emit: [value, gradient]
"""


def _blur_data(rng: Generator) -> Data:
    return {
        "x": rng.normal(size=(1024, 1024)),
        "w": rng.normal(size=(5, 5)),
        "y": rng.normal(size=(1020, 1020)),
    }


def blur(x: Array, w: Array, y: Array) -> tuple[Array, Array]:
    """A loop over the taps, forwards and back, with one buffer."""
    n = y.shape[0]
    r, buffer = -y, np.empty_like(y)
    for k in range(5):
        for m in range(5):
            r += np.multiply(w[k, m], x[k : k + n, m : m + n], out=buffer)
    d = np.zeros_like(x)
    for k in range(5):
        for m in range(5):
            d[k : k + n, m : m + n] += np.multiply(w[k, m], r, out=buffer)
    return np.vdot(r, r) / 2, d


PROBLEMS = [
    Problem(
        "moving sum",
        _moving("sum(z[i + k], k=range(7))"),
        "f_value_and_grad",
        _sequence,
        moving_sum,
        jax="moving_sum",
    ),
    Problem(
        "moving sum by a condition",
        _moving("sum(z[j], j, i - 3 <= j, j <= i + 3)").replace(
            "s[i]", "s[i=range(n)]"
        ),
        "f_value_and_grad",
        _sequence,
        centred_sum,
    ),
    Problem(
        "moving sum with a kernel",
        _moving("sum(w[k]*z[i + k], k)", ", w: [7]"),
        "f_value_and_grad",
        _with_kernel,
        moving_product,
        jax="moving_product",
    ),
    Problem(
        "moving sum, Hessian",
        BAND,
        "",
        _sequence,
        lambda z: [*band(z)],
        _diagonals,
    ),
    Problem(
        "padded convolution",
        CAUSAL,
        "f_value_and_grad",
        _causal_data,
        causal,
        jax="causal",
    ),
    Problem(
        "convolution of channels",
        CHANNELS,
        "f_value_and_grad",
        _channel_data,
        channels,
        jax="channels",
    ),
    Problem(
        "convolution of images",
        IMAGES,
        "f_value_and_grad",
        _image_data,
        images,
        jax="images",
    ),
    Problem(
        "blur",
        BLUR,
        "f_value_and_grad",
        _blur_data,
        blur,
        jax="blur",
    ),
]
