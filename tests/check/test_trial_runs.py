"""What is emitted is run before it is written: what raises there is a fault of ours."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tensorgen import cli, pipeline
from tensorgen.check import trial_runs
from tensorgen.emit.render import render
from tensorgen.errors import InternalError, Source
from tensorgen.plans import claims
from tests.cli.shell import Run

SPEC = """tensorgen: 1
module: m
inputs: {x: [n], A: {shape: [n, n], spd: true}, k: {shape: [m], index: n}}
functions:
  f:
    expr: x @ A @ x + sum(exp(x[k[e]]), e)
    wrt: x
    emit: [value, gradient, hessian, 3, hvp, problem]
"""
MODE = "cross-country"


def made(text: str = SPEC, **options: Any) -> Mapping[str, str]:
    source = Source("m.yaml", text)
    return pipeline.compile_spec(source, ["numpy"], MODE, False, **options)


def planted(
    monkeypatch: pytest.MonkeyPatch, old: str, new: str, count: int = -1
) -> None:
    """Have other text emitted than what the check has read."""
    whole = render

    def changed(*given: Any, **more: Any) -> str:
        text = whole(*given, **more)
        assert old in text
        return text.replace(old, new, count)

    monkeypatch.setattr(pipeline, "render", changed)


@pytest.mark.parametrize(
    "old, new, told",
    [
        ("np.exp(", "np.expo(", "f raises AttributeError: module 'numpy'"),
        ("n = x.shape[0]", "n = x.shape[1]", "f raises IndexError: tuple index"),
        ("self._at(v).gradient", "self.at(v)", "FProblem.gradient raises Attr"),
        ("self._times(v)", "self.times(v)", "f_hess(...).dot raises Attribute"),
        ("_scaled(float(number))", "scaled(number)", "2 * f_hess(...) raises"),
        ("np.exp(", "np.linalg.inv(", "f raises LinAlgError: 1-dimensional array"),
    ],
)
def test_what_raises_is_not_written(
    monkeypatch: pytest.MonkeyPatch, old: str, new: str, told: str
) -> None:
    planted(monkeypatch, old, new)
    with pytest.raises(InternalError, match=re.escape(told)):
        made()
    assert made(checked=False)


@pytest.mark.parametrize(
    "condition", ["x.size == 4", "k.size > x.size", "k.size < x.size"]
)
def test_code_that_is_chosen_by_sizes_is_run(
    monkeypatch: pytest.MonkeyPatch, condition: str
) -> None:
    new = f"None if {condition} else np.exp("
    planted(monkeypatch, "np.exp(", new)
    with pytest.raises(InternalError, match=r"(Type|Attribute)Error: .* where "):
        made()


def test_a_fault_ends_with_a_reproducer(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
) -> None:
    planted(monkeypatch, "np.exp(", "np.expo(")
    monkeypatch.chdir(tmp_path)
    Path("m.yaml").write_text(SPEC, "utf-8")
    arguments = ["tensorgen", "gen", "m.yaml", "-b", "numpy"]
    monkeypatch.setattr(sys, "argv", arguments)
    with pytest.raises(SystemExit) as left:
        cli.main()
    run = Run(int(left.value.code or 0), *capfd.readouterr())
    assert run.code == cli.BUG and "please report it together with" in run.err
    assert not Path("m_numpy.py").exists()
    name = run.err.split()[-1]
    assert "np.expo(" in Path(name).read_text("utf-8")  # the line that raises


@pytest.mark.parametrize("in_package", [False, True])
def test_support_code_beside_a_module_is_run_with_it(in_package: bool) -> None:
    before = {*sys.modules}
    texts = made(support="shared", in_package=in_package)
    assert [*texts] == ["m_numpy.py", "_tensorgen_support_numpy.py"]
    assert not {x for x in {*sys.modules} - before if x.startswith(trial_runs.PACKAGE)}
    assert "_tensorgen_support_numpy" not in sys.modules


@pytest.mark.parametrize(
    "body, inputs",
    [
        # Matrices that are singular, indices of data that lead outside.
        ("sum(solve(outer(x, x), x))", "x: [n]"),
        ("sum(x[k[e] + 1], e)", "x: [p], k: {shape: [m], index: n}"),
    ],
)
def test_what_is_promised_may_be_raised(body: str, inputs: str) -> None:
    text = f"tensorgen: 1\ninputs: {{{inputs}}}\nfunctions:\n  f:\n    expr: {body}\n"
    assert made(f"{text}    wrt: x\n    emit: [value, gradient, problem]\n")


def test_functions_from_outside_are_never_called() -> None:
    spec = """tensorgen: 1
module: m
inputs: {x: [n]}
external:
  sine: {call: nowhere.sine, derivative: cosine(x)}
  cosine: {call: nowhere.cosine}
functions: {f: {expr: sum(sine(x)), wrt: x}}
"""
    assert made(spec, allow_external=True)


def test_what_holds_too_much_is_not_called(monkeypatch: pytest.MonkeyPatch) -> None:
    text = SPEC.replace("3, hvp, problem", "hvp")
    planted(monkeypatch, "np.exp(", "None if x.size == 4 else np.exp(")
    monkeypatch.setattr(trial_runs, "MOST_NUMBERS", 8)
    assert made(text)
    monkeypatch.setattr(trial_runs, "MOST_NUMBERS", 1000)
    with pytest.raises(InternalError, match="n = 4"):
        made(text)


def test_nothing_is_run_in_a_hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*given: object) -> None:
        raise AssertionError("run")

    monkeypatch.setattr(claims, "run", refuse)
    assert made(checked=False)


GOLDEN = Path(__file__).parent.parent / "golden"


def test_it_is_known_how_to_call_all_that_objects_offer() -> None:
    known = {*trial_runs.METHODS, *trial_runs.OF_MATRICES}
    lacking = set[str]()
    for path in sorted(GOLDEN.glob("*_numpy.py")):
        with trial_runs.loaded({path.name: path.read_text("utf-8")}) as names:
            for name, kind in names.items():
                if isinstance(kind, type) and hasattr(kind, "tensor_shape"):
                    offered = (x for x in dir(kind) if not x.startswith("_"))
                    own = {x for x in offered if callable(getattr(kind, x))}
                    lacking |= {f"{name}.{x}" for x in own - known}
    assert lacking == set()
