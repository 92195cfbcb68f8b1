"""Formulas that MatrixCalculus.org, GENO and papers publish, and what they compute.

Each row is a text in its notation, and its value in NumPy, written by hand over the
arrays by name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np

Value = Callable[[Any], Any]
norm = np.linalg.norm
inv = np.linalg.inv
det = np.linalg.det


def logistic(t: Any) -> Any:
    """Return log(1 + exp(t))."""
    return np.log(1 + np.exp(t))


MATRIXCALCULUS: Mapping[str, tuple[str, Value]] = {
    "front page": (
        "x'*A*x + c*sin(y)'*x",
        lambda g: g.x @ g.A @ g.x + g.c * np.sin(g.y) @ g.x,
    ),
    "quadratic": ("0.5*x'*A*x", lambda g: g.x @ g.A @ g.x / 2),
    "symmetric": (
        "x'*A*x + b*sum(x)\nwhere A is a symmetric matrix",
        lambda g: g.x @ g.A @ g.x + g.b * g.x.sum(),
    ),
    "map": ("A*exp(x)", lambda g: g.A @ np.exp(g.x)),
    "three vectors": ("(y.*v)'*x", lambda g: (g.y * g.v) @ g.x),
    "least squares": ("norm2(A*x-y)^2", lambda g: norm(g.A @ g.x - g.y) ** 2),
    "deviations": ("norm1(A*x-y)", lambda g: abs(g.A @ g.x - g.y).sum()),
    "trace": (
        "tr(A*X'*B*X*C)",
        lambda g: np.trace(g.A @ g.X.T @ g.B @ g.X @ g.C),
    ),
    "log-determinant": ("log(det(inv(X)))", lambda g: -np.log(det(g.X))),
    "logistic": (
        "0.5*w'*w + c*sum(log(exp(-y.*(X*w)) + vector(1)))",
        lambda g: g.w @ g.w / 2 + g.c * logistic(-g.y * (g.X @ g.w)).sum(),
    ),
    "ridge": (
        "norm2(X*w - y)^2 + c*norm2(w)^2\nwrt w",
        lambda g: norm(g.X @ g.w - g.y) ** 2 + g.c * g.w @ g.w,
    ),
    "smoothed lasso": (
        "norm2(X*w - y)^2/2 + a*sum((w.^2 + b*vector(1)).^0.5)\nwrt w",
        lambda g: norm(g.X @ g.w - g.y) ** 2 / 2 + g.a * np.sqrt(g.w**2 + g.b).sum(),
    ),
    "factorization": (
        "norm2(T - U*V')^2; wrt U, V",
        lambda g: norm(g.T - g.U @ g.V.T) ** 2,
    ),
    "design": (
        "logdet(X'*diag(w)*X)\nw is a vector",
        lambda g: np.linalg.slogdet(g.X.T @ np.diag(g.w) @ g.X)[1],
    ),
    "inverse": ("x'*inv(A)*x", lambda g: g.x @ inv(g.A) @ g.x),
    "shifted": (
        "y'*inv(K + s*eye)*y where s is a scalar wrt s",
        lambda g: g.y @ inv(g.K + g.s * np.eye(len(g.y))) @ g.y,
    ),
    "layer": (
        "v'*tanh(W*x + b)\nv, x, b are vectors",
        lambda g: g.v @ np.tanh(g.W @ g.x + g.b),
    ),
    "ratios": ("sum((x./y).^2)", lambda g: ((g.x / g.y) ** 2).sum()),
    "logsumexp": ("log(sum(exp(A*x)))", lambda g: np.log(np.exp(g.A @ g.x).sum())),
    "outer": ("tr(x*y'*A)", lambda g: np.trace(np.outer(g.x, g.y) @ g.A)),
    "diagonal": (
        "x'*diag(y)*x - vector(2)'*x",
        lambda g: g.x @ (g.y * g.x) - 2 * g.x.sum(),
    ),
    "square": (
        "tr(A^2) + sum(A^(-1)*x)",
        lambda g: np.trace(g.A @ g.A) + (inv(g.A) @ g.x).sum(),
    ),
    "angles": (
        "sum(arctan(x) + arcsin(x).*arccos(x))",
        lambda g: (np.arctan(g.x) + np.arcsin(g.x) * np.arccos(g.x)).sum(),
    ),
    "entropy": ("-x'*log(x)", lambda g: -g.x @ np.log(g.x)),
}

GENO: Mapping[str, tuple[str, Value]] = {
    "l1 logistic": (
        """parameters
  Matrix X
  Scalar c
  Vector y
variables
  Vector w
min
  norm1(w) + c*sum(log(exp((-y).*(X*w)) + vector(1)))""",
        lambda g: abs(g.w).sum() + g.c * logistic(-g.y * (g.X @ g.w)).sum(),
    ),
    "support vectors": (
        """parameters
  Matrix K symmetric
  Scalar c
  Vector y
variables
  Vector a
min
  0.5 * (a.*y)' * K * (a.*y) - sum(a)
st
  a >= 0
  a <= c
  y' * a == 0""",
        lambda g: (g.a * g.y) @ g.K @ (g.a * g.y) / 2 - g.a.sum(),
    ),
    "nonnegative least squares": (
        """parameters
  Matrix A
  Vector b
variables
  Vector x
min
  norm2(A*x - b)^2
st
  x >= 0""",
        lambda g: norm(g.A @ g.x - g.b) ** 2,
    ),
    "packing": (
        """parameters
  Matrix A
  Vector b
  Vector c
variables
  Vector x
max
  c'*x
st
  A*x <= b
  0 <= x <= vector(1)""",
        lambda g: g.c @ g.x,
    ),
    "nonnegative factorization": (
        """parameters
  Matrix X
variables
  Matrix U
  Matrix V
min
  norm2(X - U*V')^2
st
  U >= 0
  V >= matrix(0)""",
        lambda g: norm(g.X - g.U @ g.V.T) ** 2,
    ),
    "principal component": (
        """parameters
  Matrix X
variables
  Vector w
min
  norm2(X - X*w*w')^2
st
  w'*w == 1""",
        lambda g: norm(g.X - np.outer(g.X @ g.w, g.w)) ** 2,
    ),
    "compressed sensing": (
        """parameters
  Matrix A
  Vector b
variables
  Vector x
min
  norm1(x)
st
  A*x == b""",
        lambda g: abs(g.x).sum(),
    ),
    "elastic net": (
        """parameters
  Matrix X
  Vector y
  Scalar a1
  Scalar a2
variables
  Vector w
min
  norm2(X*w - y)^2 + a1*norm1(w) + a2*norm2(w)^2""",
        lambda g: norm(g.X @ g.w - g.y) ** 2 + g.a1 * abs(g.w).sum() + g.a2 * g.w @ g.w,
    ),
    "portfolio": (
        """parameters  # of returns, and what a variance costs
  Vector mu
  Matrix S psd
  Scalar g
variables
  Vector x
max
  mu'*x - g*x'*S*x
subject to
  sum(x) = 1
  x >= 0""",
        lambda g: g.mu @ g.x - g.g * g.x @ g.S @ g.x,
    ),
    "simplex": (
        """parameters
  Vector z
variables
  Vector x
min
  0.5*norm2(x - z)^2
st
  sum(x) == 1; x >= 0""",
        lambda g: norm(g.x - g.z) ** 2 / 2,
    ),
}

_SOFTPLUS = r"\log(1 + \exp(-y_i x_i^\top w))"
LATEX: Mapping[str, tuple[str, Value]] = {
    "logistic by rows": (
        rf"f(w) = \frac{{1}}{{2}} w^\top w + c \sum_{{i=1}}^{{m}} {_SOFTPLUS}",
        lambda g: g.w @ g.w / 2 + g.c * logistic(-g.y * (g.x @ g.w)).sum(),
    ),
    "lasso": (
        r"\tfrac{1}{2n} \lVert X\beta - y \rVert_2^2 + \lambda \lVert \beta \rVert_1,"
        r"\quad X \in \mathbb{R}^{n \times p}",
        lambda g: norm(g.X @ g.beta - g.y) ** 2 / (2 * len(g.y))
        + g.lam * abs(g.beta).sum(),
    ),
    "normal": (
        r"\frac{1}{2}\log|\Sigma| + \tfrac12 (x - \mu)^T \Sigma^{-1} (x - \mu)",
        lambda g: np.log(det(g.Sigma)) / 2
        + (g.x - g.mu) @ inv(g.Sigma) @ (g.x - g.mu) / 2,
    ),
    "mixture": (
        r"-\sum_{i=1}^{n} \log \sum_{k=1}^{K} \pi_k"
        r" \exp\left(-\frac{1}{2} \lVert x_i - \mu_k \rVert^2\right)",
        lambda g: -sum(
            np.log(
                sum(
                    p * np.exp(-(norm(x - mu) ** 2) / 2)
                    for p, mu in zip(g.pi, g.mu, strict=True)
                )
            )
            for x in g.x
        ),
    ),
    "Rosenbrock": (
        r"\sum_{i=1}^{n-1} \left[100 (x_{i+1} - x_i^2)^2 + (1 - x_i)^2\right]",
        lambda g: (100 * (g.x[1:] - g.x[:-1] ** 2) ** 2 + (1 - g.x[:-1]) ** 2).sum(),
    ),
    "ratings": (
        r"\sum_{i,j} M_{ij} \left(R_{ij} - u_i^\top v_j\right)^2" "\n% wrt u\n",
        lambda g: (g.M * (g.R - g.u @ g.v.T) ** 2).sum(),
    ),
    "softmax": (
        r"\log \sum_{j=1}^{k} e^{z_j} - \mathbf{y}^\top \mathbf{z}",
        lambda g: np.log(np.exp(g.z).sum()) - g.y @ g.z,
    ),
    "repulsion": (
        r"\sum_{i=1}^n\sum_{j=i+1}^n \frac{i}{1 + |x_i - x_j|^2}",
        lambda g: sum(
            (i + 1) / (1 + (a - b) ** 2)
            for i, a in enumerate(g.x)
            for b in g.x[i + 1 :]
        ),
    ),
    "network": (
        r"\mathcal{L}(W) = \lVert V \tanh(W x) - y \rVert_2^2"
        r" \text{ where } V \in \mathbb{R}^{p \times k}",
        lambda g: norm(g.V @ np.tanh(g.W @ g.x) - g.y) ** 2,
    ),
    "dual": (
        r"\min_{\alpha} \tfrac12 \alpha^\top K \alpha - \mathbf{1}^\top \alpha"
        r" \text{ s.t. } 0 \le \alpha \le c,\ y^\top \alpha = 0,"
        r" \alpha \in \mathbb{R}^n, K \in \mathbb{S}^n",
        lambda g: g.alpha @ g.K @ g.alpha / 2 - g.alpha.sum(),
    ),
    "hinge": (
        r"\frac{\lambda}{2} \|w\|^2 + \sum_{i=1}^m \max(0, 1 - y_i w^\top x_i)^2",
        lambda g: g.lam / 2 * g.w @ g.w
        + (np.maximum(0, 1 - g.y * (g.x @ g.w)) ** 2).sum(),
    ),
    "masked": (
        r"\begin{equation} \| M \odot (R - U V^\top) \|_F^2"
        r" + \lambda_1 \langle U, U \rangle \end{equation}",
        lambda g: norm(g.M * (g.R - g.U @ g.V.T)) ** 2 + g.lam_1 * (g.U**2).sum(),
    ),
}


def given(arrays: Mapping[str, Any]) -> SimpleNamespace:
    """Return arrays as attributes, as the rows take them."""
    return SimpleNamespace(**arrays)
