"""Odd specs: those that are right compile, the others get a diagnostic."""

import pytest

from tests.hostile.judge import judge

HEAD = "tensorgen: 1\ninputs: {X: [m, n], x: [n], y: [n], c: scalar}\nfunctions:\n"
RIGHT = {
    "a mark of byte order": "\ufeff" + HEAD + "  f: x",
    "line ends of another system": (HEAD + "  f: |\n    x +\n    y").replace(
        "\n", "\r\n"
    ),
    "tabs in an expression": HEAD + "  f: |\n    x\t+\ty",
    "names that end in underscores": HEAD + "  f_: x\n  f__: f_",
    "a name that YAML takes for a flag": HEAD + "  yes: x\n  no: y",
    "constants": HEAD + "  f: 1\n  g: pi",
    "derivatives of a constant": HEAD + "  f: {expr: 1, wrt: x, emit: [gradient, "
    "hessian, hvp, jvp, vjp, problem, 3]}",
    "no functions": HEAD.replace("functions:\n", "functions: {}"),
    "no inputs": "tensorgen: 1\ninputs:\nfunctions: {f: 1}",
    "sizes of 0": "tensorgen: 1\ninputs: {x: [0], Y: [0, 3]}\nfunctions: "
    "{f: {expr: sum(x), wrt: x, emit: [gradient, hessian, problem]}, g: Y * 2}",
    "sizes of 1": "tensorgen: 1\ninputs: {x: [1], y: [1, 1]}\nfunctions: "
    "{f: {expr: sum(x * y), wrt: [x, y], emit: [gradient, hessian, problem]}}",
    "an escaped line end": HEAD + '  f: "x \\\n    + y"',
    "folded lines": HEAD + "  f: >-\n    x\n    + y",
    "lines at the end": HEAD + "  f: |+\n    x\n\n\n",
    "an indentation of its own": HEAD + "  f: |2\n      x\n",
    "a directive": "%YAML 1.2\n---\n" + HEAD + "  f: x",
    "79 brackets": HEAD + "  f: " + "(" * 79 + "x" + ")" * 79,
    "a chain of 150 names": HEAD
    + "  f:\n    where: |\n      a0 = x\n"
    + "".join(f"      a{k + 1} = tanh(a{k}) + x\n" for k in range(150))
    + "    expr: sum(a150)\n    wrt: x\n",
    "brackets in a comment": HEAD + "  f: |\n    x # (((\n    + y",
    "positions in parentheses": HEAD + "  f: X[(0, 1)]",
    "many new axes": HEAD + "  f: {expr: 'x[None, None, None, None, None]', wrt: x, "
    "emit: [jacobian, dense_hessian, vjp, problem]}",
    "quotes that end a docstring": 'doc: \'"""\'\n' + HEAD + "  f: x",
    "a backslash at the end": 'doc: "\\\\"\n' + HEAD + "  f: {expr: x, doc: '\\'}",
    "braces of templates": "doc: '{{ x }} {% y %} {z} %s'\n" + HEAD + "  f: x",
    "control characters in a doc": 'doc: "a\\0b\\x0cc\\x85d\\u2028e\\ud800"\n'
    + HEAD
    + "  f: x",
}
WRONG = {
    "nothing": "",
    "a comment alone": "# hello\n",
    "an empty document": "---\n...\n",
    "a list": "- a",
    "a number": "3",
    "two documents": HEAD + "  f: x\n---\na: 1",
    "a tab for indentation": HEAD + "\tf: x",
    "a letter with an accent": HEAD + "  é: x",
    "an underscore in front": HEAD + "  _f: x",
    "a keyword": HEAD + "  lambda: x",
    "a name that means nothing": HEAD + "  ~: x",
    "a number for a name": HEAD + "  1: x",
    "a space that is none": HEAD + "  f: x\u00a0+ y",
    "a space without width": HEAD + "  f: x\u200b+ y",
    "a separator of lines": HEAD + "  f: |\n    x\u2028    + y",
    "one name twice": HEAD + "  f: x\n  f: y",
    "an alias": HEAD + "  f: &a x\n  g: *a",
    "a merge": HEAD + "  <<: {a: x}\n  f: x",
    "a list for a key": HEAD + "  ? [a, b]\n  : x",
    "a tag": HEAD + "  f: !!python/object:os.system x",
    "a version of 5000 digits": "%YAML " + "9" * 5000 + ".1\n---\n" + HEAD + "  f: x",
    "a name of 61 letters": HEAD + "  " + "f" * 61 + ": x",
    "a key of 5000 letters": "x" * 5000 + ": 1",
    "a path for a module": "module: ../x\n" + HEAD + "  f: x",
    "nul": "tensorgen: 1\x00",
    "5000 signs": HEAD + "  f: " + "-" * 5000 + "x",
    "2000 powers": HEAD + "  f: x" + "**x" * 2000,
    "5000 transposes": HEAD + "  f: X" + ".T" * 5000,
    "an attribute": HEAD + "  f: x.__class__.__mro__",
    "an import": HEAD + "  f: __import__('os')",
    "a text": HEAD + "  f: f'{y}'",
    "a name for a part": HEAD + "  f: '(z := x)'",
    "two ellipses": HEAD + "  f: X[..., ...]",
    "itself": HEAD + "  f: f + 1",
    "a circle": HEAD + "  f: g + 1\n  g: f + 1",
    "keywords from nowhere": HEAD + "  f: sum(**{})",
}


@pytest.mark.parametrize("text", RIGHT.values(), ids=RIGHT)
def test_it_is_odd_but_right(text: str) -> None:
    data = text if text.startswith(("\ufeff", "%", "tensorgen")) else _versioned(text)
    verdict = judge(data.encode("utf-8", "surrogatepass"))
    assert verdict.kind == "module", verdict.detail


@pytest.mark.parametrize("text", WRONG.values(), ids=WRONG)
def test_it_is_wrong_and_reported(text: str) -> None:
    verdict = judge(text.encode("utf-8", "surrogatepass"))
    assert verdict.kind == "diagnostic", verdict.detail


def _versioned(text: str) -> str:
    """A spec may start with any key."""
    return text.replace("tensorgen: 1\n", "", 1) + "\ntensorgen: 1\n"
