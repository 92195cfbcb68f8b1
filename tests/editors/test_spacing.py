"""The formatting of a spec: blanks alone, once for all, and the spec stays the same."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tensorgen.editor.occurrences import reading
from tensorgen.editor.rename import replaced
from tensorgen.editor.spacing import spacing
from tensorgen.errors import Source
from tests.editors.specs import SPEC, nodes

EXAMPLES = sorted(Path(__file__).resolve().parents[2].glob("examples/*.yaml"))


def formatted(text: str) -> str:
    source = Source("a.yaml", text)
    return replaced(source, spacing(source))


def spec(expression: str) -> str:
    return (
        f"tensorgen: 1\ninputs: {{x: [n], X: [m, n]}}\nfunctions:\n  f: {expression}\n"
    )


@pytest.mark.parametrize(
    ("written", "wanted"),
    [
        ("sum( x )", "sum(x)"),
        ("sum (x)", "sum(x)"),
        ("x [ 0 ]", "x[0]"),
        ("sum(X,0)", "sum(X, 0)"),
        ("sum(X ,  axis = 0)", "sum(X, axis=0)"),
        ("x *2", "x * 2"),
        ("x* 2", "x * 2"),
        ("x   @ x", "x @ x"),
        ("2*x + x / 3", "2*x + x / 3"),
        ("x ** 2 - x**2", "x ** 2 - x**2"),
        ("3 - - x", "3 - -x"),
        ("sum(- x, axis=- 1)", "sum(-x, axis=-1)"),
        ("X . T", "X.T"),
        ("'x[ 1 : n-1 ]'", "'x[1 : n-1]'"),
        ("x[:- 1]", "x[:-1]"),
        ("X[0,:] + X[ :,0]", "X[0, :] + X[:, 0]"),
        ("x[1:n]", "x[1:n]"),
        ("where(x>= 0,x ,(- x))", "where(x >= 0, x, (-x))"),
        ("[1 ,2 , 3]", "[1, 2, 3]"),
        ("x   # what  is * here", "x   # what  is * here"),
        ("'x  *2'", "'x * 2'"),
        ('"sum( x\\\n    * 2)"', '"sum(x\\\n    * 2)"'),
        ("|\n    sum( x\n      +1)", "|\n    sum(x\n      + 1)"),
    ],
)
def test_expressions(written: str, wanted: str) -> None:
    assert formatted(spec(written)) == spec(wanted)


def test_definitions_ends_of_lines_and_docs() -> None:
    text = (
        "tensorgen: 1  \ndoc: |\n  two  \n\n  parts   \n"
        "inputs: {x: [n]} \ndefinitions: |\n  g(t)=2 *t \n  h  =  3  # aligned  \n"
        "functions:\n  f:\n    where: |\n      y=x\n      longer =x\n"
        "    expr: y + longer + g(h)\n\n\n"
    )
    assert formatted(text) == (
        "tensorgen: 1\ndoc: |\n  two  \n\n  parts   \n"
        "inputs: {x: [n]}\ndefinitions: |\n  g(t) = 2 * t\n  h  = 3  # aligned\n"
        "functions:\n  f:\n    where: |\n      y = x\n      longer = x\n"
        "    expr: y + longer + g(h)\n"
    )
    assert formatted("tensorgen: 1\nfunctions: {f: [  \n") == (
        "tensorgen: 1\nfunctions: {f: [  \n"
    )


def spoilt(text: str) -> Iterator[str]:
    """A text in which the blanks of expressions are others, in two ways."""
    yield re.sub(r" ([-+*/@]) ", r" \1", re.sub(r", ", " ,", text))
    yield re.sub(r"([(,])(?=\w)", r"\1 ", text)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples_stay_and_come_back_to_what_they_say(path: Path) -> None:
    text = path.read_text("utf-8")
    assert formatted(text) == text
    trees = [x.text.value for x in reading(Source("a.yaml", text)).expressions]
    for other in spoilt(text):
        there = reading(Source("a.yaml", other)).expressions
        if [sense(x.text.value) for x in there] != [sense(x) for x in trees]:
            continue  # YAML reads these blanks
        once = formatted(other)
        assert formatted(once) == once
        own = reading(Source("a.yaml", once)).expressions
        assert [sense(x.text.value) for x in own] == [sense(x) for x in trees]


def sense(text: str) -> str:
    """An expression without its blanks, which are no part of any sign."""
    return re.sub(r"\s", "", text)


SOME = [path for path in EXAMPLES if path.stem in ("nile", "garch", "kalman")]


@pytest.mark.parametrize("text", [SPEC, *(path.read_text("utf-8") for path in SOME)])
def test_a_formatted_spec_is_elaborated_to_the_same(text: str) -> None:
    other, _ = spoilt(text)
    once = formatted(other)
    assert once != other
    assert nodes(once) == nodes(other)
