"""Softmax and its logarithms along axes: helpers that make one, or several at once.

    logsumexp_z, softmax_z = _logsumexp_and_softmax(z, axis=1)

The largest entry is taken off first. Those that `guard` are for entries that may be
infinite, and for none at all: they take nothing off where the largest is infinite.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from tensorgen.errors import listed
from tensorgen.operators.helpers.logistic import together

FORMS = {
    "logsumexp": "np.squeeze(top + np.log(total), axis=axis)[()]",
    "softmax": "e / total",
    "log_softmax": "shifted - np.log(total)",
}
"""By `shifted = x - top`, `e = exp(shifted)` and its `total`, in order."""
ALONE = {
    "logsumexp": (
        "top = {top}",
        "total = {total}",
        "return np.squeeze(top + np.log(total), axis=axis)[()]",
    ),
    "softmax": ("e = np.exp(x - {level})", "e /= {total}", "return e"),
    "log_softmax": ("shifted = x - {level}", "return shifted - np.log({total})"),
}
"""Each by itself, which holds less."""


def helper_of(functions: Sequence[str], guards: bool) -> str:
    """The name of the helper that returns some of the functions."""
    return ("_guarded" * guards) + together(functions)


def _source(functions: Sequence[str], guards: bool) -> str:
    top = f"{'_supremum' if guards else 'np.max'}(x, axis=axis, keepdims=True)"
    total = "e.sum(axis=axis, keepdims=True)"

    def guarded(helper: str, text: str) -> str:
        return f"{helper}({text})" if guards else text

    made = f"tuple[{', '.join(['Array'] * len(functions))}]"
    end = ", infinite or empty too" if guards else " along the axes"
    lines = [f'"""Return {listed(functions)} of x{end}."""']
    if len(functions) == 1:
        made = "Array"
        level = guarded("_finite", "top" if functions == ("logsumexp",) else top)
        e = {"softmax": "e", "log_softmax": "np.exp(shifted)"}
        e.setdefault("logsumexp", f"np.exp(x - {level})")
        total = guarded("_nonzero", total.replace("e.", f"{e[functions[0]]}.", 1))
        known = {"top": top, "level": level, "total": total}
        lines += [line.format(**known) for line in ALONE[functions[0]]]
    else:
        lines += [
            f"top = {top}",
            f"shifted = x - {guarded('_finite', 'top')}",
            "e = np.exp(shifted)",
            f"total = {guarded('_nonzero', total)}",
            *(f"{name} = {FORMS[name]}" for name in functions),
            f"return {', '.join(functions)}",
        ]
    head = f"def {helper_of(functions, guards)}(x: Array, axis: Any = None) -> {made}:"
    return "\n" + "\n    ".join([head, *lines]) + "\n"


BUNDLES = [
    functions
    for count in range(1, len(FORMS) + 1)
    for functions in combinations(FORMS, count)
]
_TOLD = {
    helper_of(functions, guards): (guards, functions)
    for guards in (False, True)
    for functions in BUNDLES
}


def told(helper: str) -> tuple[bool, tuple[str, ...]]:
    """Whether a helper guards, and what it returns."""
    return _TOLD[helper]


SHARES = {
    name: _source(functions, guards) for name, (guards, functions) in _TOLD.items()
}
