"""Derivatives with right-hand sides in matrix notation: the rows of `gradients.txt`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.linalg import expm

from tests.cookbook.identity import Array, Gives, Identity, declared

KINDS: dict[str, Gives] = {
    "grad": "gradient",
    "jac": "jacobian",
    "hess": "dense_hessian",
    "jvp": "jvp",
}


def _abs(z: Any) -> Any:
    # The absolute value of a real number, and analytic beside it; so are the others.
    return z * np.sign(np.real(z))


def _logdet(X: Array) -> Any:
    return np.log(_abs(np.linalg.det(X)))


def _norm(x: Array) -> Any:
    return np.sqrt(np.sum(x**2))


FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    **{x: getattr(np, x) for x in ("cos", "diag", "eye", "kron", "log", "ones")},
    **{x: getattr(np, x) for x in ("outer", "sin", "sum", "tanh", "trace")},
    **{x: getattr(np.linalg, x) for x in ("det", "inv", "pinv", "solve")},
    "abs": _abs,
    "expm": expm,
    "logdet": _logdet,
    "norm": _norm,
    "sech2": lambda x: 1 / np.cosh(x) ** 2,
    "tr": np.trace,
}
"""What texts of the table call."""


@dataclass(frozen=True)
class Row:
    """An identity whose right-hand side is known as text."""

    identity: Identity
    right: str


def _read(line: str) -> Row:
    number, inputs, expr, derivative, right, *locals_ = map(str.strip, line.split("|"))
    kind, _, wrt = derivative.partition(" ")
    where = [x.strip() for text in locals_ for x in text.split(";")]
    names = [*declared(inputs)]
    names += [f"d{x.strip()}" for x in wrt.split(",")] if kind == "jvp" else []

    def known(values: tuple[Any, ...]) -> dict[str, Any]:
        found = {**FUNCTIONS, **dict(zip(names, values, strict=False))}
        for name, (dims, _) in declared(inputs).items():
            found |= dict(zip(dims, np.shape(found[name]), strict=True))
        for name, text in (x.split(" = ") for x in where):
            found[name] = eval(text, found)  # ours, as all texts of the table
        return found

    def function(*values: Any) -> Any:
        return eval(expr, known(values))

    def closed(*values: Any) -> Any:
        found = known(values)
        return eval(right, found | {"f": eval(expr, found)})

    own = Identity(number, inputs, expr, wrt, closed, function, KINDS[kind])
    return Row(replace(own, where="\n".join(where)), right)


_LINES = Path(__file__).with_name("gradients.txt").read_text("utf-8").splitlines()
GRADIENTS = [_read(x) for x in _LINES if x and not x.startswith("#")]
