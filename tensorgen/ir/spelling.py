"""Functions that occur in derivatives only, in formulas by what they are.

`{0}` and `{1}` stand for the arguments. A value that the function takes by convention,
such as 0 where it would divide by 0, is left unsaid.
"""

from __future__ import annotations

SPELLED = {
    "power_slope": "{1} * {0}**({1} - 1)",
    "power_curve": "{1} * ({1} - 1) * {0}**({1} - 2)",
    "one_minus_square": "(1 - {0}) * (1 + {0})",
    "atan_slope": "1 / (1 + {0}**2)",
    "tilt": "{0} / (1 + {0}**2)",
    "cosine": "{0} / hypot({0}, {1})",
    "rhypot": "1 / hypot({0}, {1})",
    "inverse": "1 / {0}",
    "gauss": "exp(-{0}**2)",
    "gauss_moment": "{0} * exp(-{0}**2)",
}
