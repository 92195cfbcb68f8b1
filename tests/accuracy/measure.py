"""Errors of generated values and derivatives against arithmetic of many digits.

The truth is SymPy's derivative, evaluated by mpmath with ever more digits until they
agree. An error is relative to the truth, less the smallest normal number; where it is
not far below the bound, also less the change that one unit in the last place of the
arguments makes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations_with_replacement
from typing import Any, NamedTuple

import mpmath
import numpy as np
import sympy
from numpy.typing import NDArray

import tensorgen
from tests.accuracy.forms import Form

Array = NDArray[Any]
DIGITS = (350, 800, 1700, 3600)
PLAIN = (250, 500, *DIGITS)
BOUND = 1e-12


class Error(NamedTuple):
    """The largest error of one order of derivative."""

    text: str
    order: int
    points: int
    worst: float
    at: tuple[float, ...]
    got: float = 0.0
    true: float = 0.0


def spec(forms: Sequence[Form]) -> str:
    """Return a spec with the value and the first two derivatives of each form."""
    lines = ["tensorgen: 1", "inputs: {x: [n], y: [n], v: [3]}", "functions:"]
    for k, form in enumerate(forms):
        text, wrt = form.text, "[x, y]" if len(form.variables) == 2 else "x"
        total = f"sum({text})"
        if form.vector:
            text = total = text.replace("(x", "(v").replace("sum(x", "sum(v")
            wrt = "v"
        lines.append(f'  v{k}: "{text}"')
        lines.append(f'  f{k}: {{expr: "{total}", wrt: {wrt}, ')
        lines[-1] += "emit: [gradient, hessian]}"
    return "\n".join(lines) + "\n"


def partials(form: Form, order: int) -> list[tuple[int, ...]]:
    """The partial derivatives of an order, each as the places of its arguments."""
    places = range(len(form.variables))
    return list(combinations_with_replacement(places, order))


def generated(
    module: Any, k: int, form: Form, grid: Array
) -> dict[tuple[int, ...], Array]:
    """Every partial derivative up to order two at the columns of the grid."""
    value, gradient, hessian = (
        getattr(module, name) for name in (f"v{k}", f"f{k}_grad", f"f{k}_hess")
    )
    found: dict[tuple[int, ...], Array]
    with np.errstate(all="ignore"):
        if form.vector:
            columns = [np.ascontiguousarray(column) for column in grid.T]
            firsts = np.array([gradient(c) for c in columns])
            seconds = np.array([hessian(c).dense() for c in columns])
            found = {(): np.array([value(c) for c in columns])}
            found |= {(i,): firsts[:, i] for (i,) in partials(form, 1)}
            return found | {p: seconds[:, p[0], p[1]] for p in partials(form, 2)}
        found = {(): value(*grid)}
        if len(grid) == 1:
            return found | {(0,): gradient(*grid), (0, 0): hessian(*grid).diagonal()}
        firsts = gradient(*grid)
        found |= {(i,): firsts[i] for (i,) in partials(form, 1)}
        blocks = hessian(*grid).blocks
        for i, j in partials(form, 2):
            found[i, j] = np.diagonal(blocks["xy"[i], "xy"[j]].dense())
    return found


class Truth:
    """The partial derivatives of a form, to as many digits as it takes."""

    def __init__(self, form: Form) -> None:
        """Differentiate when asked for."""
        self.form = form
        self._kinks = [sympy.lambdify(form.variables, k) for k in form.kinks]
        self._functions: dict[tuple[int, ...], Callable[..., Any]] = {}

    def __call__(
        self, places: tuple[int, ...], at: Sequence[float], got: float = math.nan
    ) -> Any:
        """Return a partial derivative at a point; None where there is none.

        What agrees with a value that was got in another way needs no more digits.
        """
        if places and any(kink(*at) == 0 for kink in self._kinks):
            return None
        function = self._function(places)
        before = None
        plain = all(x == 0 or 1e-10 < abs(x) <= 30 for x in at)
        for digits in PLAIN if plain else DIGITS:
            with mpmath.workdps(digits):
                try:
                    found = function(*map(mpmath.mpf, at))
                except (ZeroDivisionError, ValueError, OverflowError):
                    return None
                if isinstance(found, mpmath.mpc):
                    found = found.real if not found.imag else mpmath.nan
                if not mpmath.isfinite(found):
                    return None
                found = mpmath.mpf(found)
                if abs(found - got) <= 1e-14 * abs(found):
                    return found
                if before is not None:
                    close = abs(found - before) <= abs(found) * mpmath.mpf("1e-25")
                    if close or max(abs(found), abs(before)) < mpmath.mpf("1e-330"):
                        return found
                before = found
        raise ArithmeticError(f"{self.form.text}: {places} at {at} needs more digits")

    def _function(self, places: tuple[int, ...]) -> Callable[..., Any]:
        if places not in self._functions:
            variables = self.form.variables
            chosen = [variables[p] for p in places]
            exact = sympy.diff(self.form.exact, *chosen) if chosen else self.form.exact
            self._functions[places] = sympy.lambdify(
                variables, exact, "mpmath", cse=True
            )
        return self._functions[places]


def error(truth: Truth, places: tuple[int, ...], at: Array, got: Any) -> Any:
    """Return (error, true value) of one number, or None where it is not judged."""
    true = truth(places, at.tolist(), float(got))
    if true is None:
        return None
    limits = np.finfo(at.dtype)
    if abs(true) > float(limits.max):
        right = abs(got) > float(limits.max) / 2 and np.sign(got) == mpmath.sign(true)
        return (0.0 if right else np.inf), true
    if not np.isfinite(got):
        return np.inf, true
    scale = max(abs(true), truth.form.least)
    if truth.form.whole:
        entries = partials(truth.form, len(places))
        scale = max(abs(truth(p, at.tolist()) or 0) for p in entries)
    miss = abs(mpmath.mpf(float(got)) - true) - float(limits.tiny)
    if miss > scale * BOUND / 10:
        for k, x in enumerate(at):
            change = truth((*places, k), at.tolist())
            if change is None:
                return None
            miss -= abs(change) * float(np.spacing(abs(x)))
    if miss <= 0:
        return 0.0, true
    return float(miss / scale) if scale else np.inf, true


def judged(module: Any, k: int, form: Form, grid: Array) -> Iterator[Error]:
    """Yield the largest error of each order."""
    truth = Truth(form)
    found = generated(module, k, form, grid)
    for order in range(3):
        worst = Error(form.text, order, 0, 0.0, ())
        count = 0
        for places in partials(form, order):
            values = np.broadcast_to(found[places], grid.shape[1:])
            for at, got in zip(grid.T, values, strict=True):
                outcome = error(truth, places, at, got)
                if outcome is None:
                    continue
                count += 1
                if outcome[0] > worst.worst:
                    where = tuple(at.tolist())
                    true = float(outcome[1])
                    worst = worst._replace(
                        worst=outcome[0], at=where, got=float(got), true=true
                    )
        yield worst._replace(points=count)


def load(forms: Sequence[Form]) -> Any:
    """Return the generated module of the forms."""
    return tensorgen.load(spec(forms))
