"""Recurrences that keep few of their states, against those that keep all."""

from __future__ import annotations

import inspect
import math
import tracemalloc
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import tensorgen
from tensorgen.errors import SpecError
from tests.device.library import execute, stand_in
from tests.recurrence_cases import CASES, Case, given

pytestmark = pytest.mark.thorough

Array = Any
BOTH = """
tensorgen: 1
inputs: {A: [n, n], u: [T, n], x0: [n], g: [n]}
functions:
  f:
    where: |
      x[0] = x0
      x[t + 1] = tanh(A @ x[t] + u[t])
      r[T] = g
      r[t - 1] = sin(A @ r[t]) + u[t - 1]
    expr: sum(x[1:]**2) + sum(r) + x[T] @ r[0]
    wrt: [A, u, x0, g]
    emit: [value, gradient, hvp]
"""


def cut(text: str, how: str) -> str:
    """A spec whose function has a checkpoint."""
    return text.replace("    where: |", f"    checkpoint: {how}\n    where: |")


def flat(result: Any) -> Array:
    """All numbers of a result."""
    if isinstance(result, tuple):
        return np.concatenate([flat(part) for part in result])
    return np.ravel(np.asarray(result))


def agree(one: ModuleType, other: ModuleType, values: dict[str, Array]) -> None:
    """Hold all functions of two modules to the same values."""
    rng = np.random.default_rng(3)
    more = {f"d{x}": rng.normal(size=np.shape(v)) for x, v in values.items()}
    for name in one.__all__:
        function = getattr(one, name)
        if not inspect.isfunction(function):
            continue
        own = inspect.signature(function).parameters
        chosen = {x: v for x, v in {**values, **more}.items() if x in own}
        want, found = flat(function(**chosen)), flat(getattr(other, name)(**chosen))
        np.testing.assert_allclose(found, want, 1e-10, 1e-11)


@pytest.fixture(scope="module")
def whole() -> ModuleType:
    return execute(tensorgen.generate(BOTH))


@pytest.mark.parametrize("how", ["sqrt", "{x: 4, r: 1}"])
def test_runs_of_all_lengths_give_what_whole_recurrences_give(
    how: str, whole: ModuleType
) -> None:
    few, rng = execute(tensorgen.generate(cut(BOTH, how))), np.random.default_rng(0)
    for T in (1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 25):
        values = {
            "A": rng.normal(size=(3, 3)) / 2,
            "u": rng.normal(size=(T, 3)),
            "x0": rng.normal(size=3),
            "g": rng.normal(size=3),
        }
        agree(whole, few, values)
    values["u"] = np.zeros((0, 3))
    x0, g = values["x0"], values["g"]
    assert few.f(**values) == pytest.approx(g.sum() + x0 @ g, rel=1e-12)
    slopes = few.f_grad(**values)
    np.testing.assert_allclose(slopes.g, 1 + x0, rtol=1e-12)
    np.testing.assert_allclose(slopes.x0, g, rtol=1e-12)


NAMES = ("kalman", "lstm", "forward_arrays", "each", "lags", "backwards", "swap")


@pytest.mark.parametrize("name", NAMES)
def test_whatever_steps_may_step_in_runs(name: str) -> None:
    (case,) = (case for case in CASES if case.name == name)
    few = execute(tensorgen.generate(cut(case.text, "4")))
    agree(execute(tensorgen.generate(case.text)), few, given(case))


SUMS = Case(
    "sums",
    "x[0] = x0\nx[t + 1] = sin(x[t])*phi + y[t]\nq[t] = x[t]*x[t + 1]",
    "sum(x[:-1]*x[1:]) + sum(t*x[t + 1, 0], t) + sum(softmax(x, axis=1)**2)"
    " + sum(q)**2 + x[3, 1] + norm(x[T])**2",
    ("y", "phi", "x0"),
    lambda **k: None,
)


def test_sums_over_steps_are_added_up_in_steps() -> None:
    text = cut(SUMS.text, "sqrt")
    agree(execute(tensorgen.generate(SUMS.text)), execute(module(text)), given(SUMS))
    # But for the entry x[3, 1], which is read off all states.
    code = module(text.replace(" + x[3, 1]", ""))
    assert "np.zeros((T" in code
    assert "np.zeros((T," not in code and "np.zeros((T + 1" not in code


READ = """
tensorgen: 1
inputs: {A: [n, n], u: [T], V: [n, T], y: [m], at: {shape: [T], index: m}, x0: [n]}
functions:
  f:
    where: |
      x[0] = x0
      x[t + 1] = tanh(A @ x[t] + u[t])
    expr: EXPR
    wrt: [A, u, x0]
    emit: [value, gradient]
"""


@pytest.mark.parametrize(
    "expr",
    [
        "sum(y[at[t]]*x[t, 0], t)",
        "sum(y[at[t]]*x[t + 1, k], t, k)",
        "sum(exp(x[t, k])*V[k, T - 1 - t], t, k)",
        "sum(sin(x[t, k]*x[t + 1, 0]), t, k)",
    ],
)
def test_a_step_adds_what_other_arrays_have_for_it(expr: str) -> None:
    text, rng = READ.replace("EXPR", expr), np.random.default_rng(0)
    few, T = module(cut(text, "sqrt")), 7
    shapes = {"A": (3, 3), "u": (T,), "V": (3, T), "y": (9,), "x0": (3,)}
    values: dict[str, Array] = {x: rng.normal(size=s) for x, s in shapes.items()}
    values["at"] = rng.integers(0, 9, T)
    agree(execute(tensorgen.generate(text)), execute(few), values)
    assert "np.zeros((T_" in few
    assert "np.zeros((T," not in few and "np.zeros((T + 1" not in few


def module(text: str) -> str:
    return tensorgen.generate(text)


LONG = """
tensorgen: 1
dims: {n: 50, k: 2, T: 10000}
inputs: {A: [n, n], B: [n, k], u: [T, k], x0: [n]}
functions:
  f:
    where: |
      x[0] = x0
      x[t + 1] = tanh(A @ x[t] + B @ u[t])
    expr: sum(x**2)
    wrt: A
    emit: [value, gradient, hvp]
"""


def test_few_states_are_held_at_a_time() -> None:
    n, k, T = 50, 2, 4000
    few, rng = execute(module(cut(LONG, "sqrt"))), np.random.default_rng(0)
    A, B = rng.normal(size=(n, n)) / 9, rng.normal(size=(n, k))
    values = {"A": A, "B": B, "u": rng.normal(size=(T, k)), "x0": np.ones(n)}
    # In states; what a matrix takes, of which there are some, is n of them.
    for name, most in {"f": 3, "f_grad": 8, "f_hvp": 30}.items():
        given = {**values, **({"dA": A} if name == "f_hvp" else {})}
        tracemalloc.start()
        getattr(few, name)(**given)
        peak = tracemalloc.get_traced_memory()[1] / (8 * n)
        tracemalloc.stop()
        assert peak < most * math.isqrt(T) + 8 * n < T


def test_the_docstring_says_what_is_kept() -> None:
    root, number = module(cut(LONG, "sqrt")), module(cut(LONG, "{x: 100}"))
    told = [" ".join(text.split()) for text in (root, number, module(LONG))]
    kept = "numbers, including of T steps every state of one run of"
    assert f"{kept} isqrt(T) + 1, and the first of each run" in told[0]
    assert f"{kept} 100, and the first of each run" in told[1]
    assert "numbers, including all states of T steps" in told[2]


def test_the_other_library_goes_by_runs_alike() -> None:
    values = {"A": np.eye(3) / 2, "u": np.ones((7, 3)), "x0": np.ones(3)}
    values["g"] = np.zeros(3)
    want = flat(execute(module(cut(BOTH, "3"))).f_grad(**values))
    with stand_in() as cupy:
        few = execute(tensorgen.generate(cut(BOTH, "3"), backend="cupy"))
        arrays = {name: cupy.asarray(x) for name, x in values.items()}
        found = few.f_grad(**arrays)
        np.testing.assert_allclose(
            np.concatenate([np.ravel(cupy.asnumpy(x)) for x in found]), want, 1e-12
        )


def test_results_share_runs() -> None:
    text = cut(LONG, "sqrt").replace("sum(x**2)", "{a: 'sum(x**2)', b: 'sum(x[T])'}")
    code = module(text)
    value = code[code.index("def f(") : code.index("def f_grad")]
    assert value.count("np.tanh") == 1
    few = execute(code)
    values = {"A": np.eye(2), "B": np.ones((2, 1)), "u": np.ones((5, 1))}
    found = few.f(**values, x0=np.ones(2))
    plain = execute(module(LONG)).f(**values, x0=np.ones(2))
    assert found.a == pytest.approx(plain, rel=1e-12)


def test_sizes_of_runs_have_names_of_their_own() -> None:
    text = cut(LONG, "sqrt").replace("k: 2,", "T_runs: 2,").replace("k]", "T_runs]")
    code = module(text)
    assert "T_runs_ = -(-T // T_stride_)" in code
    execute(code).f_grad(np.eye(2), np.ones((2, 3)), np.ones((5, 3)), np.ones(2))


def test_rows_that_no_step_has_are_zero() -> None:
    text = """
tensorgen: 1
inputs: {A: [n, n], u: [T, n], x0: [n]}
functions:
  f:
    where: |
      x[0] = x0
      x[t + 1] = A @ x[t] + u[t]
    expr: x[1:]
    wrt: x0
    emit: [vjp]
"""
    A, ct = np.array([[0.5, 1.0], [0.0, 2.0]]), np.arange(6.0).reshape(3, 2)
    made = execute(module(text))
    _, found = made.f_vjp(A, np.zeros((3, 2)), np.ones(2), ct)
    powers = [np.linalg.matrix_power(A.T, k + 1) @ ct[k] for k in range(3)]
    np.testing.assert_allclose(found, sum(powers), rtol=1e-12)


FAULTS = {
    "{y: sqrt}": ("'y' is no name under 'where'", "recurrences are defined under"),
    "{z: sqrt}": ("'z' is no recurrence, and has no states to store", "leave 'z' out"),
    "{x: 0}": ("a state is stored after 1 step at least", "write sqrt, or after"),
    "-3": ("a state is stored after 1 step at least", "write sqrt, or after"),
    "{x: root}": ("'root' is no checkpoint", "write sqrt, or after"),
    "{x: [1]}": ("'x' takes sqrt or a number of steps, not a list", "write sqrt"),
    "{}": ("'checkpoint' names nothing", "write {x: sqrt}"),
    "{p: 3, q: 4}": ("'p' and 'q' step together", "name one of them"),
}


@pytest.mark.parametrize("how", FAULTS)
def test_what_is_no_checkpoint_is_reported(how: str) -> None:
    text = f"""
tensorgen: 1
inputs: {{u: [T, n], x0: [n]}}
functions:
  f:
    checkpoint: {how}
    where: |
      x[0] = x0
      x[t + 1] = sin(x[t]) + u[t]
      p[0] = x0
      q[0] = x0
      p[t + 1] = sin(q[t]) + u[t]
      q[t + 1] = sin(p[t]) + u[t]
      z = x0**2
    expr: sum(x) + sum(z) + sum(p)
"""
    with pytest.raises(SpecError) as error:
        module(text)
    message, hint = FAULTS[how]
    assert message in str(error.value) and hint in str(error.value)
    assert "<text>:6:" in str(error.value) and "^" in str(error.value)


def test_a_checkpoint_of_no_steps_is_reported() -> None:
    text = "tensorgen: 1\ninputs: {x: [n]}\nfunctions:\n  f:\n    checkpoint: sqrt\n"
    with pytest.raises(SpecError, match="nothing steps in 'f'"):
        module(text + "    expr: sum(x)\n")
