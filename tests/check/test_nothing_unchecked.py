"""No function is left out in silence, and faults of the check are ours."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tensorgen import pipeline
from tensorgen.check import Report, meaning, verdicts
from tensorgen.check.reals import Reals
from tensorgen.check.residues import Residues
from tensorgen.check.sample_points import Point
from tensorgen.errors import InternalError, Remark, Source
from tests.check.test_promised_values import KERNEL

ROOT = Path(__file__).parent.parent.parent
SPECS = [
    *sorted((ROOT / "tensorgen/cli/starters").glob("*.yaml")),
    *(
        pytest.param(path, marks=pytest.mark.thorough)
        for path in sorted((ROOT / "examples/gallery").glob("*.yaml"))
    ),
]


def checked(text: str, name: str = "a.yaml") -> tuple[Report, list[Remark]]:
    """Return what the check finds of the NumPy module of a spec, and what is noted."""
    reports, remarks = list[Report](), list[Remark]()
    pipeline.compile_spec(
        Source(name, text),
        ["numpy"],
        "cross-country",
        False,
        note=remarks.append,
        report=lambda _, report: reports.append(report),
        allow_external=True,
    )
    (report,) = reports
    return report, remarks


def functions(body: str, inputs: str = "x: [n]") -> str:
    return f"tensorgen: 1\ninputs: {{{inputs}}}\nfunctions:\n{body}"


FILTERED = """  f:
    where: |
      v[0] = 1
      v[t + 1] = r[t] + b*v[t]
    expr: sum(log(v))
    wrt: b
"""


def test_a_recurrence_with_a_constant_start_is_compared_exactly() -> None:
    report, _ = checked(functions(FILTERED, "b: scalar, r: [n]"))
    assert report.exact == ["f", "f_grad", "f_value_and_grad"]


def test_a_number_is_stored_as_such_wherever_it_is_made() -> None:
    text = "  f: {expr: 'sum(exp(max(x[e], e, k[e] == i)), i=range(n))', wrt: x}"
    report, _ = checked(functions(text, "x: [m], k: {shape: [m], index: n}"))
    assert not report.unchecked


@pytest.mark.parametrize("path", SPECS, ids=lambda path: path.stem)
def test_all_functions_of_what_is_shown_are_checked(path: Path) -> None:
    report, _ = checked(path.read_text("utf-8"), path.name)
    assert report.unchecked == {}


def test_an_exception_within_the_check_is_a_fault_of_ours(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def broken(self: Residues, *given: object) -> None:
        raise TypeError("unhashable")

    monkeypatch.setattr(Residues, "each", broken)
    with pytest.raises(InternalError, match="the check of f_grad failed: TypeError"):
        checked(functions("  f: {expr: sum(exp(x)), wrt: x, emit: [gradient]}"))


@pytest.fixture
def in_floating_point(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let numbers modulo a prime tell nothing."""
    monkeypatch.setattr(verdicts._Judge, "is_exact", lambda self, claim: False)


@pytest.mark.usefixtures("in_floating_point")
def test_what_has_no_value_anywhere_is_a_warning_with_a_code() -> None:
    _, (remark,) = checked(functions("  f: sum(log(-1 - x**2))"))
    assert str(remark) == (
        f"a.yaml:4:3: warning: f was not checked: {verdicts.NO_VALUE} [unchecked]"
    )


@pytest.mark.usefixtures("in_floating_point")
def test_many_points_are_tried_before_there_is_said_to_be_no_value(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sizes = list[object]()
    whole = verdicts._Judge._stated

    def stated(self: verdicts._Judge, claim: object, point: Point) -> object:
        if isinstance(point.field, Reals):
            sizes.append(tuple(point.sizes.values()))
        return whole(self, claim, point)  # type: ignore[arg-type]

    monkeypatch.setattr(verdicts._Judge, "_stated", stated)
    checked(functions("  f: sum(log(-1 - x**2))"))
    assert len(sizes) >= 50 and len({*sizes}) >= 3


def test_results_that_never_have_entries_are_checked() -> None:
    text = "  f: {expr: u - 3, wrt: z, emit: [value, jacobian]}"
    report, _ = checked(functions(text, "u: {shape: [0], index: n}, z: []"))
    assert len(report.exact) == 2


def test_what_is_too_large_is_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(meaning, "MOST_ENTRIES", 3)
    _, remarks = checked(functions("  f: x + y", "x: [5], y: [5]"))
    assert [remark.code for remark in remarks] == ["unchecked"]


@pytest.mark.parametrize(
    "inputs, where, expr, wrt",
    [
        pytest.param(
            "x: [m, n], q: [n, k]",
            "Q = tanh(logaddexp(x @ q, 2))",
            "logdet(Q @ Q.T + eye(m))",
            "q",
            marks=pytest.mark.thorough,
        ),
        ("K: [3, 3], u: [3]", "L = K*u[0]", "norm(L, 'nuc')", "u"),
        ("x: [m, n], q: [n]", "z = x @ q", "sum(mish(z))", "q"),
    ],
    ids=["log of a determinant", "zero but for rounding", "mish"],
)
@pytest.mark.usefixtures("in_floating_point")
def test_rounding_of_what_is_stated_is_no_fault(
    inputs: str,
    where: str,
    expr: str,
    wrt: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    emit = 3 if "logdet" in expr else "hessian"
    body = f"  f: {{where: '{where}', expr: \"{expr}\", wrt: {wrt}, emit: [{emit}]}}"
    monkeypatch.setattr(verdicts, "TOLERANCE", 1e-8)
    report, _ = checked(functions(body, inputs))
    assert report.floating and not report.unchecked


def test_a_value_where_none_is_stated_or_none_where_one_is_stated() -> None:
    one, none = np.ones(1), np.full(1, np.nan)
    assert verdicts._close(none, one) is False
    assert verdicts._close(one, one + 1e-9) is True
    assert verdicts._close(one, one + 1e-4) is False
    # Four times what is stated is off by.
    assert verdicts._close(one, one + 4e-5, 1.1e-5) is True
    assert verdicts._close(one, one + 4e-2, 1.1e-2) is None
    # What is stated tells as little where code has no value, and as much.
    endless = np.full(1, np.inf)
    for nothing in (none, endless, -endless):
        assert verdicts._close(nothing, one, 1.1e-2) is None
        assert verdicts._close(nothing, one, 1e-5) is False
    assert verdicts._close(np.full(1, 1e4), one, 1.1e-2) is False


def test_a_fit_without_residuals_is_no_fault() -> None:
    """With no more rows than columns, variances are rounding, and some of them 0."""
    report, _ = checked(KERNEL)
    names = {*report.exact, *report.floating, *report.unchecked}
    assert names == {"f", "f_grad", "f_value_and_grad"}


@pytest.mark.usefixtures("in_floating_point")
def test_backends_are_warned_of_once() -> None:
    remarks = list[Remark]()
    source = Source("a.yaml", functions("  f: sum(log(-1 - x**2))"))
    pipeline.compile_spec(source, None, "cross-country", False, note=remarks.append)
    assert len(remarks) == 1
