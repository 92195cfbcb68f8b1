"""What is wrong with the modules of naive texts at extreme points."""

from __future__ import annotations

import inspect
import random
from collections.abc import Iterator
from typing import Any, NamedTuple

import mpmath as mp
import numpy as np

from tensorgen import load
from tests.extremes.jets import Number
from tests.extremes.meaning import Found, differentiated
from tests.extremes.tree import Program

SCALES = (1e-9, 1.0, 40.0, 500.0, 1e4)
SMALLEST = {"p": 0.1, "s": 0.1}
LARGEST = mp.mpf("1e100")  # of what is no scale of sums: its cube is a double
OVERFLOWS = mp.mpf("1e150")  # a derivative beyond is not compared
UNDERFLOWS = mp.mpf("1e-200")
DIGITS = (150, 350, 1000, 5000, 10000)
RELATIVE = mp.mpf("1e-10")
EPSILON = mp.mpf(2) ** -52
ROUNDINGS = 100  # as if the inputs had been rounded that often
NOISE = mp.mpf("1e-40")
PATTERNS = (
    (1.0, -0.75, 0.5, 0.25),
    (1.0, 0.75, 0.5, 1.25),
    (-1.0, -0.75, -0.5, -1.5),
    (0.5, -1.0, 0.5, 0.0),
)
Inputs = dict[str, np.ndarray]


class Fault(NamedTuple):
    """A wrong entry: where, what kind of fault, and the numbers."""

    scale: float
    kind: str
    text: str


class Truth(NamedTuple):
    """Entries in many digits, and by how much each may be missed."""

    entries: list[Number]
    allowed: list[Number]


def inputs_at(program: Program, scale: float) -> Inputs:
    """The arguments of a program, the variable at a scale."""
    numbers = random.Random(f"{program.seed} {scale}")
    n = 3 + program.seed // 2 % 2
    found: Inputs = {
        "x": np.array(numbers.choice(PATTERNS)),
        "y": np.array([-0.5, 1.0, 0.25, 2.0]),
        "v": np.array([1.0, 2.0, -1.0, 0.5]),
        "p": np.array([0.5, 1.0, 3.0, 2.0]),
        "w": np.array([2.0, 0.0, 0.5, 1.0]),
        "c": np.array([0.0, 1.0, 2.0, 5.0]),
        "t": np.array([1.0, 2.0, 2.0, 0.5]),
    }
    found = {name: value[:n] for name, value in found.items()}
    found["M"] = np.outer(found["p"], found["y"]) - 0.5
    found["s"], found["q"] = np.array(1.5), np.array(0.3)
    # Derivatives by weights that are nearly zero are not promised.
    found[program.wrt] = found[program.wrt] * max(scale, SMALLEST.get(program.wrt, 0))
    if program.wrt == "x" and numbers.random() < 0.25:
        found["x"] = scale - np.arange(n) * numbers.choice((1.0, 0.0))
    used = program.words | {program.wrt}
    return {name: value for name, value in found.items() if name in used}


def faults(program: Program) -> Iterator[Fault]:
    """Compare a module with the truth at all scales."""
    try:
        module = load(program.spec)
    except Exception as error:
        yield Fault(0.0, "does not compile", repr(error)[:200])
        return
    for scale in SCALES:
        inputs = inputs_at(program, scale)
        want = truth(program, inputs)
        if want is None:
            continue
        try:
            with np.errstate(all="ignore"):
                got = generated(module, inputs)
        except Exception as error:
            yield Fault(scale, "raises", repr(error)[:120])
            continue
        if (fault := compare(scale, got, want)) is not None:
            yield fault


def generated(module: Any, inputs: Inputs) -> list[float]:
    """What a module gives, entries in the order of those of the truth."""

    def call(name: str) -> Any:
        function = getattr(module, name)
        return function(*(inputs[k] for k in inspect.signature(function).parameters))

    gradient = np.ravel(call("f_grad"))
    hessian = call("f_hess").dense().reshape(gradient.size, gradient.size)
    upper = hessian[np.triu_indices(gradient.size)]
    return [float(call("f")), *gradient.tolist(), *upper.tolist()]


def truth(program: Program, inputs: Inputs) -> Truth | None:
    """The truth at a point, or None where the text promises nothing."""
    text, wrt = program.tree.text, program.wrt
    before: list[Number] | None = None
    fewer = DIGITS[0]
    for digits in DIGITS:
        with mp.workdps(digits):
            try:
                found = differentiated(text, inputs, wrt)
            except (ZeroDivisionError, ValueError, OverflowError, MemoryError):
                return None
            complex_ = any(isinstance(e, mp.mpc) for e in found.entries)
            if found.largest > LARGEST or complex_:
                return None
            if before is not None and _agree(before, found.entries):
                with mp.workdps(fewer):
                    moved = _moved(text, inputs, wrt, found.entries)
                return Truth(found.entries, _allowed(found, moved))
            before, fewer = found.entries, digits
    return None


def _allowed(found: Found, moved: list[Number]) -> list[Number]:
    """Some roundings of the inputs and of the terms that are added up."""
    return [
        UNDERFLOWS + RELATIVE * abs(entry) + ROUNDINGS * (shift + EPSILON * term)
        for entry, shift, term in zip(found.entries, moved, found.terms, strict=True)
    ]


def _moved(text: str, inputs: Inputs, wrt: str, entries: list[Number]) -> list[Number]:
    """How far the entries move when the inputs are rounded at random."""
    moved = [mp.mpf(0)] * len(entries)
    numbers = np.random.default_rng(1)
    for _ in range(2):
        rounded = {
            name: value * (1 + 2.0**-52 * numbers.choice((-1.0, 1.0), value.shape))
            for name, value in inputs.items()
        }
        others = differentiated(text, rounded, wrt).entries
        moved = [
            max(m, abs(a - b)) for m, a, b in zip(moved, entries, others, strict=True)
        ]
    return moved


def groups(entries: list[Any]) -> Iterator[tuple[str, range]]:
    """Value, gradient and Hessian as ranges of the entries."""
    size = int((2 * len(entries)) ** 0.5) - 1
    yield "value", range(0, 1)
    yield "gradient", range(1, 1 + size)
    yield "Hessian", range(1 + size, len(entries))


def _agree(a: list[Number], b: list[Number]) -> bool:
    """Whether two precisions give the same entries, but for the noise of zeros."""
    for _, places in groups(b):
        largest = max(abs(b[k]) for k in places)
        for k in places:
            if abs(a[k] - b[k]) > abs(b[k]) / 10**20 + largest * NOISE:
                return False
    return True


def compare(scale: float, got: list[float], want: Truth) -> Fault | None:
    """The first entry that is wrong."""
    for name, places in groups(want.entries):
        if max(abs(want.entries[k]) for k in places) > OVERFLOWS:
            continue
        for k in places:
            right = want.entries[k]
            shown = f"{got[k]!r} for {float(right)!r}"
            if not np.isfinite(got[k]):
                return Fault(scale, f"{name} is not finite", shown)
            if abs(mp.mpf(got[k]) - right) > want.allowed[k]:
                return Fault(scale, f"{name} is wrong", shown)
    return None
