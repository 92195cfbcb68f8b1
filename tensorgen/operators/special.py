"""Special functions, of which SciPy and CuPy have the values.

Derivatives of the normal distribution are told by the inverse Mills ratio
`m(x) = pdf(x) / cdf(x)`, and those of it by the mean distance to x of what is normal
and less than x, `x + m(x)`, and by its variance. No difference of these is taken that
vanishes far out.
"""

from __future__ import annotations

from fractions import Fraction
from math import inf

from tensorgen.ir.remarks import Remark
from tensorgen.operators.table import Elementwise as Row

POSITIVE = (0.2, 0.7, 1.0, 1.9, 4.5)
HALF = Fraction(1, 2)
OPEN = (0.2, 0.3, 0.45, 0.6, 0.8)
TAIL = (-1e8, -1000.0, -40.0, -6.0, -4.0, 6.0)
FAR = (-1e9, -35.0, 25.0, 35.0, 1e9)

_BETWEEN = "(x, y, z)"
_SLOPE, _RISE = f"between_slope{_BETWEEN}", f"between_rise{_BETWEEN}"
_BEND, _TWIST = f"between_bend{_BETWEEN}", f"between_twist{_BETWEEN}"
_FALL = f"between_fall{_BETWEEN}"
_SQUARES = "(x**2 * ({0} + {1} / 2) {2} y**2 * ({0} - {1} / 2))"
_ODD = _SQUARES.format(_RISE, _SLOPE, "-")
_EVEN = _SQUARES.format(_RISE, _SLOPE, "+")


def _between(
    name: str, *partials: str, traits: str = "internal", low: float = 0
) -> Row:
    """A row about what is normal and lies between x and y, where z is x - y.

    Derivatives are those by the middle, half of which x has and half y, and by the
    width z: what x and y have in common does not change that. An infinite one leaves
    a number, of the other one.
    """
    by_middle, by_width = partials
    return Row(
        name,
        (f"({by_middle}) / 2", f"({by_middle}) / 2", by_width),
        f"_{name}({{0}}, {{1}}, {{2}})",
        POSITIVE,
        traits=traits,
        ends=(low, 0),
    )


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
        remark=Remark(
            "1 - erf(t), with all digits where little is left of 1",
            r"\berfc\(",
            ("erfc",),
        ),
    ),
    Row(
        "gauss",
        ("-2 * finite(x) * gauss(x)",),
        "np.exp(-{0}**2)",
        traits="even positive vanishes internal",
        spelled="exp(-{0}**2)",
        ends=(0, 0),
    ),
    Row(
        "bell",
        ("-finite(x) * bell(x)",),
        "np.exp(-{0}**2 / 2)",
        traits="even positive vanishes internal",
        spelled="exp(-{0}**2 / 2)",
        ends=(0, 0),
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
        doc="log(ndtr(x)), which is accurate in the tails.",
        ends=(-inf, 0),
        remark=Remark(
            "log(ndtr(t)), which is finite where ndtr(t) is 0 already",
            r"\blog_ndtr\(",
            ("log_ndtr",),
        ),
    ),
    Row(
        "inverse_mills",
        ("-inverse_mills(x) * mills_gap(finite(x))",),
        "_inverse_mills({0})",
        extreme=TAIL,
        traits="positive internal",
        ends=(inf, 0),
    ),
    Row(
        "mills_fall",
        ("inverse_mills(x) * (mills_variance(x) - mills_gap(finite(x))**2)",),
        "_mills_fall({0})",
        traits="positive bounded internal",
        ends=(1, 0),
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
    _between("log_ndtr_between", _SLOPE, _RISE, traits="bounded internal", low=-inf),
    _between("between_slope", f"-{_BEND}", _TWIST),
    _between("between_rise", _TWIST, f"-{_FALL}", traits="positive internal"),
    _between(
        "between_bend",
        f"{_SLOPE} - {_ODD} + {_SLOPE}**3 - 3 * {_SLOPE} * {_BEND}",
        f"{_RISE} - {_EVEN} / 2 - {_RISE} * ({_BEND} - {_SLOPE}**2)"
        f" + 2 * {_SLOPE} * {_TWIST}",
    ),
    _between(
        "between_twist",
        f"{_EVEN} / 2 - {_RISE} + {_RISE} * ({_BEND} - {_SLOPE}**2)"
        f" - 2 * {_SLOPE} * {_TWIST}",
        f"({_ODD} - {_SLOPE}) / 4 - {_RISE} * (2 * {_TWIST} + {_SLOPE} * {_RISE})"
        f" + {_SLOPE} * {_FALL}",
    ),
    _between(
        "between_fall",
        f"({_SLOPE} - {_ODD}) / 4 + {_RISE} * (2 * {_TWIST} + {_SLOPE} * {_RISE})"
        f" - {_SLOPE} * {_FALL}",
        f"{_RISE} / 4 - {_EVEN} / 8 - {_RISE} * ({_BEND} - {_SLOPE}**2) / 4"
        f" - 2 * {_RISE} * {_FALL}",
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
    Row(
        "lrising",
        ("polygamma_gap(0, x, y)", "digamma(x + y)"),
        "_lrising({0}, {1}).astype(dtype)",
        (0.2, 0.7, 1.1, 1.9, 4.5),
        safe=(1, 1),
        doc="lgamma(x + y) - lgamma(x), which is accurate for a large x.",
    ),
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
    # polygamma(x, y + z) - polygamma(x, y).
    Row(
        "polygamma_gap",
        ("", "polygamma_gap(x + 1, y, z)", "polygamma(x + 1, y + z)"),
        "_polygamma_gap({0}, {1}, {2})",
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
        "i0",
        ("i1(x)",),
        "special.i0({0})",
        extreme=(-500.0, -1e-9, 500.0),
        traits="even positive overflows",
        doc="Modified Bessel function of order 0.",
    ),
    Row(
        "i1",
        ("i0_moment(2, x)",),
        "special.i1({0})",
        extreme=(-500.0, -1e-9, 500.0),
        traits="odd overflows",
        doc="Modified Bessel function of order 1.",
    ),
    # The mean of cos(t)**x * exp(y * cos(t)) over a circle.
    Row(
        "i0_moment",
        ("", "i0_moment(x + 1, y)"),
        "_i0_moment({0}, {1}).astype(dtype)",
        traits="internal",
    ),
    Row(
        "log_i0",
        ("bessel_ratio(x)",),
        "_log_i0({0})",
        extreme=FAR,
        traits="even nonnegative",
        doc="log(i0(x)), without overflow.",
    ),
    Row(
        "bessel_ratio",
        ("i0e_moment(2, x) / i0e(x) - (i0e_moment(1, x) / i0e(x))**2",),
        "special.i1e({0}) / special.i0e({0})",
        extreme=FAR,
        traits="odd bounded internal",
        spelled="i1({0}) / i0({0})",
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
