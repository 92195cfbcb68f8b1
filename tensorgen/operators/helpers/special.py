"""Source of the helpers for derivatives of special functions, with `np` in place."""

from collections.abc import Iterable

SPECIAL = {
    "_replaced": '''
def _replaced(
    found: Array | Scalar, where: Any, exact: Callable[..., Array], *of: Any
) -> Array:
    """Return what was found, `exact` in its place where that is asked."""
    if not np.count_nonzero(where):
        return found
    flat, some = np.reshape(found, -1), np.flatnonzero(where)
    flat[some] = exact(*(np.broadcast_to(x, found.shape).ravel()[some] for x in of))
    return flat.reshape(found.shape)[()]
''',
    "_holds": '''
def _holds(condition: Any) -> bool:
    """Return whether a condition holds everywhere."""
    return bool(np.count_nonzero(condition) == np.size(condition))
''',
    "_inverse_mills": '''
def _inverse_mills(x: Array | Scalar) -> Array:
    """Return the pdf of the normal distribution over its cdf."""
    from scipy import special

    return (2 / np.pi) ** 0.5 / special.erfcx(-x / 2**0.5)
''',
    "_mills_gap": '''
def _mills_gap(x: Array | Scalar) -> Array:
    """Return how far below x is what is normal and less than x, on average.

    It is x + pdf / cdf, and far out a continued fraction, which does not cancel.
    """

    def fraction(x: Array) -> Array:
        far = -x
        for k in range(40, 1, -1):
            far = k / far - x
        return 1 / far

    top = np.maximum(x, -4)
    return _replaced(top + _inverse_mills(top), x < -4, fraction, x)
''',
    "_mills_fall": '''
def _mills_fall(x: Array | Scalar) -> Array:
    """Return minus the slope of the normal distribution's pdf over its cdf.

    It is pdf / cdf * (x + pdf / cdf), and far out a continued fraction like that of
    the second factor.
    """

    def fraction(x: Array) -> Array:
        x = np.maximum(x, -1e8)  # where it is 1
        far = -x
        for k in range(40, 1, -1):
            far = k / far - x
        return (1 / far - x) / far

    middle = np.clip(x, -4, 40)  # above it is 0
    near = _inverse_mills(middle)
    return _replaced(near * (middle + near), x < -4, fraction, x)
''',
    "_mills_variance": '''
def _mills_variance(x: Array | Scalar) -> Array:
    """Return the variance of what is normal and less than x."""

    def fraction(x: Array) -> Array:
        far = -x
        for k in range(40, 2, -1):
            far = k / far - x
        gap = 1 / (2 / far - x)
        return gap * (2 / far - gap)

    top = np.maximum(x, -4)
    near = 1 - _inverse_mills(top) * _mills_gap(top)
    return _replaced(near, x < -4, fraction, x)
''',
    "_gauss_points": '''
@lru_cache
def _gauss_points(size: int) -> tuple[tuple[float, float], ...]:
    """Return Gauss's points above 0 for integrals from -1 to 1, and their weights.

    They are the zeros of Legendre's polynomial, by Newton's method.
    """
    found = []
    for k in range(size // 2):
        u = math.cos(math.pi * (k + 0.75) / (size + 0.5))
        for _ in range(5):
            before, value = 1.0, u
            for n in range(2, size + 1):
                before, value = value, ((2 * n - 1) * u * value - (n - 1) * before) / n
            slope = size * (u * value - before) / (u * u - 1)
            u -= value / slope
        found.append((u, 2 / ((1 - u * u) * slope**2)))
    return tuple(found)
''',
    "_normal_between": '''
def _normal_between(
    x: Array | Scalar, y: Array | Scalar, width: Array | Scalar, order: int
) -> Any:
    """Return log(ndtr(x) - ndtr(y)) and its derivatives by middle and width.

    Those up to an order are the first by both, and then minus the second by the
    middle, the mixed one, and minus the second by the width. Where nothing cancels they
    are what they say. What is narrow or has a slope that counts is integrated in
    points, of which what is flat needs fewer; else one tail counts, or two that are far
    apart.
    """
    from scipy import special

    def moments(m: Array | Scalar, h: Array | Scalar) -> Any:
        size = np.abs(m * h)
        few = 12 if _holds((size < 2.5) & (h < 0.75)) else 20
        pairs = _gauss_points(few if _holds((size < 4) & (h < 2)) else 32)
        up = [w * np.exp(size * (u - 1) - (h * u) ** 2 / 2) for u, w in pairs]
        gaps = [-e * np.expm1(-2 * size * u) for (u, _), e in zip(pairs, up)]
        both = [2 * e - gap for e, gap in zip(up, gaps)]
        total = sum(both)
        log = size - m**2 / 2 + np.log(h * total / (2 * np.pi) ** 0.5)
        if order == 0:
            return (log,)
        mean = sum(u * gap for (u, _), gap in zip(pairs, gaps)) / total
        square = sum(u**2 * e for (u, _), e in zip(pairs, both)) / total
        middle = -np.sign(m) * mean
        first = log, -(m + h * middle), (1 / h - m * middle - h * square) / 2
        if order == 1:
            return first
        down = [e - gap for e, gap in zip(up, gaps)]
        spread = [(u - mean, u**2 - square, e) for (u, _), e in zip(pairs, up)]
        spread += [(-u - mean, u**2 - square, f) for (u, _), f in zip(pairs, down)]
        v = sum(s**2 * e for s, _, e in spread) / total
        odd = (u * (u**2 - square) * gap for (u, _), gap in zip(pairs, gaps))
        c = -np.sign(m) * sum(odd) / total
        q = sum(t**2 * e for _, t, e in spread) / total
        fall = 1 / h**2 + square - m * (m * v + h * c) - h * (m * c + h * q)
        return (
            *first,
            1 - h**2 * v,
            (m * h * v + h**2 * c - middle) / 2,
            fall / 4,
        )

    def tails(a: Array | Scalar, b: Array | Scalar, d: Array | Scalar) -> Any:
        end = np.where(b > -np.inf, b, 0)
        steep = d * (np.where(a < np.inf, a, 0) + b) / 2
        share = np.exp(steep) * special.erfcx(-b / 2**0.5) / special.erfcx(-a / 2**0.5)
        p = _inverse_mills(a) / (1 - share)
        q = np.exp(steep) * p
        first = (
            special.log_ndtr(a) + np.log1p(-share),
            -p * np.expm1(steep),
            (p + q) / 2,
        )
        if order < 2:
            return first
        gap = _mills_gap(np.where(a < np.inf, a, 0)) + p * share
        bend = np.where(a < np.inf, p * gap, 0)
        return (
            *first,
            bend - q * (end + 2 * p - q),
            -(bend + q * (end - q)) / 2,
            (bend + q * (2 * p + q - end)) / 4,
        )

    m = (x + y) / 2
    up = m > 0
    a, b = np.minimum(x, -y), np.minimum(y, -x)  # in the lower tail
    most, least = special.ndtr(a), special.ndtr(b)
    mass = most - least
    clear = (4 * least < 3 * most) & (mass < 0.75) & (a > -5) & (width < 8)
    if _holds(clear & (width > 0.7) if order == 2 else clear):
        if order == 0:
            return (np.log(mass),)
        density = np.exp(-(a**2) / 2) / (mass * (2 * np.pi) ** 0.5)
        fall = density * np.expm1(-np.abs(m) * width)
        slope, rise = np.where(up, fall, -fall), density + fall / 2
        if order == 1:
            return np.log(mass), slope, rise
        twist = np.abs(m) * density + fall * (rise - b / 2)
        bend = width * density - b * fall  # what is left beside squares
        return (
            np.log(mass),
            slope,
            rise,
            slope**2 + bend,
            np.where(up, -twist, twist),
            rise**2 + bend / 4,
        )
    near = (width < 8) & (np.abs(m) * width < 40)
    inside = moments(np.where(near, m, 0), np.where(near, width / 2, 1))
    if _holds(near):
        return inside
    ends = np.where(near, -1, a), np.where(near, -20, b)
    beside = tails(*ends, np.where(near, 19, width))
    return [
        np.where(near, one, np.where(up, -other, other) if odd else other)
        for one, other, odd in zip(inside, beside, (0, 1, 0, 0, 1, 0))
    ]
''',
    "_lrising": '''
def _lrising(x: Array | Scalar, y: Array | Scalar) -> Array:
    """Return lgamma(x + y) - lgamma(x), of positives without cancelling.

    Where they would, by more than y * log(x + 10), terms of the recurrence in front,
    which add up to as much, and behind them the difference of Stirling's series.
    """
    from scipy import special

    def series(x: Array, y: Array) -> Any:
        z = x + 10
        step = np.log1p(y / z)
        total = (z - 0.5) * step + y * (np.log(z + y) - 1)
        numbers = [1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188]
        numbers += [-691 / 360360, 1 / 156]
        for k, number in enumerate(numbers):
            total = total + number * z ** -(2 * k + 1) * np.expm1(-(2 * k + 1) * step)
        return total - sum(np.log1p(y / (x + k)) for k in range(10))

    low = special.gammaln(x)
    gap = special.gammaln(x + y) - low
    limit = (1 + 2 * np.abs(low)) / (8 * np.log(np.abs(x) + 10))
    kept = (np.abs(y) >= limit) | (y == 0)
    if _holds(kept):
        return gap
    lost = ~kept & (np.minimum(x, x + y) > 0)  # infinite ones, too
    return _replaced(gap, lost, series, x, y)
''',
    "_polygamma_gap": '''
def _polygamma_gap(n: Array | Scalar, x: Array | Scalar, y: Array | Scalar) -> Array:
    """Return polygamma(n, x + y) - polygamma(n, x), of positives without cancelling.

    Terms of the series in front, and behind them by Euler and Maclaurin. Of digamma,
    which takes less than these, and of few numbers that is where it would cancel.
    """
    from scipy import special

    dtype = np.result_type(x, y)

    def series(x: Array | Scalar, y: Array | Scalar) -> Any:
        z, s = x + 10, n + 1
        step = np.log1p(y / z)

        def gap(power: Array | Scalar) -> Any:
            return -(z**-power) * np.expm1(-power * step)

        rest = np.where(n == 0, step, gap(n) / np.where(n == 0, 1, n))
        total = gap(s) / 2 + rest
        for k in range(10):
            total = total - (x + k) ** -s * np.expm1(-s * np.log1p(y / (x + k)))
        rising = s / 2
        numbers = [1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66]
        numbers += [-691 / 2730, 7 / 6, -3617 / 510]
        for k, number in enumerate(numbers, 1):
            total = total + number * rising * gap(s + 2 * k - 1)
            rising = rising * (s + 2 * k - 1) * (s + 2 * k)
            rising = rising / ((2 * k + 1) * (2 * k + 2))
        return (-1.0) ** n * special.gamma(s) * total

    if np.ndim(n) == 0 and (n == 0 or np.size(x + y) <= 64):
        of = special.digamma if n == 0 else lambda x: special.polygamma(n, x)
        low = of(x)
        gap = (of(x + y) - low).astype(dtype, copy=False)
        # An eighth of both, or more.
        kept = (np.abs(gap) >= ((n == 0) + 2 * np.abs(low)) / 7) | (y == 0)
        if _holds(kept):
            return gap
        lost = ~kept & (np.minimum(x, x + y) > 0)
        return _replaced(gap, lost, series, x, y)
    positive = np.minimum(x, x + y) > 0
    if _holds(positive):
        return series(x, y).astype(dtype, copy=False)
    plain = special.polygamma(n, x + y) - special.polygamma(n, x)
    gap = np.where(positive, series(np.where(positive, x, 1), y), plain)
    return gap.astype(dtype, copy=False)
''',
    "_exprel": '''
def _exprel(x: Array | Scalar) -> Array:
    """Return (exp(x) - 1) / x, and 1 where x is 0."""
    size = np.where(x == 0, 1, x)
    return np.where(x == 0, 1, np.expm1(size) / size)
''',
    "_exprel_moment": '''
def _exprel_moment(n: Array | Scalar, x: Array | Scalar) -> Array:
    """Return the integral of s**n * exp(x * s) over s from 0 to 1.

    It is integrated in 32 points, and far out by parts.
    """
    from scipy import special

    near = np.clip(x, -30, 30)
    nodes = [((1 + v) / 2, w / 2) for u, w in _gauss_points(32) for v in (-u, u)]
    mean = sum(w * s**n * np.exp(near * s) for s, w in nodes)
    up, down = np.maximum(x, 30), np.maximum(-x, 30)
    total = term = 1 / up
    for k in range(30):
        term = term * (k - n) / up
        total = total + term
    low = special.gamma(n + 1) * special.gammainc(n + 1, down) / down ** (n + 1)
    high = np.exp(up) * total - (-1.0) ** n * special.gamma(n + 1) / up ** (n + 1)
    return np.where(x > 30, high, np.where(x < -30, low, mean))
''',
    "_i0_moment": '''
def _i0_moment(n: Array | Scalar, x: Array | Scalar) -> Array:
    """Return the mean of cos(t)**n * exp(x * cos(t)) over a circle.

    It is that of 256 points, which are enough as long as it is finite. About the
    largest one the exponent is a square, 1 - cos(t) = 2 * sin(t / 2)**2, for digits.
    """
    half = np.exp(np.abs(x) / 2)
    total: Array | Scalar = 0.0
    for t in np.pi * (np.arange(64) + 0.5) / 128:
        c, near, far = (float(f) for f in (np.cos(t), np.sin(t / 2), np.cos(t / 2)))
        total = total + c**n * (half * np.exp(-2 * np.abs(x) * near**2))
        total = total + (-c) ** n * (half * np.exp(-2 * np.abs(x) * far**2))
    return half * total / 128 * np.copysign(1, x) ** n
''',
    "_log_i0": '''
def _log_i0(x: Array | Scalar) -> Array:
    """Return log(i0(x)) without overflow, exact near 0."""
    from scipy import special

    a = np.abs(x)
    square = np.minimum(a, 2) ** 2 / 4
    series = term = square
    for k in range(2, 16):
        term = term * square / k**2
        series = series + term
    return np.where(a < 2, np.log1p(series), np.log(special.i0e(x)) + a)
''',
    "_i0e_moment": '''
def _i0e_moment(n: Array | Scalar, x: Array | Scalar) -> Array:
    """Return the mean of s**n * exp(-abs(x) * s) over a circle, s = 1 - cos(t).

    It is that of 64 points, and far out an asymptotic series.
    """
    from scipy import special

    near, far = np.minimum(np.abs(x), 30), np.maximum(np.abs(x), 30)
    points = [1 - np.cos(np.pi * (k + 0.5) / 32) for k in range(32)]
    mean = sum(float(s) ** n * np.exp(-near * float(s)) for s in points) / 32
    term = special.gamma(n + 0.5) / (2**0.5 * np.pi * far**n * np.sqrt(far))
    total = term
    for k in range(30):
        term = term * ((2 * k + 1) * (n + k + 0.5) / (4 * (k + 1))) / far
        total = total + term
    return np.where(np.abs(x) > 30, total, mean)
''',
}
"""The helpers by name."""

BETWEEN = {
    "log_ndtr_between": "log(ndtr(x) - ndtr(y)), where width is x - y",
    "between_slope": "the derivative of log(ndtr(x) - ndtr(y)) by the middle",
    "between_rise": "the derivative of log(ndtr(x) - ndtr(y)) by the width",
    "between_bend": "minus the second derivative of it by the middle",
    "between_twist": "the mixed second derivative by middle and width",
    "between_fall": "minus the second derivative of it by the width",
}
"""What is normal and between two ends: functions that are made together, in order."""


def order_of(functions: Iterable[str]) -> int:
    """The highest order of derivatives among some of these."""
    last = max([*BETWEEN].index(name) for name in functions)
    return (last > 0) + (last > 2)


for _place, (_name, _meaning) in enumerate(BETWEEN.items()):
    SPECIAL[f"_{_name}"] = f'''
def _{_name}(x: Array | Scalar, y: Array | Scalar, width: Array | Scalar) -> Array:
    """Return {_meaning}."""
    return _normal_between(x, y, width, {order_of([_name])})[{_place}]
'''

ON_A_DEVICE = {
    "_replaced": '''
def _replaced(
    found: Array | Scalar, where: Any, exact: Callable[..., Array], *of: Any
) -> Array:
    """Return what was found, `exact` in its place where that is asked."""
    return np.where(where, exact(*of), found)
''',
    "_holds": '''
def _holds(condition: Any) -> bool:
    """Return False: the host would wait for the device to know."""
    return False
''',
}
"""What would wait for a device if it looked at values."""
