"""What is written is as black would have it, though black sees few statements of it."""

from __future__ import annotations

from pathlib import Path

import black
import pytest
from black.mode import TargetVersion

from tensorgen import pipeline
from tensorgen.emit.layout import layout
from tensorgen.emit.text import WIDTH
from tensorgen.errors import Source
from tests.sampled import left

MODE = black.Mode(line_length=WIDTH, target_versions={TargetVersion.PY311})
EXAMPLES = Path(__file__).parent.parent.parent / "examples"
LONG = " + ".join(f"quite_a_long_name_{k}" for k in range(6))

WRITTEN = {
    "a tuple of one": "def f():\n    n, = sizes\n    self.sizes = n,\n",
    "a product": "def f():\n    return c*d*d + 1\n",
    "a slice": "def f():\n    return x[start:start + width], x[: n], y[n - 1:]\n",
    "a slice of attributes": "def f():\n    return x[a.start:b.stop]\n",
    "a slice of calls": "def f():\n    return x[f(a):], x[:g(b)], x[a[0]:]\n",
    "a power below a sign": "def f():\n    return np.exp(-x**2)\n",
    "a long statement": f"def f():\n    for k in y:\n        total = {LONG}\n",
    "a long condition": f"def f():\n    if {LONG} > 0:\n        return 1\n",
    "another condition": f"if a:\n    pass\nelif {LONG} > 0:\n    return_to = 1\n",
    "a long head": f"def f({LONG.replace(' +', ',')}):\n    return 1\n",
    "a long head of a class": f"class F({LONG.replace(' +', ',')}):\n    x = 1\n",
    "blocks of all kinds": (
        f"try:\n    with f as x, g:\n        x = [{LONG}]\nexcept A as error:\n"
        f"    raise B({LONG}) from error\nelse:\n    y = 1\nfinally:\n    z = {LONG}\n"
    ),
    "what fits in one line": "def f():\n    return (\n        1 + 2\n    )\n",
    "what ends with a comment": f"x = {LONG}  # the sum\n",
    "a text": 'def f():\n    """' + LONG + LONG + '"""\n    return 1\n',
    "spaces at an end": "def f():\n    x = 1\n    \n    return x\n",
}


@pytest.mark.parametrize("text", WRITTEN.values(), ids=WRITTEN)
def test_statements_are_laid_out_as_black_does(text: str) -> None:
    assert layout(text) == black.format_str(text, mode=MODE)


@pytest.mark.parametrize("name", ["power_flow", left("sleep"), "optimal_control"])
def test_modules_are_laid_out_as_black_does(name: str) -> None:
    (path,) = EXAMPLES.glob(f"**/{name}.yaml")
    source = Source(path.name, path.read_text("utf-8"))
    texts = pipeline.compile_spec(source, ["numpy"], "cross-country", True)
    for text in texts.values():
        assert text == black.format_str(text, mode=MODE)


def test_lines_do_not_end_within_brackets_where_the_second_term_may_lead() -> None:
    texts = [
        "total = (m + P * e) @ derivative_by_m[1:] + " + "a * " * 12 + "b\n",
        "return (m * P)[:, 1, None] * " + "softmax_" * 6 + "[:, 0, None]\n",
    ]
    found = [layout(text) for text in texts]
    for text, own in zip(texts, found, strict=True):
        assert "[\n" in black.format_str(text, mode=MODE)
        assert "[\n" not in own
        assert own == black.format_str(own, mode=MODE)
    assert found[1].partition("(")[2].split("[")[0].strip() == "softmax_" * 6
    three = "total = (m + P * e) @ derivative_by_m[1:] + " + "a * " * 10 + "b + c\n"
    assert layout(three) == black.format_str(three, mode=MODE)
