"""Source of what adds up intervals of rows in generated modules."""

INTERVALS: dict[str, str] = {
    "_joint_order": '''
def _joint_order(keys: Any, places: Any) -> Any:
    """Return the order of keys, and of places where these are alike."""
    return np.lexsort(np.stack([places, keys]))
''',
    "_count_joint": '''
def _count_joint(
    keys: Any, places: Any, key: Any, place: Any, side: Any = "left"
) -> Any:
    """Return how many of sorted pairs of a key and a place come before each other."""
    size = 1 + max((int(k.max()) for k in (places, place) if k.size), default=0)
    return np.searchsorted(keys * size + places, key * size + place, side=side)
''',
    "_sums_between": '''
def _sums_between(x: Array, low: Any, high: Any) -> Array:
    """Return the sums of the rows from place to place, of runs that double."""
    count, place, step = np.maximum(high - low, 0), low.copy(), 1
    sums = np.zeros((len(low), *x.shape[1:]), dtype=x.dtype)
    while (count >= step).any():
        some = np.flatnonzero(count & step)
        sums[some] += x[place[some]]
        place[some] += step
        x, step = x[:-step] + x[step:], 2 * step
    return sums
''',
    "_spread_between": '''
def _spread_between(w: Array, low: Any, high: Any, *shape: int) -> Array:
    """Return for each place the sum of the w between whose places it is."""
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
