"""Each form that sizes choose from is held against calculus."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import count
from typing import Any

import pytest

from tensorgen.errors import InternalError
from tensorgen.plans import build_module
from tests.check.reports import reported

SPEC = """tensorgen: 1
inputs: {{x: [n], B: [q, p], C: [p, n]}}
functions:
  f: {{expr: 'norm(B @ (C @ x))**2 + sum(cosh(x))', wrt: x, emit: [{}]}}
"""


@pytest.mark.parametrize("emit", ["hessian", "value, gradient, hessian", "problem"])
def test_each_of_three_forms_is_checked(emit: str) -> None:
    report = reported(SPEC.format(emit))
    assert not report.unchecked
    forms = Counter(name.partition(",")[0] for name in report.exact)
    assert 3 in forms.values()
    for name, found in forms.items():
        assert found == (3 if "hess" in name else 1), name


@pytest.mark.parametrize("wrong", range(3))
@pytest.mark.parametrize("emit", ["hessian", "problem"])
def test_a_wrong_form_is_found(
    emit: str, wrong: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    form, numbers = build_module.ModuleBuilder._form, count()

    def changed(*given: Any) -> Any:
        made = form(*given)
        if not made.kind.holder or next(numbers) != wrong:
            return made
        first, *rest = made.body.returns
        return replace(made, body=replace(made.body, returns=(f"2*({first})", *rest)))

    monkeypatch.setattr(build_module.ModuleBuilder, "_form", changed)
    with pytest.raises(InternalError):
        reported(SPEC.format(emit))
