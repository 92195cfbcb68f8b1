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
    Operator(NAME, _dims, (), "_squared_distances({0}, {1})", spare=2, internal=True),
    Operator(
        f"scaled_{NAME}",
        _dims,
        (),
        "_squared_distances({0}, {1}, {2})",
        spare=2,
        word=NAME,
        internal=True,
    ),
)
NAMES = tuple(row.name for row in ROWS)

HELPERS = {
    "_squared_distances": '''
def _squared_distances(x: Array, y: Array, scale: Any = 1) -> Array:
    """Return the sums over k of (scale[k] * (x[i, k] - y[j, k]))**2.

    Rows less their mean are multiplied; what is small beside the squares that it comes
    from, or comes from few of them, is made of differences.
    """
    if x.size * len(y) < 4096 or x.shape[1] < 4:
        found = np.zeros((len(x), len(y)), dtype=x.dtype)
        scales = np.broadcast_to(scale, x.shape[1:])
        for one, other, factor in zip(x.T, y.T, scales, strict=True):
            difference = factor * (one[:, None] - other)
            difference *= difference
            found += difference
        return found
    mean = x.mean(axis=0)
    a, b = (x - mean) * scale, (y - mean) * scale
    squares = (a * a).sum(axis=1)[:, None] + (b * b).sum(axis=1)
    found = a @ (-2 * b).T
    found += squares
    squares *= np.finfo(x.dtype).eps ** 0.2
    small = np.nonzero(~(found >= squares))
    step = 2**16 // x.shape[1] + 1
    for start in range(0, len(small[0]), step):
        i, j = small[0][start : start + step], small[1][start : start + step]
        found[i, j] = (((x[i] - y[j]) * scale) ** 2).sum(axis=1)
    return found
''',
}
