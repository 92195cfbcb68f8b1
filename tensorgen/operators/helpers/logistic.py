"""Logistic functions of one argument: helpers that make several of one exponential.

    softplus_t, sigmoid_t = _softplus_and_sigmoid(t)

Each keeps all of its digits in both tails, and nothing overflows.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

from tensorgen.errors import listed


class Form(NamedTuple):
    """A function of t: what it is called, and its code."""

    told: str
    text: str


FORMS = {
    "softplus": Form("softplus", "np.maximum(t, 0) + np.log1p(e)"),
    "log_sigmoid": Form("log(sigmoid)", "np.minimum(t, 0) - np.log1p(e)"),
    "sigmoid": Form("sigmoid", "np.where(t >= 0, 1, e) / below"),
    "complement": Form("1 - sigmoid", "np.where(t >= 0, e, 1) / below"),
    "slope": Form("sigmoid's slope", "e / below**2"),
}
"""By `e = exp(-abs(t))` and `below = 1 + e`, in the order in which helpers return."""


def together(functions: Sequence[str]) -> str:
    """The name of a helper that returns some functions."""
    return f"_{listed(functions)}".replace(", ", "_").replace(" ", "_")


def _source(functions: Sequence[str]) -> str:
    told = listed([FORMS[name].told for name in functions])
    made = f"tuple[{', '.join(['Array'] * len(functions))}]"
    if len(functions) == 1:
        made = "Array"
    lines = [f'"""Return {told} at t, without overflow."""', "e = np.exp(-np.abs(t))"]
    if {"softplus", "log_sigmoid"} <= {*functions}:
        lines.append("log1p_e = np.log1p(e)")
    if any("below" in FORMS[name].text for name in functions):
        lines.append("below = 1 + e")
    if len(functions) == 1:
        lines.append(f"return {FORMS[functions[0]].text}")
    else:
        known = "log1p_e" if "log1p_e = np.log1p(e)" in lines else "np.log1p(e)"
        texts = [FORMS[name].text.replace("np.log1p(e)", known) for name in functions]
        pairs = zip(functions, texts, strict=True)
        lines += [f"{name} = {text}" for name, text in pairs]
        lines.append(f"return {', '.join(functions)}")
    head = f"def {together(functions)}(t: Array | Scalar) -> {made}:"
    return "\n" + "\n    ".join([head, *lines]) + "\n"


BUNDLES = [
    functions
    for count in range(1, len(FORMS) + 1)
    for functions in combinations(FORMS, count)
    if functions not in (("sigmoid",), ("complement",), ("slope",))
]
LOGISTIC = {together(functions): _source(functions) for functions in BUNDLES}
