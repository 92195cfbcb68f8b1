"""Other names: all places get them, and a spec keeps its meaning or its names."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tensorgen.editor.occurrences import occurrences
from tensorgen.editor.rename import Refused, renamed, replaced
from tensorgen.errors import Source
from tests.editors.specs import SPEC, inside, nodes

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def after(source: Source, offset: int, new: str) -> str:
    return replaced(source, [(span, new) for span in renamed(source, offset, new)])


@pytest.mark.parametrize(
    ("before", "new", "changes"),
    [
        (
            "X @ x",
            "weights",
            [
                ("  x: {shape", "  weights: {shape"),
                ("y - x", "y - weights"),
                ("sum(x)", "sum(weights)"),
                ("X @ x", "X @ weights"),
                ("x[k + 1] - x[k]", "weights[k + 1] - weights[k]"),
                ("sum(x[n]", "sum(weights[n]"),
                ("x[i] +", "weights[i] +"),
                ("wrt: x", "wrt: weights"),
                ("[x, x]", "[weights, weights]"),
                ("variables: {x:", "variables: {weights:"),
            ],
        ),
        (
            "m: 50, n",
            "size",
            [
                ("n: 20", "size: 20"),
                ("{shape: [n], p", "{shape: [size], p"),
                ("[m, n]", "[m, size]"),
                ("index: n", "index: size"),
                ("{shape: [n], e", "{shape: [size], e"),
                ("range(n - 1)", "range(size - 1)"),
                ("n=range(n)", "n=range(size)"),
                ("+ n +", "+ size +"),
            ],
        ),
        ("double(a, tot", "all", [("total =", "all ="), ("a, total)", "a, all)")]),
        (
            "both.lo",
            "cost",
            [("loss: sum(x)", "cost: sum(x)"), ("both.loss", "both.cost")],
        ),
        ("sum(f", "h", [("f[i]:", "h[i]:"), ("sum(f**2)", "sum(h**2)")]),
        ("double(t", "v", [("double(t,", "double(v,"), ("2 * t", "2 * v")]),
        (
            "double",
            "twice",
            [("double(t, u)", "twice(t, u)"), ("double(a, total)", "twice(a, total)")],
        ),
        ("s[t", "p", [("s[t + 1] = s[t] + d[t]", "s[p + 1] = s[p] + d[p]")]),
        ("sum(d[k", "q", [("sum(d[k], k=", "sum(d[q], q=")]),
        ("f[i", "j", [("f[i]:", "f[j]:"), ("x[i] +", "x[j] +")]),
    ],
)
def test_all_places_get_the_name_and_nothing_else(
    before: str, new: str, changes: list[tuple[str, str]]
) -> None:
    place = before if SPEC.count(before) == 1 else f"  {before}"
    wanted = SPEC
    for old, other in changes:
        assert wanted.count(old) == 1, old
        wanted = wanted.replace(old, other)
    assert after(*inside(place), new) == wanted


@pytest.mark.parametrize(
    ("before", "old", "new"),
    [("X @ x", "x", "weights"), ("m: 50, n", "n", "points"), ("  total", "total", "w")],
)
def test_what_a_spec_computes_has_the_other_name(
    before: str, old: str, new: str
) -> None:
    found = nodes(after(*inside(before), new))
    assert found == re.sub(rf"\b{old}\b", new, nodes(SPEC))
    assert (found == nodes(SPEC)) == (old == "total")


@pytest.mark.parametrize(
    ("before", "new", "why"),
    [
        ("X @ x", "X", "'X' is the name of an input twice"),
        ("X @ x", "total", "'total' is the name of"),
        ("X @ x", "lambda", "cannot be the name"),
        ("X @ x", "np", "cannot be the name"),
        ("X @ x", "two words", "'two words' is no name"),
        ("X @ x", "x: [n]\n  z", "is no name"),
        ("X @ x", "k", "'k' is the name of an input and of an index"),
        ("m: 50, n", "m", "'m' is the name of a dim twice"),
        ("m: 50, n", "e", "with 'e' for 'n', line 6 means another thing"),
        ("double", "norm", "'norm' takes 2 arguments"),
        ("double(a, tot", "d", "'d'"),
        ("double(t", "u", "'u' occurs twice"),
        ("s[t", "n", "n"),
        ("emit: [val", "q", "no name that the spec defines"),
        ("# tot", "q", "no name that the spec defines"),
        ("norm", "q", "no name that the spec defines"),
    ],
)
def test_a_name_is_refused_that_would_change_the_meaning(
    before: str, new: str, why: str
) -> None:
    place = before if SPEC.count(before) == 1 else f"  {before}"
    with pytest.raises(Refused) as refused:
        renamed(*inside(place), new)
    assert why in str(refused.value)


def test_a_constant_that_would_be_captured_is_told() -> None:
    text = SPEC.replace("double(a, total)", "double(pi, total)")
    with pytest.raises(Refused) as refused:
        renamed(*inside("      total", text), "pi")
    assert str(refused.value) == ("with 'pi' for 'total', line 20 means another thing")
    # Elsewhere a local name may be that of a constant.
    assert "double(a, pi)" in after(*inside("      total"), "pi")


def test_with_a_fault_nothing_is_renamed() -> None:
    with pytest.raises(Refused) as refused:
        renamed(*inside("X @ x", SPEC.replace("wrt: x", "wrt: z")), "w")
    assert "the spec has a fault, which comes first: line 21: 'z'" in str(refused.value)


def test_what_code_from_outside_calls_its_arguments_is_not_renamed() -> None:
    text = SPEC + "external: {phi: {call: a.b, args: [v], derivative: v}}\n"
    with pytest.raises(Refused) as refused:
        renamed(*inside("derivative: v", text), "w")
    assert "'v' is what code from outside calls it" in str(refused.value)


@pytest.mark.parametrize("name", ["quadratic_form", "tanh_network"])
def test_every_name_of_an_example_can_be_another(name: str) -> None:
    """What is left behind would be an unknown name, and is refused."""
    source = example(name)
    first = {found.name: found.span.start for found in reversed(occurrences(source))}
    assert len(first) > 3
    for start in first.values():
        assert "renamed" in after(source, start, "renamed")


def test_a_dim_stays_a_dim_below_an_index_that_is_named_like_it() -> None:
    text = (
        "tensorgen: 1\ninputs: {b: [k]}\nfunctions:\n  f[k]:\n    where: |\n"
        "      z = b / k\n    expr: z[k] + b[k]\n"
    )
    assert after(*inside("b: [k", text), "size") == (
        text.replace("b: [k]", "b: [size]").replace("b / k", "b / size")
    )


def test_an_index_along_which_names_step_together_is_one() -> None:
    source = example("kalman")
    text = after(source, source.text.index("t + 1"), "time")
    assert text.count("[time + 1]") == 2 and "K[time] @ e[time]" in text
    assert "l[t] = logdet(S[t])" in text  # which follows, and takes no step


def example(name: str) -> Source:
    return Source(f"{name}.yaml", (EXAMPLES / f"{name}.yaml").read_text("utf-8"))
