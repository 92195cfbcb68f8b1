"""What the check finds of a spec."""

from __future__ import annotations

from tensorgen.check import Report
from tensorgen.errors import Source
from tensorgen.pipeline import compile_spec


def reported(text: str) -> Report:
    """Return the report on the NumPy module of a spec, which is not laid out."""
    reports = list[Report]()
    compile_spec(
        Source("a.yaml", text),
        ["numpy"],
        "cross-country",
        False,
        report=lambda _, report: reports.append(report),
    )
    (report,) = reports
    return report
