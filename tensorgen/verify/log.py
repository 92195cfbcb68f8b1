"""What is measured of one emitted function, point by point."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tensorgen.verify.cases import Case
from tensorgen.verify.emitted_calls import Arguments
from tensorgen.verify.findings import EMPTY, OK, OPEN, WRONG, Finding, Measure
from tensorgen.verify.verified_modules import Subject


@dataclass(frozen=True)
class Failure:
    """Where a function is wrong, and by what."""

    case: Case
    given: Arguments
    measure: Measure | None
    reason: str


class Log:
    """What was measured of one emitted function, over its points."""

    def __init__(self, name: str, subject: Subject) -> None:
        self.name, self.subject = name, subject
        self._rows: dict[tuple[str, str], Finding] = {}
        self.failed: Failure | None = None
        self.key: tuple[str, str] | None = None
        self._opened: dict[str, str] = {}
        self._inexact: dict[tuple[str, str], None] = {}
        self._seen: set[tuple[str, str]] = set()

    @property
    def compared(self) -> bool:
        """Whether anything has been."""
        return bool(self._rows)

    def add(self, point: Case, given: Arguments, measure: Measure) -> None:
        """Take down a measure."""
        key = measure.what, measure.against
        if measure.is_open and not measure.is_wrong:
            self._inexact[key] = None
            return
        row = self._rows.setdefault(
            key, Finding(self.name, self.subject.name, *key, verdict=OK)
        )
        row.worst = max(row.worst, measure.error)
        self._seen.add(key)
        if measure.is_wrong:
            row.verdict = WRONG
            if self.failed is None:
                self.failed, self.key = Failure(point, given, measure, ""), key

    def raised(self, point: Case, given: Arguments, error: Exception) -> None:
        """Take down that the function raised something."""
        key = "call", "returning"
        reason = f"it raises {type(error).__name__}: {error}"
        self._rows[key] = Finding(
            self.name, self.subject.name, *key, verdict=WRONG, worst=float("inf")
        )
        self._seen.add(key)
        if self.failed is None:
            self.failed, self.key = Failure(point, given, None, reason), key

    def opened(self, reason: str, verdict: str = OPEN) -> None:
        """Take down why something was not compared."""
        self._opened[reason] = verdict

    def reached(self) -> None:
        """Count a point for what was measured there."""
        for key in self._rows:
            if key in self._seen:
                self._rows[key].points += 1
        self._seen.clear()

    def findings(self, remark: str) -> list[Finding]:
        """Return all of it; the first failure says how to see it again."""
        found = [*self._rows.values()]
        if self.failed is not None and self.key is not None:
            own, failed = self._rows[self.key], self.failed
            place = found.index(own)
            measure = failed.measure
            found[place] = replace(
                own,
                reason=failed.reason,
                seed=failed.case.seed,
                sizes=dict(failed.case.sizes),
                difference=None if measure is None else measure.difference,
                reproduction=program(self.subject, self.name, failed.given, measure),
            )
        reasons = dict(self._opened)
        for key in (x for x in self._inexact if x not in self._rows):
            reasons[f"{key[0]}: the reference is not exact enough"] = OPEN
        if found:
            # Somewhere there were numbers.
            reasons = {x: OPEN for x, v in reasons.items() if v == OPEN}
        if remark:
            reasons[remark] = OPEN
        if not found and not reasons:
            reasons["nothing was compared"] = EMPTY
        for reason, verdict in reasons.items():
            found.append(
                Finding(
                    self.name, self.subject.name, "part", verdict=verdict, reason=reason
                )
            )
        return found


def program(
    subject: Subject, name: str, given: Arguments, measure: Measure | None
) -> str:
    """Return a program that calls a function and prints how far off it is.

    Without a measure it only calls: that raises.
    """
    lines = ["import numpy as np", subject.imported, ""]
    if any(hasattr(value, "tocoo") for value in given.values.values()):
        lines.insert(1, "from scipy.sparse import csr_array")
    values = given.values | (measure.given if measure is not None else {})
    for key, value in values.items():
        lines.append(f"{key} = {_text(value)}")
    if subject.backend != "numpy":
        lines.insert(1, f"import {subject.backend}")
        lines += [
            f"{x} = {subject.backend}.asarray({x})"
            for x, value in values.items()
            if isinstance(value, np.ndarray)
        ]
    lines.append(f"result = module.{name}({given.text()})")
    if measure is not None:
        lines.append(f"got = {measure.code}")
        if measure.what.startswith("coo"):
            # Entries of a place add up.
            lines[-1] = f"rows, columns, values = {measure.code}"
            shape = np.asarray(measure.wanted.value).shape
            lines.append(f"got = np.zeros({shape!r})")
            lines.append("np.add.at(got, (rows, columns), values)")
        lines.append(f"wanted = {_text(np.asarray(measure.wanted.value))}")
        lines.append("print(got, wanted, sep='\\n')")
        if np.shape(measure.got) == np.shape(measure.wanted.value):
            lines.append("print(np.abs(got - wanted).max(initial=0.0))")
    return "\n".join(lines) + "\n"


def _text(value: Any) -> str:
    if isinstance(value, np.ndarray):
        kind = ", dtype=int" if value.dtype.kind in "iu" else ""
        if not value.size:
            return f"np.zeros({value.shape!r}{kind})"
        return f"np.array({_list(value.tolist())}{kind})"
    if hasattr(value, "tocoo"):
        entries = value.tocoo()
        rows, columns = (_text(np.asarray(x)) for x in entries.coords)
        parts = f"({_text(entries.data)}, ({rows}, {columns}))"
        return f"csr_array({parts}, shape={value.shape!r})"
    return repr(value)


def _list(value: Any) -> str:
    """Nested lists, with names for what is no number of Python's."""
    text = repr(value)
    return text.replace("nan", "np.nan").replace("inf", "np.inf")
