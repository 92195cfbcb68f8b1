"""What its header says is up to date is not made again, and nothing else is."""

import os
from pathlib import Path

import pytest

from tensorgen import cli
from tensorgen.emit import uptodate
from tensorgen.emit.seal import inputs_of, sealed
from tensorgen.pipeline import compile_spec
from tests.cli.shell import Compile, Shell

SPEC = "tensorgen: 1\ninputs: {x: [n]}\nfunctions: {f: sum(x)}\n"


@pytest.fixture
def made(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The specs that were compiled, of which there is one."""
    found: list[str] = []

    def compiled(*given: object) -> dict[str, str]:
        source, backends, mode = given
        found.append(source.name)  # type: ignore[attr-defined]
        return compile_spec(source, backends, mode)  # type: ignore[arg-type]

    use: Compile = compiled
    shell.use_pipeline(use)
    shell.write("a.yaml", SPEC)
    return found


def test_an_unchanged_spec_is_not_compiled_again(shell: Shell, made: list[str]) -> None:
    assert shell("gen", "a.yaml").err == "wrote a_numpy.py\nwrote a_cupy.py\n"
    os.utime("a_numpy.py", (2**31, 2**31))
    assert shell("gen", "a.yaml").err == "unchanged a_numpy.py\nunchanged a_cupy.py\n"
    assert os.stat("a_numpy.py").st_mtime == 2**31
    assert made == ["a.yaml"]
    assert shell("gen", "--anew", "a.yaml").code == cli.FINE
    assert shell("gen", "-W", "error", "a.yaml").code == cli.FINE
    assert made == ["a.yaml"] * 3


@pytest.mark.parametrize("option", ["--check", "--diff", "--stdout"])
def test_who_compares_trusts_no_checksum(
    shell: Shell, made: list[str], option: str
) -> None:
    shell("gen", "a.yaml", "-b", "numpy")
    path = shell.folder / "a_numpy.py"
    text = path.read_text("utf-8")
    # A line is changed, and the checksum of the lines with it: it has no key.
    inputs = inputs_of(text.encode())
    assert inputs is not None and "x.sum()" in text
    first, _, *rest = text.replace("x.sum()", "x.sum() + 1").split("\n")
    path.write_text(sealed("\n".join([first, *rest]), inputs), "utf-8")
    os.utime(path, (2**31, 2**31))
    assert inputs_of(path.read_bytes()) == inputs
    run = shell("gen", option, "a.yaml", "-b", "numpy")
    if option == "--check":
        assert (run.code, run.err) == (cli.STALE, "stale: a_numpy.py\n")
    elif option == "--diff":
        assert "+ 1\n" in run.out
    else:
        assert run.out == text
    assert made == ["a.yaml"] * 2


def test_a_changed_spec_mode_or_backend_is_compiled(
    shell: Shell, made: list[str]
) -> None:
    shell("gen", "a.yaml", "-b", "numpy")
    shell("gen", "a.yaml")
    shell("gen", "a.yaml", "--mode", "reverse")
    shell.write("a.yaml", SPEC.replace("sum(x)", "sum(x**2)"))
    assert shell("gen", "--check", "a.yaml").code == cli.STALE
    assert len(made) == 4


def test_a_changed_or_missing_module_is_compiled(shell: Shell, made: list[str]) -> None:
    shell("gen", "a.yaml", "-b", "numpy")
    path = shell.folder / "a_numpy.py"
    text = path.read_text("utf-8")
    path.write_text(text + "# mine\n", "utf-8")
    assert shell("gen", "--check", "a.yaml", "-b", "numpy").code == cli.STALE
    path.unlink()
    assert shell("gen", "a.yaml", "-b", "numpy").err == "wrote a_numpy.py\n"
    assert path.read_text("utf-8") == text
    assert len(made) == 3


def test_what_is_older_than_the_compiler_is_compiled(
    shell: Shell, made: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    shell("gen", "a.yaml")
    os.utime("a_numpy.py", (1e9, 1e9))
    shell("gen", "a.yaml")
    assert len(made) == 2
    # A release has one text for its version, whenever it was installed.
    monkeypatch.setattr(uptodate, "template_folder", lambda: released())
    uptodate._changed.cache_clear()
    shell("gen", "a.yaml")
    uptodate._changed.cache_clear()
    assert len(made) == 2


def released() -> Path:
    return Path(uptodate.__file__).parent / "templates"


def test_a_wrong_spec_is_told_of_though_its_module_is_there(
    shell: Shell, made: list[str]
) -> None:
    shell("gen", "a.yaml")
    shell.write("a.yaml", SPEC + "functoins: 3\n")
    run = shell("gen", "a.yaml")
    assert run.code == cli.WRONG and "'functoins' is not a key" in run.err
