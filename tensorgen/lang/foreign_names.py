"""What is meant by names that the language does not have: found by meaning."""

from __future__ import annotations

import ast

from tensorgen.errors import Suggestion
from tensorgen.lang.foreign_signs import TRANSPOSE

_STEPS = "define it by steps under 'where': x[0] = ..., x[t + 1] = ..."
_INDICES = "index notation does it: f[i] = ... of x[i] or X[i, j]"
_READ = "entries at an index array are read by brackets: x[index]"
KEPT = (
    "how many entries are kept depends on data: declare where they are, "
    "kept: {shape: [k], index: n}, and read x[kept]; a sum takes the condition, "
    "sum(where(mask, x, 0))"
)
_PUT = "index_put(x, p, v) is x with v at x[p]; with accumulate=True v is added there"
_MEAN = (
    "gaussian_mean(f, x, S) is the mean of a polynomial in x, normal about its value"
)
_SIZE = "a dim of the spec is a number by its own name"
_ADD = "add up with a condition: sum(delta(i, index[k]) * x[k], k)"
_FOURIER = (
    "index notation does it: re[k] = sum(x[t] * cos(2*pi*k*t/n), t) and "
    "im[k] = -sum(x[t] * sin(2*pi*k*t/n), t)"
)
_INVERSE_FOURIER = (
    "index notation does it: x[t] = sum(re[k] * cos(2*pi*k*t/n) - "
    "im[k] * sin(2*pi*k*t/n), k=range(n)) / n"
)
_CALLED = """
    gammaln=lgamma psi=digamma fabs=abs swish=silu amax=max amin=min average=mean
    unsqueeze=expand_dims permute=transpose view=reshape flatten=ravel vec=ravel
    cat=concatenate mm=matmul bmm=matmul mv=matmul inner=dot rint=round
    gather_nd=take_along_axis conv1d=correlate conv2d=correlate convolve2d=convolve
    correlate2d=correlate matpow=matrix_power mpow=matrix_power matrix_exp=expm
    triangular_solve=solve_triangular normcdf=ndtr norm_cdf=ndtr Phi=ndtr
    reduce_sum=sum reduce_mean=mean reduce_max=max
    """
MEANT = {
    **{
        x: Suggestion(f"it is called {y}", y)
        for x, y in (s.split("=") for s in _CALLED.split())
    },
    **dict.fromkeys(("scan", "fori_loop", "while_loop"), _STEPS),
    "vmap": f"{_INDICES}; or inputs have a batch: x: {{shape: [n], batch: [B]}}",
    **dict.fromkeys(("map", "vectorize", "meshgrid"), _INDICES),
    **dict.fromkeys(("apply_along_axis", "fromfunction", "frompyfunc"), _INDICES),
    **dict.fromkeys(("fft", "rfft"), _FOURIER),
    **dict.fromkeys(("ifft", "irfft"), _INVERSE_FOURIER),
    **dict.fromkeys(("gather", "index_select", "embedding"), _READ),
    **dict.fromkeys(("scatter", "scatter_add", "segment_sum", "bincount"), _ADD),
    **dict.fromkeys(("masked_select", "boolean_mask", "compress", "extract"), KEPT),
    **dict.fromkeys(("nonzero", "flatnonzero", "argwhere"), KEPT),
    **dict.fromkeys(("index_add", "index_copy", "index_fill", "scatter_nd"), _PUT),
    **dict.fromkeys(("index_update", "dynamic_update_slice"), _PUT),
    "masked_fill": "it is where(mask, value, x)",
    "putmask": "it is where(mask, value, x)",
    **dict.fromkeys(("len", "size", "shape", "numel", "length"), _SIZE),
    "astype": "entries are floating-point numbers already",
    "copy": "values are never changed: a copy is the same",
    "slogdet": "logdet(A) is the logarithm of the absolute value",
    "power": "it is called pow, or x**y",
    "add": "it is written a + b",
    "subtract": "it is written a - b",
    "multiply": "it is written a * b",
    "hadamard": "it is written a * b",
    "divide": "it is written a / b",
    "negative": "it is written -a",
    "exp2": "it is written 2**x",
    "any": "it is max(condition)",
    "all": "it is min(condition)",
    "count_nonzero": "it is sum(x != 0)",
    "cond": "where(condition, x, y) takes entries of one or the other",
    "isinf": "it is written abs(x) == inf",
    "hstack": "it is concatenate([a, b]) of vectors, of matrices with axis=1",
    "vstack": "it is stack([a, b]) of vectors, and concatenate([a, b]) of matrices",
    "column_stack": "it is stack([a, b], axis=1) of vectors",
    "split": "parts are read by slices: x[:k], x[k:]",
    "block": "concatenate rows of blocks; block_diag(A, B) has zeros beside them",
    "eigh": "eigvalsh(A) are the eigenvalues, eigvecsh(A) the eigenvectors",
    "eig": "of symmetric matrices eigvalsh(A) and eigvecsh(A) are known",
    "eigvals": "of symmetric matrices eigvalsh(A) are known",
    "svd": "svdvals(A) are the singular values",
    "qr": "of A = Q @ R the factor R.T is cholesky(A.T @ A)",
    "lu": "solve(A, b) solves, logdet(A) is the determinant's logarithm",
    "argmax": "argsort(x) has the index of the largest entry last: argsort(x)[-1]",
    "argmin": "argsort(x) has the index of the smallest entry first: argsort(x)[0]",
    "quantile": "sort(x) has the entries in order, and median(x) is the middle one",
    "percentile": "sort(x) has the entries in order, and median(x) is the middle one",
    "topk": "the k largest entries are flip(sort(x))[:k]",
    "linspace": "it is a + (b - a) * arange(n) / (n - 1)",
    "swapaxes": "transpose(A, (0, 2, 1)) permutes the axes",
    "moveaxis": "transpose(A, (0, 2, 1)) permutes the axes",
    "trapz": "it is sum(diff(x) * (y[1:] + y[:-1])) / 2",
    **dict.fromkeys(("expectation", "expect", "Expectation", "E"), _MEAN),
    "cov": "it is centered(X.T) @ centered(X.T).T / n",
    "cdist": "index notation does it: D[i, j] = norm(X[i] - Y[j])",
    "pairwise_distances": "index notation does it: D[i, j] = norm(X[i] - Y[j])",
    "normalize": "it is x / norm(x)",
    "erfinv": "it is ndtri((1 + x) / 2) / sqrt(2)",
    "cummax": "define it by steps under 'where': m[0] = x[0], "
    "m[t + 1] = maximum(m[t], x[t + 1])",
}
"""Hints by what other libraries call a function."""

VALUES = {
    "end": "the last entry is x[-1], and x[1:] goes up to the end",
    "T": f"{TRANSPOSE}; a size stands in a shape, or under 'dims'",
    "newaxis": "a new axis is written None: x[:, None]",
    "nan": "what has no value is left out by a range or a condition",
    **dict.fromkeys(("Inf", "infty"), Suggestion("infinity is written inf", "inf")),
    "None": "None occurs between brackets alone, for a new axis",
}
"""Hints by what other languages call a value."""


def root(tree: ast.expr) -> str | None:
    """The first name of what has dots: np of np.linalg.norm."""
    while isinstance(tree, ast.Attribute):
        tree = tree.value
    return tree.id if isinstance(tree, ast.Name) else None
