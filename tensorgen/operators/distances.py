"""Squared distances between the rows of two matrices, all at once.

`squared_distances(X, Y, s)[i, j] = sum_k (s[k] * (X[i, k] - Y[j, k]))**2`. As products
of rows less their mean they take no table of all differences; the few that come out
small beside what they are the difference of are made of differences.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tensorgen.ir.dims import Dim
from tensorgen.ir.nodes import Node
from tensorgen.operators.table import Operator

NAME = "squared_distances"


def _dims(args: Sequence[Node], params: Mapping[str, object]) -> tuple[Dim, ...]:
    return args[0].dims[0], args[1].dims[0]


ROWS = (
    Operator(NAME, _dims, (), "_squared_distances({0}, {1})", internal=True),
    Operator(
        f"scaled_{NAME}",
        _dims,
        (),
        "_squared_distances({0}, {1}, {2})",
        word=NAME,
        internal=True,
    ),
)
NAMES = tuple(row.name for row in ROWS)

HELPERS = {
    "_squared_distances": '''
def _squared_distances(x: Array, y: Array, scale: Any = 1) -> Array:
    """Return the sums over k of (scale[k] * (x[i, k] - y[j, k]))**2, blocks of rows.

    Rows less their mean are multiplied. What is small beside the squares that it comes
    from is made of differences, and all where there are two or three columns.
    """
    mean = x.sum(axis=0) / max(len(x), 1)
    a, b = (x - mean) * scale, (y - mean) * scale
    squares, others = (a * a).sum(axis=1)[:, None], (b * b).sum(axis=1)
    least, twice = np.finfo(x.dtype).eps ** 0.2, -2 * b.T
    found = np.empty((len(x), len(y)), dtype=x.dtype)
    step = 32768 // (len(y) + 1) + 1
    for start in range(0, len(x), step):
        rows = slice(start, start + step)
        part, own = found[rows], x[rows]
        if x.shape[1] > 3:
            both = squares[rows] + others
            np.add(a[rows] @ twice, both, out=part)
            i, j = np.nonzero(~(part >= least * both))
            part[i, j] = (((own[i] - y[j]) * scale) ** 2).sum(axis=1)
        else:
            part[:] = 0
            for k, factor in enumerate(np.broadcast_to(scale, x.shape[1:])):
                difference = factor * (own[:, k, None] - y[:, k])
                part += difference * difference
    return found
''',
}
