"""`tensorgen bench`: what it measures and says, and its exit codes."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from tensorgen import cli
from tensorgen.bench.clock import peak, timed
from tests.cli.shell import Run
from tests.made import generate

pytestmark = pytest.mark.thorough

SPEC = """\
tensorgen: 1
module: fit
backends: [numpy]
dims: {n: 6, m: 9}
inputs:
  w: [n]
  X: [m, n]
  A: {shape: [n, n], spd: true}
  lam: {shape: scalar, default: 0.5}
functions:
  loss:
    expr: sum((X @ w)**3) + lam * sum(w**2) + logdet(A)
    wrt: w
    emit: [value, gradient, hessian, hvp, dense_hessian, 3]
  both:
    expr: sum((X @ w)**2) * lam
    wrt: [w, X]
    emit: [value, gradient, hessian, hvp, jvp, vjp]
  rows:
    expr: X @ w * lam
    wrt: w
    emit: [jacobian, dense_jacobian, vjp]
  several:
    expr: {total: "sum(w**2)", parts: "w**3"}
    wrt: w
  open: log(-sum(w**2))
"""
Command = Callable[..., Run]


@pytest.fixture
def bench(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> Command:
    """Run the command in a folder of its own that holds the spec, in this process."""
    monkeypatch.chdir(tmp_path)
    Path("fit.yaml").write_text(SPEC, "utf-8")

    def run(*words: str) -> Run:
        for name in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"):
            monkeypatch.setenv(name, "1")  # what the command sets is taken back
        monkeypatch.setenv("XLA_FLAGS", os.environ.get("XLA_FLAGS", ""))
        given = ["tensorgen", "bench", *words, "--seconds", "0.002"]
        monkeypatch.setattr(sys, "argv", given)
        with pytest.raises(SystemExit) as left:
            cli.main()
        said = capfd.readouterr()
        assert isinstance(left.value.code, int)
        return Run(left.value.code, said.out, said.err)

    return run


def test_each_function_is_compared_and_timed_with_and_without_jax(
    bench: Command,
) -> None:
    for more, against in ((), "JAX"), (("--no-jax",), "the formula"):
        run = bench("fit.yaml", "--json", *more)
        found = {x["function"]: x for x in json.loads(run.out)["functions"]}
        assert run.code == cli.FINE, run
        assert "found at which it is finite" in found.pop("open")["reason"]
        for name, row in found.items():
            assert row["times"]["least"] > 0, row
            assert row["sizes"].items() <= {"n": 6, "m": 9}.items()
            alone = more or row["no_jax"]
            assert (row["jax"] is None) == bool(alone), row
            compared = row["compared"]
            if compared["verdict"] == "open":
                assert name in {"loss_hess_dense", "loss_d3"}, row
            else:
                assert compared["against"] == (FORMULA if alone else against), row
                assert compared["error"] < 1e-9
        assert found["loss_hess"]["flops"] > found["loss"]["flops"] > 0
        assert found["loss_hess"]["modelled"] >= 8 * 36


FORMULA = "the formula"


def test_the_table_has_a_row_a_function_and_says_what_is_left_out(
    bench: Command,
) -> None:
    run = bench("fit.yaml", "rows", "--dims", "n=4, m=3", "-q")
    assert (run.code, run.err) == (cli.FINE, "")
    assert "sizes    n = 4, m = 3" in run.out and "threads  1" in run.out
    header, *rows = run.out.split("\n\n")[1].splitlines()
    assert "GFLOP/s" in header and "JAX" in header
    assert [row.split()[0] for row in rows] == [
        "rows_jac",
        "rows_jac_dense",
        "rows_vjp",
    ]
    run = bench("fit.yaml", "several", "-q")
    assert "no times of JAX: functions with several results are not" in run.out
    header = run.out.split("\n\n")[1].splitlines()[0]
    assert "JAX" not in header


def test_a_wrong_module_is_not_timed(bench: Command) -> None:
    text = generate(SPEC)
    head, tail = text.split("def loss_grad(", 1)
    own, rest = tail.split("\ndef ", 1)
    assert "2 * lam" in own
    wrong = f"{head}def loss_grad({own.replace('2 * lam', '3 * lam')}\ndef {rest}"
    Path("fit_numpy.py").write_text(wrong, "utf-8")
    for more in ((), ("--no-jax",)):
        run = bench("fit.yaml", "loss_grad", *more)
        assert run.code == cli.STALE
        assert run.err == "timing fit_numpy.py\n"
        assert "loss_grad: WRONG: it differs from" in run.out and "GFLOP" not in run.out


def test_data_of_a_file_are_the_arguments(bench: Command) -> None:
    np.savez("data.npz", w=[1.0, 2.0], X=np.ones((3, 2)))
    run = bench("fit.yaml", "both", "--data", "data.npz", "--json", "-q")
    rows = json.loads(run.out)["functions"]
    assert all(row["sizes"] == {"n": 2, "m": 3} and row["times"] for row in rows)
    run = bench("fit.yaml", "loss", "--data", "data.npz")
    assert run.code == cli.WRONG and "loss: the data have no 'A'" in run.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("none.yaml",), "cannot read none.yaml: No such file"),
        (("fit.yaml", "los"), "there is no function 'los'; did you mean 'loss'?"),
        (("fit.yaml", "--dims", "k=3"), "there is no dim 'k'; known: n, m"),
        (("fit.yaml", "--dims", "n"), "'n' is no size: n=100,m=20 is expected"),
        (("fit.yaml", "--dims", "n=-2"), "a size is a positive integer"),
        (("fit.yaml", "-b", "cupy"), "modules for cupy cannot be run here: cupy"),
        (("fit.yaml", "--data", "none.npz"), "cannot read none.npz: No such file"),
    ],
)
def test_what_is_wrong_with_the_command_ends_with_two(
    bench: Command, words: tuple[str, ...], said: str
) -> None:
    run = bench(*words)
    assert (run.code, run.out) == (cli.WRONG, "")
    assert said in run.err and "Traceback" not in run.err


def test_where_jax_loses_digits_the_formula_decides(bench: Command) -> None:
    # 1 - tanh(x)**2 has few left at 15, 1 / cosh(x)**2 has all.
    lines = "inputs: {x: [n]}\nfunctions: {f: {expr: sum(tanh(x + 15)), wrt: x}}\n"
    Path("far.yaml").write_text(f"tensorgen: 1\ndims: {{n: 5}}\n{lines}", "utf-8")
    run = bench("far.yaml", "f_grad", "-q")
    assert run.code == cli.FINE
    assert "the formula: " in run.out
    assert re.search(r"f_grad: JAX differs by \S+, and is off itself", run.out)
    found = json.loads(bench("far.yaml", "f_grad", "-q", "--json").out)["functions"]
    assert found[0]["differs"] > 1e-6 > found[0]["compared"]["error"]
    assert found[0]["jax"]["least"] > 0


def test_what_jax_would_hold_too_much_for_is_timed_alone(bench: Command) -> None:
    run = bench("fit.yaml", "both_hess", "--dims", "n=100,m=500", "-q")
    assert run.code == cli.FINE
    assert "no times of JAX: its derivative is too large to be stored dense" in run.out
    assert re.search(r"^both_hess .* the formula: ", run.out, re.MULTILINE)


def test_what_would_not_fit_into_memory_is_not_run(bench: Command) -> None:
    run = bench("fit.yaml", "loss_hess_dense", "--dims", "n=100000", "-q")
    assert run.code == cli.FINE
    assert "loss_hess_dense: not timed: it would need" in run.out


def test_tasks_are_timed_in_turns_and_weighed() -> None:
    calls: list[str] = []
    tasks = {name: partial(calls.append, name) for name in "ab"}
    found = timed(tasks, 1e-3)
    assert {*calls} == {"a", "b"}
    assert found["a"].count >= 5 and 0 < found["a"].least <= found["a"].median
    assert 8_000_000 <= peak(lambda: np.ones(1_000_000)) < 8_100_000
