"""What comes of a request: code, formulas, a check, times, and what is wrong."""

from __future__ import annotations

import html
import re
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from tensorgen import cli
from tensorgen.frontends.notations import NOTATIONS
from tensorgen.play import gallery
from tensorgen.play.highlight import highlighted
from tensorgen.play.worker import work

EXPRESSION = "x @ A @ x / 2"
HOSTILE = """tensorgen: 1
module: hostile
doc: '</script><script>alert(1)</script> " &amp; <b>'
inputs:
  x: {shape: [n], doc: "<img src=x onerror=alert(1)>"}
functions:
  f: {doc: "</pre><script>", expr: sum(x**2), wrt: x}
"""


@cache
def compiled() -> dict[str, Any]:
    return work("compile", {"expression": EXPRESSION})


@pytest.mark.parametrize("backend", ["numpy", "cupy"])
def test_code_is_what_gen_writes(
    backend: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "formula.yaml").write_text(compiled()["spec"], encoding="utf-8")
    monkeypatch.setattr("sys.argv", ["tensorgen", "gen", "-q", "formula.yaml"])
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as left:
        cli.main()
    assert left.value.code == 0
    (module,) = (x for x in compiled()["modules"] if x["backend"] == backend)
    written = (tmp_path / module["name"]).read_text(encoding="utf-8")
    assert module["text"] == written
    assert html.unescape(re.sub("<[^>]*>", "", module["html"])) == written


def test_code_is_highlighted_by_what_its_words_are() -> None:
    code = 'def f(x):  # <b>\n    """A < "b"."""\n    return x if x > 1.5 else "&"\n'
    assert highlighted(code) == (
        '<span class="keyword">def</span> <span class="defined">f</span>(x):  '
        '<span class="comment"># &lt;b&gt;</span>\n'
        '    <span class="string">"""A &lt; "b"."""</span>\n'
        '    <span class="keyword">return</span> x <span class="keyword">if</span> x '
        '&gt; <span class="number">1.5</span> <span class="keyword">else</span> '
        '<span class="string">"&amp;"</span>\n'
    )


def test_a_formatted_string_is_one_word_for_all_pythons() -> None:
    text = """f"{a['b']!r:>{n}} and {f'{c}'}" + 'd'"""
    code = f"x = {text}\n"
    first, second = (html.escape(x, quote=False) for x in text.split(" + "))
    spans = (f'<span class="string">{x}</span>' for x in (first, second))
    assert highlighted(code) == f"x = {' + '.join(spans)}\n"


def test_a_fault_is_told_as_in_the_terminal_and_where_it_was_typed() -> None:
    answer = work("compile", {"expression": "  x @ A\n+ log(y"})
    (fault,) = answer["diagnostics"]
    assert fault["text"].startswith("expression:1:14: error: '(' is never closed\n")
    assert "    1 |   x @ A + log(y\n      |              ^" in fault["text"]
    assert (fault["start"], fault["end"]) == (13, 14)
    assert answer["variables"] and "modules" not in answer


def test_all_faults_of_shapes_are_told_with_marks() -> None:
    given = {"expression": "A @ x", "shapes": {"A": "m, n", "x": "k"}}
    (fault,) = work("compile", given)["diagnostics"]
    assert "shapes do not match in '@'" in fault["text"]
    assert "    1 | A @ x\n      | ~ ^ ~\n" in fault["text"]
    assert fault["line"], fault["column"] == (1, 3)


def test_places_count_as_browsers_do() -> None:
    spec = "tensorgen: 1\ndoc: \N{MATHEMATICAL BOLD SMALL X}\nfunctions: {f: 1 +}\n"
    (fault,) = work("compile", {"spec": spec})["diagnostics"]
    units = spec.encode("utf-16-le")
    assert units[: 2 * fault["start"]].decode("utf-16-le").endswith("1 +")


def test_formulas_come_function_by_function() -> None:
    found = work("explain", {"expression": EXPRESSION})["functions"]
    assert [x["name"] for x in found] == ["f", "f_grad", "f_value_and_grad"]
    for one in found:
        assert one["html"].startswith("<section ")
        assert "<math " in one["html"] and "<svg " in one["html"]


def test_a_check_compares_and_times_are_taken() -> None:
    found = work("check", {"expression": EXPRESSION})["findings"]
    assert {x["function"] for x in found} == {"f", "f_grad", "f_value_and_grad"}
    assert {x["verdict"] for x in found} == {"ok"}
    times = work("time", {"expression": EXPRESSION, "order": "second"})["times"]
    assert [x["function"] for x in times][-1] == "f_hvp"
    assert all(0 < x["milliseconds"] < 1000 for x in times)
    assert times[0]["sizes"] == "n = 100"


def test_what_functions_raise_is_told_beside_their_times() -> None:
    given = {"expression": "sum(cholesky(-A @ A.T - eye(n)))", "order": "value"}
    (one,) = work("time", given)["times"]
    assert one["milliseconds"] is None
    assert one["reason"].startswith("it raises LinAlgError: ")


def test_hostile_texts_are_escaped_in_html() -> None:
    answer = work("compile", {"spec": HOSTILE})
    told = work("explain", {"spec": HOSTILE})
    every = [x["html"] for x in answer["modules"]]
    every += [x["html"] for x in told["functions"]]
    assert len(every) >= 4
    for text in every:
        tags = set(re.findall(r"<(/?\w+)", text))
        assert not tags & {"script", "/script", "img", "b"}
        assert "onerror" not in re.sub("&lt;.*?&gt;", "", text)


def test_functions_from_outside_are_refused() -> None:
    spec = (
        "tensorgen: 1\nexternal: {f: {call: os.system, shape: []}}\nfunctions: {g: f}\n"
    )
    answer = work("compile", {"spec": spec})
    assert answer["diagnostics"] and "modules" not in answer


def test_what_is_no_form_is_said_and_what_is_no_job_raises() -> None:
    assert "stopped" in work("compile", {"spec": 3})
    assert "stopped" in work("compile", {})
    with pytest.raises(KeyError):
        work("__import__", {"spec": ""})


def test_notes_are_told_beside_the_code() -> None:
    given = {"expression": "sum(tanh(X @ w))", "order": "second"}
    (note,) = work("compile", given)["diagnostics"]
    assert note["kind"] == "note" and "f_hess has two forms" in note["text"]


def test_every_expression_of_the_gallery_compiles() -> None:
    groups = {x["title"]: x["examples"] for x in gallery.gallery()}
    assert len(groups["Specs to begin with"]) == 6 and len(groups["Examples"]) > 20
    for example in groups["Expressions"]:
        answer = work("compile", example)
        assert "modules" in answer, (example, answer)


@pytest.mark.parametrize(
    ("notation", "text", "expression"),
    [
        ("matrixcalculus", "norm2(A*x\r\n - y)^2", "norm(A @ x - y)**2"),
        ("", r"\frac{1}{2} x^\top A x", "x @ A @ x / 2"),
        ("", "variables\n Vector x\nmin\n x'*x", "x @ x"),
    ],
)
def test_a_formula_in_another_notation_becomes_a_spec(
    notation: str, text: str, expression: str
) -> None:
    answer = work("translate", {"notation": notation, "text": text})
    assert f"expr: {expression}\n" in answer["spec"] and answer["diagnostics"] == []
    assert work("compile", {"notation": notation, "text": text})["modules"]


def test_what_is_wrong_in_another_notation_is_told() -> None:
    answer = work("translate", {"notation": "latex", "text": r"\sum x_i"})
    (fault,) = answer["diagnostics"]
    assert fault["text"].startswith(r"formula:1:1: error: \sum has no index")
    assert "spec" not in answer
    for wrong in ({"notation": "numpy?", "text": "x"}, {"notation": "latex"}):
        assert "a notation is one of" in work("translate", wrong)["stopped"]


def test_the_page_offers_every_notation() -> None:
    page = (files("tensorgen.play") / "page" / "page.html").read_text(encoding="utf-8")
    offered = re.search(r'<select id="notation">(.*?)</select>', page, re.DOTALL)
    assert offered is not None
    values = re.findall(r'value="(\w*)"', offered[1])
    assert sorted(values) == sorted(["", *NOTATIONS])
