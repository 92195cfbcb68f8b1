"""Special functions, of which SciPy and CuPy have the values.

Derivatives of the normal distribution are told by the inverse Mills ratio
`m(x) = pdf(x) / cdf(x)`, and those of it by the mean distance to x of what is normal
and less than x, `x + m(x)`, and by its variance. No difference of these is taken that
vanishes far out.
"""

from __future__ import annotations

from fractions import Fraction
from math import inf

from tensorgen.operators.table import Elementwise as Row

POSITIVE = (0.2, 0.7, 1.0, 1.9, 4.5)
HALF = Fraction(1, 2)
OPEN = (0.2, 0.3, 0.45, 0.6, 0.8)
TAIL = (-1e8, -1000.0, -40.0, -6.0, -4.0, 6.0)
FAR = (-1e9, -35.0, 25.0, 35.0, 1e9)

ROWS = (
    Row(
        "erf",
        ("2 / sqrt(pi) * gauss(x)",),
        "special.erf({0})",
        traits="odd bounded",
        ends=(-1, 1),
    ),
    Row(
        "erfc",
        ("-2 / sqrt(pi) * gauss(x)",),
        "special.erfc({0})",
        traits="bounded",
        ends=(2, 0),
    ),
    Row(
        "gauss",
        ("-2 * gauss_moment(x)",),
        "np.exp(-{0}**2)",
        traits="even positive vanishes internal",
        spelled="exp(-{0}**2)",
        ends=(0, 0),
    ),
    Row(
        "gauss_moment",
        ("gauss(x) - 2 * x * gauss_moment(x)",),
        "np.exp(-{0}**2) * {0}",
        traits="odd internal",
        spelled="{0} * exp(-{0}**2)",
    ),
    Row(
        "bell",
        ("-bell_moment(x)",),
        "np.exp(-{0}**2 / 2)",
        traits="even positive vanishes internal",
        spelled="exp(-{0}**2 / 2)",
        ends=(0, 0),
    ),
    Row(
        "bell_moment",
        ("bell(x) - x * bell_moment(x)",),
        "np.exp(-{0}**2 / 2) * {0}",
        traits="odd internal",
        spelled="{0} * exp(-{0}**2 / 2)",
    ),
    Row(
        "ndtr",
        ("bell(x) / sqrt(2 * pi)",),
        "special.ndtr({0})",
        extreme=(-36.0, -8.0, 8.0, 36.0),
        traits="positive bounded",
        doc="The normal distribution's cdf.",
        ends=(0, 1),
    ),
    Row(
        "log_ndtr",
        ("inverse_mills(x)",),
        "special.log_ndtr({0})",
        extreme=TAIL,
        traits="bounded",
        doc="log(ndtr(x)), which keeps its digits far out.",
        ends=(-inf, 0),
    ),
    Row(
        "inverse_mills",
        ("-inverse_mills(x) * mills_gap(finite(x))",),
        "_inverse_mills({0})",
        extreme=TAIL,
        traits="positive internal",
        ends=(inf, 0),
    ),
    # x + inverse_mills(x), and its derivative.
    Row(
        "mills_gap",
        ("mills_variance(x)",),
        "_mills_gap({0})",
        extreme=TAIL,
        traits="positive internal",
    ),
    Row(
        "mills_variance",
        ("inverse_mills(x) * (mills_gap(x)**2 - mills_variance(x))",),
        "_mills_variance({0})",
        traits="positive bounded internal",
    ),
    Row(
        "ndtri",
        ("ndtri_slope(x)",),
        "special.ndtri({0})",
        OPEN,
        (1e-300, 1e-15),
        safe=(0, HALF),
        doc="The inverse of ndtr.",
    ),
    Row(
        "ndtri_slope",
        ("ndtri(x) * ndtri_slope(x)**2",),
        sample=OPEN,
        extreme=(1e-150, 1e-15),
        safe=(0, HALF),
        expand="1 / (x * inverse_mills(ndtri(x)))",
        traits="positive internal",
        spelled="1 / pdf(ndtri({0}))",
    ),
    Row("lgamma", ("digamma(x)",), "special.gammaln({0})", POSITIVE, safe=(0, 1)),
    Row("digamma", ("polygamma(1, x)",), "special.digamma({0})", POSITIVE, safe=(0, 1)),
    Row(
        "polygamma",
        ("", "polygamma(x + 1, y)"),
        "special.polygamma({0}, {1}).astype(dtype)",  # which knows float64 alone
        POSITIVE,
        safe=(1, 1),
        arguments=("order", "x"),
        doc="Derivatives of digamma, of an order from 0 on.",
    ),
    # polygamma(x, y + z) - polygamma(x, y), for a z that is not negative.
    Row(
        "polygamma_gap",
        ("", "polygamma_gap(x + 1, y, z)", "polygamma(x + 1, y + z)"),
        "_polygamma_gap({0}, {1}, {2}).astype(dtype)",
        POSITIVE,
        safe=(1, 1),
        traits="internal",
        spelled="polygamma({0}, {1} + {2}) - polygamma({0}, {1})",
    ),
    Row(
        "betaln",
        ("-polygamma_gap(0, x, y)", "-polygamma_gap(0, y, x)"),
        "special.betaln({0}, {1}).astype(dtype)",  # which widens beside numbers
        POSITIVE,
        safe=(1, 1),
        arguments=("a", "b"),
        doc="Logarithm of the beta function of positive numbers.",
    ),
    Row(
        "gammainc",
        ("", "exp(xlogy(x - 1, y) - y - lgamma(x))"),
        "special.gammainc({0}, {1}).astype(dtype)",
        POSITIVE,
        safe=(1, 1),
        arguments=("a", "x"),
        doc="Regularized lower incomplete gamma function.",
    ),
    Row(
        "betainc",
        ("", "", "exp(xlogy(x - 1, z) + xlogy(y - 1, 1 - z) - betaln(x, y))"),
        "special.betainc({0}, {1}, {2}).astype(dtype)",
        OPEN,
        safe=(2, HALF),
        arguments=("a", "b", "x"),
        doc="Regularized incomplete beta function.",
    ),
    Row(
        "i0e",
        ("-sign(x) * i0e_moment(1, x)",),
        "special.i0e({0})",
        extreme=FAR,
        traits="even positive bounded",
        doc="Modified Bessel function of order 0, times exp(-abs(x)).",
    ),
    Row(
        "i1e",
        ("i0e_moment(2, x) - i0e_moment(1, x)",),
        "special.i1e({0})",
        extreme=FAR,
        traits="odd bounded",
        doc="Modified Bessel function of order 1, times exp(-abs(x)).",
    ),
    # The mean of s**x * exp(-abs(y) * s) over a circle, where s = 1 - cos(t).
    Row(
        "i0e_moment",
        ("", "-sign(y) * i0e_moment(x + 1, y)"),
        "_i0e_moment({0}, {1}).astype(dtype)",
        traits="positive internal",
    ),
)
