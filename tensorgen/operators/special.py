"""Special functions, of which SciPy and CuPy have the values.

Derivatives of the normal distribution are told by the inverse Mills ratio
`m(x) = pdf(x) / cdf(x)`, and those of it by the mean distance to x of what is normal
and less than x, `x + m(x)`, and by its variance. No difference of these is taken that
vanishes far out.
"""

from __future__ import annotations

from fractions import Fraction

from tensorgen.operators.table import Elementwise as Row

POSITIVE = (0.2, 0.7, 1.0, 1.9, 4.5)
HALF = Fraction(1, 2)
OPEN = (0.2, 0.3, 0.45, 0.6, 0.8)
TAIL = (-1e8, -1000.0, -40.0, -6.0, -4.0, 6.0)

ROWS = (
    Row("erf", ("2 / sqrt(pi) * gauss(x)",), "special.erf({0})", traits="odd bounded"),
    Row("erfc", ("-2 / sqrt(pi) * gauss(x)",), "special.erfc({0})", traits="bounded"),
    Row(
        "gauss",
        ("-2 * gauss_moment(x)",),
        "np.exp(-{0}**2)",
        traits="even positive vanishes internal",
        spelled="exp(-{0}**2)",
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
    ),
    Row(
        "log_ndtr",
        ("inverse_mills(x)",),
        "special.log_ndtr({0})",
        extreme=TAIL,
        traits="bounded",
        doc="log(ndtr(x)), which keeps its digits far out.",
    ),
    Row(
        "inverse_mills",
        ("-inverse_mills(x) * mills_gap(x)",),
        "_inverse_mills({0})",
        extreme=TAIL,
        traits="positive internal",
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
        ("0", "polygamma(x + 1, y)"),
        "special.polygamma({0}, {1}).astype(dtype)",  # which knows float64 alone
        POSITIVE,
        traits="internal",
        safe=(1, 1),
    ),
)
