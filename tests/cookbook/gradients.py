"""Derivatives with right-hand sides in matrix notation: the rows of `gradients.txt`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
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


def known(identity: Identity, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return what texts may name: arguments, sizes, local values and the value f."""
    found = {**FUNCTIONS, **arguments}
    for name, (dims, _) in identity.declared.items():
        found |= dict(zip(dims, np.shape(found[name]), strict=True))
    for local in identity.where.splitlines():
        name, text = local.split(" = ")
        found[name] = eval(text, found)  # ours, as all texts of the table
    return found | {"f": eval(identity.expr, found)}


def _read(line: str) -> Row:
    number, inputs, expr, derivative, right, *where = map(str.strip, line.split("|"))
    kind, _, wrt = derivative.partition(" ")
    names = [*declared(inputs)]
    names += [f"d{x.strip()}" for x in wrt.split(",")] if kind == "jvp" else []

    def function(*values: Any) -> Any:
        return known(own, dict(zip(names, values, strict=False)))["f"]

    def closed(*values: Any) -> Any:
        return eval(right, known(own, dict(zip(names, values, strict=True))))

    local = "\n".join(x.strip() for text in where for x in text.split(";"))
    own = Identity(number, inputs, expr, wrt, closed, function, KINDS[kind], local)
    return Row(own, right)


_LINES = Path(__file__).with_name("gradients.txt").read_text("utf-8").splitlines()
GRADIENTS = [_read(x) for x in _LINES if x and not x.startswith("#")]
