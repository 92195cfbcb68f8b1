"""What is said of lines that are indented too little or too much."""

import pytest

from tensorgen.errors import Source, SpecError
from tensorgen.spec.read import read_spec

HEAD = "tensorgen: 1\ninputs: {x: [n]}\nfunctions:\n"
ALL = "tensorgen: 1\nfunctions: {f: 1}\n"


def told(text: str) -> list[str]:
    """Return `line:column: message (hint)` of every fault."""
    with pytest.raises(SpecError) as caught:
        read_spec(Source("a.yaml", text))
    return [
        f"{d.span.line}:{d.span.column}: {d.message} ({d.hint})"
        for d in caught.value.diagnostics
        if d.span is not None
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            HEAD + "  f:\n  expr: sum(x)\n",
            "5:3: 'expr' stands beside 'f', not under it",
        ),
        (
            HEAD + "  f:\n  doc: a\n  expr: x\n  wrt: x\n",
            "5:3: 'doc' stands beside 'f'",
        ),
        (HEAD + "  f:\n  expr: x\n  g: sum(x)\n", "further than 'f'"),
        (HEAD + "  f:\n    expr: x\n  wrt: x\n", "6:3: 'wrt' stands beside 'f'"),
        (HEAD + "  f:\n    expr: x\n  emit: [value]\n", "indent it as far as 'expr'"),
        (
            HEAD + "  f:\n    expr: x\nwrt: x\n",
            "6:1: 'wrt' is not a key of a spec (it ",
        ),
        (ALL + "inputs:\n  x:\n  shape: [n]\n", "5:3: 'shape' stands beside 'x'"),
        (ALL + "inputs:\nx: [n]\n", "4:1: 'x' stands beside 'inputs'"),
        (ALL + "inputs:\n  x:[n]\n", "3:1: 'inputs' must be a mapping, not 'x:[n]'"),
        (ALL + "inputs:\n  x:[n]\n", "with a space behind ':'"),
        (ALL + "inputs:\n  - x: [n]\n", "without a dash"),
        (HEAD + "  f:\n    expr: |\n    x\n    wrt: x\n", "6:5: this line is no 'key:"),
        (
            HEAD + "  f:\n    expr: x\n      wrt: x\n",
            "6:7: this line does not continue",
        ),
        (HEAD + "  f:\n    expr: x\n   wrt: x\n", "here at column 1 or 3 or 5;"),
        (HEAD + "   f:\n    expr: x\n  g: x\n", "here at column 1 or 4 or 5;"),
        (HEAD + "  f: |x|\n", "4:7: '|' and '>' start a block of text"),
    ],
)
def test_one_fault_says_where_a_line_belongs(text: str, said: str) -> None:
    (line,) = told(text)
    assert said in line


def test_sections_that_are_not_indented_or_too_far() -> None:
    empty, stray = told("tensorgen: 1\ninputs: {x: [n]}\nfunctions:\nf: x\n")
    assert empty.startswith("3:1: 'functions' must be a mapping, not nothing")
    assert stray.startswith("4:1: 'f' stands beside 'functions', not under it")
    found = told("tensorgen: 1\ninputs:\n  x: [n]\n  functions:\n    f: x\n")
    assert any(
        x.startswith("4:3: 'functions' stands under 'inputs', not beside it")
        for x in found
    )


@pytest.mark.parametrize(
    "text",
    [
        HEAD + "  wrt: sum(x)\n  f: {expr: sum(x), wrt: x}\n",
        HEAD + "  f: {expr: sum(x), wrt: x}\n  doc: sum(x)\n",
        HEAD + "  f:\n    expr: x\n  doc: {expr: x}\n",
        ALL + "inputs:\n  x:\n    shape: [n]\n  index: [n]\n",
    ],
)
def test_names_that_are_keys_elsewhere_remain_names(text: str) -> None:
    assert read_spec(Source("a.yaml", text)).functions
