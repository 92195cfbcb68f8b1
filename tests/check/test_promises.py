"""Points at which what a user promises of values holds."""

from __future__ import annotations

import pytest

from tensorgen.check import Report
from tensorgen.errors import Source
from tensorgen.pipeline import compile_spec
from tests.test_promises import ENTRIES, PROMISED, STRUCTURED


@pytest.mark.parametrize("spec", [PROMISED, STRUCTURED, ENTRIES])
def test_the_check_finds_points_where_promises_hold(spec: str) -> None:
    reports = list[Report]()
    compile_spec(
        Source("promises.yaml", spec),
        ["numpy"],
        "cross-country",
        False,
        report=lambda _, report: reports.append(report),
    )
    (report,) = reports
    assert not report.unchecked and (report.exact or report.floating)
