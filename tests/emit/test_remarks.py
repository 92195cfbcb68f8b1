"""Remarks: each form that is chosen says what it is, once, where nobody sees it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache
from importlib import import_module
from pkgutil import walk_packages

import pytest

import tensorgen
from tensorgen.emit import render
from tensorgen.errors import Source
from tensorgen.ir.remarks import Remark
from tensorgen.pipeline import compile_spec
from tests.passes import witnesses

CHOLESKY = "positive definite: Cholesky, at half the cost of LU"
EXPM1 = "exp(t) - 1, with all digits near t = 0"
ADJOINT = "the adjoint goes back from the last step to the first"
SOFTPLUS = "log(1 + exp(t)) without overflow"
MEAN = "about the mean, for digits"


def of(expr: str, *inputs: str, wrt: str = "x", emit: str = "value") -> str:
    """A spec of one function."""
    return f"""
inputs: {{{", ".join(inputs)}}}
functions: {{f: {{expr: '{expr}', wrt: {wrt}, emit: [{emit}]}}}}
"""


WOODBURY = "dims: {n: 1000, r: 5}" + of(
    "x @ solve(diag(s) + A @ A.T, x) + logdet(diag(s) + A @ A.T)",
    *("A: [n, r]", "s: {shape: [n], positive: true}", "x: [n]"),
)
ROOT = """
inputs: {A: [n, n], b: [n]}
unknowns: {x: {shape: [n], equation: 'A @ x + x**3 - b'}}
functions: {f: {expr: 'norm(x)**2', wrt: b, emit: [gradient]}}
"""
RUNS = """
inputs: {A: [n, n], x: [n], u: [T, n]}
functions:
  f:
    where: |
      s[0] = x
      s[t + 1] = tanh(A @ s[t] + u[t])
    checkpoint: sqrt
    expr: norm(s[-1])**2
    wrt: x
    emit: [gradient]
"""
BACK = """
inputs: {A: [n, n], x: [n], y: [n], u: [T, n]}
functions:
  f:
    where: |
      r[T] = y
      r[t] = tanh(A @ r[t + 1] + u[t])
      s[0] = x
      s[t + 1] = tanh(A @ s[t] + u[t])
    expr: norm(r[0])**2 + norm(s[T])**2
    wrt: [x, y]
    emit: [value, gradient]
"""
PLACE = """
dims: {n: 3000}
inputs: {s: scalar, D: [n, n], y: [n]}
functions:
  f: {where: 'K = exp(s - D)', expr: y @ K @ y, wrt: s, emit: [value, gradient]}
"""
SPD = "K: {shape: [n, n], spd: true}"
# What is said, of which spec, and a part of the statement that it is said of.
SAID = (
    (EXPM1, witnesses.DOSE, "/ np.expm1(x)"),
    ("log(1 + t), with all digits near t = 0", of("sum(log(1 + x))", "x: [n]"), "(x)"),
    (SOFTPLUS, witnesses.SOFTPLUS, "np.logaddexp(0, t)"),
    (
        "log(1 / (1 + exp(-t))) without overflow",
        of("sum(log(sigmoid(x)))", "x: [n]"),
        "-np.logaddexp(0, -x)",
    ),
    (
        "log(exp(a) + exp(b)) without overflow",
        of("sum(log(exp(x) + exp(y)))", "x: [n]", "y: [n]"),
        "np.logaddexp(x, y)",
    ),
    (
        "1 - erf(t), with all digits where little is left of 1",
        of("sum(1 - erf(x))", "x: [n]"),
        "special.erfc(x)",
    ),
    (
        "log(ndtr(t)), which is finite where ndtr(t) is 0 already",
        of("sum(log(ndtr(x)))", "x: [n]"),
        "special.log_ndtr(x)",
    ),
    (MEAN, of("mean(x**2) - mean(x)**2", "x: [n]"), "x - x.sum() / n"),
    (MEAN, witnesses.PAIRS, "x - x.sum(axis=0) / n"),
    (CHOLESKY, of("logdet(K)", SPD, wrt="K"), "np.linalg.cholesky(K)"),
    (
        "solved, not inverted: that keeps more digits",
        of("x @ inv(S) @ x", "S: [n, n]", "x: [n]"),
        "np.linalg.solve(S, x)",
    ),
    (
        "a Kronecker product is inverted factor by factor",
        of("inv(kron(A, B))", "A: [n, n]", "B: [m, m]", wrt="A"),
        "inv_B = np.linalg.inv(B)",
    ),
    (
        "a block diagonal matrix is inverted block by block",
        of("ravel(x) @ solve(kron(eye(m), A), ravel(x))", "A: [n, n]", "x: [m, n]"),
        "np.linalg.solve(A",
    ),
    (
        "Woodbury: (D + U W)^-1 by the smaller I + W D^-1 U",
        WOODBURY,
        "_cholesky_solve(cholesky, A.T @ x_over_s)",
    ),
    (
        "det(D + U W) = det(D) det(I + W D^-1 U), the smaller one",
        WOODBURY,
        "np.log(np.diagonal(cholesky))",
    ),
    (
        "Z.T @ Z is symmetric: BLAS computes one triangle",
        witnesses.WEIGHTED,
        "X_sqrt_scaled_p.T @ X_sqrt_scaled_p",
    ),
    (
        "a term and its transpose, of which one is computed",
        witnesses.HESSIAN,
        "weighted_A + weighted_A.T",
    ),
    (
        "from the right: the cheapest order of these products",
        of("A @ B @ x", "A: [m, n]", "B: [n, k]", "x: [k]"),
        "A @ (B @ x)",
    ),
    (
        "both branches in one: the argument stops where they meet",
        witnesses.HUBER,
        "np.clip(r, -c, c)",
    ),
    (
        "one solve with the transpose, in place of several",
        witnesses.ARMA,
        "M.solve(solution_M, transposed=True)",
    ),
    (
        "products of two entries of a row, for each such pair",
        witnesses.ENTRIES,
        "A.row_pairs",
    ),
    (
        "prefix sums, in place of a triangle of terms",
        of("sum(x[i]*y[j], i, j, j <= i)", "x: [n]", "y: [n]", emit="gradient"),
        "np.cumsum(y)",
    ),
    (
        "gather, weight, add up by key: no matrix is formed",
        witnesses.LINKED,
        "_sum_by_key(4 * g * weighted_v",
    ),
    (ADJOINT, witnesses.STEPS, "for t in reversed(range(T)):"),
    (
        "checkpoints: of each run of steps the first state alone",
        RUNS,
        "s_starts = np.zeros(",
    ),
    (
        "implicit function theorem: solve with the equation's slope",
        ROOT,
        "(A_sum.T, x)",
    ),
    ("all leading axes as rows: one product of matrices", witnesses.STACK, "reshape(X"),
    ("in place, for fewer large arrays at a time", PLACE, "out="),
)


@cache
def module(spec: str, backend: str = "numpy") -> str:
    """The text of a spec's module, not laid out."""
    source = Source("<spec>", f"tensorgen: 1\n{spec}")
    (found,) = compile_spec(
        source, [backend], "cross-country", False, checked=False
    ).values()
    return found


@cache
def everything() -> tuple[Remark, ...]:
    """All remarks that there are: in tables, and where else forms are chosen."""
    found: dict[Remark, None] = {}
    for own in walk_packages(tensorgen.__path__, "tensorgen."):
        if own.name.endswith("__main__"):
            continue
        for value in vars(import_module(own.name)).values():
            if isinstance(value, Mapping):
                rows: Iterable[object] = value.values()
            else:
                rows = value if isinstance(value, tuple) else [value]
            for row in rows:
                one = row if isinstance(row, Remark) else getattr(row, "remark", None)
                if isinstance(one, Remark):
                    found[one] = None
    return tuple(found)


def after(text: str, sentence: str) -> list[str]:
    """The statements above which a sentence stands."""
    rows = text.split("\n")
    places = [k for k, row in enumerate(rows) if row.strip() == f"# {sentence}"]
    return [
        next(row for row in rows[k:] if not row.strip().startswith("#")) for k in places
    ]


@pytest.mark.parametrize(("sentence", "spec", "statement"), SAID)
def test_what_is_chosen_says_so_above_its_statement(
    sentence: str, spec: str, statement: str
) -> None:
    (row,) = after(module(spec), sentence)
    assert statement in row


def test_every_sentence_has_a_witness() -> None:
    assert {sentence for sentence, _, _ in SAID} == {x.sentence for x in everything()}


def test_sentences_are_short_and_told_of_one_form() -> None:
    forms: dict[str, set[str]] = {}
    for one in everything():
        assert len(one.sentence) <= 60 and one.sentence[-1] != "."
        forms.setdefault(one.sentence, set()).add(one.form)
    assert {sentence for sentence, own in forms.items() if len(own) > 1} == set()


@pytest.mark.parametrize("backend", ["numpy", "cupy"])
@pytest.mark.parametrize("spec", dict.fromkeys(spec for _, spec, _ in SAID))
def test_no_module_says_a_sentence_twice_or_of_another_form(
    spec: str, backend: str
) -> None:
    forms = {x.sentence: x.form for x in everything()}
    for sentence, form in forms.items():
        rows = after(module(spec, backend), sentence)
        assert len(rows) <= 1
        assert all(re.search(form, row) for row in rows)


@pytest.mark.parametrize("spec", dict.fromkeys(spec for _, spec, _ in SAID))
def test_without_remarks_the_code_is_the_same(
    spec: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = module(spec).split("\n")
    monkeypatch.setattr(render, "remarked", lambda text, remarks: text)
    bare = module.__wrapped__(spec).split("\n")
    comments = {f"# {x.sentence}" for x in everything()}
    assert [row for row in told if row.strip() not in comments] == bare
    assert len(told) > len(bare)


def test_what_the_user_has_written_is_plain() -> None:
    written = module(of("sum(expm1(x))", "x: [n]"))
    assert "np.expm1(x)" in written and "#  exp" not in written
    assert not after(written, EXPM1)
    assert after(module(of("sum(exp(x) - 1)", "x: [n]")), EXPM1)
    covariance = of("sum(cumsum(x)*x)", "x: [n]", emit="gradient")
    assert not after(module(covariance), "prefix sums, in place of a triangle of terms")


def test_what_is_in_a_helper_is_told_there() -> None:
    text = module(witnesses.LARGE)
    assert "_softplus(" in text and not after(text, SOFTPLUS)


def test_steps_that_the_user_takes_backwards_are_no_adjoint() -> None:
    text = module(BACK)
    (row,) = after(text, ADJOINT)
    before, _, loop = text.partition(f"# {ADJOINT}\n")
    assert "for t in reversed(" in before  # as the user wrote it
    body = loop.split("\n")[1]
    assert "A.T @" in body and row in loop


def test_a_product_that_the_user_ordered_is_plain() -> None:
    sentence = "from the right: the cheapest order of these products"
    inputs = "A: [m, n]", "B: [n, k]", "x: [k]"
    assert not after(module(of("A @ (B @ x)", *inputs)), sentence)
