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
}
"""The helpers by name."""
