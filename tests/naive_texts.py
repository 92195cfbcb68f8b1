"""Naive texts of functions in which exponentials stand, and the truth about them.

The truth is the same text, evaluated with 900 digits: Python's syntax and NumPy's
arrays of objects mean in it what the language means. Derivatives are differences, of
which so many digits leave enough. `python -m tests.naive_texts` computes it anew for
what has changed, and keeps it in `naive_truths.json`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import mpmath
import numpy as np
import yaml

Array = Any
HERE = Path(__file__).resolve().parent
TABLE = HERE / "naive_texts.yaml"
KEPT = HERE / "naive_truths.json"
DIGITS = 900
STEP = mpmath.mpf(10) ** -150

_FUNCTIONS = ("exp", "log", "log1p", "log10", "sqrt", "sinh", "cosh", "tanh", "acosh")


def _each(function: Callable[..., Any]) -> Callable[..., Array]:
    return np.vectorize(function, otypes=[object])


def _log_softmax(x: Array) -> Array:
    return x - mpmath.log(sum(map(mpmath.exp, x)))


NAMES: dict[str, Any] = {
    **{name: _each(getattr(mpmath, name)) for name in _FUNCTIONS},
    **{name: _each(getattr(mpmath, name)) for name in ("cos", "erf", "hypot")},
    "lgamma": _each(mpmath.loggamma),
    "ndtr": _each(mpmath.ncdf),
    "log_ndtr": _each(lambda x: mpmath.log(mpmath.ncdf(x))),
    "i0": _each(lambda x: mpmath.besseli(0, x)),
    "pi": mpmath.mpf(math.pi),
    "log2": _each(lambda x: mpmath.log(x) / mpmath.log(2)),
    "sigmoid": _each(lambda x: 1 / (1 + mpmath.exp(-x))),
    "softplus": _each(lambda x: mpmath.log(1 + mpmath.exp(x))),
    "where": lambda c, x, y: np.where(np.asarray(c, bool), x, y),
    "log_softmax": _log_softmax,
    "softmax": lambda x: _each(mpmath.exp)(_log_softmax(x)),
    "sum": lambda x, axis=None: np.sum(x, axis=axis),
    "mean": lambda x: np.sum(x) / np.size(x),
    "np": np,
}


class Text(NamedTuple):
    """A function of `x`, and where it is looked at."""

    name: str
    expr: str
    python: str
    points: tuple[Any, ...]
    data: Mapping[str, Any]
    floor: float
    orders: int

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of x."""
        return np.shape(self.points[0])

    @property
    def spec(self) -> str:
        """The spec that has the text as a function `f`."""
        given = {"x": self.points[0], **self.data}
        shapes = {k: "[n]" if np.ndim(v) else "[]" for k, v in given.items()}
        return (
            "tensorgen: 1\nmodule: naive\n"
            f"inputs: {{{', '.join(f'{k}: {v}' for k, v in shapes.items())}}}\n"
            f"functions:\n  f:\n    expr: {self.expr}\n    wrt: x\n"
            "    emit: [value, gradient, hessian]\n"
        )


def _texts() -> tuple[Text, ...]:
    table = yaml.safe_load(TABLE.read_text(encoding="utf-8"))
    named = table["points"]
    found = []
    for name, row in table["texts"].items():
        points = named[row["at"]] if isinstance(row["at"], str) else row["at"]
        found.append(
            Text(
                name,
                row["expr"].strip(),
                row.get("python", row["expr"]).strip(),
                tuple(points),
                row.get("with", {}),
                row.get("floor", 0.0),
                row.get("orders", 2),
            )
        )
    return tuple(found)


TEXTS = _texts()


def _exact(x: Any) -> Array:
    return _each(mpmath.mpf)(np.asarray(x, dtype=float))


def truth(text: Text, at: Any) -> list[Array]:
    """The value, the gradient and the Hessian, as floats."""
    with mpmath.workdps(DIGITS):
        x = _exact(at).ravel()
        given = {name: _exact(value) for name, value in text.data.items()}
        code = compile(text.python, text.name, "eval")

        def value(*steps: tuple[int, int]) -> Any:
            moved = x.copy()
            for k, sign in steps:
                moved[k] += sign * STEP
            point = moved.reshape(text.shape) if text.shape else moved[0]
            names = {**NAMES, **given, "x": point, "n": len(x)}
            return np.asarray(eval(code, names), dtype=object).item()

        size, middle = range(len(x)), value()
        up = [value((k, 1)) for k in size]
        down = [value((k, -1)) for k in size]
        gradient = [(up[k] - down[k]) / (2 * STEP) for k in size]
        hessian = np.zeros((len(x), len(x)), dtype=object)
        for k in size:
            hessian[k, k] = (up[k] + down[k] - 2 * middle) / STEP**2
            for m in range(k):
                both = value((k, 1), (m, 1)) + value((k, -1), (m, -1))
                mixed = both - up[k] - up[m] - down[k] - down[m] + 2 * middle
                hessian[k, m] = hessian[m, k] = mixed / (2 * STEP**2)
        floats = (float(middle), list(map(float, gradient)), hessian.astype(float))
        shapes = ((), text.shape, text.shape * 2)
        pairs = zip(floats, shapes, strict=True)
        return [np.asarray(value).reshape(shape) for value, shape in pairs]


def key(text: Text, at: Any) -> str:
    """What the truth depends on."""
    return f"{text.python} at {at} with {dict(text.data)}"


def kept() -> dict[str, list[Any]]:
    """The truths that are on record."""
    if not KEPT.exists():
        return {}
    found: dict[str, list[Any]] = json.loads(KEPT.read_text(encoding="utf-8"))
    return found


def main() -> None:
    """Compute what is missing, and drop what is not asked for any more."""
    old, new = kept(), {}
    for text in TEXTS:
        for at in text.points:
            name = key(text, at)
            new[name] = old.get(name) or [v.tolist() for v in truth(text, at)]
    lines = [f"{json.dumps(k)}: {json.dumps(v)}" for k, v in new.items()]
    KEPT.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
