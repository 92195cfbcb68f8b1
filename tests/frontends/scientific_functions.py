"""Functions that people minimise, over NumPy, with the decorator that reads them.

They are what SciPy's and scikit-learn's pages compute, written for this file.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.linalg import norm, slogdet, solve
from scipy.linalg import cho_solve, cholesky, solve_triangular
from scipy.special import gammaln, logsumexp, xlogy

import tensorgen
from tensorgen.frontends.decorated_function import DecoratedFunction

Array = Any
LOG_2PI = math.log(2 * np.pi)
EPSILON = 1e-12


def squared_distances(a: Array, b: Array) -> Array:
    """Return the squared distances between the rows of two matrices."""
    difference = a[:, None, :] - b[None, :, :]
    return (difference**2).sum(axis=-1)


def softplus(t: Array) -> Array:
    """Return log(1 + exp(t)) without overflow."""
    return np.maximum(t, 0) + np.log1p(np.exp(-np.abs(t)))


@tensorgen.function(x="n", wrt="x")
def rosen(x: Array) -> Array:
    """Rosenbrock's function, a chain of valleys."""
    first, second = x[:-1], x[1:]
    return np.sum(100.0 * (second - first**2.0) ** 2.0 + (1 - first) ** 2.0)


@tensorgen.function(x="2", wrt="x")
def himmelblau(x: Array) -> Array:
    """Himmelblau's function, with four minima."""
    a, b = x
    return (a**2 + b - 11) ** 2 + (a + b**2 - 7) ** 2


@tensorgen.function(x="", y="", wrt=["x", "y"])
def beale(x: Array, y: Array) -> Array:
    """Beale's function."""
    powers = np.arange(1, 4)
    targets = np.array([1.5, 2.25, 2.625])
    return np.sum((targets - x + x * y**powers) ** 2)


@tensorgen.function(x="n", wrt="x")
def ackley(x: Array, a: float = 20.0, b: float = 0.2) -> Array:
    """Ackley's function, with many local minima."""
    n = len(x)
    root = np.sqrt(np.sum(x**2) / n)
    waves = np.cos(2 * np.pi * x).mean()
    return -a * np.exp(-b * root) - np.exp(waves) + a + np.e


@tensorgen.function(w="n", X="m n", y="m", wrt="w")
def logistic_loss(w: Array, X: Array, y: Array, alpha: float = 0.1) -> Array:
    """Penalised logistic loss, for labels -1 and +1."""
    margins = y * X.dot(w)
    return softplus(-margins).sum() + 0.5 * alpha * np.dot(w, w)


@tensorgen.function(w="n", X="m n", y="m", wrt="w")
def huber_loss(
    w: Array, X: Array, y: Array, delta: float = 1.35, alpha: float = 1e-2
) -> Array:
    """Huber's loss of a linear model, mean over samples."""
    r = y - X @ w
    size = np.abs(r)
    loss = np.where(size <= delta, 0.5 * r**2, delta * (size - 0.5 * delta))
    return np.mean(loss) + alpha * np.sum(w**2)


@tensorgen.function(W="k n", X="m n", y="m int", wrt="W")
def softmax_cross_entropy(W: Array, X: Array, y: Array) -> Array:
    """Mean negative log-likelihood of classes."""
    scores = X @ W.T
    scores = scores - scores.max(axis=1, keepdims=True)
    log_total = np.log(np.exp(scores).sum(axis=1))
    return np.mean(log_total - scores[np.arange(len(y)), y])


@tensorgen.function(w="n", X="m n", counts="m positive", wrt="w")
def poisson_deviance(w: Array, X: Array, counts: Array) -> Array:
    """Half the mean Poisson deviance, with a logarithmic link."""
    eta = np.matmul(X, w)
    mu = np.exp(eta)
    deviance = 2 * (xlogy(counts, counts / mu) - counts + mu)
    return 0.5 * np.average(deviance)


@tensorgen.function(c="m", X="m n", Z="p n", wrt=["c", "X"])
def kernel_sum(c: Array, X: Array, Z: Array, gamma: float = 0.5) -> Array:
    """A weighted sum of Gaussian kernels."""
    K = np.exp(-gamma * squared_distances(X, Z))
    return c @ K.sum(axis=1)


@tensorgen.function(theta="2", X="m n", y="m", wrt="theta")
def gaussian_process(theta: Array, X: Array, y: Array, noise: float = 0.1) -> Array:
    """Negative log marginal likelihood of a Gaussian process."""
    length, scale = np.exp(theta)
    m = X.shape[0]
    K = scale * np.exp(-squared_distances(X, X) / (2 * length**2))
    K = K + noise * np.eye(m)
    L = cholesky(K, lower=True)
    alpha = cho_solve((L, True), y)
    return 0.5 * y @ alpha + np.log(np.diag(L)).sum() + 0.5 * m * LOG_2PI


@tensorgen.function(x="n", mean="n", cov="n n spd", wrt=["x", "mean"])
def normal_logpdf(x: Array, mean: Array, cov: Array) -> Array:
    """Logarithm of the density of a multivariate normal distribution."""
    dev = x - mean
    _, logdet = slogdet(cov)
    return -0.5 * (x.size * LOG_2PI + logdet + dev @ solve(cov, dev))


@tensorgen.function(z="n", q="n positive", wrt="z")
def entropy_and_divergence(z: Array, q: Array, weight: float = 0.5) -> Array:
    """Entropy of a softmax, and its divergence from another distribution."""
    p = np.exp(z - logsumexp(z))
    q = q / np.sum(q)
    entropy = -np.sum(p * np.log(p + EPSILON))
    divergence = np.sum(p * (np.log(p) - np.log(q)))
    return weight * divergence - entropy


@tensorgen.function(a="n", b="n", wrt=["a", "b"])
def cosine_similarity(a: Array, b: Array) -> Array:
    """The cosine of the angle between two vectors."""
    return np.inner(a, b) / (norm(a) * norm(b, 2))


@tensorgen.function(P="m 3", target="m m", wrt="P")
def stress(P: Array, target: Array) -> Array:
    """Raw stress of positions in space, given the distances that they should have."""
    D = np.sqrt(squared_distances(P, P) + 1e-6)
    upper = np.triu(np.ones((len(P), len(P))), k=1)
    return np.sum(upper * (D - target) ** 2)


@tensorgen.function(w="n", X="m n", y="m", wrt="w")
def ridge(
    w: Array, X: Array, y: Array, alpha: float = 1.0, fit_intercept: bool = False
) -> Array:
    """Ridge regression."""
    if fit_intercept:
        X = X - X.mean(axis=0)
        y = y - y.mean()
    residual = y - X @ w
    return np.linalg.norm(residual) ** 2 + alpha * np.linalg.norm(w, ord=2) ** 2


@tensorgen.function(w="n", X="m n", y="m", wrt="w")
def elastic_net(
    w: Array,
    X: Array,
    y: Array,
    alpha: float = 0.3,
    l1_ratio: float = 0.5,
    mu: float = 1e-2,
) -> Array:
    """The elastic net, with a smooth absolute value."""
    n_samples = len(y)
    squares = ((X @ w - y) ** 2).sum() / (2 * n_samples)
    l1 = np.sum(np.sqrt(w**2 + mu**2) - mu)
    return squares + alpha * (l1_ratio * l1 + 0.5 * (1 - l1_ratio) * np.sum(w**2))


@tensorgen.function(z="m n", wrt="z")
def mean_logsumexp(z: Array) -> Array:
    """Mean of log-sum-exp over rows, stable as one writes it by hand."""
    top = np.max(z, axis=1)
    return np.mean(top + np.log(np.sum(np.exp(z - top[:, np.newaxis]), axis=1)))


@tensorgen.function(w="n", X="m n", y="m", wrt="w")
def squared_hinge(w: Array, X: Array, y: Array, C: float = 1.0) -> Array:
    """Squared hinge loss of a support vector machine."""
    slack = np.maximum(0, 1 - y * (X @ w))
    return 0.5 * w.dot(w) + C * np.sum(slack**2)


@tensorgen.function(U="m k", V="n k", row="e int < m", col="e int < n", r="e", wrt="U")
def rating_error(
    U: Array, V: Array, row: Array, col: Array, r: Array, lam: float = 0.1
) -> Array:
    """Squared error of a factorisation at ratings that are listed."""
    predicted = np.einsum("ek,ek->e", U[row], V[col])
    return ((r - predicted) ** 2).sum() + lam * (np.sum(U**2) + np.sum(V**2))


@tensorgen.function(shape="", rate="", x="m positive", wrt=["shape", "rate"])
def gamma_likelihood(shape: Array, rate: Array, x: Array) -> Array:
    """Negative log-likelihood of gamma distributed samples."""
    n = x.shape[0]
    total = shape * np.log(rate) - gammaln(shape)
    return -(n * total + (shape - 1) * np.log(x).sum() - rate * x.sum())


@tensorgen.function(x="n", A="n n", L="n n", wrt="x")
def quadratic_form(x: Array, A: Array, L: Array) -> Array:
    """A quadratic form in coordinates that a triangular matrix gives."""
    z = solve_triangular(L, x, lower=True)
    S = 0.5 * (A + A.T)
    return z.T @ S @ z - np.trace(S) * x[0] + np.prod(1 + 0.1 * x)


@tensorgen.function(w="n", X="m n", y="m", wrt="w")
def quantile_loss(
    w: Array, X: Array, y: Array, quantile: float = 0.3, width: float = 0.5
) -> Array:
    """The pinball loss, smooth around zero."""
    r = (y - X @ w) / width
    return width * np.mean(quantile * r + np.logaddexp(0, -r))


@tensorgen.function(u="n", f="n", wrt="u")
def energy(u: Array, f: Array) -> Array:
    """Energy of a string that is fixed at both ends, on a grid."""
    h = 1 / (len(u) + 1)
    ends = np.zeros(1)
    padded = np.concatenate([ends, u, ends])
    slope = np.diff(padded) / h
    return h * (0.5 * np.sum(slope**2) + np.sum(np.cosh(u)) - f @ u)


ALL = {
    name: one
    for name, one in list(globals().items())
    if isinstance(one, DecoratedFunction)
}
"""All of them by name."""
