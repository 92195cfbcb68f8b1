"""Functions that emitted code defines for what is added up on the way."""

from __future__ import annotations


def _running(
    name: str, words: str, ufunc: str, x: str = "x", found: str = "found"
) -> tuple[str, str]:
    """What accumulates, by a library that does and by one that does not."""
    head = f"""
def _running_{name}({x}: Array, axis: int = 0) -> Array:
    \"\"\"Return the {words}"""
    return (
        f'''{head}."""
    return np.{ufunc}.accumulate({x}, axis=axis)
''',
        f'''{head}, in sweeps that double."""
    {found}, step = np.moveaxis({x}, axis, 0).copy(), 1
    while step < len({found}):
        {found}[step:] = np.{ufunc}({found}[step:], {found}[:-step])
        step *= 2
    return np.moveaxis({found}, 0, axis)
''',
    )


_MAX = _running("max", "largest entry so far", "maximum")
_MIN = _running("min", "smallest entry so far", "minimum")
_LOGSUMEXP = _running(
    "logsumexp", "logarithms of the running sums of exp(z)", "logaddexp", "z", "sums"
)

RUNNING: dict[str, str] = {
    "_running_max": _MAX[0],
    "_running_min": _MIN[0],
    "_tied_mean": '''
def _tied_mean(x: Array, top: Array, v: Array, axis: int = 0) -> Array:
    """Return for each i the mean of the v[j] with j <= i where x[j] equals top[i].

    That is the largest x so far, or the smallest. The last axes of v are those of both,
    or any where both have length 1.
    """
    rows, shape, axes = _rows_along(x, v, axis)
    ties, last, rank = _ties(x, top, axis - v.ndim)
    sums, step = rows[ties], 1
    while (rank > step).any():  # sweeps that double: none where no two are equal
        sums[step:] += np.where(rank[step:] > step, sums[:-step], 0)
        step *= 2
    means = (sums / rank.astype(v.dtype))[last]
    return np.moveaxis(means.reshape(shape), range(len(axes)), axes)
''',
    "_tied_share": '''
def _tied_share(x: Array, top: Array, w: Array, axis: int = 0) -> Array:
    """Return for each j the sum of its shares of w[i] over i >= j.

    Those x[j] that equal top[i] share w[i] equally.
    """
    rows, shape, axes = _rows_along(x, w, axis)
    ties, last, rank = _ties(x, top, axis - w.ndim)
    sums, step = _sums_by_tie(rows, ties, last) / rank.astype(w.dtype), 1
    while (rank > step).any():
        sums[:-step] += np.where(rank[step:] > step, sums[step:], 0)
        step *= 2
    shares = np.zeros_like(rows)
    shares[ties] = sums
    return np.moveaxis(shares.reshape(shape), range(len(axes)), axes)
''',
    "_rows_along": '''
def _rows_along(x: Array, v: Array, axis: int) -> tuple[Array, Any, Any]:
    """Return v with a row for each entry of x, those along an axis together.

    With its shape where the axes of x stand in front, and what axes these are.
    """
    axis -= v.ndim
    axes = [k for k in range(-x.ndim, 0) if k != axis and x.shape[k] != 1] + [axis]
    front = np.moveaxis(v, axes, range(len(axes)))
    width = math.prod(front.shape[len(axes) :])
    return front.reshape(x.size, width), front.shape, axes
''',
    "_ties": '''
def _ties(x: Array, top: Array, axis: int) -> tuple[Any, Any, Any]:
    """Return where x equals the top so far, the last of these at each entry, and ranks.

    Of those that equal a top the first has rank 1, the next 2. A NaN stays the top, and
    the first of them has it alone.
    """
    x, top = np.moveaxis(x, axis, -1), np.moveaxis(top, axis, -1)
    before, new = top[..., :-1], np.ones(top.shape, dtype=bool)
    new[..., 1:] = (top[..., 1:] != before) & ~np.isnan(before)
    equal = ((x == top) | new).reshape(-1)
    ties = np.flatnonzero(equal)
    first = new.reshape(-1)[ties]
    number = np.arange(len(ties))
    rank = number - np.flatnonzero(first)[np.cumsum(first) - 1] + 1
    return ties, np.cumsum(equal) - 1, rank.reshape(-1, 1)
''',
    "_sums_by_tie": '''
def _sums_by_tie(rows: Array, ties: Any, last: Any) -> Array:
    """Return the sum of the rows from each tie to the next."""
    return np.add.reduceat(rows, ties, axis=0)
''',
    "_filtered": '''
def _filtered(x: Array, a: Any, back: bool = False) -> Array:
    """Return y with y[t] = x[t] + a * y[t - 1], or y[t + 1], along the first axis."""
    from scipy import signal

    taps = np.array([1, -a], dtype=x.dtype)
    y = signal.lfilter(taps[:1], taps, x[::-1] if back else x, axis=0)
    return y[::-1] if back else y
''',
    "_filtered_by": '''
def _filtered_by(x: Array, a: Array, back: bool = False) -> Array:
    """Return y with y[t + 1] = x[t + 1] + a[t] * y[t], or the same from the end.

    Where rows are short and no product of the gains is far from 1, these are cumulative
    sums of what the products divide: of all steps, or of blocks of them.
    """
    if back:
        return _filtered_by(x[::-1], a[::-1])[::-1]
    y, size, done = x.copy(), 32, 0
    most = 2.0 ** (np.finfo(x.dtype).maxexp // 2)
    if len(a) >= 2 * size > x[0].size > 0 and np.abs(x).max() < most:
        gains = _products_near_one(a, 0)
        if gains is not None:
            y[1:] /= gains
            np.cumsum(y, axis=0, out=y)
            y[1:] *= gains
            return y
        blocks = a[: len(a) // size * size].reshape(-1, size, *a.shape[1:])
        gains = _products_near_one(blocks, 1)
        if gains is not None:
            done = size * len(blocks)
            sums = np.cumsum(x[1 : done + 1].reshape(blocks.shape) / gains, axis=1)
            ends = np.concatenate([x[:1], (gains * sums)[:, -1]])
            ends = _filtered_by(ends, gains[:, -1])[:-1, None]
            y[1 : done + 1] = (gains * (ends + sums)).reshape(done, *x.shape[1:])
    for t in range(done, len(a)):
        y[t + 1] += a[t] * y[t]
    return y
''',
    "_products_near_one": '''
def _products_near_one(a: Array, axis: int) -> Array | None:
    """Return products of the factors so far, None if one of them is far from 1."""
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        products = np.cumprod(a, axis=axis)
    far, most = np.abs(products), 2.0 ** (np.finfo(a.dtype).maxexp // 4)
    return products if 1 / most < far.min() and far.max() < most else None
''',
    "_running_mean": '''
def _running_mean(z: Array, level: Array, v: Array, axis: int = 0) -> Array:
    """Return for each i the sum of exp(z[j] - level[i]) * v[j] over j <= i.

    No z lies above the level there. The last axes of v are those of both, or any where
    both have length 1.
    """
    axis -= v.ndim
    middle = _middle(z, level, axis)
    if middle is None:
        level = np.maximum(level, np.finfo(level.dtype).min)
        return _decayed(level, np.exp(z - level) * v, axis)
    return np.exp(middle - level) * np.cumsum(np.exp(z - middle) * v, axis=axis)
''',
    "_decayed": '''
def _decayed(level: Array, v: Array, axis: int) -> Array:
    """Return r with r[i] = v[i] + exp(level[i - 1] - level[i]) * r[i - 1].

    Levels, which do not fall, may be anything: it takes sweeps that double, of which
    each looks at differences alone.
    """
    sums, step, tail = v.copy(), 1, (slice(None),) * (-axis - 1)
    while step < v.shape[axis]:
        early: Any = (..., slice(None, -step), *tail)
        late: Any = (..., slice(step, None), *tail)
        sums[late] += np.exp(level[early] - level[late]) * sums[early]
        step *= 2
    return sums
''',
    "_middle": '''
def _middle(low: Array, high: Array, axis: int) -> Array | None:
    """Return what all exponents are near to along an axis, None if not near enough.

    Exponentials of their differences to it can then be added up and multiplied.
    """
    if not low.size:
        return None
    least, most = low.min(axis, keepdims=True), high.max(axis, keepdims=True)
    near = most - least < np.finfo(low.dtype).maxexp / 10  # and keeps its digits
    return (least + most) / 2 if near.all() else None
''',
    "_running_share": '''
def _running_share(z: Array, level: Array, w: Array, axis: int = 0) -> Array:
    """Return for each j the sum of exp(z[j] - level[i]) * w[i] over i >= j."""
    axis -= w.ndim
    middle = _middle(z, level, axis)
    if middle is None:
        level = np.maximum(level, np.finfo(level.dtype).min)
        back = _decayed(-np.flip(level, axis), np.flip(w, axis), axis)
        return np.exp(z - level) * np.flip(back, axis)
    back = np.cumsum(np.flip(np.exp(middle - level) * w, axis), axis=axis)
    return np.exp(z - middle) * np.flip(back, axis)
''',
    "_running_logsumexp": _LOGSUMEXP[0],
}

# For libraries without `accumulate`.

RUNNING_IN_SWEEPS = {
    "_running_max": _MAX[1],
    "_running_min": _MIN[1],
    "_running_logsumexp": _LOGSUMEXP[1],
}


SUMS_BY_TIE = '''
def _sums_by_tie(rows: Array, ties: Any, last: Any) -> Array:
    """Return the sum of the rows from each tie to the next."""
    sums = np.zeros((len(ties), rows.shape[1]), dtype=rows.dtype)
    np.add.at(sums, last, rows)
    return sums
'''


FILTERED = '''
def _filtered(x: Array, a: Any, back: bool = False) -> Array:
    """Return y with y[t] = x[t] + a * y[t - 1], or y[t + 1], by sweeps of 8 terms."""
    y, step, width = x[::-1] if back else x, 1, math.prod(x.shape[1:])
    while step == 1 or step < len(y):
        y, step = _swept(y, y, a, step, width), 8 * step
    return y[::-1] if back else y
'''


WINDOWS = '''
def _windows(x: Array, shape: Any, axis: Any = None) -> Array:
    """Return a view through windows along axes, or all; window axes come last.

    `sliding_window_view` of CuPy reads the sizes of windows back from the device.
    """
    widths = shape if isinstance(shape, tuple) else (shape,)
    axes = axis if isinstance(axis, tuple) else (axis,)
    if axis is None:
        axes = tuple(range(x.ndim))
    sides = list(x.shape)
    for k, width in zip(axes, widths):
        sides[k] -= width - 1
    if min(sides) < 0:
        raise ValueError(f"windows of {widths} are larger than an array of {x.shape}")
    strides = (*x.strides, *(x.strides[k] for k in axes))
    return np.lib.stride_tricks.as_strided(x, (*sides, *widths), strides)
'''


FILTERED_BY = '''
def _filtered_by(x: Array, a: Array, back: bool = False) -> Array:
    """Return y with y[t + 1] = x[t + 1] + a[t] * y[t], or the same from the end.

    It takes sweeps of eight terms, each eight times as far apart as those before.
    """
    y, gains, step = (x[::-1], a[::-1], 1) if back else (x, a, 1)
    width = math.prod(x.shape[1:])
    while step == 1 or step < len(y):
        # The first gain is that of the second entry.
        y, gains = _swept_by(y, y, gains, step * width, width if step == 1 else 0)
        step *= 8
    return y[::-1] if back else y
'''
