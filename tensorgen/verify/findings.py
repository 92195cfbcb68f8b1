"""What was compared, with what result, and how that is reported."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tensorgen.operators.references import Array
from tensorgen.operators.references.rounding import explains, is_doubtful, largest
from tensorgen.verify.reference import Known

LEAST, MOST_DIGITS = 1e-16, 16.0
"""Errors below are none to doubles: that many digits they have."""

OK, WRONG, OPEN = "ok", "WRONG", "not verified"

EMPTY = "NO VALUE"
"""Of what has no finite value at any point that was tried: it is undecided."""

BAD = (WRONG, EMPTY)

LONG = 10_000
"""Characters of a program that nobody reads in a terminal."""


@dataclass(frozen=True)
class Measure:
    """One comparison at one point: two arrays that ought to be equal.

    `code` gives `got` of what the function `returned`, for a person to see it again;
    it may name arrays that are `given`. `tolerance` is relative to the larger of what
    is wanted and `scale`.
    """

    what: str
    against: str
    got: Array
    wanted: Known
    tolerance: float
    code: str
    given: dict[str, Array] = field(default_factory=dict)
    scale: float = 0.0

    @property
    def difference(self) -> float:
        """The largest difference; infinite where there is none of numbers.

        Nothing is wanted where the reference has no number; what is infinite there has
        to be the same.
        """
        got, wanted = np.asarray(self.got), np.asarray(self.wanted.value)
        if got.shape != wanted.shape or got.dtype == object:
            return float("inf")
        finite, endless = np.isfinite(wanted), np.isinf(wanted)
        if not np.all(np.isfinite(got[finite])) or np.any(
            got[endless] != wanted[endless]
        ):
            return float("inf")
        return float(np.max(np.abs(got[finite] - wanted[finite]), initial=0.0))

    @property
    def size(self) -> float:
        """What differences are relative to."""
        return max(largest(self.wanted.value), self.scale, 1e-6)

    @property
    def error(self) -> float:
        """The relative error."""
        return self.difference / self.size

    @property
    def is_open(self) -> bool:
        """Whether what is wanted is not known well enough to decide."""
        wanted = np.asarray(self.wanted.value)
        if wanted.size and not np.any(np.isfinite(wanted)):
            return True
        return is_doubtful(self.wanted.error, self.size)

    @property
    def is_wrong(self) -> bool:
        """Whether the difference is more than rounding and the reference explain."""
        given = self.tolerance, self.size, self.wanted.error
        return not explains(self.difference, *given)


@dataclass
class Finding:
    """What is known of one comparison of an emitted function over all points."""

    function: str
    module: str
    what: str
    against: str = ""
    verdict: str = OPEN
    worst: float = 0.0
    points: int = 0
    reason: str = ""
    seed: str = ""
    sizes: dict[str, int] = field(default_factory=dict)
    difference: float | None = None
    reproduction: str = ""

    @property
    def digits(self) -> float | None:
        """How many digits are right at worst; nothing where none are."""
        if self.verdict in (OPEN, EMPTY) or not self.worst < 1:
            return None
        return min(-float(np.log10(max(self.worst, LEAST))), MOST_DIGITS)

    def as_json(self) -> dict[str, Any]:
        """What is written as JSON: numbers that it lacks are strings."""
        found = {**vars(self), "digits": self.digits}
        for name in ("worst", "difference"):
            number = found[name]
            if number is not None and not np.isfinite(number):
                found[name] = str(number)
        return found


HEADER = ("function", "what", "against", "worst error", "digits", "points", "verdict")


def table(findings: Sequence[Finding]) -> str:
    """Return a table for people, and below it what is wrong or open, and why."""
    lines: list[str] = []
    for module in dict.fromkeys(x.module for x in findings):
        own = [x for x in findings if x.module == module]
        rows = [HEADER, *(_row(x) for x in own if x.verdict in (OK, WRONG))]
        widths = [max(len(row[k]) for row in rows) for k in range(len(HEADER))]
        lines += [""] * bool(lines) + [f"{module}:"]
        if len(rows) > 1:
            for row in rows:
                cells = zip(row, widths, strict=True)
                line = "  ".join(text.ljust(width) for text, width in cells)
                lines.append(f"  {line}".rstrip())
        for x in own:
            if x.verdict not in (OK, WRONG):
                lines.append(f"  {x.function}, {x.what}: {x.verdict}: {x.reason}")
    for x in findings:
        if x.verdict == WRONG:
            lines += ["", *_failure(x)]
    return "\n".join(lines) + "\n" if lines else ""


def _row(x: Finding) -> tuple[str, ...]:
    worst = f"{x.worst:.1e}" if np.isfinite(x.worst) else "-"
    digits = "-" if x.digits is None else f"{x.digits:.1f}"
    return (x.function, x.what, x.against, worst, digits, str(x.points), x.verdict)


def _failure(x: Finding) -> list[str]:
    sizes = ", ".join(f"{name} = {size}" for name, size in x.sizes.items())
    lines = [f"WRONG: {x.function} in {x.module}: {x.what}, against {x.against}"]
    lines += [f"  {x.reason}"] * bool(x.reason)
    if not x.reproduction and not x.seed:
        return [*lines, "  see what is wrong with it above"]
    lines.append(f"  seed {x.seed}; sizes: {sizes or 'none'}")
    if x.difference is not None:
        lines.append(f"  largest difference {x.difference:.3g}")
    if len(x.reproduction) > LONG:
        lines.append("  the program that shows it again is long: --json has it")
    elif x.reproduction:
        lines += ["  to see it again:", ""]
        lines += [f"    {line}".rstrip() for line in x.reproduction.splitlines()]
    return lines
