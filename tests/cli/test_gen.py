"""`tensorgen gen`: what is written, what is said, and the exit codes."""

import importlib
import os
import subprocess
import sys

import pytest

from tensorgen import cli
from tensorgen.emit import write
from tensorgen.spec.model import BACKENDS
from tests.cli.conftest import UNSEEN, UNTRUE
from tests.cli.shell import HEADER, SPEC, WRONG, Run, Shell, module


def test_both_modules_are_written_beside_the_spec(shell: Shell) -> None:
    shell.write("sub/a.yaml")
    run = shell("gen", "sub/a.yaml")
    assert (run.code, run.out) == (cli.FINE, "")
    assert shell.files() == ["sub/a.yaml", "sub/a_cupy.py", "sub/a_numpy.py"]
    assert run.err.splitlines() == ["wrote sub/a_numpy.py", "wrote sub/a_cupy.py"]
    text = (shell.folder / "sub/a_numpy.py").read_bytes().decode()
    assert text == module()


def test_output_backend_and_mode_can_be_chosen(shell: Shell) -> None:
    shell.write("a.yaml")
    run = shell("gen", "a.yaml", "-o", "new/out", "-b", "cupy", "--mode", "reverse")
    assert run.code == cli.FINE
    assert shell.files() == ["a.yaml", "new/out/a_cupy.py"]
    assert "# reverse:" in (shell.folder / "new/out/a_cupy.py").read_text("utf-8")


def test_fast_leaves_the_check_out(shell: Shell) -> None:
    shell.write("a.yaml", SPEC + UNTRUE)
    run = shell("gen", "a.yaml", "-b", "numpy")
    assert run.code == cli.BUG
    assert "f does not compute what calculus states" in run.err
    assert shell.files() == ["a.yaml"]
    assert shell("gen", "a.yaml", "-b", "numpy", "--fast").code == cli.FINE


def test_what_was_not_checked_is_a_warning_that_can_be_a_fault(shell: Shell) -> None:
    shell.write("a.yaml", SPEC + UNSEEN)
    run = shell("gen", "a.yaml", "-b", "numpy", "-W", "error")
    told = "f_hess was not checked: an array of it is too large [unchecked]"
    assert run.err.splitlines()[0] == f"a.yaml:1:1: error: {told}"
    assert (run.code, shell.files()) == (cli.WRONG, ["a.yaml"])
    run = shell("gen", "a.yaml", "-b", "numpy")
    said, written = run.err.splitlines()
    assert said == f"a.yaml:1:1: warning: {told}"
    assert (run.code, written) == (cli.FINE, "wrote a_numpy.py")


def test_a_second_run_touches_nothing(shell: Shell) -> None:
    shell.write("a.yaml")
    shell("gen", "a.yaml", "-b", "numpy")
    os.utime("a_numpy.py", (1, 1))
    run = shell("gen", "a.yaml", "-b", "numpy")
    assert run.err == "unchanged a_numpy.py\n"
    assert os.stat("a_numpy.py").st_mtime == 1


def test_check_writes_nothing_and_tells_what_is_stale(shell: Shell) -> None:
    shell.write("a.yaml")
    shell("gen", "a.yaml", "-b", "numpy")
    assert shell("gen", "a.yaml", "-b", "numpy", "--check") == Run(cli.FINE, "", "")
    shell.write("a.yaml", SPEC.replace("x2", "x3"))
    before = shell.files()
    run = shell("gen", "a.yaml", "--check", "-o", ".")
    assert run.code == cli.STALE
    assert run.err.splitlines() == ["stale: a_numpy.py", "missing: a_cupy.py"]
    assert shell.files() == before
    assert "x2" in (shell.folder / "a_numpy.py").read_text("utf-8")


def test_who_asks_for_it_is_told_by_the_exit_code_what_was_written(
    shell: Shell,
) -> None:
    shell.write("a.yaml")
    for backend in ("numpy", "cupy"):  # a new file, of which git does not know
        given = ("gen", "--exit-code", "a.yaml", "-b", backend)
        assert shell(*given) == Run(cli.STALE, "", f"wrote a_{backend}.py\n")
        assert shell(*given) == Run(cli.FINE, "", f"unchanged a_{backend}.py\n")
    shell.write("a.yaml", SPEC.replace("x2", "x3"))
    assert shell("gen", "--exit-code", "a.yaml").code == cli.STALE
    assert shell("gen", "--exit-code", "a.yaml").code == cli.FINE
    assert shell("gen", "--exit-code", "none.yaml").code == cli.WRONG


def test_check_makes_no_folder(shell: Shell) -> None:
    shell.write("a.yaml")
    assert shell("gen", "a.yaml", "--check", "-o", "none").code == cli.STALE
    assert not (shell.folder / "none").exists()


def test_diff_goes_to_stdout_and_writes_nothing(shell: Shell) -> None:
    shell.write("a.yaml")
    shell("gen", "a.yaml", "-b", "numpy")
    shell.write("a.yaml", SPEC.replace("x2", "x3"))
    run = shell("gen", "a.yaml", "-b", "numpy", "--diff")
    assert (run.code, run.err) == (cli.FINE, "")
    assert "\n-# cross-country: x2 é\n" in run.out
    assert "\n+# cross-country: x3 é\n" in run.out
    assert shell("gen", "a.yaml", "-b", "numpy", "--diff", "--check").code == cli.STALE
    assert "x2" in (shell.folder / "a_numpy.py").read_text("utf-8")


def test_stdout_gets_the_code_and_nothing_else(shell: Shell) -> None:
    shell.write("a.yaml")
    run = shell("gen", "a.yaml", "-b", "numpy", "--stdout")
    assert run == Run(cli.FINE, module(), "")
    assert shell.files() == ["a.yaml"]
    assert shell("gen", "a.yaml", "--stdout", "--check").code == cli.WRONG


def test_a_wrong_spec_stops_all_others_from_being_written(shell: Shell) -> None:
    shell.write("good.yaml")
    shell.write("bad.yaml", WRONG)
    shell.write("worse.yaml", "a: [")
    run = shell("gen", "good.yaml", "bad.yaml", "worse.yaml", "none.yaml")
    assert (run.code, run.out) == (cli.WRONG, "")
    assert "bad.yaml:2:1: error: 'functoins' is not a key of a spec" in run.err
    assert "worse.yaml:1:" in run.err
    assert "cannot read none.yaml: No such file" in run.err
    assert "Traceback" not in run.err
    assert shell.files() == ["bad.yaml", "good.yaml", "worse.yaml"]


def test_a_file_that_was_changed_is_kept(shell: Shell) -> None:
    shell.write("a.yaml")
    mine = shell.write("a_numpy.py", module().replace("x2", "x3"))
    run = shell("gen", "a.yaml", "-b", "numpy")
    assert run.code == cli.WRONG
    assert run.err == (
        "error: a_numpy.py was changed, by hand or by a formatter, since tensorgen "
        "generated it; --force overwrites it\n"
    )
    assert "x3" in mine.read_text("utf-8")
    assert shell("gen", "a.yaml", "-b", "numpy", "--force").code == cli.FINE
    assert mine.read_text("utf-8") == module()


def test_line_ends_are_no_change(shell: Shell) -> None:
    shell.write("a.yaml")
    path = shell.folder / "a_numpy.py"
    path.write_bytes(module(expr="x3").replace("\n", "\r\n").encode())
    assert shell("gen", "a.yaml", "-b", "numpy").code == cli.FINE
    assert path.read_text("utf-8") == module()


def test_a_file_without_our_header_is_kept(shell: Shell) -> None:
    shell.write("a.yaml")
    mine = shell.write("a_numpy.py", "x = 1\n")
    run = shell("gen", "a.yaml")
    assert run.code == cli.WRONG
    assert "a_numpy.py exists and was not generated by tensorgen" in run.err
    assert mine.read_text("utf-8") == "x = 1\n"
    assert shell.files() == ["a.yaml", "a_numpy.py"]
    assert shell("gen", "a.yaml", "--force").code == cli.FINE
    assert mine.read_text("utf-8").startswith(HEADER)


def test_two_specs_for_one_file_are_an_error(shell: Shell) -> None:
    shell.write("a.yaml")
    shell.write("b.yaml", SPEC + "module: a\n")
    run = shell("gen", "a.yaml", "b.yaml", "-b", "numpy")
    assert run.code == cli.WRONG
    assert "a.yaml and b.yaml would both write a_numpy.py" in run.err
    assert shell.files() == ["a.yaml", "b.yaml"]


def test_a_spec_named_twice_is_generated_once(shell: Shell) -> None:
    shell.write("a.yaml")
    run = shell("gen", "a.yaml", "a.yaml", "-b", "numpy")
    assert (run.code, run.err) == (cli.FINE, "wrote a_numpy.py\n")


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"\xff\xfe\x00", "a.yaml:1:1: error: the file is not UTF-8 text"),
        (b"", "the file is empty"),
        (b"\x00\x01", "a.yaml:1:1: error: the character U+0000"),
    ],
)
def test_a_file_that_is_no_spec_is_reported(
    shell: Shell, data: bytes, said: str
) -> None:
    (shell.folder / "a.yaml").write_bytes(data)
    run = shell("gen", "a.yaml")
    assert run.code == cli.WRONG and said in run.err


def test_a_folder_is_no_spec(shell: Shell) -> None:
    run = shell("gen", ".")
    assert run.code == cli.WRONG
    assert run.err.startswith("error: cannot read .: ")


def test_an_output_that_cannot_be_a_folder_is_reported(shell: Shell) -> None:
    shell.write("a.yaml")
    shell.write("file", "")
    run = shell("gen", "a.yaml", "-o", "file")
    assert run.code == cli.WRONG
    assert run.err.startswith("error: ") and "Traceback" not in run.err


@pytest.mark.parametrize(
    "arguments",
    [["gen"], ["gen", "a.yaml", "-b", "jax"], ["gne"], ["gen", "--mode", "x", "a"]],
)
def test_a_wrong_command_line_exits_with_2(shell: Shell, arguments: list[str]) -> None:
    run = shell(*arguments)
    assert (run.code, run.out) == (cli.WRONG, "")
    assert "Error:" in run.err


def test_a_bug_of_ours_says_so_and_saves_what_is_needed(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> dict[str, str]:
        raise ZeroDivisionError("in the middle")

    shell.use_pipeline(broken)
    monkeypatch.setattr("tempfile.tempdir", str(shell.folder))
    shell.write("a.yaml")
    run = shell("gen", "a.yaml")
    assert run.code == cli.BUG
    assert "a bug in tensorgen, not in your spec" in run.err
    assert "ZeroDivisionError: in the middle" in run.err
    assert "Traceback" not in run.err
    (saved,) = shell.folder.glob("tensorgen-bug-*.txt")
    assert str(saved) in run.err
    report = saved.read_text("utf-8")
    assert "Traceback" in report and SPEC in report
    assert shell.files() == ["a.yaml", saved.name]


def test_an_interrupt_is_not_taken_for_a_stale_file(shell: Shell) -> None:
    def interrupted(*_: object) -> dict[str, str]:
        raise KeyboardInterrupt

    shell.use_pipeline(interrupted)
    shell.write("a.yaml")
    assert shell("gen", "a.yaml").code == cli.INTERRUPTED


def test_messages_have_no_colour_where_no_terminal_reads_them(shell: Shell) -> None:
    shell.write("a.yaml", WRONG)
    assert "\x1b" not in shell("gen", "a.yaml").err


def test_settings_stand_in_pyproject(shell: Shell) -> None:
    shell.write(
        "pyproject.toml",
        '[tool.tensorgen]\noutput = "gen"\nbackends = ["numpy"]\nmode = "forward"\n',
    )
    shell.write("specs/a.yaml")
    assert shell("gen", "specs/a.yaml").code == cli.FINE
    path = shell.folder / "gen" / "a_numpy.py"
    assert "# forward:" in path.read_text("utf-8")
    assert shell.files() == ["gen/a_numpy.py", "pyproject.toml", "specs/a.yaml"]
    assert shell("gen", "specs/a.yaml", "-b", "cupy", "-o", "o").code == cli.FINE
    assert (shell.folder / "o" / "a_cupy.py").is_file()


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ("[tool.tensorgen]\noutptu = '.'", "did you mean 'output'?"),
        ("[tool.tensorgen]\nmode = 'revers'", "did you mean 'reverse'?"),
        ("[tool.tensorgen]\nmode = 3", "are strings"),
        ("[tool.tensorgen]\nsupport = 'share'", "did you mean 'shared'?"),
        ("[tool.tensorgen]\nbackends = ['jax']", "'jax' is unknown"),
        ("[tool.tensorgen]\nbackends = 'numpy'", "a list of names"),
        ("[tool]\ntensorgen = 3", "a table is expected"),
        ("[tool", "cannot read"),
    ],
)
def test_wrong_settings_are_reported(shell: Shell, settings: str, said: str) -> None:
    shell.write("pyproject.toml", settings)
    shell.write("a.yaml")
    run = shell("gen", "a.yaml")
    assert run.code == cli.WRONG and said in run.err


@pytest.mark.parametrize("settings", ["", "tool = 3", "[tool.other]\nx = 1"])
def test_a_pyproject_of_other_tools_is_none_of_ours(
    shell: Shell, settings: str
) -> None:
    shell.write("pyproject.toml", settings)
    shell.write("a.yaml")
    assert shell("gen", "a.yaml").code == cli.FINE


def test_the_pipeline_has_what_the_command_line_takes_from_it() -> None:
    pipeline = importlib.import_module("tensorgen.pipeline")
    assert callable(pipeline.compile_spec)
    assert pipeline.write is write


def test_the_command_line_offers_what_the_spec_reader_knows() -> None:
    assert cli.BACKENDS == BACKENDS


def python(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, check=False
    )


def test_the_module_is_the_command() -> None:
    run = python("-m", "tensorgen", "--version")
    assert (run.returncode, run.stderr) == (0, "")
    first, python_line, *others = run.stdout.splitlines()
    assert first == "tensorgen 0.1.0" and python_line.startswith("Python 3.")
    assert any(line.startswith("numpy 2.") for line in others)
    run = python("-m", "tensorgen", "gen", "--help")
    assert run.returncode == 0
    for option in ("--check", "--diff", "--stdout", "--force", "--mode"):
        assert option in run.stdout
