"""Source of the helpers for derivatives of special functions, with `np` in place."""

SPECIAL = {
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
    a = np.maximum(-x, 4)
    far = a
    for k in range(40, 1, -1):
        far = a + k / far
    top = np.maximum(x, -4)
    return np.where(x < -4, 1 / far, top + _inverse_mills(top))
''',
    "_mills_variance": '''
def _mills_variance(x: Array | Scalar) -> Array:
    """Return the variance of what is normal and less than x."""
    a = np.maximum(-x, 4)
    far = a
    for k in range(40, 2, -1):
        far = a + k / far
    gap = 1 / (a + 2 / far)
    top = np.maximum(x, -4)
    near = 1 - _inverse_mills(top) * _mills_gap(top)
    return np.where(x < -4, gap * (2 / far - gap), near)
''',
    "_polygamma_gap": '''
def _polygamma_gap(n: Array | Scalar, x: Array | Scalar, y: Array | Scalar) -> Array:
    """Return polygamma(n, x + y) - polygamma(n, x) without cancellation, for y >= 0.

    Terms of the series in front, and behind them by Euler and Maclaurin.
    """
    from scipy import special

    def gap(power: Array | Scalar, x: Array | Scalar) -> Any:
        return -(x**-power) * np.expm1(-power * np.log1p(y / x))

    z, s = x + 10, n + 1
    rest = np.where(n == 0, np.log1p(y / z), gap(n, z) / np.where(n == 0, 1, n))
    total = sum(gap(s, x + k) for k in range(10)) + gap(s, z) / 2 + rest
    rising = s / 2
    numbers = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510)
    for k, number in enumerate(numbers, 1):
        total = total + number * rising * gap(s + 2 * k - 1, z)
        rising = rising * (s + 2 * k - 1) * (s + 2 * k) / ((2 * k + 1) * (2 * k + 2))
    return (-1.0) ** n * special.gamma(s) * total
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
