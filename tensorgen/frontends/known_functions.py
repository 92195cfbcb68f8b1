"""Functions that notations share: what each takes, and how a spec calls it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Rule = Literal["entries", "total", "square", "square matrix", "diagonal", "inner"]


@dataclass(frozen=True, slots=True)
class Known:
    """How a spec calls a function, with `{0}` for its first argument.

    The rule is what is known of shapes: `entries` keeps them, `total` makes a scalar;
    `square` does of a square matrix, which `square matrix` returns.
    """

    text: str
    rule: Rule = "entries"
    arguments: int = 1
    of_scalar: str = ""
    """What a function of matrices is of a scalar, which is a matrix of one entry."""


_SAME = (
    *("exp", "expm1", "log", "log1p", "log2", "log10", "sqrt", "abs", "sign", "relu"),
    *("sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh"),
    *("acosh", "atanh", "sigmoid", "softplus", "erf", "erfc", "lgamma", "digamma"),
    *("floor", "ceil"),
)

KNOWN: Mapping[str, Known] = {
    **{name: Known(f"{name}({{0}})") for name in _SAME},
    "maximum": Known("maximum({0}, {1})", arguments=2),
    "minimum": Known("minimum({0}, {1})", arguments=2),
    "atan2": Known("atan2({0}, {1})", arguments=2),
    "where": Known("where({0}, {1}, {2})", arguments=3),
    "delta": Known("delta({0}, {1})", arguments=2),
    "both": Known("({0}) & ({1})", arguments=2),
    "either": Known("({0}) | ({1})", arguments=2),
    "sum": Known("sum({0})", "total"),
    "prod": Known("prod({0})", "total"),
    "max": Known("max({0})", "total"),
    "min": Known("min({0})", "total"),
    "mean": Known("mean({0})", "total"),
    "logsumexp": Known("logsumexp({0})", "total"),
    "norm1": Known("norm({0}, 1)", "total"),
    "norm2": Known("norm({0})", "total"),
    "norminf": Known("norm({0}, inf)", "total"),
    "norm_nuc": Known("norm({0}, 'nuc')", "total"),
    "inner": Known("sum({0} * {1})", "inner", 2),
    "tr": Known("tr({0})", "square", of_scalar="{0}"),
    "det": Known("det({0})", "square", of_scalar="{0}"),
    "logdet": Known("logdet({0})", "square", of_scalar="log(abs({0}))"),
    "inv": Known("inv({0})", "square matrix", of_scalar="1 / {0}"),
    "adj": Known("det({0}) * inv({0})", "square matrix", of_scalar="{0} / {0}"),
    "expm": Known("expm({0})", "square matrix", of_scalar="exp({0})"),
    "diag": Known("diag({0})", "diagonal"),
}
"""Rows by the name that front ends give a function in the tree."""
