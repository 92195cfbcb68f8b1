"""Programs of a few lines that show a difference again."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorgen.verify.emitted_calls import Arguments
from tensorgen.verify.findings import Measure
from tensorgen.verify.verified_modules import Subject


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
