"""`tensorgen explain`: what goes where, and exit codes."""

import re
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tensorgen import cli

ROOT = Path(__file__).resolve().parents[2]
SPEC = """\
tensorgen: 1
module: small
inputs:
  x: {shape: [n]}
functions:
  f: {expr: sum(x**2), wrt: x, emit: [value, gradient]}
  g: {expr: "sum(x)"}
"""


@pytest.fixture
def spec(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "small.yaml").write_text(SPEC, encoding="utf-8")
    return "small.yaml"


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli.cli, ["explain", *arguments])


def test_what_is_told_goes_to_standard_output(spec: str) -> None:
    done = run(spec, "f_grad")
    assert (done.exit_code, done.stderr) == (cli.FINE, "")
    assert "== f_grad" in done.stdout and "== g" not in done.stdout
    assert "grad = 2 * x" in done.stdout
    assert "Statements, numpy:\n    return 2 * x  # grad[i]" in done.stdout
    assert "Statements, cupy:" in run(spec, "f_grad", "-b", "cupy").stdout


def test_kernels_are_shown_by_the_names_that_statements_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    fit = SPEC.replace("sum(x**2)", "sum(exp(-x) * sin(x))")
    Path("fit.yaml").write_text(fit, encoding="utf-8")
    text = run("fit.yaml", "f_grad", "-b", "cupy").stdout
    statements, _, kernels = text.partition("\nKernels, cupy:\n")
    (name,) = re.findall(r"^    (_\w+) = cp\.ElementwiseKernel\(", kernels, re.M)
    assert f"return {name}(x)" in statements
    assert "__" not in name
    assert "exp(-x)" in kernels
    assert "Kernels" not in run("fit.yaml", "f_grad").stdout
    page = run("fit.yaml", "f_grad", "-b", "cupy", "--html", "page.html")
    assert page.exit_code == cli.FINE
    assert f"{name} = cp.ElementwiseKernel(" in Path("page.html").read_text("utf-8")


@pytest.mark.parametrize(
    ("name", "launches"),
    [
        ("g", ["launches: 1", "waits of the host: 0"]),
        ("h", ["launches: n + 5 = 1,005 at n = 1,000", "waits of the host: 1"]),
    ],
)
def test_what_functions_launch_is_told_with_what_the_host_waits_for(
    name: str, launches: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    own = """
inputs: {x: [n], k: {shape: [m], index: n}}
functions:
  g: 2 * x
  h:
    where: |
      y[0] = x[0]
      y[t + 1] = tanh(y[t]) * x[t]
    expr: y[:-1][k]
"""
    Path("own.yaml").write_text("tensorgen: 1\n" + own.strip("\n"), encoding="utf-8")
    text = run("own.yaml", name, "-b", "cupy").stdout
    _, _, after = text.partition("\nLaunches, cupy:\n")
    assert [row.strip() for row in after.split("\n")[:2]] == launches
    assert "Launches" not in run("own.yaml", name).stdout
    page = run("own.yaml", name, "-b", "cupy", "--html", "page.html")
    assert page.exit_code == cli.FINE
    assert "\n".join(launches) in Path("page.html").read_text("utf-8")


@pytest.mark.parametrize(
    ("option", "start"),
    [("--latex", "% small"), ("--dot", 'digraph "small" {'), ("--steps", "== f_grad")],
)
def test_other_forms_go_there_too(spec: str, option: str, start: str) -> None:
    done = run(spec, "f_grad", option)
    assert (done.exit_code, done.stderr) == (cli.FINE, "")
    assert done.stdout.startswith(start)


def test_latex_may_be_in_matrices_and_other_forms_have_both(spec: str) -> None:
    done = run(spec, "f_grad", "--latex", "--matrix")
    assert (done.exit_code, done.stderr) == (cli.FINE, "")
    assert "\n\\mathit{grad} &= 2 \\, x\n" in done.stdout
    done = run(spec, "f_grad", "--matrix")
    assert done.exit_code == cli.WRONG and done.stdout == ""
    assert "--matrix needs --latex" in done.stderr


def test_an_unknown_function_is_a_wrong_command_line(spec: str) -> None:
    done = run(spec, "f_gard")
    assert (done.exit_code, done.stdout) == (cli.WRONG, "")
    message = "error: there is no function 'f_gard'; did you mean 'f_grad'?\n"
    assert done.stderr == message


def test_a_wrong_spec_is_told_as_gen_tells_it(spec: str) -> None:
    Path(spec).write_text(SPEC.replace("sum(x**2)", "sum(y**2)"), encoding="utf-8")
    done = run(spec)
    assert (done.exit_code, done.stdout) == (cli.WRONG, "")
    assert "small.yaml:6:17: error: " in done.stderr
    assert run("nothing.yaml").exit_code == cli.WRONG


def test_a_page_is_written_and_never_over_a_file_of_others(spec: str) -> None:
    done = run(spec, "g", "--html", "a.html")
    assert (done.exit_code, done.stdout) == (cli.FINE, "")
    assert done.stderr == "wrote a.html\n"
    assert run(spec, "g", "--html", "a.html").stderr == "unchanged a.html\n"
    Path("a.html").write_text("work", encoding="utf-8")
    done = run(spec, "g", "--html", "a.html")
    assert done.exit_code == cli.WRONG
    assert "a.html exists and was not written by tensorgen explain" in done.stderr
    assert Path("a.html").read_text(encoding="utf-8") == "work"
    assert run(spec, "g", "--html", "a.html", "--force").exit_code == cli.FINE
    assert Path("a.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


@pytest.mark.parametrize("form", ["json", "github", "sarif"])
def test_faults_are_told_machines_as_gen_tells_them(spec: str, form: str) -> None:
    Path(spec).write_text(SPEC.replace("sum(x**2)", "sum(y**2)"), encoding="utf-8")
    done = run(spec, "--format", form, "--html", "a.html")
    told = CliRunner().invoke(cli.cli, ["gen", spec, "--format", form])
    assert (done.exit_code, done.stderr) == (cli.WRONG, "")
    assert done.stdout == told.stdout and "unknown name 'y'" in done.stdout
    Path(spec).write_text(SPEC, encoding="utf-8")
    done = run(spec, "f_gard", "--format", form, "--html", "a.html")
    assert done.exit_code == cli.WRONG and "did you mean 'f_grad'?" in done.stdout
    done = run(spec, "--format", form, "--html", "a.html")
    assert (done.exit_code, done.stderr) == (cli.FINE, "")
    assert "unknown" not in done.stdout and Path("a.html").exists()


@pytest.mark.parametrize("more", [(), ("--latex",), ("--latex", "--html", "a.html")])
def test_what_is_told_and_reports_for_machines_share_no_stream(
    spec: str, more: tuple[str, ...]
) -> None:
    done = run(spec, "--format", "json", *more)
    assert done.exit_code == cli.WRONG and done.stdout == ""
    assert "--format needs stdout: write the explanation to a file" in done.stderr
