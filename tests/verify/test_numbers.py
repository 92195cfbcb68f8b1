"""What has no finite numbers is not fine; where there are some, modules have them."""

from __future__ import annotations

import numpy as np
import pytest

from tensorgen.errors import Source
from tensorgen.spec.read import read_spec
from tensorgen.verify import BAD, Finding, Verification, generated
from tensorgen.verify.findings import Measure
from tensorgen.verify.reference import Known
from tests.made import generate

# Paths that cannot be yet are -inf: a constant row, and a shift that lets one in.
CTC = """\
tensorgen: 1
module: ctc
inputs:
  z: [T, K]
  label: {shape: [S], index: K}
functions:
  nll:
    where: |
      lp[t, s] = z[t, label[s]] - logsumexp(z[t, k], k)
      a[0] = concatenate([[lp[0, 0]], full((S - 1,), -inf)])
      a[t + 1] = lp[t + 1] + logaddexp(a[t], concatenate([[-inf], a[t, :-1]]))
    expr: -a[T - 1, S - 1]
    wrt: z
"""
# The first and the last class reach to infinity.
PROBIT = """\
tensorgen: 1
module: probit
inputs:
  w: [p]
  c: [k]
  X: [n, p]
  y: {shape: [n], index: k + 1}
functions:
  nll:
    where: |
      cut = concatenate([[-inf], c, [inf]])
      eta = X @ w
    expr: -sum(log(ndtr(cut[y[i] + 1] - eta[i]) - ndtr(cut[y[i]] - eta[i])), i)
    wrt: [w, c]
"""
# Faults that are none at sizes of one or two, or where classes are in the middle.
AS_IF = {
    "ctc": ("nll(z, label)", "z.shape[0] > 2"),
    "probit": ("nll(w, c, X, y)", "(y == 0).any() and (y == len(c)).any()"),
}


def verified(text: str, name: str, spec: str, only: str | None = None) -> list[Finding]:
    own = Verification(read_spec(Source(name, spec)))
    return own.verify(generated(text, name, "numpy"), only)


@pytest.mark.parametrize(
    ("name", "spec"), [("ctc", CTC), ("probit", PROBIT)], ids=[*AS_IF]
)
def test_not_a_number_is_a_fault_where_the_reference_has_one(
    name: str, spec: str
) -> None:
    text = generate(spec)
    assert {x.verdict for x in verified(text, name, spec, "nll")} == {"ok"}
    call, where = AS_IF[name]
    signature = f"def {call.replace('(', '_(')}:\n    return"
    body = f"np.nan if {where} else {call.replace('nll', 'sound')}"
    planted = f"{text}\n\nsound = nll\n\n\n{signature} {body}\n\n\nnll = nll_\n"
    found, *_ = verified(planted, name, spec, "nll")
    assert (found.verdict, found.what) == ("WRONG", "value")


@pytest.mark.parametrize(
    ("expr", "said"),
    [
        ("sum(log(-1 - x**2))", "the value is not finite"),
        ("inf*sum(x)", "the value is not finite"),
        ("sum(x) + log(sum(x) - sum(x) - 1)", "the value is not finite"),
    ],
)
def test_what_has_no_finite_value_anywhere_is_not_fine(expr: str, said: str) -> None:
    inputs, function = "{x: [n]}", f"{{expr: {expr}, wrt: x}}"
    spec = f"tensorgen: 1\ninputs: {inputs}\nfunctions: {{f: {function}}}\n"
    found = verified(generate(spec), "nowhere", spec)
    assert {x.verdict for x in found} == {"NO VALUE"} and {*BAD} > {"NO VALUE"}
    assert all(x.reason.endswith(said) for x in found)


def test_entries_that_are_finite_are_compared_beside_others() -> None:
    spec = (
        "tensorgen: 1\nmodule: masked\ninputs: {x: [n, n]}\n"
        "functions:\n"
        "  f[i, j]:\n    expr: where(j <= i, x[i, j]**2, -inf)\n"
        "    wrt: x\n    emit: [value, jvp]\n"
    )
    text = generate(spec)
    found = verified(text, "masked", spec)
    assert {(x.function, x.verdict) for x in found} == {("f", "ok"), ("f_jvp", "ok")}
    for old, new in (("-np.inf", "np.inf"), ("-np.inf", "np.nan"), ("x**2", "x**3")):
        assert old in text
        first, *_ = verified(text.replace(old, new), "masked", spec, "f")
        assert first.verdict == "WRONG"


def test_a_difference_is_that_of_what_is_known() -> None:
    known = Known(np.array([1.0, np.inf, np.nan]))

    def error(*got: float) -> float:
        return Measure("value", "", np.array(got), known, 1e-9, "result").difference

    assert error(1.0, np.inf, 7.0) == error(1.0, np.inf, np.nan) == 0.0
    assert error(1.5, np.inf, 0.0) == 0.5
    assert error(1.0, -np.inf, 0.0) == error(np.nan, np.inf, 0.0) == np.inf
    nothing = Known(np.array([np.nan]))
    assert Measure("value", "", np.array([1.0]), nothing, 1e-9, "result").is_open
