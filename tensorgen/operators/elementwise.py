"""The table of elementwise functions: adding one is adding a row.

Derivatives are written so that they keep their digits: in terms of functions of this
table that do not cancel (`sigmoid' = sigmoid(x) * sigmoid(-x)`, never `s * (1 - s)`).
"""

from __future__ import annotations

from dataclasses import replace

from tensorgen.operators.table import Elementwise as Row

POSITIVE = (0.2, 0.7, 1.0, 1.9, 4.5)
UNIT = (-0.9, -0.4, 0.1, 0.6, 0.85)
WIDE = (-1000.0, -40.0, -1e-8, 1e-8, 40.0, 1000.0)

_ROWS = (
    # Exponentials and logarithms.
    Row("exp", ("exp(x)",), "np.exp({0})"),
    Row("expm1", ("exp(x)",), "np.expm1({0})", extreme=(-40.0, 1e-12)),
    Row(
        "rexpm1",
        ("rexpm1(x) * rexpm1(-x)",),
        "1 / np.expm1({0})",
        extreme=(-1000.0, -40.0, 1e-12),
    ),
    Row("log", ("1 / x",), "np.log({0})", POSITIVE),
    Row("log1p", ("1 / (1 + x)",), "np.log1p({0})", POSITIVE, (1e-12,)),
    # log(1 - exp(x)), for a negative x.
    Row(
        "log1mexp",
        ("-rexpm1(-x)",),
        "_log1mexp({0})",
        (-4.0, -1.7, -0.7, -0.4, -0.1),
        (-1000.0, -40.0, -1e-8),
    ),
    # log(1 - exp(-exp(x))).
    Row(
        "log_icloglog",
        ("exp(x - exp(x) - log_icloglog(x))",),
        "_log_icloglog({0})",
        extreme=(-1000.0, -40.0, -1e-8, 1e-8, 6.0),
    ),
    Row("log_cosh", ("tanh(x)",), "_log_cosh({0})", extreme=WIDE),
    # The exponential, but so small that its cube is finite: times 0 it is 0.
    Row("finite_exp", ("finite_exp(x)",), "_finite_exp({0})"),
    # The same for what may be large itself: it is held only where times 0 would matter.
    Row("large_exp", ("large_exp(x)",), "_large_exp({0})"),
    # A number that the function does not depend on: it has no derivative.
    Row("level", ("0",), "np.nan_to_num({0})", complex=False),
    Row("log2", ("1 / (x * log(2))",), "np.log2({0})", POSITIVE),
    Row("log10", ("1 / (x * log(10))",), "np.log10({0})", POSITIVE),
    Row("sqrt", ("1 / (2 * sqrt(x))",), "np.sqrt({0})", POSITIVE),
    Row("cbrt", ("1 / (3 * cbrt(x)**2)",), "np.cbrt({0})", POSITIVE, complex=False),
    Row("pow", ("power_slope(x, y)", "xlogy(x**y, x)"), "{0}**{1}", POSITIVE),
    # The derivatives of x**y by x; at x = 0 as well, where a factor of y removes it.
    Row(
        "power_slope",
        ("power_curve(x, y)", "x**(y - 1) + xlogy(power_slope(x, y), x)"),
        "_power_slope({0}, {1})",
        POSITIVE,
    ),
    Row(
        "power_curve",
        (
            "y * power_curve(x, y - 1)",
            "(2 * y - 1) * x**(y - 2) + xlogy(power_curve(x, y), x)",
        ),
        "_power_curve({0}, {1})",
        POSITIVE,
    ),
    Row("xlogx", ("log(x) + 1",), "_xlogy({0}, {0})", POSITIVE, complex=False),
    Row(
        "xlogy",
        ("log(y)", "x / y"),
        "_xlogy({0}, {1})",
        POSITIVE,
        complex=False,
    ),
    # Trigonometric and hyperbolic.
    Row("sin", ("cos(x)",), "np.sin({0})"),
    Row("cos", ("-sin(x)",), "np.cos({0})"),
    Row("tan", ("1 / cos(x)**2",), "np.tan({0})", UNIT),
    Row("asin", ("1 / sqrt(one_minus_square(x))",), "np.arcsin({0})", UNIT),
    Row("acos", ("-1 / sqrt(one_minus_square(x))",), "np.arccos({0})", UNIT),
    Row("one_minus_square", ("-2 * x",), "(1 - {0}) * (1 + {0})", UNIT),
    Row("atan", ("atan_slope(x)",), "np.arctan({0})"),
    # Both are bounded, so no power of a large argument overflows.
    Row("atan_slope", ("-2 * tilt(x) * atan_slope(x)",), "1 / (1 + {0}**2)"),
    Row("tilt", ("atan_slope(x) - 2 * tilt(x)**2",), "{0} / (1 + {0}**2)"),
    Row(
        "atan2",
        ("cosine(y, x) * rhypot(x, y)", "-cosine(x, y) * rhypot(x, y)"),
        "np.arctan2({0}, {1})",
        complex=False,
    ),
    Row("sinh", ("cosh(x)",), "np.sinh({0})"),
    Row("cosh", ("sinh(x)",), "np.cosh({0})"),
    # 1 / sinh(x): its derivative is no quotient of two that overflow.
    Row(
        "csch",
        ("-csch(x) / tanh(x)",),
        "1 / np.sinh({0})",
        extreme=(-1000.0, -40.0, 40.0, 1000.0),
    ),
    Row("tanh", ("sech2(x)",), "np.tanh({0})", extreme=WIDE),
    Row("sech2", ("-2 * tanh(x) * sech2(x)",), "_sech2({0})", extreme=WIDE),
    Row("asinh", ("1 / hypot(1, x)",), "np.arcsinh({0})"),
    Row(
        "acosh",
        ("1 / sqrt(x - 1) / sqrt(x + 1)",),
        "np.arccosh({0})",
        (1.1, 2.0, 9.0),
    ),
    # acosh(1 + x).
    Row(
        "acosh1p",
        ("1 / (sqrt(x) * sqrt(x + 2))",),
        "_acosh1p({0})",
        POSITIVE,
        (1e-12, 1e6),
    ),
    Row("atanh", ("1 / one_minus_square(x)",), "np.arctanh({0})", UNIT),
    # Logistic functions.
    Row("sigmoid", ("sigmoid(x) * sigmoid(-x)",), "_sigmoid({0})", extreme=WIDE),
    Row("softplus", ("sigmoid(x)",), "np.logaddexp(0, {0})", extreme=WIDE),
    Row("log_sigmoid", ("sigmoid(-x)",), "-np.logaddexp(0, -{0})", extreme=WIDE),
    Row(
        "logaddexp",
        ("sigmoid(x - y)", "sigmoid(y - x)"),
        "np.logaddexp({0}, {1})",
        extreme=WIDE,
    ),
    # Kinks; the conventions at ties are part of the language.
    Row("abs", ("sign(x)",), "np.abs({0})", complex=False),
    Row("sign", ("0",), "np.sign({0})", complex=False),
    Row("relu", ("greater(x, 0)",), "np.maximum({0}, 0)", complex=False),
    Row(
        "maximum",
        ("step(x - y)", "step(y - x)"),
        "np.maximum({0}, {1})",
        complex=False,
    ),
    Row(
        "minimum",
        ("step(y - x)", "step(x - y)"),
        "np.minimum({0}, {1})",
        complex=False,
    ),
    Row("step", ("0",), "np.heaviside({0}, 0.5)", complex=False),
    Row("floor", ("0",), "np.floor({0})", complex=False),
    Row(
        "hypot",
        ("cosine(x, y)", "cosine(y, x)"),
        "np.hypot({0}, {1})",
        complex=False,
    ),
    # x and 1 over the hypotenuse, and 0 where that is 0: no square of a side leaves the
    # range, and the derivative is no difference of what is nearly equal.
    Row(
        "cosine",
        (
            "cosine(y, x)**2 * rhypot(x, y)",
            "-cosine(x, y) * cosine(y, x) * rhypot(x, y)",
        ),
        expand="x * inverse(hypot(x, y))",
        complex=False,
    ),
    Row(
        "rhypot",
        (
            "-cosine(x, y) * rhypot(x, y) * rhypot(x, y)",
            "-cosine(y, x) * rhypot(x, y) * rhypot(x, y)",
        ),
        expand="inverse(hypot(x, y))",
        complex=False,
    ),
    Row("inverse", ("-inverse(x)**2",), "_inverse({0})", POSITIVE),
    # Conditions: 1 where they hold, 0 elsewhere. As factors they select.
    *(
        Row(name, ("0", "0"), f"{{0}} {sign} {{1}}", boolean=True, complex=False)
        for name, sign in (
            ("less", "<"),
            ("less_equal", "<="),
            ("greater", ">"),
            ("greater_equal", ">="),
            ("equal", "=="),
            ("not_equal", "!="),
            ("logical_and", "&"),
            ("logical_or", "|"),
        )
    ),
    Row("logical_not", ("0",), "np.logical_not({0})", boolean=True, complex=False),
    Row(
        "where",
        ("0", "x", "logical_not(x)"),
        "np.where({0}, {1}, {2})",
        complex=False,
    ),
    # Special functions.
    Row("erf", ("2 / sqrt(pi) * gauss(x)",), "special.erf({0})"),
    Row("erfc", ("-2 / sqrt(pi) * gauss(x)",), "special.erfc({0})"),
    Row("gauss", ("-2 * gauss_moment(x)",), "np.exp(-{0}**2)"),
    Row(
        "gauss_moment",
        ("gauss(x) - 2 * x * gauss_moment(x)",),
        "np.exp(-{0}**2) * {0}",
    ),
    Row("lgamma", ("digamma(x)",), "special.gammaln({0})", POSITIVE, complex=False),
    Row(
        "digamma", ("polygamma(1, x)",), "special.digamma({0})", POSITIVE, complex=False
    ),
    Row(
        "polygamma",
        ("0", "polygamma(x + 1, y)"),
        "special.polygamma({0}, {1}).astype(dtype)",  # which knows float64 alone
        POSITIVE,
        complex=False,
    ),
)

_SPECIAL = "scipy.special"

# Where functions with an infinite value or derivative somewhere are surely finite.
_SAFE = {
    "log": (0, 1),
    "log1p": (0, 1),
    "log1mexp": (0, -1),
    "rexpm1": (0, 1),
    "csch": (0, 1),
    "acosh1p": (0, 1),
    "log2": (0, 1),
    "log10": (0, 1),
    "sqrt": (0, 1),
    "cbrt": (0, 1),
    "pow": (0, 1),
    "power_slope": (0, 1),
    "power_curve": (0, 1),
    "xlogx": (0, 1),
    "xlogy": (1, 1),
    "tan": (0, 0),
    "asin": (0, 0),
    "acos": (0, 0),
    "atan2": (1, 1),
    "acosh": (0, 2),
    "atanh": (0, 0),
    "lgamma": (0, 1),
    "digamma": (0, 1),
    "polygamma": (1, 1),
}

ELEMENTWISE: dict[str, Row] = {
    row.name: replace(
        row,
        safe=_SAFE.get(row.name),
        requires=_SPECIAL if row.numpy.startswith("special.") else "",
    )
    for row in _ROWS
}

# Spellings of the language that are other rows.
ALIASES = {"ln": "log", "arcsin": "asin", "arccos": "acos", "arctan": "atan"}
