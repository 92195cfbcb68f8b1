"""What functions of NumPy are called in C, of one number each.

What C lacks is written out here as the helpers are, over arrays, and read entry by
entry (`tensorgen.arrays.device_functions`), as those helpers are that need no more.
"""

from __future__ import annotations

from collections.abc import Mapping

IN_C: Mapping[str, str] = {
    "np.exp": "exp",
    "np.expm1": "expm1",
    "np.log": "log",
    "np.log1p": "log1p",
    "np.log2": "log2",
    "np.log10": "log10",
    "np.sqrt": "sqrt",
    "np.cbrt": "cbrt",
    "np.sin": "sin",
    "np.cos": "cos",
    "np.tan": "tan",
    "np.arcsin": "asin",
    "np.arccos": "acos",
    "np.arctan": "atan",
    "np.arctan2": "atan2",
    "np.sinh": "sinh",
    "np.cosh": "cosh",
    "np.tanh": "tanh",
    "np.arcsinh": "asinh",
    "np.arccosh": "acosh",
    "np.arctanh": "atanh",
    "np.abs": "fabs",
    "np.floor": "floor",
    "np.round": "rint",
    "np.hypot": "hypot",
    "np.copysign": "copysign",
    "np.fmax": "fmax",
    "np.fmin": "fmin",
    "np.isfinite": "isfinite",
    "np.power": "pow",
    "special.erf": "erf",
    "special.erfc": "erfc",
    "special.gammaln": "lgamma",
}
"""Those that C has, of whatever precision its argument is."""

CONDITIONS = ("isfinite",)
"""What returns a condition."""

WRITTEN_OUT: Mapping[str, str] = {
    # What C calls so has no NaN where one of two numbers is NaN.
    "np.maximum": """
def maximum(x, y):
    return np.where((x < y) | (y != y), y, x)
""",
    "np.minimum": """
def minimum(x, y):
    return np.where((x > y) | (y != y), y, x)
""",
    "np.clip": """
def clip(x, low, high):
    return np.minimum(np.maximum(x, low), high)
""",
    "np.sign": """
def sign(x):
    return np.where(x > 0, 1, np.where(x < 0, -1, x))
""",
    "np.heaviside": """
def heaviside(x, middle):
    return np.where(x > 0, 1, np.where(x < 0, 0, np.where(x == 0, middle, x)))
""",
    "np.logaddexp": """
def logaddexp(x, y):
    above = x + np.log1p(np.exp(y - x))
    below = y + np.log1p(np.exp(x - y))
    return np.where(x == y, x + np.log(2), np.where(x > y, above, below))
""",
}
"""Those that C lacks, or that mean something else there."""
