"""Source of what reduces entries by key in generated modules.

`ufunc.at` is quick for vectors alone, so positions are numbered through.
"""


def _reduction(name: str, word: str, ufunc: str, start: str) -> str:
    return f'''
def _{name}_by_key(x: Array, keys: Any, *shape: int) -> Array:
    """Return the {word} of the entries of x that have each key, {start} without any."""
    out = np.full(shape, {start}, dtype=x.dtype)
    np.{ufunc}.at(out.reshape(-1), _flat_indices(x, keys), x.reshape(-1))
    return out
'''


def _search(name: str, words: str, side: str, of_nan: str) -> str:
    return f'''
def _{name}(keys: Array, limits: Array) -> Any:
    """Return {words}."""
    found = np.searchsorted(keys, limits, side="{side}")
    return np.where(np.isnan(limits), {of_nan}, found)
'''


def _count(name: str, word: str, side: str) -> str:
    words = f"how many of sorted keys are {word} each limit; none for a NaN"
    return _search(name, words, side, "0")


def _begin(name: str, word: str, side: str) -> str:
    words = f"the index of the first of sorted keys {word} each limit"
    return _search(name, words, side, "len(keys)")


def _sum(name: str, words: str, by: str) -> str:
    return f'''
def _{name}_by_key(x: Array, keys: Any, *shape: int) -> Array:
    """Return the sums of the {words} of x that have each key, 0 without any."""
    out = np.zeros(shape, dtype=x.dtype)
    {by}(out, keys, x)
    return out
'''


BY_KEY: dict[str, str] = {
    "_sum_by_key": '''
def _sum_by_key(x: Array, keys: Any, size: int) -> Array:
    """Return the sums of the entries of x that have each key, 0 without any."""
    sums = np.zeros(size)  # of double precision
    at, added = keys.astype(np.intp, copy=False), x.astype(float, copy=False)
    np.add.at(sums, at.ravel(), added.ravel())
    return sums.astype(x.dtype, copy=False)
''',
    # Rows are behind the axes of keys, of which a tuple has several.
    "_sum_rows_by_key": _sum("sum_rows", "rows", "_add_at"),
    "_last_index": '''
def _last_index(number: Any) -> Any:
    """Return the last of the first `number` indices, 0 where there are none."""
    return np.maximum(number - 1, 0)
''',
    "_count_within": _count("count_within", "at most", "right"),
    "_count_below": _count("count_below", "below", "left"),
    "_begin_at": _begin("begin_at", "at least", "left"),
    "_begin_above": _begin("begin_above", "above", "right"),
    "_tie": '''
def _tie(keys: Array, x: Array, beyond: int = 0) -> Any:
    """Return the index of the first of sorted keys that equals each x.

    What equals none has the index past the end, or one `beyond` that.
    """
    position = np.searchsorted(keys, x)
    equal = np.append(keys, np.nan)[position] == x
    return np.where(equal, position, len(keys) + beyond)
''',
    "_flat_indices": '''
def _flat_indices(x: Array, keys: Any) -> Any:
    """Return the flat index of each entry of x: that of its key, and its own in that.

    Those are in C order, keys first, which belong to the first axes of x.
    """
    positions = keys.reshape(-1).astype(np.intp, copy=False)
    if x.ndim == keys.ndim:
        return positions
    width = math.prod(x.shape[keys.ndim :])
    return (positions[:, None] * width + np.arange(width)).reshape(-1)
''',
    "_max_by_key": _reduction("max", "largest", "maximum", "-np.inf"),
    "_min_by_key": _reduction("min", "smallest", "minimum", "np.inf"),
    "_prod_by_key": _reduction("prod", "product", "multiply", "1"),
    "_prod_others_by_key": '''
def _prod_others_by_key(x: Array, keys: Any, product: Array) -> Array:
    """Return for each entry the product of all others that have its key.

    That is a quotient of the product of them all, unless that has lost digits.
    """
    size, finfo = np.abs(product), np.finfo(x.dtype)
    lost = ~((size >= finfo.tiny) & (size <= finfo.max))
    if not lost.any():
        return product.take(keys, axis=0) / x
    with np.errstate(all="ignore"):
        others = product.take(keys, axis=0) / x
    at = lost[keys]
    others[at] = _others(x[at], _flat_indices(x, keys).reshape(x.shape)[at])
    return others
''',
    "_others": '''
def _others(x: Array, positions: Any) -> Array:
    """Return for each entry of a vector the product of all others at its index."""
    order = np.argsort(positions, kind="stable")
    sides = [_before(x[k], positions[k]) for k in (order, order[::-1])]
    others = np.empty_like(x)
    others[order] = sides[0] * sides[1][::-1]
    return others
''',
    "_before": '''
def _before(x: Array, positions: Any) -> Array:
    """Return the products of the entries before each at its index, in sweeps."""
    same = positions[1:] == positions[:-1]
    found, step = np.ones_like(x), 1
    found[1:] = np.where(same, x[:-1], 1)
    while same.any():
        found[step:] = found[step:] * np.where(same, found[:-step], 1)
        step *= 2
        same = positions[step:] == positions[:-step]
    return found
''',
    "_max_of_alike": '''
def _max_of_alike(x: Array, keys: Any, read: Any) -> Array:
    """Return the largest entries of x that have the keys `read`, -inf without any."""
    size = 1 + max((int(k.max()) for k in (keys, read) if k.size), default=-1)
    return _max_by_key(x, keys, size, *x.shape[1:])[read]
''',
}

PROD_BY_KEY = '''
def _prod_by_key(x: Array, keys: Any, *shape: int) -> Array:
    """Return the products of the entries of x that have each key, 1 without any."""
    positions = _flat_indices(x, keys)
    out, order = np.ones(shape, dtype=x.dtype), np.argsort(positions)
    rows, positions = x.reshape(-1)[order], positions[order]
    last = positions != np.append(positions[1:], -1)
    out.reshape(-1)[positions[last]] = (rows * _before(rows, positions))[last]
    return out
'''

PROD_OTHERS_BY_KEY = '''
def _prod_others_by_key(x: Array, keys: Any, product: Array) -> Array:
    """Return for each entry the product of all others that have its key."""
    return _others(x.reshape(-1), _flat_indices(x, keys)).reshape(x.shape)
'''

# On a device, one call is quick for any index.
ADDED_BY_KEY = {
    "_sum_by_key": _sum("sum", "entries", "np.add.at"),
    "_sum_rows_by_key": _sum("sum_rows", "rows", "np.add.at"),
}
