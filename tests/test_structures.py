"""Random structured derivatives: every method agrees with the dense derivative.

Each block of seeds is one test; a failure prints the spec, with as few terms as still
fail. `--seeds START:STOP` runs other functions than the usual ones.
"""

from __future__ import annotations

import traceback
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tensorgen import load
from tests.programs.check_structured import LOOSE, check
from tests.programs.sparse import GAPS, gap, sparse_program
from tests.programs.structured import StructuredProgram, Term, structured_program
from tests.sampled import left

SEEDS = "0:6"  # `.ci/run` goes on to 40


def faults(program: StructuredProgram) -> list[str]:
    """What is wrong with the derivatives of a program."""
    try:
        return list(check(program, load(program.text)))
    except Exception:
        return [traceback.format_exc(limit=-3)]


def report(program: StructuredProgram) -> str:
    """The program with as few terms as fail, and how it fails."""
    smaller = [replace(program, terms=(term,)) for term in program.terms]
    found = next((small for small in smaller if faults(small)), program)
    sizes = {dim: size for dim, size in found.sizes.items() if dim in found.text}
    return "\n".join([f"seed {found.seed}: {sizes}", found.text, *faults(found)])


def test_structured_derivatives_agree_with_dense_ones(
    seeds: range,
) -> None:
    programs = [structured_program(seed) for seed in seeds]
    failing = [program for program in programs if faults(program)]
    if failing:
        others = [program.seed for program in failing]
        pytest.fail(f"seeds {others} fail\n{report(failing[0])}", pytrace=False)


FEW = range(14)


@pytest.mark.parametrize("block", [FEW[:5], left(FEW[5:])], ids=str)
def test_parts_of_a_variable_store_no_place_that_stays_empty(block: range) -> None:
    failing = [found for found in map(sparse_program, block) if faults(found)]
    assert not failing, report(failing[0])


@pytest.mark.parametrize("text", GAPS)
def test_what_stores_too_many_places_is_right_and_known(text: str) -> None:
    (wrong,) = faults(gap(text))
    assert LOOSE in wrong  # else it is no gap any more, and leaves the list


def test_an_empty_place_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    program = replace(gap(next(iter(GAPS))), terms=(Term("sum(x[::2]**3)"),))
    program = replace(program, shapes=program.shapes | {"x": ("2*h",)})
    module: Any = load(program.text)
    assert not list(check(program, module))
    own = module.FHessian.coo

    def coo(self: Any, *, lower: bool = False) -> Any:
        i, j, values = own(self, lower=lower)
        more = np.arange(1, 10)
        rows, columns = np.append(i, more), np.append(j, 0 * more)
        return rows, columns, np.append(values, 0 * more)

    monkeypatch.setattr(module.FHessian, "coo", coo)
    assert any(LOOSE in text for text in check(program, module))


def test_the_same_seed_gives_the_same_program_of_parts() -> None:
    for seed in range(20):
        assert sparse_program(seed).text == sparse_program(seed).text


BROKEN = [
    ("_apply", lambda result: 1.001 * result, "matvec"),
    ("diagonal", lambda result: result + 0.01, "diagonal()"),
    ("coo", lambda result: (*result[:2], -result[2]), "coo(lower=False)"),
    ("dense", lambda result: result[::-1].copy(), "dense()"),
]


@pytest.mark.parametrize(("method", "harm", "named"), BROKEN)
def test_a_wrong_method_is_noticed(
    method: str, harm: Any, named: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = structured_program(0)
    chain = Term("sum((x[1:] - x[:-1]**2)**2)")
    program = replace(
        spec,
        terms=(chain,),
        emit=("gradient", "hessian", "dense_hessian", "hvp"),
        shapes={"x": ("n",)},
        wrt=("x",),
        hints="large",
    )
    module: Any = load(program.text)
    assert not list(check(program, module))
    own = module.FHessian
    right = getattr(own, method)
    monkeypatch.setattr(own, method, lambda *args, **opts: harm(right(*args, **opts)))
    assert any(text.startswith(named) for text in check(program, module))


def test_the_same_seed_gives_the_same_structured_program() -> None:
    for seed in range(20):
        assert structured_program(seed).text == structured_program(seed).text


SPEC = """tensorgen: 1
dims: {{m: 10000, k: 5}}
inputs: {{x: [m, k], h: [k], t: [m]}}
functions:
  f: {{expr: "{}", wrt: {}, emit: [hessian]}}
"""


@pytest.mark.parametrize("curve", ["sigmoid({})", "sqrt(1 + {}**2)", "exp(-{}**2)"])
def test_terms_that_differ_in_one_array_hold_their_sum(curve: str) -> None:
    text = SPEC.format(f"sum({curve.format('(x @ h)')})", "x")
    held = load(text).FHessian.structure
    assert held.replace("= -", "= ") == (
        "block diagonal, m blocks of k by k: "
        "H[i, j, l, n] = h[j] * h[n] * d[i] * delta[i, l]"
    )


def test_rank_one_beside_a_multiple_of_the_identity_is_solved_in_linear_time() -> None:
    t = np.linspace(1, 2, 100_000)
    hessian = load(SPEC.format("norm(t)", "t")).f_hess(t)
    b = np.cos(t)
    s = hessian.solve(b, shift=1.0)  # a matrix of 80 GB would not fit
    assert np.abs(hessian @ s + s - b).max() < 1e-12
