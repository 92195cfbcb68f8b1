"""Source of what adds up intervals of rows in generated modules."""

INTERVALS: dict[str, str] = {
    "_joint_order": '''
def _joint_order(keys: Any, positions: Any) -> Any:
    """Return the order of keys, and of positions where these are equal."""
    return np.lexsort(np.stack([positions, keys]))
''',
    "_count_joint": '''
def _count_joint(
    keys: Any, positions: Any, key: Any, position: Any, side: Any = "left"
) -> Any:
    """Return how many of the sorted pairs of key and position precede each one."""
    size = 1 + max((int(k.max()) for k in (positions, position) if k.size), default=0)
    return np.searchsorted(keys * size + positions, key * size + position, side=side)
''',
    "_sums_between": '''
def _sums_between(x: Array, low: Any, high: Any) -> Array:
    """Return the sums of rows between positions, by runs of doubling length."""
    count, position, step = np.maximum(high - low, 0), low.copy(), 1
    sums = np.zeros((len(low), *x.shape[1:]), dtype=x.dtype)
    while (count >= step).any():
        some = np.flatnonzero(count & step)
        sums[some] += x[position[some]]
        position[some] += step
        x, step = x[:-step] + x[step:], 2 * step
    return sums
''',
    "_spread_between": '''
def _spread_between(w: Array, low: Any, high: Any, *shape: int) -> Array:
    """Return for each position the sum of the w whose interval contains it."""
    count, step = np.maximum(high - low, 0), 1
    while (count >= 2 * step).any():
        step *= 2
    runs = np.zeros((max(shape[0] - step + 1, 0), *shape[1:]), dtype=w.dtype)
    while step:
        some = np.flatnonzero(count & step)
        np.add.at(runs, low[some] + (count[some] & (step - 1)), w[some])
        step //= 2
        if step:
            longer = runs
            runs = np.zeros((len(runs) + step, *shape[1:]), dtype=w.dtype)
            runs[:-step] += longer
            runs[step:] += longer
    return runs
''',
}
