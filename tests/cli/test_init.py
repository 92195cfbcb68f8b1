"""`tensorgen init`: specs to begin with, each of which is right."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
import yaml
from click.testing import CliRunner

import tensorgen
from tensorgen import cli
from tensorgen.cli.init import STARTERS, starter
from tensorgen.spec.schema import spec_schema
from tests.cli.shell import Run, Shell

rng = np.random.default_rng(3)
n = rng.normal
# A gradient of each, and what it is called with.
CALLS: dict[str, Callable[[], tuple[str, dict[str, Any], str]]] = {
    "least-squares": lambda: (
        "loss",
        {"p": n(size=3), "t": n(size=7), "y": n(size=7)},
        "p",
    ),
    "glm": lambda: (
        "loss",
        {"w": n(size=3), "X": n(size=(7, 3)), "y": np.arange(7.0)},
        "w",
    ),
    "network": lambda: (
        "loss",
        {
            "W": n(size=(3, 4)),
            "b": n(size=4),
            "V": n(size=(4, 2)),
            "X": n(size=(5, 3)),
            "label": np.array([0, 1, 1, 0, 1]),
        },
        "V",
    ),
    "factorisation": lambda: (
        "loss",
        {
            "U": n(size=(4, 2)),
            "V": n(size=(3, 2)),
            "user": np.array([0, 3, 1]),
            "item": np.array([2, 2, 0]),
            "rating": n(size=3),
        },
        "V",
    ),
    "time-series": lambda: (
        "nll",
        {"omega": 0.1, "alpha": 0.1, "beta": 0.8, "r": n(size=6)},
        "beta",
    ),
}


@pytest.mark.parametrize("name", STARTERS)
def test_a_starter_is_a_spec_that_explains_itself(name: str) -> None:
    text = starter(name)
    assert text.startswith("# ") and text.count("#") >= 3
    assert max(map(len, text.splitlines())) <= 88
    errors = jsonschema.Draft7Validator(spec_schema()).iter_errors(yaml.safe_load(text))
    assert [*errors] == []


@pytest.mark.parametrize("name", CALLS)
def test_the_gradient_of_a_starter_is_that_of_its_value(name: str) -> None:
    module: Any = tensorgen.load(starter(name))
    function, given, by = CALLS[name]()
    value = getattr(module, function)
    grad = getattr(module, f"{function}_grad")(**given)
    grad = getattr(grad, by) if isinstance(grad, tuple) else grad
    step = np.asarray(n(size=np.shape(given[by])))
    h = 1e-6
    up, down = (value(**given | {by: given[by] + sign * h * step}) for sign in (1, -1))
    np.testing.assert_allclose(np.sum(grad * step), (up - down) / (2 * h), rtol=1e-7)


def test_the_problem_of_optimal_control_has_steps_for_constraints() -> None:
    module: Any = tensorgen.load(starter("optimal-control"))
    problem = module.SpecProblem(T=4)
    # What is not zero: 3 and 4 entries a step, and two of each end.
    assert problem.jacobian(np.zeros(14)).shape == (4 * 3 + 4 * 4 + 4,)


def test_a_file_is_written_and_then_kept(shell: Shell) -> None:
    run = shell("init", "-t", "glm")
    assert run == Run(cli.FINE, "", "wrote glm.yaml; next: tensorgen gen glm.yaml\n")
    assert (shell.folder / "glm.yaml").read_text("utf-8") == starter("glm")
    (shell.folder / "glm.yaml").write_text("mine", "utf-8")
    run = shell("init", "-t", "glm")
    assert run.code == cli.WRONG and "glm.yaml exists" in run.err
    assert (shell.folder / "glm.yaml").read_text("utf-8") == "mine"
    assert shell("init", "-t", "glm", "new.yaml").code == cli.FINE
    assert shell("init", "-t", "glm", "none/new.yaml").code == cli.WRONG
    assert shell("init", "-t", "network", "--stdout").out == starter("network")
    assert shell.files() == ["glm.yaml", "new.yaml"]


def test_without_a_terminal_the_template_is_stated(shell: Shell) -> None:
    run = shell("init")
    assert run.code == cli.WRONG and "--template: least-squares, glm" in run.err


def test_on_a_terminal_it_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("tensorgen.cli.init.sys", Terminals())
    run = CliRunner().invoke(cli.cli, ["init"], input="9\n2\n")
    assert "2  glm" in run.output and "9 is not in the range" in run.output
    assert (tmp_path / "glm.yaml").read_text("utf-8") == starter("glm")


def on_a_terminal(
    folder: Path, monkeypatch: pytest.MonkeyPatch, answers: str, *words: str
) -> str:
    """Answer in a folder, and return what was shown."""
    monkeypatch.chdir(folder)
    monkeypatch.setattr("tensorgen.cli.init.sys", Terminals())
    return CliRunner().invoke(cli.cli, ["init", *words], input=answers).output


def test_enter_takes_all_that_is_offered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = on_a_terminal(tmp_path, monkeypatch, "\n" * 7)
    assert "7  your own" in shown and "wrote fit.yaml" in shown
    module: Any = tensorgen.load(tmp_path / "fit.yaml")
    np.testing.assert_array_equal(module.loss_grad([1.0, 2.0]), [2, 4])


def test_a_spec_of_ones_own_is_asked_for_and_wrong_answers_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = ["7", "a-b", "ridge", "X: [m, n]", "y[m]", "y: [m]", "w: [n]", ""]
    answers += ["X", "loss", "norm(X @ v - y)**2", "norm(X @ w - y)**2", "v", "w"]
    shown = on_a_terminal(tmp_path, monkeypatch, "\n".join(answers) + "\n")
    assert "error: 'a-b' cannot be the name of a module" in shown
    assert "error: unknown name 'v'" in shown and "wrote ridge.yaml" in shown
    module: Any = tensorgen.load(tmp_path / "ridge.yaml")
    grad = module.loss_grad(X=np.eye(2), y=[1.0, 1.0], w=[0.0, 2.0])
    np.testing.assert_allclose(grad, [-2, 2])


def test_the_name_of_the_file_is_offered_and_what_is_there_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "there.yaml").write_text("mine", "utf-8")
    shown = on_a_terminal(tmp_path, monkeypatch, "\n" * 7, "new-fit.yaml")
    assert "name of the module [new_fit]" in shown and "wrote new-fit.yaml" in shown
    shown = on_a_terminal(tmp_path, monkeypatch, "", "there.yaml")
    assert "there.yaml exists" in shown and "which" not in shown
    assert (tmp_path / "there.yaml").read_text("utf-8") == "mine"


def test_an_end_of_input_writes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    on_a_terminal(tmp_path, monkeypatch, "7\nfit\n")
    assert [*tmp_path.iterdir()] == []


class Terminals:
    """Streams that a person sits at."""

    def __init__(self) -> None:
        self.stdin = self.stderr = self
        self.exit = sys.exit

    def isatty(self) -> bool:
        return True
