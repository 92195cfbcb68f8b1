"""Products of sparse matrices with their transposes are held against calculus."""

from __future__ import annotations

import pytest

from tensorgen.arrays.object_operations import GramEntries
from tensorgen.check import Report
from tensorgen.errors import InternalError, Source
from tensorgen.pipeline import compile_spec
from tensorgen.structure import coordinates
from tests.structure.test_gram import INPUTS, NAMES, SPEC


def test_all_methods_are_held_exactly_against_calculus() -> None:
    told: dict[str, Report] = {}
    source, tell = Source("a.yaml", SPEC), told.__setitem__
    compile_spec(source, ["numpy"], "cross-country", False, report=tell)
    (report,) = told.values()
    assert {*report.exact} > {f"{name}_hess" for name in NAMES}
    assert (report.floating, report.unchecked) == ([], {})


def test_the_check_sees_a_matrix_that_is_turned(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def turned(transposed: bool) -> GramEntries:
        return GramEntries(not transposed)

    monkeypatch.setattr(coordinates, "GramEntries", turned)
    spec = INPUTS + '  f: {expr: "sum(exp(A @ w))", wrt: w, emit: hessian}\n'
    with pytest.raises(InternalError, match="f_hess"):
        compile_spec(Source("a.yaml", spec), ["numpy"], "cross-country")
