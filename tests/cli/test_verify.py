"""`tensorgen verify`: what it says, to whom, and its exit codes."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tensorgen import cli
from tensorgen.verify import verified_modules
from tests.cli.shell import Run
from tests.made import generate

SPEC = """\
tensorgen: 1
module: fit
backends: [numpy]
inputs:
  w: [n]
  X: [m, n]
  lam: {shape: scalar, default: 0.5}
functions:
  loss:
    expr: sum((X @ w)**3) + lam * sum(w**2)
    wrt: w
    emit: [value, gradient, hvp]
  twice: 2 * w
"""
Command = Callable[..., Run]


@pytest.fixture
def verify(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> Command:
    """Run the command in a folder of its own that holds the spec, in this process."""
    monkeypatch.chdir(tmp_path)
    Path("fit.yaml").write_text(SPEC, "utf-8")

    def run(*words: str) -> Run:
        monkeypatch.setattr(sys, "argv", ["tensorgen", "verify", *words])
        with pytest.raises(SystemExit) as left:
            cli.main()
        said = capfd.readouterr()
        assert isinstance(left.value.code, int)
        return Run(left.value.code, said.out, said.err)

    return run


def write(change: Callable[[str], str] = str) -> None:
    """Write the module, changed."""
    before = generate(SPEC)
    after = change(before)
    assert after == before or change is not str
    Path("fit_numpy.py").write_text(after, "utf-8")


def broken(text: str) -> str:
    """The module with a wrong factor in the gradient."""
    head, tail = text.split("def loss_grad(", 1)
    own, rest = tail.split("\ndef ", 1)
    assert "2 * lam" in own
    return f"{head}def loss_grad({own.replace('2 * lam', '3 * lam')}\ndef {rest}"


def test_what_is_right_is_ok_from_disk_and_from_memory(verify: Command) -> None:
    run = verify("fit.yaml")
    assert run.code == cli.FINE
    assert run.err == "fit_numpy.py is not there: verifying what gen would write\n"
    assert "loss_hvp" in run.out and "WRONG" not in run.out
    write()
    run = verify("fit.yaml", "twice")
    assert (run.code, run.err) == (cli.FINE, "verifying fit_numpy.py\n")
    first, header, line, *others = run.out.splitlines()
    assert first == "fit_numpy.py:" and "worst error" in header
    told = ["twice", "value", "the formula, 50 digits", "0.0e+00", "16.0", "5", "ok"]
    assert re.split(r"  +", line.strip()) == told
    assert [re.split(r"  +", x.strip())[1] for x in others] == [
        "float32",
        "refusals",
        "value",  # of the larger point, where doubles are enough
    ]


def test_what_is_wrong_is_shown_by_a_program_that_shows_it_again(
    verify: Command,
) -> None:
    write(broken)
    run = verify("fit.yaml", "-q")
    assert (run.code, run.err) == (cli.STALE, "")
    assert (
        "WRONG: loss_grad in fit_numpy.py: gradient, against complex steps" in run.out
    )
    assert "seed 0.0; sizes: n = 1, m = 1" in run.out
    _, lines = run.out.split("  to see it again:\n\n")
    shown = "\n".join(line.removeprefix("    ") for line in lines.splitlines())
    again = subprocess.run(
        [sys.executable, "-c", shown], capture_output=True, text=True, check=True
    )
    difference = float(run.out.split("largest difference ")[1].split()[0])
    assert float(again.stdout.split()[-1]) == pytest.approx(difference, rel=1e-2)


def test_machines_are_told_the_same(verify: Command) -> None:
    write(broken)
    run = verify("fit.yaml", "--json", "--seed", "7")
    found = json.loads(run.out)
    assert run.code == cli.STALE
    assert {x["function"] for x in found} >= {"loss", "loss_grad", "twice"}
    (wrong,) = (x for x in found if x["verdict"] == "WRONG")
    assert (wrong["function"], wrong["seed"]) == ("loss_grad", "7.0")
    assert wrong["sizes"] == {"n": 1, "m": 1} and wrong["difference"] > 0
    assert "import fit_numpy as module" in wrong["reproduction"]


def test_the_same_seed_gives_the_same_points(verify: Command) -> None:
    write(broken)
    first, second = verify("fit.yaml", "--json"), verify("fit.yaml", "--json")
    assert first == second != verify("fit.yaml", "--json", "--seed", "1")


def test_modes_are_compared_with_each_other(verify: Command) -> None:
    run = verify("fit.yaml", "--mode", "all", "loss_grad")
    assert run.code == cli.FINE
    for mode in cli.MODES:
        assert f"fit_numpy.py ({mode}, in memory):" in run.out
    against = "gradient  fit_numpy.py (cross-country, in memory)"
    assert run.out.count(against) == 2


def test_data_of_a_file_are_the_one_point(verify: Command) -> None:
    write()
    np.savez("data.npz", w=[1.0, 2.0], X=np.ones((3, 2)))
    run = verify("fit.yaml", "--data", "data.npz", "--json")
    assert run.code == cli.FINE
    assert {x["points"] for x in json.loads(run.out)} == {1}
    np.savez("data.npz", w=[1.0, 2.0])
    run = verify("fit.yaml", "--data", "data.npz")
    assert run.code == cli.FINE
    assert "loss_grad, all: not verified: the data have no 'X'" in run.out
    np.savez("data.npz", w=[1.0, 2.0], X=np.ones((3, 3)))
    assert "inconsistent shapes" in verify("fit.yaml", "--data", "data.npz").out


def test_what_cannot_run_here_is_not_called_ok(
    verify: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    reason = "cupy is not installed"
    monkeypatch.setattr(verified_modules, "why_not", lambda backend: reason)
    run = verify("fit.yaml", "-b", "cupy", "--json")
    (found,) = json.loads(run.out)
    assert (run.code, found["verdict"], found["reason"]) == (0, "not verified", reason)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("none.yaml",), "cannot read none.yaml: No such file"),
        (("wrong.yaml",), "wrong.yaml:2:1: error: 'functoins' is not a key of a spec"),
        (("fit.yaml", "los"), "fit.yaml has no function 'los'; did you mean 'loss'?"),
        (("fit.yaml", "--data", "none.npz"), "cannot read none.npz: No such file"),
        (("fit.yaml", "--data", "fit.yaml"), "cannot read fit.yaml: "),
    ],
)
def test_what_is_wrong_with_the_command_ends_with_two(
    verify: Command, words: tuple[str, ...], said: str
) -> None:
    Path("wrong.yaml").write_text("tensorgen: 1\nfunctoins: {}\n", "utf-8")
    run = verify(*words)
    assert (run.code, run.out) == (cli.WRONG, "")
    assert said in run.err and "Traceback" not in run.err


def test_a_module_that_cannot_be_imported_is_wrong(verify: Command) -> None:
    write(lambda text: "raise KeyError('x')\n" + text)
    run = verify("fit.yaml")
    assert run.code == cli.STALE
    assert "WRONG: all in fit_numpy.py: import" in run.out
    assert "it raises SyntaxError" in run.out or "it raises KeyError" in run.out
