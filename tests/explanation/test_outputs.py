"""What is printed: texts that are kept, DOT and LaTeX that can be read again."""

import re
from itertools import pairwise
from pathlib import Path

import pytest

from tensorgen.errors import Source
from tensorgen.explanation.dag import dag_of, dot, quoted
from tensorgen.explanation.latex import escaped, latex
from tensorgen.explanation.passes import changes, passes
from tensorgen.explanation.report import report
from tensorgen.explanation.subjects import Explained, UnknownFunctionError, explained
from tests.explanation.told import (
    EXAMPLES,
    GOLDEN,
    HERE,
    HOSTILE,
    subject,
    told,
    told_of,
)

pytestmark = pytest.mark.thorough

STRING = re.compile(r'"((?:[^"\\]|\\.)*)"')
NODE = re.compile(r'^    "[\d.]+" \[label=')
EDGE = re.compile(r'^    "([\d.]+)" -> "([\d.]+)"')


def check_dot(text: str, of: Explained) -> None:
    """Read DOT again: brackets, strings, and the vertices and edges that there are."""
    rest = STRING.sub("", text)
    assert rest.count("{") == rest.count("}") == 1 + len(of.subjects)
    assert rest.count("[") == rest.count("]")
    assert '"' not in rest and "\\" not in rest and "<" not in rest
    rows = text.splitlines()
    dags = [dag_of(x) for x in of.subjects]
    nodes = [STRING.findall(row)[0] for row in rows if NODE.match(row)]
    edges = [found.groups() for row in rows if (found := EDGE.match(row))]
    assert len(nodes) == len({*nodes}) == sum(len(x.vertices) for x in dags)
    assert len(edges) == sum(len(x.edges) for x in dags)
    assert {end for edge in edges for end in edge} <= {*nodes}


def check_latex(text: str) -> None:
    """Hold LaTeX to its brackets and environments."""
    plain = re.sub(r"(?m)^%.*$", "", text).replace(r"\\", "")
    plain = re.sub(r"\\[{}]", "", plain)
    depth = 0
    for c in plain:
        depth += (c == "{") - (c == "}")
        assert depth >= 0
    assert depth == 0
    assert plain.count(r"\left") - plain.count(r"\leftarrow") == plain.count(r"\right")
    assert re.findall(r"\\(begin|end)\{(\w+\*?)\}", plain)[::2] == [
        ("begin", "align*")
    ] * text.count(r"\begin")
    assert text.count(r"\begin{align*}") == text.count(r"\end{align*}")


@pytest.mark.parametrize("name", GOLDEN)
def test_texts_are_those_that_are_kept(name: str) -> None:
    text = report(told(name))
    kept = (HERE / "golden" / f"{name}.txt").read_text(encoding="utf-8")
    assert text == kept, "python -m tests.explanation.told writes them anew"
    assert max(map(len, text.splitlines())) <= 88


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.yaml")), ids=lambda p: p.stem)
def test_every_example_is_explained(path: Path) -> None:
    of = explained(Source.decode(path.name, path.read_bytes()), allow_external=True)
    assert of.subjects
    text = report(of)
    assert all(f"\n== {x.name}\n" in text for x in of.subjects)
    assert "Statements, numpy:" in text
    assert max(map(len, text.splitlines())) <= 88
    check_dot(dot(of), of)
    check_latex(latex(of))
    assert passes(of).count("== ") >= len(of.subjects)


def test_the_passes_that_led_to_a_plan_are_told_in_their_order() -> None:
    of = subject(told("logistic_regression"), "loss_hess")
    names = [law.name for law, _, _ in changes(of)]
    assert names == [
        *("flatten_products", "order_contractions", "fuse_elementwise"),
        *("mirror_products", "pair_slopes"),
    ]
    steps = changes(of)
    for (_, _, after), (_, before, _) in pairwise(steps):
        assert after.roots == before.roots
    assert steps[-1][2].roots == of.planned.plan.roots


def test_what_a_pass_does_is_told_in_formulas() -> None:
    text = passes(told("logistic_regression"))
    hessian = text[text.index("== loss_hess") : text.index("== loss_value_grad_hess")]
    assert "mirror_products: 40,842,100 flops" in hessian
    assert "T1[i, j] = X[i, j] * sqrt(y[i]**2 * sigmoid(t[i])" in hessian


def test_all_functions_of_one_of_the_spec_or_one_alone_are_asked_for() -> None:
    path = GOLDEN["matrix_factorization"]
    source = Source.decode(path.name, path.read_bytes())
    names = [x.name for x in explained(source, "objective").subjects]
    assert names == ["objective", "objective_grad", "objective_value_and_grad"]
    assert [x.name for x in explained(source, "loss_hvp").subjects] == ["loss_hvp"]
    with pytest.raises(UnknownFunctionError, match="did you mean 'loss_hess'"):
        explained(source, "loss_hes")


def test_a_function_alone_is_told_as_among_others() -> None:
    path = GOLDEN["logistic_regression"]
    alone = report(explained(Source.decode(path.name, path.read_bytes()), "loss_hess"))
    whole = report(told("logistic_regression"))
    formulas = alone[alone.index("Formula:") :]
    assert formulas.rstrip("\n") in whole


def test_names_and_documentation_end_nothing() -> None:
    of = told_of(HOSTILE)
    check_dot(dot(of), of)
    text = latex(of)
    check_latex(text)
    assert r"f\_of\_x" in text and "f_of_x" not in text.replace(r"f\_of\_x", "")
    assert r"\textbackslash{}end\{x\}" in text
    assert "$" not in text.replace(r"\$", "") and "<script" not in text


@pytest.mark.parametrize(
    "text", ['"', "\\", '\\"', "a\nb", '"]; evil [label="', "\\\\"]
)
def test_any_text_is_one_string_of_dot(text: str) -> None:
    found = STRING.fullmatch(quoted(text))
    assert found is not None
    inside = re.sub(r"\\(.)", lambda x: {"n": "\n"}.get(x[1], x[1]), found[1])
    assert inside == text


@pytest.mark.parametrize("text", ["\\end{align*}", "{", "}", "%", "$x$", "#&_^~<>|"])
def test_any_text_is_printed_by_latex_as_it_is(text: str) -> None:
    plain = re.sub(r"\\(text\w+\{\}|[{}$&#_%])", "", escaped(text))
    assert not re.search(r"[\\{}$&#_%^~<>|]", plain)
