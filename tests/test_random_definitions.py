"""Random definitions, kept as functions or written out: the same values and slopes."""

from __future__ import annotations

import random
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from tensorgen.errors import Source
from tensorgen.lang import program
from tensorgen.loading import generated
from tensorgen.plans import compose_functions
from tests.device.library import execute
from tests.sampled import sampled

SPEC = """
tensorgen: 1
inputs: {{x0: [n], p: [n], A: [n, n], F: [T, n], c: scalar, h: scalar}}
definitions:
  rate(x, f): {rate}
functions:
  fun:
    where: |
      {where}
    expr: {expr}
    wrt: [{wrt}]
    emit: [value, gradient, {second}]
"""
ATOMS = ("x", "x", "p", "f", "A @ x", "roll(x, 1)", "x.T @ A")
UNARY = ("sin({0})", "tanh({0})", "-{0}", "c*{0}", "({0})**2", "exp(-{0}**2)")
BINARY = ("({0} + {1})", "({0} - {1})", "{0}*{1}", "{0}/(1 + ({1})**2)", "max({0})*{1}")
WAYS = {
    "Heun": "k1[t] = rate(x[t], F[t])\n"
    "x[t + 1] = x[t] + h/2*(k1[t] + rate(x[t] + h*k1[t], F[t]))",
    "midpoint, by entries before": "k[t] = rate(x[t], F[t])\n"
    "x[t=range(1, T)] = x[t - 1] + h*rate(x[t - 1] + h/2*k[t - 1], F[t])",
    "Kutta": "k1[t] = rate(x[t], F[t])\nk2[t] = rate(x[t] + h/2*k1[t], F[t])\n"
    "k3[t] = rate(x[t] + h/2*k2[t], p)\nk4[t] = rate(x[t] + h*k3[t], F[t])\n"
    "x[t + 1] = x[t] + h/6*(k1[t] + 2*k2[t] + 2*k3[t] + k4[t])",
}
ENDS = ("sum(x**2)", "sum(x[-1]*p)", "sum(tanh(x) * c)")
ONCE = ("sum(rate(p, x0)*rate(x0, p))", "sum(rate(rate(x0, p), 2*p)**2)")


def expression(chosen: random.Random, depth: int) -> str:
    """A random right side."""
    if depth == 0 or chosen.random() < 0.15:
        return chosen.choice(ATOMS)
    if chosen.random() < 0.4:
        return chosen.choice(UNARY).format(expression(chosen, depth - 1))
    parts = (expression(chosen, depth - 1) for _ in range(2))
    return chosen.choice(BINARY).format(*parts)


def spec(seed: int) -> str:
    """A random spec in which a definition is called several times."""
    chosen = random.Random(seed)
    rate = expression(chosen, 3) + " + 0.1*x - f*0.2"
    if chosen.random() < 0.3:
        lines, expr = "", chosen.choice(ONCE)
    else:
        lines = "x[0] = x0\n" + chosen.choice([*WAYS.values()])
        expr = chosen.choice(ENDS)
    wrt = ["x0", *chosen.sample(["p", "c", "A"], chosen.randint(0, 2))]
    text = SPEC.format(
        rate=rate,
        where=lines.replace("\n", "\n      "),
        expr=expr,
        wrt=", ".join(wrt),
        second=chosen.choice(["hvp", "jvp"]),
    )
    return text if lines else text.replace("    where: |\n      \n", "")


def made(text: str) -> tuple[str, ModuleType]:
    """The module of a spec, which has been checked, and its text."""
    found = generated(Source("<spec>", text), "numpy", "cross-country", True)[1]
    return found, execute(found)


@pytest.mark.parametrize("seed", sampled(range(12), 6))
def test_kept_and_written_out_are_the_same(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = spec(seed)
    with monkeypatch.context() as patch:
        patch.setattr(program, "worth_a_look", lambda spec: [])
        _, plain = made(text)
    monkeypatch.setattr(compose_functions, "GAIN_OF_CALLS", 100.0)
    monkeypatch.setattr(compose_functions, "LINES_SAVED", -1000)
    monkeypatch.setattr(compose_functions, "SHARE_OF_LINES", 100.0)
    found, kept = made(text)
    assert "_rate(" in found, text
    for name in ("fun", "fun_grad", "fun_hvp", "fun_jvp"):
        if not hasattr(plain, name):
            continue
        one, other = (flat(called(m, name)) for m in (kept, plain))
        np.testing.assert_allclose(one, other, 1e-9, 1e-9, err_msg=text)


def called(module: ModuleType, name: str) -> Any:
    """What a function of a module gives for random arguments."""
    function, rng = getattr(module, name), np.random.default_rng(5)
    shapes: dict[str, tuple[int, ...]] = {
        **{"x0": (3,), "p": (3,), "A": (3, 3), "F": (4, 3), "c": (), "h": ()}
    }
    shapes |= {f"{mark}{x}": own for x, own in shapes.items() for mark in ("d", "v_")}
    code = function.__code__
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    values = {x: rng.normal(size=shapes[x]) / 2 for x in shapes}
    given: dict[str, Any] = {"T": 4, "n": 3, **values}
    return function(**{x: given[x] for x in names})


def flat(result: Any) -> Any:
    """All numbers of a result."""
    if isinstance(result, tuple):
        return np.concatenate([flat(x) for x in result])
    return np.ravel(result)
