"""Definitions that are called several times are functions of the module."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from tensorgen.calculus.derive import jvp, vjp
from tensorgen.calculus.requests import Mode
from tensorgen.check import check
from tensorgen.emit.backends import BACKENDS
from tensorgen.errors import InternalError, Source
from tensorgen.ir.nodes import Input, Node, topological
from tensorgen.lang.program import program_of, with_calls
from tensorgen.loading import generated, loaded
from tensorgen.operators.defined_calls import is_defined, written_out
from tensorgen.operators.recurrences.recurrence import everything
from tensorgen.operators.references.rows import FUNCTIONS, OPERATORS
from tensorgen.plans.build_module import ModuleBuilder
from tensorgen.plans.claims import claims
from tensorgen.plans.kept_calls import beside_calls
from tensorgen.plans.planner import Planner
from tensorgen.spec.read import read_spec
from tensorgen.verify.interpret import evaluate

MODE: Mode = "cross-country"
SPEC = """
tensorgen: 1
module: predators
dims: {{T: 100}}
inputs: {{u0: [2], p: [4], data: [T, 2], h: scalar}}
{definitions}
functions:
  loss:
    where: |
      {where}
    expr: sum((log(u[t, k]) - log(data[t, k]))**2, t, k) / 2
    wrt: [u0, p]
    emit: [{emit}]
"""
RATE = "stack([p[0]*{x}[0] - p[1]*{x}[0]*{x}[1], p[2]*{x}[0]*{x}[1] - p[3]*{x}[1]])"
STEP = "u[0] = u0\n      u[t=range(1, T)] = u[t - 1] + h*{last}"


def spelled(where: str, definitions: str = "", emit: str = "value, gradient") -> str:
    """A spec of steps by the rule of the midpoint."""
    known = f"definitions: {{{definitions}}}" if definitions else ""
    return SPEC.format(definitions=known, where=where, emit=emit)


def rate(x: str) -> str:
    """What the definition says, written out."""
    return RATE.format(x=x)


SECOND = """
  last:
    where: |
      u[0] = u0
      k[t] = rate(u[t])
      u[t=range(1, T)] = u[t - 1] + h*rate(u[t - 1] + h/2*k[t - 1])
    expr: sum(u[T - 1])
    wrt: [u0]
    emit: [value, gradient]
"""
HALF = "(u[t - 1] + h/2*rate(u[t - 1]))"
DEFINED = spelled(STEP.format(last=f"rate{HALF}"), f"rate(x): '{rate('x')}'")
WRITTEN = spelled(
    STEP.format(last=rate(HALF.replace("rate(u[t - 1])", rate("u[t - 1]"))))
)
NAMED = spelled(
    f"mid[t] = u[t] + h/2*{rate('u[t]')}\n      " + STEP.format(last=rate("mid[t - 1]"))
)


@cache
def text(spec: str, backend: str = "numpy") -> str:
    """The text of a module, which has been checked."""
    return generated(Source("<spec>", spec), backend, MODE, True)[1]


@cache
def module(spec: str) -> ModuleType:
    """The module of a spec."""
    return loaded(Source("<spec>", spec), "numpy", MODE)


def arguments(kind: type[np.floating[Any]] = np.float64) -> dict[str, Any]:
    rng = np.random.default_rng(7)
    values = {
        "u0": np.array([1.0, 0.5]),
        "p": np.array([1.0, 0.8, 0.6, 0.7]),
        "data": np.exp(rng.normal(size=(30, 2)) / 10),
        "h": np.array(0.05),
    }
    return {name: value.astype(kind) for name, value in values.items()}


def test_a_definition_and_its_adjoint_are_functions_that_steps_call() -> None:
    found = text(DEFINED)
    assert found.count("def _rate(") == found.count("def _rate_vjp(") == 1
    loops = found.partition("def loss_value_and_grad(")[2].partition("reversed(")[2]
    assert loops.partition("return")[0].count("_rate_vjp(") == 2
    assert len(found.splitlines()) < len(text(WRITTEN).splitlines())


def test_spellings_with_and_without_the_definition_are_equal() -> None:
    first, *others = (
        module(spec).loss_value_and_grad(**arguments())
        for spec in (DEFINED, WRITTEN, NAMED)
    )
    for value, gradient in others:
        np.testing.assert_allclose(value, first[0], rtol=1e-12)
        for one, own in zip(gradient, first[1], strict=True):
            np.testing.assert_allclose(one, own, rtol=1e-12)


def test_calls_keep_single_precision() -> None:
    value, gradient = module(DEFINED).loss_value_and_grad(**arguments(np.float32))
    assert {value.dtype, *(x.dtype for x in gradient)} == {np.dtype(np.float32)}
    exact, slope = module(DEFINED).loss_value_and_grad(**arguments())
    np.testing.assert_allclose(value, exact, rtol=1e-4)
    np.testing.assert_allclose(gradient.p, slope.p, rtol=1e-3)


def test_modules_for_cupy_have_the_functions_too() -> None:
    found = text(DEFINED, "cupy")
    assert "def _rate(" in found
    assert "def _rate_vjp(" in found


def test_directions_are_pushed_through_a_function_beside() -> None:
    last = STEP.format(last=f"rate{HALF}")
    spec = spelled(last, f"rate(x): '{rate('x')}'", "value, jvp")
    assert "def _rate_jvp(" in text(spec)
    own, given = module(spec), arguments()
    directions = {"du0": np.array([0.3, -0.2]), "dp": np.array([0.1, 0.2, -0.3, 0.4])}
    step = 1e-6
    ends = [
        own.loss(
            **{
                **given,
                "u0": given["u0"] + sign * step * directions["du0"],
                "p": given["p"] + sign * step * directions["dp"],
            }
        )
        for sign in (1, -1)
    ]
    slope = (ends[0] - ends[1]) / (2 * step)
    _, pushed = own.loss_jvp(**given, **directions)
    np.testing.assert_allclose(pushed, slope, rtol=1e-6)


@pytest.mark.parametrize(
    ("where", "definition", "emit"),
    [
        (STEP.format(last="rate(u[t - 1])"), rate("x"), "value, gradient"),
        (STEP.format(last=f"rate{HALF}"), "p[0]*x", "value, gradient"),
    ],
    ids=["called once", "short"],
)
def test_what_is_called_once_or_short_is_no_call(
    where: str, definition: str, emit: str
) -> None:
    spec = read_spec(Source("<s>", spelled(where, f"rate(x): '{definition}'", emit)))
    graph, _ = program_of(spec)
    assert with_calls(spec, graph) is None


def planned(spec: str) -> tuple[Any, Any, Any, list[Any]]:
    """A spec, its graph and program, and its plans with those of calls beside."""
    read = read_spec(Source("<spec>", spec))
    graph, program = program_of(read)
    planners = [Planner(graph, read, program, f, MODE) for f in program.generated]
    found = beside_calls(graph, read, [own.plans() for own in planners], MODE)
    return read, graph, program, [plan for own in found for plan in own]


def test_tensors_are_made_of_what_is_written_out() -> None:
    where = STEP.format(last=f"rate{HALF}")
    *_, plans = planned(spelled(where, f"rate(x): '{rate('x')}'", "value, hessian"))
    kept = {plan.name: plan.kept is not None for plan in plans}
    assert kept == {"loss": True, "loss_hess": False}


FIELDS = """
tensorgen: 1
inputs: {u: [n, m], v: [n, m], f: [n, m], c: scalar}
definitions: {around(u): 'roll(u, 1, 0) + roll(u, -1, 0) + roll(u, 1, 1) + %s'}
functions:
  energy:
    where: |
      r = around(u) + u*v - f
    expr: sum(r**2) + c*sum(around(r)**3)
    wrt: [u, v]
    emit: [value, gradient, hvp]
"""


@pytest.mark.parametrize(
    ("last", "back"),
    [("roll(u, -1, 1)", "_around"), ("u", "_around_vjp")],
    ids=["symmetric", "not"],
)
def test_what_is_symmetric_is_called_back_and_what_is_linear_along(
    last: str, back: str
) -> None:
    found = text(FIELDS % last)
    assert found.count("def _around(") == 1
    assert found.count("def _around_vjp(") == (back == "_around_vjp")
    assert "_around_jvp" not in found
    gradient = found.partition("def _energy_grad(")[2].partition("\ndef ")[0]
    assert gradient.count(f"{back}(") == 2
    assert "defined(" not in found  # in formulas


def test_fields_are_what_is_written_out() -> None:
    rng = np.random.default_rng(3)
    given = {x: rng.normal(size=(4, 5)) for x in ("u", "v", "f")}
    roll = np.roll

    def energy(u: Any, v: Any) -> Any:
        def around(x: Any) -> Any:
            return roll(x, 1, 0) + roll(x, -1, 0) + roll(x, 1, 1) + x

        r = around(u) + u * v - given["f"]
        return (r**2).sum() + 0.3 * (around(r) ** 3).sum()

    got = module(FIELDS % "u").energy_grad(**given, c=0.3)
    for k, name in enumerate("uv"):
        slopes = np.zeros((4, 5))
        for at in np.ndindex(4, 5):
            moved = {x: given[x].astype(complex) for x in "uv"}
            moved[name][at] += 1e-30j
            slopes[at] = energy(**moved).imag / 1e-30
        np.testing.assert_allclose(got[k], slopes, 1e-12)


def test_calls_that_take_much_longer_are_written_out() -> None:
    """A matrix that is the same in all calls would be inverted in each."""
    where = STEP.format(last=f"rate{HALF}")
    slow = "inv(outer(p, p) + eye(4))[:2, :2] @ (x * x) - 3*x"
    assert "_rate(" not in text(spelled(where, f"rate(x): '{slow}'"))


def test_what_one_definition_calls_is_kept_where_that_one_is_not() -> None:
    last = "step(u[t - 1])"
    where = f"u[0] = u0\n      u[t=range(1, T)] = {last}"
    step = "step(x): x + h*rate(x + h/2*rate(x))"
    found = text(spelled(where, f"rate(x): '{rate('x')}', {step}"))
    assert "_rate(" in found
    assert "_step(" not in found


def test_functions_of_two_formulas_call_the_same() -> None:
    spec = DEFINED + SECOND
    assert text(spec).count("def _rate(") == 1
    assert text(spec).count("def _rate_vjp(") == 1


def steps_of(spec: str) -> tuple[Any, Node]:
    """The graph of a spec, and the first call of a definition in its steps."""
    read = read_spec(Source("<s>", spec))
    graph, _ = program_of(read)
    program = with_calls(read, graph)
    assert program is not None
    nodes = everything(topological([program.functions[0].node]))
    return graph, next(node for node in nodes if is_defined(node))


def test_derivatives_of_a_call_are_those_of_the_text() -> None:
    graph, call = steps_of(DEFINED)
    assert is_defined(call)
    at = {
        x: np.array(v)
        for x, v in zip(call.args, ([1.5, 0.5], [1.0, 2, 3, 4]), strict=True)
    }
    dots = {x: graph.input(f"d{k}", x.dims) for k, x in enumerate(call.args)}
    bar = graph.input("bar", call.dims)
    out = written_out(graph, call)
    pairs = [
        *zip(*(vjp(graph, x, bar, call.args) for x in (call, out)), strict=True),
        (jvp(graph, call, dots), jvp(graph, out, dots)),
    ]
    values = {x.name: v for x, v in at.items() if isinstance(x, Input)} | {
        "bar": np.array([0.3, -0.7])
    }
    values |= {"d0": np.array([1.0, -2]), "d1": np.array([0.5, 1, -1, 2])}
    for one, other in pairs:
        assert any(map(is_defined, topological([one])))
        found = evaluate([one, other], values, FUNCTIONS, OPERATORS)
        np.testing.assert_allclose(found[0], found[1], rtol=1e-13)


def test_the_check_reads_what_calls_do() -> None:
    spec, graph, program, plans = planned(DEFINED)
    own = [plan.kept for plan in plans]
    made = ModuleBuilder(spec, graph, BACKENDS["numpy"]).build(own)
    told = [*claims(program, own, [], None, made)]
    report = check(told, made.classes, "np")
    assert sorted(report.exact) == ["loss", "loss_grad", "loss_value_and_grad"]
    for name in ("_rate", "_rate_vjp"):
        with pytest.raises(InternalError):
            check([broken(claim, name) for claim in told], made.classes, "np")


def broken(claim: Any, name: str) -> Any:
    """A claim of code whose private function `name` has another sign somewhere."""
    private = [
        (
            replace(x, body=replace(x.body, lines=wrong(x.body.lines)))
            if x.name == name
            else x
        )
        for x in claim.private
    ]
    return replace(claim, private=private)


def wrong(lines: tuple[str, ...]) -> tuple[str, ...]:
    k = next(k for k, line in enumerate(lines) if " - " in line)
    return (*lines[:k], lines[k].replace(" - ", " + ", 1), *lines[k + 1 :])
