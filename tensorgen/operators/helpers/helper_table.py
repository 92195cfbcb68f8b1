"""Source of the small helpers that generated modules may hold, with `np` in place.

Only those that a module uses are emitted; each is what an expert would write once
at the top of a file.
"""

from tensorgen.operators.helpers.intervals import INTERVALS
from tensorgen.operators.helpers.keys import BY_KEY
from tensorgen.operators.helpers.logistic import LOGISTIC
from tensorgen.operators.helpers.running import RUNNING
from tensorgen.operators.helpers.shares import SHARES
from tensorgen.operators.helpers.special import SPECIAL
from tensorgen.operators.helpers.spectral import SPECTRAL
from tensorgen.operators.helpers.systems import BANDED, SPARSE, TOEPLITZ
from tensorgen.operators.matrices.capacitance import HELPER as CAPACITANCE
from tensorgen.operators.matrices.distances import HELPERS as DISTANCES

HELPERS: dict[str, str] = {
    "_Sparse": SPARSE,
    "_Banded": BANDED,
    "_count": '''
def _count(**indices: Array) -> int:
    """Return one more than the largest entry; ValueError if one is negative."""
    for name, entries in indices.items():
        if entries.size and entries.min() < 0:
            raise ValueError(f"{name}: expected indices from 0, got {entries.min()}")
    return 1 + max((int(x.max()) for x in indices.values() if x.size), default=-1)
''',
    "_interval": '''
def _interval(x: Array | Scalar, knots: Array) -> Any:
    """Return which of the intervals between knots each x is in, or is nearest to."""
    return np.asarray(np.searchsorted(knots[1:-1], x, side="right"))
''',
    **BY_KEY,
    **INTERVALS,
    "_Toeplitz": TOEPLITZ,
    "_outcome": '''
def _outcome(name: str, found: Any, shape: tuple[int, ...], *given: Any) -> Array:
    """Return a copy of what a function returned, in the dtype of its arguments."""
    if not isinstance(found, (np.ndarray, np.generic, float)):
        kind = type(found).__name__
        raise TypeError(f"{name}: expected an array, got {kind}")
    array = np.asarray(found)
    if array.dtype.kind != "f":
        raise TypeError(f"{name}: expected floats, got dtype {array.dtype}")
    if array.shape != shape:
        raise ValueError(f"{name}: expected shape {shape}, got {array.shape}")
    return np.array(array, dtype=np.result_type(*given))[()]
''',
    "_sigmoid": '''
def _sigmoid(t: Array | Scalar) -> Array:
    """Return 1 / (1 + exp(-t)) without overflow or loss of digits."""
    e = np.exp(-np.abs(t))
    return np.where(t >= 0, 1, e) / (1 + e)
''',
    "_sigmoid_slope": '''
def _sigmoid_slope(t: Array | Scalar) -> Array:
    """Return sigmoid(t) * sigmoid(-t) without overflow or loss of digits."""
    e = np.exp(-np.abs(t))
    return e / (1 + e) ** 2
''',
    **LOGISTIC,
    **SHARES,
    "_sech2": '''
def _sech2(t: Array | Scalar) -> Array:
    """Return 1 - tanh(t)**2 without cancellation."""
    e = np.exp(-2 * np.abs(t))
    below = 1 + e
    below *= below
    e *= 4
    e /= below  # in place: new memory takes longer than arithmetic
    return e
''',
    "_finite": '''
def _finite(x: Array | Scalar) -> Array:
    """Return x, and 0 where it is infinite."""
    return np.where(np.isfinite(x), x, 0)
''',
    "_gap": '''
def _gap(x: Array | Scalar, y: Array | Scalar) -> Array:
    """Return x - y, and 0 where both are the same infinity."""
    alike = x == y
    return np.where(alike, 0, x) - np.where(alike, 0, y)
''',
    "_joined_exp_sums": '''
def _joined_exp_sums(total: Any, top: Any, other: Any, its_top: Any) -> Any:
    """Return two sums of exp(x - top) together, above the larger top."""
    level = _finite(np.maximum(top, its_top))
    return total * np.exp(top - level) + other * np.exp(its_top - level)
''',
    "_nonzero": '''
def _nonzero(x: Array | Scalar) -> Array:
    """Return x, and 1 where it is 0."""
    return x + (x == 0)
''',
    "_supremum": '''
def _supremum(x: Array, axis: Any = None, keepdims: bool = False) -> Any:
    """Return the largest entries along the axes, -inf where there are none."""
    return np.max(x, axis=axis, keepdims=keepdims, initial=-np.inf)
''',
    "_inverse": '''
def _inverse(x: Array | Scalar) -> Array:
    """Return 1 / x, and 0 where x is 0."""
    zero = x == 0
    return np.where(zero, 0, 1 / np.where(zero, 1, x))
''',
    "_power_slope": '''
def _power_slope(x: Array | Scalar, y: Array | Scalar) -> Array:
    """Return y * x**(y - 1), and 0 where y is 0."""
    return y * np.where(y == 0, 1, x) ** (y - 1)
''',
    "_power_curve": '''
def _power_curve(x: Array | Scalar, y: Array | Scalar) -> Array:
    """Return y * (y - 1) * x**(y - 2), and 0 where y is 0 or 1."""
    scale = y * (y - 1)
    return scale * np.where(scale == 0, 1, x) ** (y - 2)
''',
    "_xlogy": '''
def _xlogy(x: Array | Scalar, y: Array | Scalar) -> Array:
    """Return x * log(y), and 0 where x is 0."""
    return x * np.log(np.where(x == 0, 1, y))
''',
    "_log1mexp": '''
def _log1mexp(x: Array | Scalar) -> Array:
    """Return log(1 - exp(x)) for a negative x."""
    near = np.asarray(-np.expm1(x))
    np.log(near, out=near)  # in place: new memory takes longer than arithmetic
    return _replaced(near, x < -1, lambda x: np.log1p(-np.exp(x)), x)[()]
''',
    "_log_icloglog": '''
def _log_icloglog(x: Array | Scalar) -> Array:
    """Return log(1 - exp(-exp(x))), about x for a large negative one."""
    y = np.exp(np.maximum(x, -40))
    near = np.log(-np.expm1(-np.minimum(y, 1)))
    return np.where(x < -40, x, np.where(y < 1, near, np.log1p(-np.exp(-y))))
''',
    "_log_cosh": '''
def _log_cosh(x: Array | Scalar) -> Array:
    """Return log(cosh(x)) without overflow, exact near 0."""
    a = np.abs(x)
    near = np.log1p(2 * np.sinh(np.minimum(a, 1) / 2) ** 2)
    return np.where(a < 1, near, a + np.log((1 + np.exp(-2 * a)) / 2))
''',
    "_finite_exp": '''
def _finite_exp(x: Array | Scalar) -> Array:
    """Return exp(x), clipped so that its cube is finite."""
    top = np.log(np.finfo(np.asarray(x).dtype).max) / 3
    return np.exp(np.minimum(x, top))
''',
    "_large_exp": '''
def _large_exp(x: Array | Scalar) -> Array:
    """Return exp(x), and a large number where that would be infinite."""
    top = np.log(np.finfo(np.asarray(x).dtype).max) - 40
    return np.exp(np.minimum(x, top))
''',
    **SPECIAL,
    **SPECTRAL,
    "_acosh1p": '''
def _acosh1p(t: Array | Scalar) -> Array:
    """Return acosh(1 + t), exact for a small t."""
    return np.log1p(t + np.sqrt(t) * np.sqrt(t + 2))
''',
    "_norm": '''
def _norm(x: Array, axis: Any = None) -> Array:
    """Return the Euclidean norm along the axes, also where squares leave the range."""
    with np.errstate(over="ignore", under="ignore"):
        squares = np.vdot(x, x) if axis is None else (x * x).sum(axis=axis)
        norm = np.asarray(np.sqrt(squares))
    lost = ~((norm > np.finfo(norm.dtype).tiny ** 0.45) & (norm < np.inf))
    if lost.any():
        whole = tuple(range(x.ndim)) if axis is None else axis
        axes = whole if isinstance(whole, tuple) else (whole,)
        rows = np.moveaxis(x, axes, range(-len(axes), 0))[lost]
        rows = rows.reshape(len(rows), -1)
        top = np.max(np.abs(rows), axis=1, initial=0)
        scale = np.where((top > 0) & (top < np.inf), top, 1)
        norm[lost] = scale * np.sqrt(((rows / scale[:, None]) ** 2).sum(axis=1))
    return norm[()]
''',
    "_packed": '''
def _packed(a: Array, axis: Any = None) -> Array:
    """Return one of the entries at the same last indices, which are symmetric.

    It is the one whose indices do not rise.
    """
    order = a.ndim if axis is None else len(axis)
    grid = np.ix_(*[np.arange(a.shape[-1])] * order)
    first = np.ones((), bool)
    for k in range(1, order):
        first = first & (grid[k - 1] >= grid[k])
    flat = a.reshape(*a.shape[: a.ndim - order], first.size)
    return flat[..., np.flatnonzero(first)]
''',
    "_unpacked": '''
def _unpacked(a: Array, *shape: int) -> Array:
    """Return the array, symmetric in its last axes, of which `_packed` returns `a`."""
    size, order = shape[-1], len(shape) - a.ndim + 1
    positions: Any = np.arange(size)
    for k in range(2, order + 1):
        inner, positions = positions, np.empty((size,) * k, int)
        for i in range(size):  # the largest index, which may be on any axis
            below = (slice(i + 1),) * (k - 1)
            for axis in range(k):
                at: Any = (*below[:axis], i, *below[axis:])
                positions[at] = math.comb(i + k - 1, k) + inner[below]
    return np.take(a, positions, axis=-1)
''',
    "_prod_others": '''
def _prod_others(x: Array, axis: Any = None) -> Array:
    """Return for each entry the product of all others along the axes."""
    whole = tuple(range(x.ndim)) if axis is None else axis
    axes = whole if isinstance(whole, tuple) else (whole,)
    moved = np.moveaxis(x, axes, range(len(axes)))
    rows = moved.reshape(-1 if x.size else 0, *moved.shape[len(axes) :])
    others = np.ones_like(rows)
    np.cumprod(rows[:-1], axis=0, out=others[1:])
    others[:-1] *= np.cumprod(rows[:0:-1], axis=0)[::-1]
    return np.moveaxis(others.reshape(moved.shape), range(len(axes)), axes)
''',
    **RUNNING,
    **DISTANCES,
    "_cholesky_solve": '''
def _cholesky_solve(L: Array, b: Array) -> Array:
    """Return the x with L @ L.T @ x = b, of matrices in the last two axes.

    Substitutes blocks of rows, since NumPy solves no triangular systems.
    """
    x = np.array(b[:, None] if b.ndim == 1 else b)
    U, n, width = np.swapaxes(L, -1, -2), L.shape[-1], 64
    for start in range(0, n, width):
        rows = slice(start, start + width)
        x[..., rows, :] -= L[..., rows, :start] @ x[..., :start, :]
        x[..., rows, :] = np.linalg.solve(L[..., rows, rows], x[..., rows, :])
    for start in reversed(range(0, n, width)):
        rows, below = slice(start, start + width), slice(start + width, None)
        x[..., rows, :] -= U[..., rows, below] @ x[..., below, :]
        x[..., rows, :] = np.linalg.solve(U[..., rows, rows], x[..., rows, :])
    return x[:, 0] if b.ndim == 1 else x
''',
    "_capacitance": CAPACITANCE,
    "_cholesky_inverse": '''
def _cholesky_inverse(L: Array) -> Array:
    """Return the inverses of L @ L.T, of matrices in the last two axes.

    Inverts blocks of rows, since NumPy has no triangular systems.
    """
    X, n, width = np.zeros_like(L), L.shape[-1], 64
    for start in range(0, n, width):
        rows = slice(start, start + width)
        block = np.linalg.inv(L[..., rows, rows])
        X[..., rows, rows] = block
        left = L[..., rows, :start] @ X[..., :start, :start]
        X[..., rows, :start] = -block @ left
    return np.swapaxes(X, -1, -2) @ X
''',
    "_correlate": '''
def _correlate(x: Array, w: Array, before: int = 0, after: int = 0) -> Array:
    """Return the sums of x[i + k] * w[k] over k, with zeros before and after x."""
    size = before + len(x) + after - len(w) + 1
    if size <= 0 or not (len(x) and len(w)):
        return np.zeros(max(size, 0), dtype=x.dtype)
    reach = len(w) - 1
    if 0 < max(before, after) <= reach:
        return np.correlate(x, w, "full")[reach - before :][:size]
    if before or after:
        whole = np.zeros(before + len(x) + after, dtype=x.dtype)
        whole[before : before + len(x)] = x
        x = whole
    return np.correlate(x, w)
''',
    "_moving_sum": '''
def _moving_sum(
    x: Array, length: int, before: int = 0, after: int = 0, axis: int = 0
) -> Array:
    """Return the sums over `length` neighbours along an axis, with zeros around it.

    Those over 1, 2, 4, ... add up to all others, without subtraction.
    Up to 11 neighbours in a vector are correlated, which is quick so far.
    """
    if x.ndim == 1 and length <= 11:
        return _correlate(x, np.ones(length, dtype=x.dtype), before, after)
    shape = list(x.shape)
    if before or after:
        shape[axis] += before + after
        inside = (slice(None),) * axis + (slice(before, before + x.shape[axis]),)
        whole = np.zeros(shape, dtype=x.dtype)
        whole[inside] = x
        x = whole
    sums = np.moveaxis(x, axis, 0)
    count = shape[axis] = max(len(sums) - length + 1, 0)
    found = np.zeros(shape, dtype=x.dtype)
    total, start, width = np.moveaxis(found, axis, 0), 0, 1
    while width <= length:
        if length & width:
            if start:
                total += sums[start : start + count]
            else:
                total[...] = sums[:count]
            start += width
        width *= 2
        if width <= length:
            half = width // 2
            sums = sums[:-half] + sums[half:]
    return found
''',
    "_blocks": '''
def _blocks(length: int, width: int, numbers: int) -> list[slice]:
    """Return slices that cover a length, each of so many numbers in rows of a width.

    Memory for several blocks is asked for and given back first: allocators that hand
    large arrays back to the system keep as much from then on, so that no block waits
    for pages to be cleared.
    """
    step = max(numbers // max(width, 1), 1)
    if step < length:
        np.empty(4 * numbers)
    return [slice(k, min(k + step, length)) for k in range(0, length, step)]
''',
    "_add_at": '''
def _add_at(out: Array, index: Any, values: ArrayLike) -> None:
    """Add values to out[index], where `index`, of the first axes, may repeat itself.

    By `np.add.at`, which is fast for vectors alone: few columns one by one, rows that
    are longer flat, as many at a time as fit in the cache. Two adjacent numbers are
    added as a complex one, which takes as long as a real one.
    """
    if not out.size:
        return
    axes = len(index) if isinstance(index, tuple) else 1
    rows: Any = index[0] if isinstance(index, tuple) and axes == 1 else index
    if axes > 1:  # negative indices wrap
        whole = [k.astype(np.intp, copy=False) for k in np.broadcast_arrays(*index)]
        rows = np.ravel_multi_index(tuple(whole), out.shape[:axes], mode="wrap")
    rows = rows.astype(np.intp, copy=False)
    width = math.prod(out.shape[axes:])
    added: Any = values
    shape = rows.shape + out.shape[axes:]
    if np.shape(values) != shape:
        added = np.broadcast_to(values, shape)
    rows, added = rows.ravel(), added.reshape(rows.size, width)
    # Many values per index are summed in double precision.
    exact = out.itemsize == 8 or added.size < out.size
    own = exact and out.flags.c_contiguous
    sums: Any = out.reshape(-1, width) if own else np.zeros((out.size // width, width))
    pair = np.result_type(sums, 1j)
    if width <= 16:
        alike = added.flags.c_contiguous and added.dtype == sums.dtype
        even = width - width % 2 if alike else 0
        for part, dtype in ((slice(even), pair), (slice(even, width), sums.dtype)):
            target, rest = sums[:, part].view(dtype), added[:, part]
            rest = rest.view(dtype) if alike else rest
            for k in range(target.shape[1]):
                np.add.at(target[:, k], rows, rest[:, k].astype(dtype, copy=False))
    else:
        flat = sums.reshape(-1).view(sums.dtype if width % 2 else pair)
        step, columns = 32768 // width + 1, np.arange(flat.size * width // sums.size)
        for start in range(0, rows.size, step):
            positions = rows[start : start + step, None] * columns.size + columns
            block = added[start : start + step].astype(sums.dtype, copy=False)
            np.add.at(flat, positions.ravel(), block.ravel().view(flat.dtype))
    if not own:
        out += sums.reshape(out.shape)
''',
}


SUPREMUM = '''
def _supremum(x: Array, axis: Any = None, keepdims: bool = False) -> Array | Scalar:
    """Return the largest entries along the axes, -inf where there are none."""
    if x.size:
        return np.max(x, axis=axis, keepdims=keepdims)
    return np.sum(x, axis=axis, keepdims=keepdims) - np.inf
'''

EXPM = '''
def expm(a: Array) -> Array:
    """Return the exponential of matrices (..., k, k).

    By the Pade approximant of order 13 for a / 2**s, squared s times (Higham 2005).
    """
    norm = float(np.abs(a).sum(axis=-2).max()) if a.size else 0.0
    s = math.ceil(math.log2(norm / 5.37)) if 5.37 < norm < math.inf else 0
    a = a / 2**s
    c = [1.0]
    for j in range(13):
        c.append(c[j] * (13 - j) / ((26 - j) * (j + 1)))
    square, one = a @ a, np.eye(a.shape[-1], dtype=a.dtype)
    even, odd = c[12] * one, c[13] * one
    for j in range(10, -2, -2):
        even = even @ square + c[j] * one
        odd = odd @ square + c[j + 1] * one
    odd = a @ odd
    result = np.linalg.solve(even - odd, even + odd)
    for _ in range(s):
        result = result @ result
    return result
'''
