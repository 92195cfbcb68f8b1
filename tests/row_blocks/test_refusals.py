"""What no rounds over blocks of rows give is refused, with the reason."""

from __future__ import annotations

import numpy as np
import pytest

import tensorgen
from tensorgen.errors import Remark, Source, SpecError
from tensorgen.pipeline import compile_spec

HEAD = (
    "tensorgen: 1\ninputs: {w: [n], X: [m, n], y: [m], pick: {shape: [q], index: m}, "
    "same: {shape: [m], index: m}}\n"
)


def spec(expr: str, blocks: str = "m") -> str:
    """A function of data in blocks of rows."""
    body = f"functions:\n  f:\n    expr: |\n      {expr}\n    emit: [value]\n"
    return f"{HEAD}blocks: {blocks}\n{body}"


def faults(text: str) -> list[str]:
    """What is wrong with a spec."""
    with pytest.raises(SpecError) as caught:
        compile_spec(Source("a.yaml", text), ["numpy"], "cross-country")
    for one in caught.value.diagnostics:
        assert one.span is not None and one.render()
    return [f"{x.message} ({x.hint})" for x in caught.value.diagnostics]


@pytest.mark.parametrize(
    ("expr", "reason"),
    [
        ("sum(exp(-(y[i] - y[j])**2), i, j)", "an entry for each pair of rows"),
        ("sum((y[1:] - y[:-1])**2)", "an axis of m - 1 entries"),
        ("sum((y[i] - y[i + 1])**2, i)", "an axis of m - 1 entries"),
        ("sum(y * flip(y, 0))", "reads rows by their number"),
        ("y[0] * sum(y)", "reads rows by their number"),
        ("sum(y[pick[a]], a)", "an index array picks rows by number"),
        ("sum(cumsum(y)**2)", "it reads other rows"),
        ("median(y)", "'median' needs all rows at once"),
        ("logdet(X @ X.T + eye(m))", "an entry for each pair of rows"),
        ("sum(exp(ravel(X)[2:] * 2))", "an axis of m*n"),
    ],
)
def test_the_reason_is_told(expr: str, reason: str) -> None:
    (told,) = faults(spec(expr, "{m: , functions: [f]}"))
    assert told.startswith("'f' has no blocks of rows of m") and reason in told, told


def test_functions_that_nobody_lists_are_remarked() -> None:
    found: list[Remark] = []
    source = Source("a.yaml", spec("median(y)"))
    (text,) = compile_spec(
        source, ["numpy"], "cross-country", note=found.append
    ).values()
    assert "_partial1" not in text and "def f(" in text
    assert [x.code for x in found] == ["no-blocks"]


@pytest.mark.parametrize(
    ("blocks", "part"),
    [
        ("k", "'k' is not the size of an axis of an input"),
        ("[m]", "'blocks' must be a dim or a mapping, not a list"),
        ("{m: , n: }", "'blocks' names one dim"),
        ("{functions: [f]}", "'blocks' names one dim"),
        ("{m: , functions: [g]}", "'g' is not a function"),
        ("{m: {n: pick}}", "'pick' does not name a row of m for each entry of n"),
        ("{m: {q: pik}}", "'pik' is not an input (did you mean 'pick'?)"),
        ("{m: {m: same}}", "rows of m do not come with other rows of m"),
        ("{m: row}", "'m' must be a mapping, not 'row'"),
    ],
)
def test_faults_of_the_section_are_told(blocks: str, part: str) -> None:
    told, *_ = faults(spec("sum(y)", blocks))
    assert part in told, told


def test_a_function_called_like_a_piece_is_a_fault() -> None:
    text = spec("sum(y)") + "  f_finish: sum(y)\n"
    (told,) = faults(text)
    assert "'f_finish' is a piece of 'f'" in told and "rename one of them" in told


def test_inputs_are_no_sparse_matrix_because_of_their_names() -> None:
    given = "{w: [n], a_values: [E], a_rows: {shape: [E], index: m}, y: [m]}"
    text = (
        f"tensorgen: 1\ninputs: {given}\nblocks: {{m: , functions: [f]}}\n"
        "functions:\n  f: sum(a_values[e] * y[a_rows[e]], e)\n"
    )
    (told,) = faults(text)
    assert "an index array picks rows by number" in told
    assert "'blocks: {m: {E: a_rows}}' promises" in told


def test_an_object_that_counts_rows_is_refused_and_multiplied_by_passes() -> None:
    text = (
        "tensorgen: 1\ninputs: {u: [m], y: [m]}\nblocks: {m: , functions: [f]}\n"
        "functions:\n  f:\n    expr: sum((u - y)**2) + sum(u)**2\n    wrt: u\n"
        "    emit: [value, gradient, hessian, hvp, problem]\n"
    )
    (told,) = faults(text)
    assert "'f_hess' has no blocks" in told and "how many rows there are" in told
    module = tensorgen.load(text.replace(", functions: [f]", ""))
    y, d = np.arange(3.0), np.ones(3)
    over = module.FProblem.over([{"y": y[:1]}, {"y": y[1:]}])
    assert np.array_equal(over.hess(d) @ d, 2 * d + 6)
    assert np.allclose(over.hess(d).solve(2 * d + 6), d)
    assert np.array_equal(over.grad(d), 2 * (d - y) + 6)


def test_functions_that_find_unknowns_are_refused() -> None:
    text = (
        "tensorgen: 1\ninputs: {a: scalar, y: [m]}\n"
        "unknowns: {x: {shape: scalar, equation: x + exp(x) - a}}\n"
        "blocks: {m: , functions: [f]}\nfunctions:\n  f: sum((y - x)**2)\n"
    )
    (told,) = faults(text)
    assert "it finds unknowns" in told
