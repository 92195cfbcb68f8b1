"""Losses of problems in `jax.numpy`; what they are differentiated by comes first."""

from typing import Any

import jax
import jax.numpy as jnp

Array = Any


def glove(
    W: Array,
    C: Array,
    bw: Array,
    bc: Array,
    row: Array,
    col: Array,
    x: Array,
    weight: Array,
) -> Array:
    """Weighted squares of a factorisation's residuals."""
    r = (W[row] * C[col]).sum(1) + bw[row] + bc[col] - x
    return jnp.sum(weight * r**2)


def distances(Y: Array, P: Array) -> Array:
    """The divergence of t-SNE."""
    q = 1 / (1 + ((Y[:, None] - Y[None]) ** 2).sum(-1))
    off = ~jnp.eye(len(Y), dtype=bool)
    Z = jnp.where(off, q, 0).sum()
    return jnp.where(off, P * jnp.log(P / (q / Z)), 0).sum()


def multinomial(W: Array, X: Array, Y: Array) -> Array:
    """Of rows that say the class by a one."""
    Z = X @ W
    return jax.nn.logsumexp(Z, axis=1).sum() - (Y * Z).sum()


def huber(b: Array, X: Array, y: Array) -> Array:
    """Squares up to 1.5, linear beyond."""
    r = X @ b - y
    a = jnp.abs(r)
    return jnp.where(a <= 1.5, r**2 / 2, 1.5 * (a - 0.75)).sum()


def inverse_gaussian(b: Array, X: Array, y: Array, phi: Array) -> Array:
    """With a logarithmic link."""
    mu = jnp.exp(X @ b)
    return (phi * (y - mu) ** 2 / (2 * mu**2 * y)).sum()


def negative_binomial(b: Array, phi: Array, X: Array, y: Array) -> Array:
    """With a logarithmic link."""
    mu, gammaln = jnp.exp(X @ b), jax.scipy.special.gammaln
    first = gammaln(phi) - gammaln(y + phi) - phi * jnp.log(phi / (phi + mu))
    return (first - y * jnp.log(mu / (phi + mu))).sum()


def sinkhorn(C: Array, a: Array, b: Array, eps: Array) -> Array:
    """Four half-steps in logarithms."""
    level = jax.nn.logsumexp
    f1 = -eps * level(-C / eps, axis=1)
    g1 = eps * jnp.log(b) - eps * level((f1[:, None] - C) / eps, axis=0)
    f2 = eps * jnp.log(a) - eps * level((g1 - C) / eps, axis=1)
    g2 = eps * jnp.log(b) - eps * level((f2[:, None] - C) / eps, axis=0)
    return (a * f2).sum() + (b * g2).sum()


def moving_sum(z: Array) -> Array:
    """Half the squares of sums of seven."""
    s = jnp.convolve(z, jnp.ones(7), "valid")
    return s @ s / 2


def moving_product(z: Array, w: Array) -> Array:
    """The same with weights."""
    s = jnp.correlate(z, w, "valid")
    return s @ s / 2


def causal(W: Array, x: Array, V: Array) -> Array:
    """A convolution that sees no later time."""
    T = x.shape[1]
    z = jnp.pad(x, ((0, 0), (2, 0), (0, 0)))
    y = sum(z[:, k : k + T] @ W[k] for k in range(3))
    return (V * jnp.tanh(y)).sum()


def channels(W: Array, x: Array) -> Array:
    """A convolution along one axis."""
    length = x.shape[1] - len(W) + 1
    y = sum(x[:, k : k + length] @ W[k] for k in range(len(W)))
    return (jax.nn.relu(y) ** 2).sum()


def images(W: Array, x: Array) -> Array:
    """A convolution along two axes."""
    names = ("NHWC", "HWIO", "NHWC")
    y = jax.lax.conv_general_dilated(x, W, (1, 1), "VALID", dimension_numbers=names)
    return (jax.nn.relu(y) ** 2).sum()


def blur(x: Array, w: Array, y: Array) -> Array:
    """The residual of a blurred image."""
    n = y.shape[0]
    taps = (w[k, m] * x[k : k + n, m : m + n] for k in range(5) for m in range(5))
    r = sum(taps) - y
    return (r**2).sum() / 2
