"""What hints say is meant stands in the place of what is wrong, and mends the spec."""

from __future__ import annotations

import pickle

import pytest

from tensorgen.editor.faults import faults
from tensorgen.editor.rename import replaced
from tensorgen.errors import Diagnostic, Source, Span, suggest
from tests.editors.specs import SPEC

BLOCKS = "blocks: {m: {}, functions: [both]}\n"


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("inputs:", "inputs_:"),
        ("positive: true", "positve: true"),
        ("positive: true", "positive: ture"),
        ("equation:", "equaton:"),
        ("sum(x), pred", "summ(x), pred"),
        ("sum(x), pred", "np.summ(x), pred"),
        ("y**3 + y", "log1p(y) + logg(y)"),
        ("sum(f**2)", "sum(ff**2)"),
        ("sum(f**2)", "sum(cumsum(f, axs=0))"),
        ("both.loss", "both.los"),
        ("double(a, total)", "double(a, totl)"),
        ("k=range(n", "k=range(nn"),
        ("norm(y)", "lgama(norm(y))"),
        ("norm(y)", "gammaln(norm(y))"),
        ("norm(y)", "scipy.special.gammaln(norm(y))"),
        ("norm(y)", "norm(y) + Inf"),
        ("wrt: x", "wrt: xx"),
        ("jacobian, [", "jacobin, ["),
        ("jacobian, [x, x]", "jacobian, [xx, x]"),
        ("minimize: g", "minimise: g"),
        ("minimize: g", "minimize: gg"),
        ("variables: {x:", "variables: {xx:"),
        ("{x: {lower", "{x: {lowr"),
        (BLOCKS, BLOCKS.replace("both", "bot")),
        (BLOCKS, BLOCKS.replace("{m:", "{mm:")),
        ("backends: numpy\n", "backends: numpi\n"),
        ("backends: numpy\n", "backends: ['numpi']\n"),
        ("support: shared\n", "support: share\n"),
    ],
)
def test_a_near_miss_is_mended(right: str, wrong: str) -> None:
    extra = "" if right in SPEC else right
    text = (SPEC + extra).replace(right, wrong)
    assert text != SPEC + extra
    source = Source("a.yaml", text)
    found = [one.fix for one in faults(source)]
    fixes = [fix for fix in found if fix is not None]
    assert fixes, faults(source)
    mended = replaced(source, fixes)
    before, after = (
        {x.message for x in faults(Source("a.yaml", y))} for y in (text, mended)
    )
    assert not after & {x.message for x in faults(source) if x.fix is not None}, after
    assert after < before


def test_what_is_meant_may_be_an_expression() -> None:
    inputs = "tensorgen: 1\ninputs: {X: [m, n], w: [n], b: [n]}\n"
    text = f"{inputs}functions:\n  f: X @ w + b\n"
    source = Source("a.yaml", text)
    (found,) = faults(source)
    assert found.fix is not None and found.span is not None
    assert replaced(source, [found.fix]) == text.replace("X @ w + b", "X @ (w + b)")
    # An operand that is an operation has lost its parentheses.
    (other,) = faults(Source("a.yaml", text.replace("X @ w", "(2 * X) @ w")))
    assert other.hint is not None and "did you mean" in other.hint
    assert other.fix is None


@pytest.mark.parametrize(
    "wrong", ["x.mm(y)", "vmap(f)(x)", "psi(f)(x)", "vmap(x)", "x.shape"]
)
def test_a_hint_that_is_no_word_is_no_fix(wrong: str) -> None:
    found = faults(Source("a.yaml", SPEC.replace("sum(f**2)", wrong)))
    assert found and [one.fix for one in found] == [None]


def test_a_suggestion_is_a_hint_with_its_parts() -> None:
    span = Span(Source("a", "sun(x)"), 0, 3)
    one = Diagnostic("unknown function 'sun'", span, hint=suggest("sun", ["sum"]))
    assert one.hint == "did you mean 'sum'?" and one.fix == (span, "sum")
    assert pickle.loads(pickle.dumps(one)).fix == (span, "sum")
    assert Diagnostic("no", None, hint=suggest("sun", ["sum"])).fix is None
    assert Diagnostic("no", span, hint="did you mean 'sum'?").fix is None
    other = Span(span.source, 4, 5)
    assert Diagnostic("", span, hint=suggest("z", ["zz"], other)).fix == (other, "zz")
