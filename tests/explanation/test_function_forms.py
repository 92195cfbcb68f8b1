"""What is known of functions besides their rows: stable forms, helpers, CUDA."""

from __future__ import annotations

import pytest

from tensorgen.explanation.function_forms import helpers, in_cuda, stable_forms
from tensorgen.explanation.function_reference import ELEMENT, cuda, entries
from tensorgen.operators.functions import FUNCTIONS


def test_stable_forms_are_of_functions_that_users_call() -> None:
    forms = {name: [*map(str, stable_forms(name))] for name in FUNCTIONS}
    assert "log(1 + t) is computed as log1p(t)" in forms["log"]
    assert "log(1 + t) is computed as log1p(t)" in forms["log1p"]
    powers = "log(x**k) is computed as k * log(x), if x > 0 and k != 1"
    assert powers in forms["log"] and powers not in forms["log1p"]
    every = " ".join(form for own in forms.values() for form in own)
    assert "rexpm1" not in every and "log1mexp" not in every
    assert forms["sum"] == []


def test_helpers_come_behind_those_that_they_call() -> None:
    first, *others = helpers("_lrising(x, y) + x")
    assert first.startswith("def _holds(") and "def _replaced(" in others[0]
    assert others[-1].startswith("def _lrising(")
    assert helpers("np.exp(x)") == []


def test_an_expression_is_told_as_kernels_tell_it() -> None:
    assert in_cuda("np.exp(-x) + 1", ["x"]) == ("exp(-x) + 1", [])
    assert in_cuda("(x + y)**2", "xy") == ("(x + y) * (x + y)", [])
    text, functions = in_cuda("np.logaddexp(0, x)", ["x"])
    assert text == "logaddexp(T(0), x)"
    assert ["__device__ T logaddexp(T x, T y)" in x for x in functions] == [True]


@pytest.mark.parametrize("code", ["special.ndtr(x)", "np.linalg.inv(x)", "x @ y"])
def test_what_kernels_cannot_say_has_no_text(code: str) -> None:
    assert in_cuda(code, ["x", "y"]) == ("", [])


def test_most_elementwise_functions_are_known_to_kernels() -> None:
    own = [entry for entry in entries() if entry.sort == ELEMENT]
    assert len([entry for entry in own if cuda(entry)[0]]) > len(own) / 2
