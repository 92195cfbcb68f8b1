"""Distances between the rows of two matrices, and their squares, all at once.

`squared_distances(X, Y, s)[i, j] = sum_k (s[k] * (X[i, k] - Y[j, k]))**2`. As products
of rows less their mean they take no table of all differences; the few that come out
small beside what they are the difference of are made of differences.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tensorgen.ir.dims import Dim
from tensorgen.ir.nodes import Node
from tensorgen.operators.table import Operator

SQUARED, PLAIN = "squared_distances", "distances"


def _dims(args: Sequence[Node], params: Mapping[str, object]) -> tuple[Dim, ...]:
    return args[0].dims[0], args[1].dims[0]


def _row(name: str, call: str, word: str = "") -> Operator:
    return Operator(name, _dims, (), call, word=word, internal=True)


ROWS = tuple(
    row
    for name in (SQUARED, PLAIN)
    for row in (
        _row(name, f"_{name}({{0}}, {{1}})"),
        _row(f"scaled_{name}", f"_{name}({{0}}, {{1}}, {{2}})", word=name),
    )
)
NAMES = tuple(row.name for row in ROWS)

_DISTANCES = '''
def _distances(x: Array, y: Array, scale: Any = 1) -> Array:
    """Return the norms of scale * (x[i] - y[j]), also where squares leave the range."""
    {start}found = np.sqrt(_squared_distances(x, y, scale))
    safe = (found > np.finfo(x.dtype).tiny ** 0.45) & (found < np.inf)
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

    Rows less their mean are multiplied. What is small beside the squares that it comes
    from is made of differences, and all where there are two or three columns.
    """
    mean = x.sum(axis=0) / max(len(x), 1)
    a, b = (x - mean) * scale, (y - mean) * scale
    squares, others = (a * a).sum(axis=1)[:, None], (b * b).sum(axis=1)[:, None]
    left = np.concatenate((a, squares, np.ones_like(squares)), axis=1)
    right = np.concatenate((-2 * b, np.ones_like(others), others), axis=1).T
    least = np.finfo(x.dtype).eps ** 0.2
    small, others_small = least * squares, least * others[:, 0]
    found = np.empty((len(x), len(y)), dtype=x.dtype)
    step = 32768 // (len(y) + 1) + 1
    for start in range(0, len(x), step):
        rows = slice(start, start + step)
        part, own = found[rows], x[rows]
        if x.shape[1] > 3:
            np.matmul(left[rows], right, out=part)
            few = np.flatnonzero(~(part >= small[rows] + others_small))
            i, j = np.divmod(few, len(y))
            part[i, j] = (((own[i] - y[j]) * scale) ** 2).sum(axis=1)
        else:
            part[:] = 0
            for k, factor in enumerate(np.broadcast_to(scale, x.shape[1:])):
                difference = factor * (own[:, k, None] - y[:, k])
                part += difference * difference
    return found
''',
    "_distances": _DISTANCES.format(
        start="""with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        """
    ),
}
CUPY_DISTANCES = _DISTANCES.format(start="")
