"""The outline of a spec: what it defines, and how far each goes."""

from __future__ import annotations

from tensorgen.editor.symbols import Symbol, symbols
from tensorgen.errors import Source, Span
from tests.editors.specs import SPEC


def text(span: Span) -> str:
    return span.source.text[span.start : span.end]


def outline(found: list[Symbol]) -> list[str]:
    return [
        f"{one.sort} {one.name}"
        + (f"({', '.join(x.name for x in one.within)})" if one.within else "")
        for one in found
    ]


def test_all_that_a_spec_defines_in_its_order() -> None:
    found = symbols(Source("a.yaml", SPEC))
    assert outline(found) == [
        *("dim m", "dim n", "input x", "input X", "input row", "dim e", "input a"),
        *("input y", "function double", "function both(loss, pred)"),
        *("function f(d, s, s, total)", "function g", "problem problem"),
    ]
    by_name = {one.name: one for one in found}
    assert by_name["X"].detail == "(m, n)" and by_name["a"].detail == "scalar"
    assert by_name["g"].detail.startswith("sum(f**2) + both.loss")
    assert text(by_name["x"].whole) == (
        "x: {shape: [n], positive: true, doc: the unknowns}"
    )
    f = by_name["f"]
    assert text(f.own) == "f" and text(f.whole).startswith("f[i]:\n    where: |")
    assert text(f.whole).endswith("[x, x]]")
    assert text(f.within[2].whole) == "s[t + 1] = s[t] + d[t]"
    for one in found:
        for inner in (one, *one.within):
            assert one.whole.start <= inner.whole.start <= inner.own.start
            assert inner.own.end <= inner.whole.end <= one.whole.end


def test_an_outline_of_what_can_be_read() -> None:
    wrong = SPEC.replace("sum(f**2)", "sum(f**").replace("wrt: x", "wrt: z")
    assert outline(symbols(Source("a.yaml", wrong)))[-2:] == [
        *("function g", "problem problem"),
    ]
    assert symbols(Source("a.yaml", "tensorgen: 1\ninputs: [x\n")) == []
