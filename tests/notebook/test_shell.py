"""What a notebook shows, in a shell of IPython's without a screen."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from IPython.core.interactiveshell import InteractiveShell

import tensorgen

SPEC = """tensorgen: 1
module: line
doc: A <line> of numbers.
inputs: {x: [n], c: {shape: scalar, default: 3}}
functions:
  f: {expr: "c * sum(x**4)", wrt: x, emit: [value, hessian]}
  g: {expr: "c * sum(x)", wrt: [x, c]}
"""


@pytest.fixture(scope="module")
def shell() -> Iterator[Any]:
    shell = InteractiveShell.instance()
    shell.run_line_magic("load_ext", "tensorgen")
    yield shell
    shell.run_line_magic("unload_ext", "tensorgen")
    InteractiveShell.clear_instance()


def shown(shell: Any, x: object) -> dict[str, str]:
    """What a notebook would get to show of an object, by its kind."""
    data, _ = shell.display_formatter.format(x)
    return dict(data)


def test_a_cell_binds_its_module_to_a_name(shell: Any) -> None:
    run = shell.run_cell(f"%%tensorgen model\n{SPEC}")
    assert run.success and run.result is shell.user_ns["model"]
    assert shell.user_ns["model"].f(np.ones(2)) == 6
    assert "line" not in shell.user_ns


def test_without_a_name_it_gets_that_of_the_spec(shell: Any) -> None:
    assert shell.run_cell(f"%%tensorgen --mode reverse\n{SPEC}").success
    assert shell.user_ns["line"].f(np.ones(2), c=1) == 2


def test_a_cell_can_be_for_another_backend(shell: Any, cupy: ModuleType) -> None:
    assert shell.run_cell(f"%%tensorgen device -b cupy\n{SPEC}").success
    assert "cupy" in shell.user_ns["device"].__file__
    assert shell.user_ns["device"].cp is cupy


def test_a_wrong_cell_is_answered_with_diagnostics_alone(
    shell: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    run = shell.run_cell("%%tensorgen wrong\ntensorgen: 1\nfunctions: {f: 1 + x}\n")
    assert isinstance(run.error_in_exec, tensorgen.SpecError)
    said = "".join(capsys.readouterr())
    assert "wrong:2:20: " in said and "unknown name 'x'" in said
    assert "Traceback" not in said and "loading.py" not in said
    assert "wrong" not in shell.user_ns


@pytest.mark.parametrize("line", ["a b", "-b fortran", "2x", "--mode none"])
def test_a_wrong_line_says_what_is_wrong(
    shell: Any, line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert not shell.run_cell(f"%%tensorgen {line}\n{SPEC}").success
    said = "".join(capsys.readouterr())
    assert "UsageError" in said and "Traceback" not in said


def test_warnings_are_told(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    text = SPEC.replace("c * sum(x**4)", "c * sum(floor(x))")
    assert shell.run_cell(f"%%tensorgen flat\n{text}").success
    assert "warning: " in capsys.readouterr().err


def test_a_module_is_a_table_of_its_functions(shell: Any) -> None:
    html = shown(shell, tensorgen.load(SPEC))["text/html"]
    assert "A &lt;line&gt; of numbers." in html
    assert ">f(x, *, c=3)</code>" in html and ">f_hess(x, *, c=3)</code>" in html
    assert "<td" in html and "diagonal" in html and "flops" in html
    assert ">g_grad(x, *, c=3)</code>" in html and "GGradient(" not in html
    assert "__" not in html and "FHessian(" not in html


def test_a_module_that_was_loaded_needs_no_extension() -> None:
    assert "f_hess" in tensorgen.load(SPEC)._repr_html_()


def test_derivatives_are_shown_of_every_module(shell: Any, tmp_path: Path) -> None:
    (tmp_path / "written_line.py").write_text(tensorgen.generate(SPEC), "utf-8")
    shell.user_ns["folder"] = str(tmp_path)
    shell.run_cell("import sys; sys.path.insert(0, folder)")
    shell.run_cell("import numpy; from written_line import f_hess")
    H = shell.run_cell("f_hess(numpy.ones(3))", store_history=False).result
    shell.run_cell("sys.path.remove(folder)")
    found = shown(shell, H)
    assert "<svg" in found["text/html"] and "diagonal" in found["text/html"]
    assert found["text/plain"].startswith("<FHessian of shape (3, 3)")


class Other:
    """An object with a form of its own."""

    def _repr_html_(self) -> str:
        return "<i>other</i>"


def test_other_objects_are_shown_as_before(shell: Any) -> None:
    assert shown(shell, Other())["text/html"] == "<i>other</i>"
    assert "text/html" not in shown(shell, Other)
    assert "text/html" not in shown(shell, np.ones(3))
    formatter = shell.display_formatter.formatters["text/html"]
    formatter.for_type(complex, lambda x: "<b>complex</b>")
    assert shown(shell, 1j)["text/html"] == "<b>complex</b>"


def test_the_extension_can_be_unloaded_and_loaded_twice() -> None:
    shell = InteractiveShell()
    H = tensorgen.load(SPEC).f_hess(np.ones(3))
    formatter = shell.display_formatter.formatters["text/html"]
    tensorgen.load_ipython_extension(shell)
    tensorgen.unload_ipython_extension(shell)
    assert "text/html" not in shown(shell, H)
    formatter.for_type(object, lambda x: "<b>any</b>")
    for _ in range(2):
        tensorgen.load_ipython_extension(shell)
        tensorgen.load_ipython_extension(shell)
        assert "<svg" in shown(shell, H)["text/html"]
        assert shown(shell, Other())["text/html"] == "<b>any</b>"
        tensorgen.unload_ipython_extension(shell)
        assert shown(shell, H)["text/html"] == "<b>any</b>"
        assert shell.find_cell_magic("tensorgen") is None


def test_an_explanation_shows_formulas_in_every_form(shell: Any) -> None:
    told = tensorgen.explain(SPEC)
    assert told.functions[:2] == ("f", "f_hess")
    found = shown(shell, told)
    assert found["text/plain"] == str(told).rstrip("\n")
    assert found["text/html"].count("<section ") == 5
    assert ":root" not in found["text/html"] and "body" not in found["text/html"]
    assert "image/svg+xml" not in found
    alone = shown(shell, told["f_hess"])
    assert alone["image/svg+xml"].startswith("<svg xmlns=")
    assert alone["text/latex"].startswith(
        "$$\\begin{aligned}\n{\\mathit{hess}}_{i, i} &="
    )
