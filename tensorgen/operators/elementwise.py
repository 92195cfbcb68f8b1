"""The table of elementwise functions: adding one is adding a row.

Derivatives are written so that they keep their digits: in terms of functions of this
table that do not cancel (`sigmoid' = sigmoid(x) * sigmoid(-x)`, never `s * (1 - s)`).
"""

from __future__ import annotations

from math import inf

from tensorgen.ir.remarks import Remark
from tensorgen.operators import kinks, special
from tensorgen.operators.table import Elementwise as Row

POSITIVE = (0.2, 0.7, 1.0, 1.9, 4.5)
UNIT = (-0.9, -0.4, 0.1, 0.6, 0.85)
WIDE = (-1000.0, -40.0, -1e-8, 1e-8, 40.0, 1000.0)

EXPM1 = Remark("exp(t) - 1, with all digits near t = 0", r"\bexpm1\(", ("expm1",))
LOG1P = Remark("log(1 + t), with all digits near t = 0", r"\blog1p\(", ("log1p",))
SOFTPLUS = Remark("log(1 + exp(t)) without overflow", r"\blogaddexp\(0, ")
LOG_SIGMOID = Remark("log(1 / (1 + exp(-t))) without overflow", r"-\w+\.logaddexp\(0, ")
LOGADDEXP = Remark(
    "log(exp(a) + exp(b)) without overflow",
    r"\blogaddexp\((?!0, )",
    ("logaddexp", "logsumexp"),
)

_ROWS = (
    # Exponentials and logarithms.
    Row("exp", ("exp(x)",), "np.exp({0})", traits="positive overflows", ends=(0, inf)),
    Row(
        "expm1",
        ("exp(x)",),
        "np.expm1({0})",
        extreme=(-40.0, 1e-12),
        traits="overflows keeps0",
        ends=(-1, inf),
        remark=EXPM1,
    ),
    Row(
        "rexpm1",
        ("rexpm1(x) * rexpm1(-x)",),
        "1 / np.expm1({0})",
        extreme=(-1000.0, -40.0, 1e-12),
        traits="internal",
        spelled="1 / expm1({0})",
        safe=(0, 1),
        remark=EXPM1,
    ),
    # (exp(x) - 1) / x, and the integral of s**x * exp(y * s) over s from 0 to 1.
    Row(
        "exprel",
        ("exprel_moment(1, x)",),
        "_exprel({0})",
        extreme=(-1000.0, -40.0, -1e-8, 1e-8, 40.0),
        traits="positive overflows",
        doc="(exp(x) - 1) / x, and 1 where x is 0.",
    ),
    Row(
        "exprel_moment",
        ("", "exprel_moment(x + 1, y)"),
        "_exprel_moment({0}, {1}).astype(dtype)",
        traits="positive overflows internal",
    ),
    Row(
        "log",
        ("1 / x",),
        "np.log({0})",
        POSITIVE,
        traits="math",
        safe=(0, 1),
        ends=(None, inf),
    ),
    Row(
        "log1p",
        ("1 / (1 + x)",),
        "np.log1p({0})",
        POSITIVE,
        (1e-12,),
        traits="keeps0",
        safe=(0, 1),
        ends=(None, inf),
        remark=LOG1P,
    ),
    # log(1 - exp(x)), for a negative x.
    Row(
        "log1mexp",
        ("-rexpm1(-x)",),
        "_log1mexp({0})",
        (-4.0, -1.7, -0.7, -0.4, -0.1),
        (-1000.0, -40.0, -1e-8),
        traits="internal",
        spelled="log(1 - exp({0}))",
        safe=(0, -1),
    ),
    # log(1 - exp(-exp(x))).
    Row(
        "log_icloglog",
        ("exp(x - exp(x) - log_icloglog(x))",),
        "_log_icloglog({0})",
        extreme=(-1000.0, -40.0, -1e-8, 1e-8, 6.0),
        traits="internal",
        spelled="log(1 - exp(-exp({0})))",
    ),
    Row(
        "log_cosh",
        ("tanh(x)",),
        "_log_cosh({0})",
        extreme=WIDE,
        traits="even log internal",
        spelled="log(cosh({0}))",
    ),
    # The exponential, but so small that its cube is finite: times 0 it is 0.
    Row(
        "finite_exp",
        ("finite_exp(x)",),
        "_finite_exp({0})",
        traits="internal",
        spelled="exp({0})",
        ends=(0, None),
    ),
    # The same of what is known to be at most 0, the largest exponent taken off.
    Row(
        "low_exp",
        ("low_exp(x)",),
        "np.exp({0})",
        traits="internal",
        spelled="exp({0})",
        ends=(0, None),
    ),
    # The same for what may be large itself: it is held only where times 0 would matter.
    Row(
        "large_exp",
        ("large_exp(x)",),
        "_large_exp({0})",
        traits="internal",
        spelled="exp({0})",
        ends=(0, None),
    ),
    # A number that the function does not depend on: it has no derivative.
    Row(
        "level",
        ("0",),
        "_finite({0})",
        traits="odd log internal",
        spelled="{0}",
        ends=(0, 0),
    ),
    # The number itself where no infinite one counts: times 0 it is 0.
    Row(
        "finite",
        ("1",),
        "_finite({0})",
        traits="odd internal",
        spelled="{0}",
        ends=(0, 0),
    ),
    # What divides where there may be nothing to add up.
    Row("nonzero", ("1",), "_nonzero({0})", traits="odd internal", spelled="{0}"),
    Row(
        "log2",
        ("1 / (x * log(2))",),
        "np.log2({0})",
        POSITIVE,
        traits="math",
        safe=(0, 1),
    ),
    Row(
        "log10",
        ("1 / (x * log(10))",),
        "np.log10({0})",
        POSITIVE,
        traits="math",
        safe=(0, 1),
    ),
    Row(
        "sqrt",
        ("1 / (2 * sqrt(x))",),
        "np.sqrt({0})",
        POSITIVE,
        traits="nonnegative math keeps0 keeps1 quick",
        safe=(0, 1),
        ends=(None, inf),
    ),
    Row(
        "cbrt",
        ("1 / (3 * cbrt(x)**2)",),
        "np.cbrt({0})",
        POSITIVE,
        traits="odd keeps0 keeps1",
        safe=(0, 1),
    ),
    Row(
        "pow",
        ("power_slope(x, y)", "xlogy(x**y, x)"),
        "{0}**{1}",
        POSITIVE,
        traits="keeps1",
        safe=(0, 1),
        arguments=("x", "y"),
    ),
    # The derivatives of x**y by x; at x = 0 as well, where a factor of y removes it.
    Row(
        "power_slope",
        ("power_curve(x, y)", "x**(y - 1) + xlogy(power_slope(x, y), x)"),
        "_power_slope({0}, {1})",
        POSITIVE,
        traits="internal",
        spelled="{1} * {0}**({1} - 1)",
        safe=(0, 1),
    ),
    Row(
        "power_curve",
        (
            "y * power_curve(x, y - 1)",
            "(2 * y - 1) * x**(y - 2) + xlogy(power_curve(x, y), x)",
        ),
        "_power_curve({0}, {1})",
        POSITIVE,
        traits="internal",
        spelled="{1} * ({1} - 1) * {0}**({1} - 2)",
        safe=(0, 1),
    ),
    Row(
        "xlogx",
        ("log(x) + 1",),
        "_xlogy({0}, {0})",
        POSITIVE,
        traits="internal",
        spelled="{0} * log({0})",
        safe=(0, 1),
    ),
    # x * log(x / y), and 0 where x is 0.
    Row(
        "xlog_ratio",
        ("log(x / y) + 1", "-x / y"),
        "_xlogy({0}, {0} / {1})",
        POSITIVE,
        traits="internal",
        spelled="{0} * log({0} / {1})",
        safe=(1, 1),
    ),
    Row(
        "xlogy",
        ("log(y)", "x / y"),
        "_xlogy({0}, {1})",
        POSITIVE,
        safe=(1, 1),
        doc="x * log(y), and 0 where x is 0.",
    ),
    # Trigonometric and hyperbolic.
    Row("sin", ("cos(x)",), "np.sin({0})", traits="odd bounded math keeps0"),
    Row("cos", ("-sin(x)",), "np.cos({0})", traits="even bounded math"),
    Row("tan", ("1 / cos(x)**2",), "np.tan({0})", UNIT, traits="odd", safe=(0, 0)),
    Row(
        "asin",
        ("1 / sqrt(one_minus_square(x))",),
        "np.arcsin({0})",
        UNIT,
        traits="odd",
        safe=(0, 0),
    ),
    Row(
        "acos", ("-1 / sqrt(one_minus_square(x))",), "np.arccos({0})", UNIT, safe=(0, 0)
    ),
    Row(
        "one_minus_square",
        ("-2 * x",),
        "(1 - {0}) * (1 + {0})",
        UNIT,
        traits="even internal",
        spelled="(1 - {0}) * (1 + {0})",
    ),
    Row("atan", ("atan_slope(x)",), "np.arctan({0})", traits="odd bounded keeps0"),
    # Both are bounded, so no power of a large argument overflows.
    Row(
        "atan_slope",
        ("-2 * tilt(x) * atan_slope(x)",),
        "1 / (1 + {0}**2)",
        traits="even positive internal",
        spelled="1 / (1 + {0}**2)",
    ),
    Row(
        "tilt",
        ("atan_slope(x) - 2 * tilt(x)**2",),
        "{0} / (1 + {0}**2)",
        traits="odd internal",
        spelled="{0} / (1 + {0}**2)",
    ),
    Row(
        "atan2",
        ("cosine(y, x) * rhypot(x, y)", "-cosine(x, y) * rhypot(x, y)"),
        "np.arctan2({0}, {1})",
        safe=(1, 1),
        arguments=("y", "x"),
    ),
    Row("sinh", ("cosh(x)",), "np.sinh({0})", traits="odd overflows"),
    Row("cosh", ("sinh(x)",), "np.cosh({0})", traits="even positive overflows"),
    # 1 / sinh(x): its derivative is no quotient of two that overflow.
    Row(
        "csch",
        ("-csch(x) / tanh(x)",),
        "1 / np.sinh({0})",
        extreme=(-1000.0, -40.0, 40.0, 1000.0),
        safe=(0, 1),
        traits="odd internal",
        spelled="1 / sinh({0})",
    ),
    Row(
        "tanh",
        ("sech2(x)",),
        "np.tanh({0})",
        extreme=WIDE,
        traits="odd bounded math keeps0",
        ends=(-1, 1),
    ),
    Row(
        "sech2",
        ("-2 * tanh(x) * sech2(x)",),
        "_sech2({0})",
        extreme=WIDE,
        traits="even positive bounded vanishes internal in_place",
        ends=(0, 0),
    ),
    Row("asinh", ("1 / hypot(1, x)",), "np.arcsinh({0})", traits="odd keeps0"),
    Row(
        "acosh",
        ("1 / sqrt(x - 1) / sqrt(x + 1)",),
        "np.arccosh({0})",
        (1.1, 2.0, 9.0),
        safe=(0, 2),
    ),
    # acosh(1 + x).
    Row(
        "acosh1p",
        ("1 / (sqrt(x) * sqrt(x + 2))",),
        "_acosh1p({0})",
        POSITIVE,
        (1e-12, 1e6),
        traits="internal",
        spelled="acosh(1 + {0})",
        safe=(0, 1),
    ),
    Row(
        "atanh",
        ("1 / one_minus_square(x)",),
        "np.arctanh({0})",
        UNIT,
        traits="odd",
        safe=(0, 0),
    ),
    # Logistic functions.
    Row(
        "sigmoid",
        ("sigmoid(x) * sigmoid(-x)",),
        "_sigmoid({0})",
        extreme=WIDE,
        traits="positive bounded logistic",
        ends=(0, 1),
    ),
    # What `sigmoid(x) * sigmoid(-x)` is in code, once derivatives are taken.
    Row(
        "sigmoid_slope",
        ("-tanh(x / 2) * sigmoid_slope(x)",),
        "_sigmoid_slope({0})",
        extreme=WIDE,
        traits="even positive bounded vanishes logistic internal",
        spelled="sigmoid({0}) * sigmoid(-{0})",
        ends=(0, 0),
    ),
    Row(
        "softplus",
        ("sigmoid(x)",),
        "np.logaddexp(0, {0})",
        extreme=WIDE,
        traits="positive vanishes log logistic",
        doc="log(1 + exp(x)), without overflow.",
        ends=(0, inf),
        remark=SOFTPLUS,
    ),
    Row(
        "log_sigmoid",
        ("sigmoid(-x)",),
        "-np.logaddexp(0, -{0})",
        extreme=WIDE,
        traits="bounded logistic",
        ends=(-inf, 0),
        remark=LOG_SIGMOID,
    ),
    Row(
        "logaddexp",
        ("sigmoid(gap(x, y))", "sigmoid(-gap(x, y))"),
        "np.logaddexp({0}, {1})",
        extreme=WIDE,
        traits="commutes log",
        remark=LOGADDEXP,
    ),
    Row("gap", ("1", "-1"), "_gap({0}, {1})", traits="internal", spelled="{0} - {1}"),
    # The same of what is infinite where it is written so, and not in data.
    Row(
        "stated_gap",
        ("1", "-1"),
        "_gap({0}, {1})",
        traits="internal",
        spelled="{0} - {1}",
    ),
    Row(
        "inverse",
        ("-inverse(x)**2",),
        "_inverse({0})",
        POSITIVE,
        traits="odd internal",
        spelled="1 / {0}",
    ),
    *kinks.ROWS,
    *special.ROWS,
)

ELEMENTWISE: dict[str, Row] = {row.name: row for row in _ROWS}

# Spellings of the language that are other rows.
ALIASES = {
    "ln": "log",
    "arcsin": "asin",
    "arccos": "acos",
    "arctan": "atan",
    "expit": "sigmoid",
    "norm_ppf": "ndtri",
}
