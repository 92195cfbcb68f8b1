"""Distances between the rows of two matrices, and their squares, all at once.

`squared_distances(X, Y, s)[i, j] = sum_k (s[k] * (X[i, k] - Y[j, k]))**2`, and those
in a metric are `(X[i, :] - Y[j, :]) @ M @ (X[i, :] - Y[j, :])`, M definite. As products
of rows less their mean they take no table of all differences; the few that come out
small beside what they are the difference of are made of differences.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tensorgen.ir.dims import Dim
from tensorgen.ir.nodes import Node
from tensorgen.operators.table import Operator

SQUARED, PLAIN = "squared_distances", "distances"
METRIC = "metric_distances"


def _dims(args: Sequence[Node], params: Mapping[str, object]) -> tuple[Dim, ...]:
    return args[0].dims[0], args[1].dims[0]


def _row(name: str, call: str, word: str, third: str = "") -> Operator:
    subscripts = f"ik,jk{third}->ij"
    return Operator(
        name, _dims, (), call, word=word, internal=True, subscripts=subscripts
    )


ROWS = tuple(
    row
    for name, word in ((SQUARED, "sq_dists"), (PLAIN, "distances"))
    for row in (
        _row(name, f"_{name}({{0}}, {{1}})", word),
        _row(f"scaled_{name}", f"_{name}({{0}}, {{1}}, {{2}})", word, ",k"),
    )
)
ROWS += (_row(METRIC, f"_{METRIC}({{0}}, {{1}}, {{2}})", "sq_dists", ",kk"),)
NAMES = tuple(row.name for row in ROWS)

_DISTANCES = '''
def _distances(x: Array, y: Array, scale: Any = 1) -> Array:
    """Return the norms of scale * (x[i] - y[j]), also where squares leave the range."""
    {start}found = np.sqrt(_squared_distances(x, y, scale))
    safe = (found > np.finfo(x.dtype).tiny ** 0.45) & (found < np.inf)
    if x is y:
        np.fill_diagonal(safe, True)
    i, j = np.divmod(np.flatnonzero(~safe), len(y))
    step = 65536 // (x.shape[1] + 1) + 1
    for start in range(0, len(i), step):
        own, other = i[start : start + step], j[start : start + step]
        found[own, other] = _norm((x[own] - y[other]) * scale, axis=1)
    return found
'''
HELPERS = {
    "_squared_distances": '''
def _squared_distances(x: Array, y: Array, scale: Any = 1) -> Array:
    """Return the sums over k of (scale[k] * (x[i, k] - y[j, k]))**2, blocks of rows.

    Rows less their mean are multiplied. What is small relative to the squares that it
    is computed from comes from differences, and all do for two or three columns.
    """
    found = np.empty((len(x), len(y)), dtype=x.dtype)
    width, step = x.shape[1], 32768 // (len(y) + 1) + 1
    if width < 4:
        for start in range(0, len(x), step):
            part, own = found[start : start + step], x[start : start + step]
            part[:] = 0
            for k in range(width):
                factor = scale[k] if np.ndim(scale) else scale
                difference = factor * (own[:, k, None] - y[:, k])
                part += difference * difference
        return found
    mean = x.sum(axis=0) / max(len(x), 1)
    a = (x - mean) * scale
    b = a if x is y else (y - mean) * scale
    squares = (a * a).sum(axis=1)
    others = squares if x is y else (b * b).sum(axis=1)
    left = np.empty((len(x), width + 2), dtype=x.dtype)
    left[:, :width], left[:, width], left[:, width + 1] = a, squares, 1
    right = np.empty((width + 2, len(y)), dtype=x.dtype)
    right[:width], right[width], right[width + 1] = b.T, 1, others
    right[:width] *= -2
    least = np.finfo(x.dtype).eps ** 0.2
    small, others_small = least * squares[:, None], least * others
    for start in range(0, len(x), step):
        rows = slice(start, start + step)
        part, own = found[rows], x[rows]
        np.matmul(left[rows], right, out=part)
        if x is y:  # distances to themselves are known, and no small ones
            part.reshape(-1)[start :: len(y) + 1] = np.inf
        large = part >= small[rows] + others_small
        if not large.all():
            i, j = np.divmod(np.flatnonzero(~large), len(y))
            part[i, j] = (((own[i] - y[j]) * scale) ** 2).sum(axis=1)
        if x is y:
            same = ((own - own) * scale) ** 2
            part.reshape(-1)[start :: len(y) + 1] = same.sum(axis=1)
    return found
''',
    "_metric_distances": '''
def _metric_distances(x: Array, y: Array, metric: Array) -> Array:
    """Return (x[i] - y[j]) @ metric @ (x[i] - y[j]) for a definite metric.

    Rows less their mean are multiplied. What is small relative to the squares that it
    is computed from comes from differences.
    """
    mean = x.sum(axis=0) / max(len(x), 1)
    a, b = x - mean, y - mean
    left, right = a @ metric, b @ metric
    squares, others = (left * a).sum(axis=1)[:, None], (right * b).sum(axis=1)
    found = left @ (-2 * b.T)
    found += squares
    found += others
    i, j = np.nonzero(~(found >= (squares + others) / 32))
    step = 65536 // (x.shape[1] + 1) + 1
    for start in range(0, len(i), step):
        own, other = i[start : start + step], j[start : start + step]
        difference = x[own] - y[other]
        found[own, other] = ((difference @ metric) * difference).sum(axis=1)
    return found
''',
    "_distances": _DISTANCES.format(
        start="""with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        """
    ),
}
CUPY_DISTANCES = _DISTANCES.format(start="")
