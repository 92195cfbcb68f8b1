"""Functions that emitted code defines for what is added up on the way."""

from __future__ import annotations

RUNNING: dict[str, str] = {
    "_running_max": '''
def _running_max(x: Array) -> Array:
    """Return the largest entry so far, along the first axis."""
    return np.maximum.accumulate(x, axis=0)
''',
    "_running_min": '''
def _running_min(x: Array) -> Array:
    """Return the smallest entry so far, along the first axis."""
    return np.minimum.accumulate(x, axis=0)
''',
    "_running_argmax": '''
def _running_argmax(x: Array, axis: int = 0) -> Any:
    """Return the places of the largest entries so far, of equals the first one's."""
    x = np.moveaxis(x, axis, 0)
    last = _running_max(x)[:-1]
    stays = (x[1:] <= last) | (last != last)  # NaN stays the largest
    places = np.zeros(x.shape, dtype=np.intp)
    steps = np.arange(1, max(len(x), 1)).reshape(-1, *(1,) * (x.ndim - 1))
    places[1:] = np.where(stays, 0, steps)
    return np.moveaxis(_running_max(places), 0, axis)
''',
    "_filtered": '''
def _filtered(x: Array, a: Any) -> Array:
    """Return y with y[t] = x[t] + a * y[t - 1] along the first axis; y[-1] is 0."""
    from scipy import signal

    taps = np.array([1, -a], dtype=x.dtype)
    return signal.lfilter(taps[:1], taps, x, axis=0)
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
    "_running_logsumexp": '''
def _running_logsumexp(z: Array, axis: int = 0) -> Array:
    """Return the logarithms of the running sums of exp(z)."""
    return np.logaddexp.accumulate(z, axis=axis)
''',
}

# For libraries without `accumulate`.

RUNNING_EXTREME = '''
def _running_{name}(x: Array) -> Array:
    """Return the {word} entry so far along the first axis, in sweeps that double."""
    found, step = x.copy(), 1
    while step < len(found):
        found[step:] = np.{function}(found[step:], found[:-step])
        step *= 2
    return found
'''


FILTERED = '''
def _filtered(x: Array, a: Any) -> Array:
    """Return y with y[t] = x[t] + a * y[t - 1], from 0 on, in sweeps that double."""
    found, step = x.copy(), 1
    while step < len(found):
        found[step:] = found[step:] + a * found[:-step]
        a, step = a * a, 2 * step
    return found
'''


RUNNING_LOGSUMEXP = '''
def _running_logsumexp(z: Array, axis: int = 0) -> Array:
    """Return the logarithms of the running sums of exp(z), in sweeps that double."""
    sums, step = np.moveaxis(z, axis, 0).copy(), 1
    while step < len(sums):
        sums[step:] = np.logaddexp(sums[step:], sums[:-step])
        step *= 2
    return np.moveaxis(sums, 0, axis)
'''
