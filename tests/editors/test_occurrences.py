"""Where names stand: each is found, and is what the compiler takes it for."""

from __future__ import annotations

import pytest

from tensorgen.editor.definitions import PRELUDE, defined, mentioned
from tensorgen.editor.occurrences import occurrence, occurrences, places
from tensorgen.errors import Source, Span
from tests.editors.specs import SPEC, inside


def lines(spans: list[Span]) -> list[int]:
    return [span.line for span in spans]


def shown(source: Source) -> str:
    """The text with definitions in angle brackets, and other places in double ones."""
    pieces, start = [], 0
    for found in occurrences(source):
        marks = "<>" if found.defines else "«»"
        word = source.text[found.span.start : found.span.end]
        pieces += [source.text[start : found.span.start], marks[0], word, marks[1]]
        start = found.span.end
    return "".join([*pieces, source.text[start:]])


MARKED = """\
definitions: |
  <double>(<t>, <u>) = 2 * «t» + «u»
functions:
  <both>: {expr: {<loss>: sum(«x»), <pred>: «X» @ «x»}}
  <f>[<i>]:
    where: |
      <d>[<k>] = «x»[«k» + 1] - «x»[«k»]
      <s>[0] = «a»
      <s>[<t> + 1] = «s»[«t»] + «d»[«t»]
      <total> = sum(«d»[«k»], <k>=range(«n» - 1)) + sum(«x»[«n»], <n>=range(«n»))
    expr: «x»[«i»] + «double»(«a», «total») + «s»[0]  # total is no sum
    wrt: «x»
    emit: [value, jacobian, [«x», «x»]]
  <g>: sum(«f»**2) + «both».«loss» + sum(«both».«pred») + «n» + norm(«y»)
problem:
  minimize: «g»
  variables: {«x»: {lower: 0, upper: «a»}}
"""


def test_each_name_of_a_spec_is_found_and_nothing_else() -> None:
    assert shown(Source("a.yaml", SPEC)).endswith(MARKED)


@pytest.mark.parametrize(
    ("before", "there"),
    [
        ("double(a, tot", ["total ="]),
        ("sum(f", ["f[i]:"]),
        ("s[t] + d", ["d[k]"]),
        ("both.lo", ["loss: sum"]),
        ("norm(y", ["y: {shape"]),
        ("minimize: g", ["g: sum"]),
        ("X: [m", ["m: 50"]),
        ("total) + s", ["s[0] = a", "s[t + 1]"]),
    ],
)
def test_a_name_leads_to_where_it_is_defined(before: str, there: list[str]) -> None:
    source, offset = inside(before)
    starts = [span.start for span in defined(source, offset)]
    assert starts == [SPEC.index(text) for text in there]


def test_an_index_that_is_named_like_a_dim_is_not_the_dim() -> None:
    source, offset = inside("sum(x[n")
    index, dim = occurrence(source, offset), occurrence(*inside("k=range(n"))
    assert index is not None and dim is not None and index.name is not dim.name
    assert [source.text[x.span.start - 1] for x in places(source, index.name)] == [
        *("[", " ")
    ]
    stop = occurrence(*inside("n=range(n"))
    assert stop is not None and stop.name is dim.name


def test_a_function_of_the_prelude_leads_there() -> None:
    text = SPEC.replace("norm(y)", "norm(gelu(y))")
    (found,) = defined(*inside("norm(gel", text))
    assert found.source.name == PRELUDE
    assert found.source.text[found.start :].startswith("gelu(x) = x * ")
    assert defined(*inside("norm", text)) == defined(*inside("# tot")) == []


def test_references_have_the_definition_where_it_is_wanted() -> None:
    source, offset = inside("upper: a")
    first = SPEC[: SPEC.index("  a: {")].count("\n") + 1
    assert lines(mentioned(source, offset, False)) == [17, 20, 26]
    assert lines(mentioned(source, offset, True)) == [first, 17, 20, 26]


def test_names_are_known_in_a_spec_with_faults() -> None:
    text = SPEC.replace("total) + s[0]", "total) + s[0] + (").replace(
        "wrt: x", "wrt: z"
    )
    source, offset = inside("+ both.lo", text)
    assert lines(defined(source, offset)) == [13]
    assert occurrences(Source("a.yaml", "tensorgen: 1\ninputs: {x: [\n")) == ()


@pytest.mark.parametrize(
    ("section", "marked"),
    [
        (
            "external:\n"
            "  phi: {call: a.phi, args: {x: [k]}, shape: [k], vjp: ct * x}\n",
            "<phi>: {call: a.phi, args: {<x>: [«k»]}, shape: [«k»], vjp: «ct» * «x»}",
        ),
        (
            "external: {phi: {call: a.phi, derivative: x + dphi(x)}}\n",
            "{<phi>: {call: a.phi, derivative: «x» + dphi(«x»)}}",
        ),
        (
            "unknowns: {z: {shape: [k], of: {x: [k]}, equation: z - x, start: x}}\n",
            "{<z>: {shape: [«k»], of: {<x>: [«k»]}, equation: «z» - «x», start: «x»}}",
        ),
        (
            "blocks: {k: {E: row}, functions: [f]}\n",
            "blocks: {«k»: {«E»: «row»}, functions: [«f»]}",
        ),
        (
            "definitions: {z: b, w: {spd: 'diag(z)'}}\n",
            "{<z>: «b», <w>: {spd: 'diag(«z»)'}}",
        ),
    ],
)
def test_other_sections_have_names(section: str, marked: str) -> None:
    text = (
        "tensorgen: 1\ninputs: {b: [k], row: {shape: [E], index: k}}\n"
        f"{section}functions: {{f: sum(b)}}\n"
    )
    assert marked in shown(Source("a.yaml", text))


@pytest.mark.parametrize(
    ("function", "marked"),
    [
        ("{expr: sum(b), wrt: {b: {metric: W}}}", "wrt: {«b»: {metric: «W»}}"),
        (
            "\n    where: |\n      s[0] = c\n      s[i + 1] = s[i] + b[i]\n"
            "      z = i\n    expr: s\n    checkpoint: {s: 3}",
            "checkpoint: {«s»: 3}",
        ),
        ("max(b[k], k) + max(c, k)", "max(«b»[«k»], <k>) + max(«c», «k»)"),
        ("sum(W[i, j], i, j, i < j)", "sum(«W»[«i», «j»], <i>, <j>, «i» < «j»)"),
        ("sum(b, axis=0, keepdims=True) + norm(b, inf)", "True) + norm(«b», inf)"),
        ("sum(b[i], i=range(2)) + sum(b[i], i)", "<i>=range(2)) + sum(«b»[«i»], <i>)"),
        ("e * pi + grad(f, b)", ": e * pi + grad(«f», «b»)"),
        ("exp(exp) + b", "exp(«exp») + «b»"),
        (
            "\n    where: |\n      s[k] = c\n      s[t - 1] = s[t] / 2\n    expr: s",
            "<s>[«k»] = «c»\n      <s>[<t> - 1] = «s»[«t»] / 2\n",
        ),
    ],
)
def test_other_texts_of_functions_have_names(function: str, marked: str) -> None:
    text = (
        "tensorgen: 1\ninputs: {b: [k], W: [k, k], c: scalar, exp: [k]}\n"
        f"functions:\n  f: {function}\n"
    )
    assert marked in shown(Source("a.yaml", text))
