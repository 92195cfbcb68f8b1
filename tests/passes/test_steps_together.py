"""What steps do to slices together, and what they keep for who would do it again."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import tensorgen
from tests.device.library import execute
from tests.made import source
from tests.recurrence_cases import sigmoid
from tests.sampled import sampled

Array = Any

CELL = """
tensorgen: 1
dims: {{n: 64, T: 50}}
inputs: {{U: [4, n, n], b: [4, n], u: [T, n], x0: [n]}}
functions:
  f:
    where: |
      x[0] = x0
      p[t] = {p}(U[{k[0]}] @ x[t] + b[{k[0]}] + u[t])
      q[t] = {q}(U[{k[1]}] @ x[t] + b[{k[1]}] + u[t])
      r[t] = {r}(U[{k[2]}] @ x[t] + b[{last}] + u[t])
      x[t + 1] = p[t]*x[t] + q[t]*r[t]
    expr: sum(x[T]**2)
    wrt: [U, b]
    emit: [value, gradient, hvp]
"""
FUNCTIONS: dict[str, Callable[[Array], Array]] = {
    "sigmoid": sigmoid,
    "tanh": np.tanh,
    "sin": np.sin,
}


class Cell:
    """A cell of gates, each of which is a function of slices."""

    def __init__(
        self, gates: tuple[str, str, str], places: tuple[int, int, int], last: int
    ) -> None:
        self.gates, self.places, self.last = gates, places, last
        names = dict(zip("pqr", gates, strict=True))
        self.text = tensorgen.generate(CELL.format(k=places, last=last, **names))
        self.module: ModuleType = execute(self.text)
        rng = np.random.default_rng(sum(places))
        shapes = {"U": (4, 3, 3), "b": (4, 3), "u": (5, 3), "x0": (3,)}
        self.given = {x: rng.normal(size=shape) / 2 for x, shape in shapes.items()}

    def loop(self, U: Array, b: Array, u: Array, x0: Array) -> Array:
        x, biases = x0, [*self.places[:2], self.last]
        for row in u:
            p, q, r = (
                FUNCTIONS[gate](U[k] @ x + b[j] + row)
                for gate, k, j in zip(self.gates, self.places, biases, strict=True)
            )
            x = p * x + q * r
        return (x**2).sum()

    def steps(self, name: str) -> list[str]:
        """The loops of a function."""
        code = source(self.text, name)
        return re.findall(r"    for t in .*\n((?:        .*\n)+)", code)


CELLS = {
    "one array of all": (("sigmoid", "sigmoid", "tanh"), (0, 1, 2), 2),
    "in another order": (("tanh", "sigmoid", "sin"), (3, 1, 2), 2),
    "a gap between": (("sigmoid", "sigmoid", "sigmoid"), (0, 3, 1), 1),
    "slices of different places": (("sigmoid", "sigmoid", "tanh"), (0, 1, 2), 0),
    "one place twice": (("sigmoid", "tanh", "tanh"), (2, 2, 3), 3),
}


made = cache(lambda name: Cell(*CELLS[name]))


@pytest.fixture(params=sampled(CELLS, 2))
def cell(request: pytest.FixtureRequest) -> Cell:
    return made(request.param)


def test_gates_are_what_they_are_one_by_one(cell: Cell) -> None:
    want = cell.loop(**cell.given)
    assert cell.module.f(**cell.given) == pytest.approx(want, rel=1e-12)
    slopes = cell.module.f_grad(**cell.given)
    for name in ("U", "b"):
        for at in np.ndindex(cell.given[name].shape):
            stepped = np.array(cell.given[name], complex)
            stepped[at] += 1e-30j
            slope = np.imag(cell.loop(**{**cell.given, name: stepped})) / 1e-30
            assert getattr(slopes, name)[at] == pytest.approx(slope, 1e-10, 1e-12)


def test_second_derivatives_follow(cell: Cell) -> None:
    along = {"dU": cell.given["U"][::-1] ** 2, "db": cell.given["b"] ** 2}
    found = cell.module.f_hvp(**cell.given, **along)
    moved = []
    for sign in (1, -1):
        given = dict(cell.given)
        given["U"] = given["U"] + sign * 1e-5 * along["dU"]
        given["b"] = given["b"] + sign * 1e-5 * along["db"]
        moved.append(cell.module.f_grad(**given))
    for name in ("U", "b"):
        slope = (getattr(moved[0], name) - getattr(moved[1], name)) / 2e-5
        np.testing.assert_allclose(getattr(found, name), slope, 1e-6, 1e-8)


def test_slices_that_are_treated_alike_take_one_product() -> None:
    cell = made("one array of all")
    (step,) = cell.steps("f")
    assert step.count("@") == 1 and step.count("_sigmoid") == 1
    assert step.count("np.tanh") == 1


def test_what_steps_have_multiplied_is_not_multiplied_again() -> None:
    cell = made("one array of all")
    forward, back = cell.steps("f_grad")
    code = source(cell.text, "f_grad")
    assert "p_q_r_args[t] = " in forward and "p_q[t] = " in forward
    assert not re.search(r"x\[:-1\].*@.*U|U @ x", code)
    assert "_sigmoid(" not in back and "np.tanh" not in back


SMALL = CELL.replace("n: 64", "n: 1").replace(", hvp", "")


def test_what_takes_no_time_is_not_kept() -> None:
    names = dict(zip("pqr", ("sigmoid", "sin", "tanh"), strict=True))
    code = tensorgen.generate(SMALL.format(k=(0, 1, 2), last=2, **names))
    # Steps store states, and rows of nothing else.
    assert "x[t + 1] = " in code and not re.search(r"^ +\w+\[t\] = \w+$", code, re.M)


SHARES = """
tensorgen: 1
dims: {K: 20, N: 1000}
inputs: {L: [K, K], E: [N, K]}
functions:
  f:
    where: |
      s[0] = E[0]
      s[t + 1, k] = E[t + 1, k] + logsumexp(s[t, j] + L[j, k], j)
    expr: logsumexp(s[N - 1])
    wrt: [L, E]
    emit: [value, gradient, hvp]
"""


@pytest.fixture(scope="module")
def shares() -> tuple[str, ModuleType]:
    text = tensorgen.generate(SHARES)
    return text, execute(text)


def test_shares_are_normalised_by_what_the_steps_have_found(
    shares: tuple[str, ModuleType],
) -> None:
    code = source(shares[0], "f_grad")
    back = code.split("reversed(range(N - 1)):")[1]
    assert back.count("np.exp(") == 1
    assert "np.max(" not in back and "exp_values" not in back


def test_tangents_normalise_nothing_anew(shares: tuple[str, ModuleType]) -> None:
    code = shares[0].split("def f_hvp(")[1].split("\ndef ")[0]
    loops = re.findall(r"    for t in .*\n((?:        .*\n)+)", code)
    assert [loop.count("np.max(") for loop in loops] == [1, 0]


def test_shares_add_up_where_numbers_are_large_or_infinite(
    shares: tuple[str, ModuleType],
) -> None:
    rng = np.random.default_rng(0)
    L, E = rng.normal(size=(3, 3)), rng.normal(size=(200, 3))
    E[::7, 1] = -np.inf
    for shift in (0.0, 1e6, -1e6):
        slopes = shares[1].f_grad(L, E + shift)
        np.testing.assert_allclose(slopes.E.sum(axis=1), 1, 1e-7)
        assert slopes.L.sum() == pytest.approx(199, rel=1e-7)
        assert (slopes.E[::7, 1] == 0).all()


ROWS = """
tensorgen: 1
inputs: {W: [3, n, m], u: [T, m], x0: [n]}
functions:
  f:
    where: |
      x[0] = x0
      x[t + 1, i] = sum(tanh(sum(W[k, i, j]*u[t, j], j) + x[t, i])*x[t, i], k)
    expr: sum(x[T])
    wrt: [x0]
    emit: [value, gradient]
"""


def test_rows_of_few_slices_are_made_for_all_steps_and_lie_together() -> None:
    text = tensorgen.generate(ROWS)
    code = text.split("def f(")[1].split("\ndef ")[0]
    step = code.split("for t in range(T):")[1]
    assert "@" not in step and "tensordot" not in step
    rng = np.random.default_rng(0)
    W, u, x0 = (rng.normal(size=s) for s in ((3, 2, 4), (6, 4), 2))
    x = x0
    for row in u:
        z = W @ row
        x = (np.tanh(z + x) * x).sum(axis=0)
    assert execute(text).f(W, u, x0) == pytest.approx(x.sum(), rel=1e-12)


CHAIN = """
tensorgen: 1
{dims}
inputs: {{L: [k, k], E: [T, k]}}
functions:
  f:
    where: |
      a[0] = E[0]
      a[t + 1, j] = logsumexp(a[t, i] + L[i, j], i) + E[t + 1, j]
    expr: logsumexp(a[T - 1])
    wrt: [L, E]
    emit: [gradient]
"""


def test_shares_of_a_chain_are_kept_where_few_are_expected() -> None:
    given = np.random.default_rng(0).normal(size=(3, 3)), np.ones((7, 3))
    found = []
    # In the steps and for the last one; and again for the adjoint.
    for dims, calls in (("dims: {k: 8, T: 500}", 2), ("dims: {k: 80, T: 500}", 3)):
        text = tensorgen.generate(CHAIN.format(dims=dims))
        assert text.count("np.exp(") == calls, text
        found.append(execute(text).f_grad(*given))
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-14)


def test_what_steps_join_is_joined_beside_them() -> None:
    text = tensorgen.generate("""
tensorgen: 1
inputs: {s: [2], r: [T, 2]}
definitions: |
  step[0, 0] = log_sigmoid(s[0])
  step[0, 1] = log_sigmoid(-s[0])
  step[1, 0] = log_sigmoid(-s[1])
  step[1, 1] = log_sigmoid(s[1])
functions:
  f:
    where: |
      a[0] = r[0]
      a[t + 1, j] = logsumexp(a[t, k] + step[k, j], k) + r[t + 1, j]
    expr: logsumexp(a[T - 1])
    wrt: s
    emit: [value, gradient]
""")
    gradient = source(text, "f_value_and_grad")
    # At the last step, in the loop, and at all steps for the adjoint.
    assert gradient.count("_guarded_logsumexp(") == 2
    assert gradient.count("_guarded_softmax(") == 2
    assert gradient.count("_softplus_and_log_sigmoid(") == 1
    assert "--" not in text.replace("---", "")
