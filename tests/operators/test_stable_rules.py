"""Each stable form: its values, its gradients, and what it spares."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import mpmath
import numpy as np
import pytest

import tensorgen
from tensorgen.ir.dims import Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Ref, delta
from tensorgen.operators.scalar import power
from tensorgen.operators.stable import StableForms
from tests.made import code_of, source
from tests.naive_texts import NAMES, Text, truth

Array = Any
INPUTS = {
    "x": "[n]",
    "v": "[n]",
    "w": "{shape: [n], positive: true}",
    "X": "[n, n]",
    "Y": "[n, n]",
    "W": "[n, n]",
    "s": "[]",
    "t": "[]",
    "p": "{shape: [], positive: true}",
}


def spec(expr: str, wrt: str = "x") -> str:
    words = {*re.findall(r"\w+", expr), wrt}
    inputs = ", ".join(f"{k}: {v}" for k, v in INPUTS.items() if k in words)
    return (
        "tensorgen: 1\nmodule: stable\n"
        f"inputs: {{{inputs}}}\n"
        f'functions:\n  f: {{expr: "{expr}", wrt: {wrt}, emit: [value, gradient]}}\n'
    )


def statements(expr: str, wrt: str = "x") -> str:
    """What value and gradient compute, without helpers and documents."""
    text = tensorgen.generate(spec(expr, wrt))
    own = "".join(source(text, name) for name in ("f", "f_grad"))
    own = re.sub(r'"""[\s\S]*?"""', "", own)
    return re.sub(r"^ *# .*\n", "", own, flags=re.M)


def mentioned(**given: object) -> dict[str, Array]:
    return {name: np.asarray(value, float) for name, value in given.items()}


TRIANGLE = (
    "sum(exp(x[j]) * v[k], j=range(i + 1), k=range(i + 1))"
    " / sum(exp(x[j]), j=range(i + 1))"
)
"""Shares of what comes before i, and a sum over what does, of another index."""


class Case(NamedTuple):
    """A function of x, where it is looked at, and the same as Python of arrays."""

    expr: str
    at: Sequence[float]
    data: Mapping[str, Any] = MappingProxyType({})
    python: str = ""


VALUES = [
    # A power of what is taken out of two terms stays but for one factor.
    Case("lgamma(x[0] + s)**2 - lgamma(x[0]) * lgamma(x[0] + s)", [3], {"s": 2.5}),
    # A root of what is small is not.
    Case("exp(log(sigmoid(x[0])) / 2)", [-800]),
    # Sums of exponentials: what is taken along, and what is left out.
    Case(
        "log(sum(v[i] * (1 + sum(exp(x[j]), j=range(i + 1))), i))",
        [1, 700, 800],
        {"v": [3, 2, -0.0]},
        "log(sum([v[i] * (1 + sum(exp(x[: i + 1]))) for i in range(n)]))",
    ),
    Case("log(1 + (p * exp(x[0]))**2)", [500], {"p": 3}),
    # What an array is scaled by is no level, for which digits near 1 would be lost.
    Case("sum(log(1 + v * exp(-x[0])))", [-5, 1], {"v": [1e-12, -1e-9]}),
    Case("sum(log1p(v * exp(-x[0])))", [-300, 1, 1], {"v": [1e-130, 0.25, 1e9]}),
    Case("sum(1 / (1 + v**2 / exp(x[0])))", [-5, 1, 1], {"v": [1e-5, 3, 0]}),
    # Large is right: what is above a sum is no part of it that a weight of 0 hides.
    Case("exp(2 * x[0]) / (v @ exp(x))", [500, 1], {"v": [1, 1]}),
    Case("(exp(x[0]) + exp(x[1])) / (v @ exp(x))", [500, 0], {"v": [0, 1]}),
    Case(
        "sum(log(1 + 3 * diag(exp(x))**2))",
        [400, -1],
        {},
        "sum(log(1 + 3 * exp(x)**2))",
    ),
    Case(
        "sum(log(eye(n) + outer(v, exp(x))))",
        [-1, 900],
        {"v": [2, 3]},
        "sum(log(np.eye(2, dtype=int) + v[:, None] * exp(x)))",
    ),
    Case("log(5 + (s + exp(x[0])) * exp(x[1]))", [400, 500], {"s": 2}),
    Case("log(sum(exp(x) * (1 + exp(-x))))", [1, -1, 800]),
    Case("log(sum(exp(x) * (1 + exp(-x))))", [1, -1, 2]),
    Case("exp(x[0] + log(3))", [2]),
    Case("(8 * exp(x[0]))**(1 / 3)", [3]),
    Case(
        "log(sum(where(w > 1, exp(x), 0) * v))",
        [1, 2, 900],
        {"v": 3 * [1], "w": [2, 2, 1]},
    ),
    Case("log(sum(where(w > 1, exp(x), 0)))", [900, 2, 999], {"w": [2, 2, 1]}),
    Case("log(softplus(x[1]) * exp(x[0]) - s * exp(-x[0]))", [900, 1], {"s": 2}),
    # Where one of two exponents is far below, the other is what remains.
    Case("log(exp(x[0]) + exp(x[1]))", [-1e20, 1]),
    Case("log(exp(x[0]) + exp(x[1]))", [1, -1e20]),
    Case("log(4 + exp(x[0]))", [-1e20]),
    # A weight of which far out nothing is left is none to take a logarithm of.
    Case("log(1 + softplus(x[0]) * exp(x[1]))", [-800, 1]),
    # Quotients.
    Case("sum(exp(x) * exp(x + v)) / sum(exp(x))", [1, -2], {"v": [1, 2]}),
    Case("sum(exp(x) * sinh(v * x)) / sum(exp(x))", [1, -2], {"v": [1, 2]}),
    Case("sum(exp(x) * tanh(x)) / sum(exp(x))", [900, 899]),
    Case("sum(exp(x) * exp(-s - log(v @ exp(x))))", [900, 899], {"v": [1, 3], "s": 2}),
    Case("exp(x[0]) * exp(-logaddexp(x, v)[0])", [900, 1], {"v": [899, 1]}),
    Case("sum(exp(x[1:]) * exp(-logaddexp(x, v)[1:]))", [1, 900], {"v": [1, 899]}),
    Case("exp(-p * exp(x[0]))", [800], {"p": 3}),
    Case("exp(-p * exp(x[0]))", [2], {"p": 3}),
    Case(
        f"sum({TRIANGLE.replace('v[k]', 'v[k] * x[j]')}, i)",
        [1, 3, 2],
        {"v": [1, 2, 5]},
        "sum([sum(v[:i]) * sum(softmax(x[:i]) * x[:i]) for i in (1, 2, 3)])",
    ),
    Case("sum(exp(v - logsumexp(x)))", [900, 1], {"v": [899, 1]}),
    Case("(exp(x[0]) - exp(-x[0])) / (exp(x[0]) + exp(-x[0]))", [2]),
    *(
        Case(
            "sum(where(w > 1, 1 + exp(x), 0)) / sum(where(w > 1, exp(x), 0))",
            at,
            {"w": [2, 2, 1]},
        )
        for at in ([900, 899, 2000], [-300, -299, 3])
    ),
    # Powers beside the logistic function, and of products.
    Case("(s * exp(x[0]) + 2) * sigmoid(-x[0])", [900], {"s": 3}),
    Case("exp(x[0]) * sigmoid(-x[0])**2", [2]),
    Case("exp(x[0]) * sigmoid(-x[0])**2", [900]),
    Case("exp(x[0]) * sigmoid(-x[0])", [900]),
    Case("sqrt(2 * exp(x[0]))", [1400]),
    Case("sqrt(p * exp(x[0]))", [1.5], {"p": 3}),
    Case("sqrt(exp(x[0]) * sum(exp(x)))", [700, 701]),
    Case("1 / sinh(x[0])", [1e-10]),
    Case("1 / sinh(x[0])", [-3]),
    # Logarithms of powers and products: of any sign, and of what is positive.
    Case("log(sinh(x[0]))", [900]),
    Case("log(-3 * sinh(x[0]))", [-2]),
    Case("log(1 + x[0])", [1e-20]),
    Case("log(sigmoid(x[0]) * exp(x[1]) + sigmoid(-x[0]))", [2, 1]),
    Case("log(sigmoid(x[0]) + sigmoid(x[1]))", [2, 1]),
    Case("log(sigmoid(x[0]) + sigmoid(x[1]))", [-900, -901]),
    Case("log(x[0]**2)", [-1]),
    Case("log(prod(sigmoid(x)))", [-400, -500, 3], {}, "sum(log(sigmoid(x)))"),
    Case("log(s * exp(x[0]))", [900], {"s": 3}),
    Case("log(3 * exp(x[0]) * (s + 2))", [900], {"s": 3}),
    Case("log(softmax(x)[0])", [-1000, 1]),
    Case("log(softmax(x)[0])", [1000, 1]),
    Case("log(2 * sigmoid(x)[0])", [-1000, 1]),
    # Differences: of even powers but squares there is no better form.
    Case("1 - tanh(x[0])**4", [0.7]),
    Case("acosh(1 + 3 * x[0]**2)", [1e-10]),
    Case("acosh(2 + x[0])", [3]),
    Case("sum(v * (2 * x - 2 * logsumexp(x)))", [1e6 + 1, 1e6], {"v": [1, 3]}),
]


@pytest.mark.parametrize("case", VALUES, ids=lambda c: f"{c.expr} at {c.at}")
def test_values_and_gradients_are_true(
    case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    pairs = np.vectorize(
        lambda a, b: mpmath.log(mpmath.exp(a) + mpmath.exp(b)), otypes=[object]
    )
    monkeypatch.setitem(NAMES, "logaddexp", pairs)
    monkeypatch.setitem(
        NAMES, "logsumexp", lambda x: mpmath.log(sum(map(mpmath.exp, x)))
    )
    text = Text("f", case.expr, case.python or case.expr, (), case.data, 0, 1)
    value, gradient, _ = truth(text._replace(points=(case.at,)), case.at)
    module = tensorgen.load(spec(case.expr))
    given = mentioned(x=case.at, **case.data)
    given = {name: given[name] for name in INPUTS if name in given}
    with np.errstate(all="ignore"):
        found, slope = module.f(**given), module.f_grad(**given)
    np.testing.assert_allclose(found, value, 1e-13, 1e-300)
    np.testing.assert_allclose(slope, gradient, 1e-12, 1e-12 * np.max(np.abs(gradient)))


def test_what_a_weight_of_zero_hides_leaves_no_trace_in_a_share() -> None:
    # The hidden exponential overflows beside the largest that counts.
    module = tensorgen.load(spec("v[0] * exp(x[0]) * exp(-s - log(v @ exp(x)))"))
    x, v = np.array([2000, 1, 2.0]), np.array([0.0, 1, 3])
    assert module.f(x, v, 0.5) == 0
    np.testing.assert_array_equal(module.f_grad(x, v, 0.5), np.zeros(3))


@pytest.mark.parametrize(
    ("wrt", "one", "other"),
    [
        ("s", "abs(s)**2", "s**2"),
        ("s", "0.5 * pi / (pi * s)", "1 / (2 * s)"),
        ("s", "(pi * s)**-1 * pi / 2", "1 / (2 * s)"),
        ("s", "pi**2 * s / (pi * s * t)**2", "(s * t)**-2 * s"),
        ("s", "t**2 / (s * t**2)**2 + s", "1 / (s**2 * t**2) + s"),
        ("x", "sum(t * v / (t * x)) + t", "sum(v / x) + t"),
        ("s", "1 / (s / t)", "t / s"),
        ("s", "(s / t)**-2", "t**2 / s**2"),
        ("s", "log(sigmoid(s / 2))", "log_sigmoid(s / 2)"),
        ("s", "log(ndtr(s / 2))", "log_ndtr(s / 2)"),
        ("s", "t * log(1 - ndtr(s))", "t * log_ndtr(-s)"),
        ("s", "t - t * ndtr(-s)", "t * ndtr(s)"),
        ("s", "-log(sigmoid(-s))", "softplus(s)"),
        ("s", "log1p(exp(s))", "softplus(s)"),
        ("s", "log(4 + 4 * exp(s)) - log(4)", "softplus(s)"),
        ("s", "1 - exp(-s)", "-expm1(-s)"),
        ("s", "log(1 + s)", "log1p(s)"),
        ("s", "sum(log(1 + t*v*exp(-s)))", "sum(log1p(t * (v / exp(s))))"),
        ("s", "sum(log1p(t*v*exp(-s)))", "sum(log1p(t * (exp(-s) * v)))"),
        ("s", "s**2 / s**2 + s", "1 + s"),
        ("s", "exp(s - logaddexp(s, t))", "sigmoid(s - t)"),
        ("s", "exp(3 * log_sigmoid(s))", "sigmoid(s)**3"),
        ("s", "sin(3.141592653589793 * s)", "sin(pi * s)"),
        ("s", "cos(s / 6.283185307179586)", "cos(s / (2 * pi))"),
        ("s", "exp(3 * log_ndtr(s))", "ndtr(s)**3"),
        ("s", "xlogy(t, exp(s))", "t * s"),
        ("s", "xlogy(t, sigmoid(s))", "t * log_sigmoid(s)"),
        ("s", "log2(exp(s))", "s / log(2)"),
        ("s", "log10(exp(s))", "s / log(10)"),
        ("s", "sigmoid(2 * s) - sigmoid(-2 * s)", "tanh(s)"),
        ("x", "sum(where(~(x != v), x, v**2))", "sum(where(x == v, x, v**2))"),
        ("x", "sum(where(~(x == v), x, v**2))", "sum(where(x != v, x, v**2))"),
        ("x", "sum(where(~~(x < v), x, v**2))", "sum(where(x < v, x, v**2))"),
        ("x", "sum(x * log(x))", "sum(log(x) * x)"),
        ("x", "sum(2 * x - 2 * logsumexp(x))", "sum(2 * log_softmax(x))"),
        ("w", "log(prod(w))", "sum(log(w))"),
        ("w", "sum(xlogy(w, 1 / w))", "-sum(xlogy(w, w))"),
        ("x", "norm(x)**3", "sum(x**2)**(3/2)"),
        ("x", "norm(x)**4", "sum(x**2)**2"),
        ("x", "sqrt(3 * sum(x**2))", "norm(x) * sqrt(3)"),
    ],
)
def test_spellings_are_one_text(wrt: str, one: str, other: str) -> None:
    assert statements(one, wrt) == statements(other, wrt)


@pytest.mark.parametrize(
    ("wrt", "expr", "parts", "spared"),
    [
        # The number that a sum is taken relative to is one of its exponents: no weight
        # that is surely positive is looked at for that.
        ("s", "log(p * exp(s) - exp(t))", ["np.maximum(s, t)"], ["!="]),
        # A number that scales an array, unless it adds to others like it.
        ("s", "sum(log1p(v * exp(-s)))", ["np.log1p("], ["peak", "maximum"]),
        ("s", "sum(log(1 + v**2*exp(-2*s)))", ["np.log1p("], ["peak", "maximum"]),
        ("s", "sum(log(v * exp(s) - w * exp(t)))", ["peak"], []),
        # A product of matrices stays one: no array of all three indices.
        ("X", "sum(log(W @ exp(X)))", ["W @ _finite_exp("], [", None]) * W", "!="]),
        ("X", "ravel(X) @ exp(ravel(Y))", ["np.vdot(X, np.exp(Y))"], []),
        ("X", "sum(exp(ravel(X) * ravel(Y)))", ["np.exp(X * Y)"], []),
        ("s", "(s * t)**-2", ["1 / (s * t) ** 2"], []),
        # A product of a sum with an exponential is one sum: one level is enough.
        ("x", "log(5 + (s + exp(x[0])) * exp(x[1]))", ["peak"], ["peak_2"]),
        # One entry of a logarithm is one: nothing is reduced.
        ("x", "log(softmax(x)[0])", ["_log_softmax(x)"], ["inf"]),
        # A range of one index bounds no exponents of another.
        ("x", "sum((tril(W) @ (X @ exp(x))) / sum(exp(x)))", ["softmax"], ["[:, :,"]),
    ],
)
def test_emitted_statements(
    wrt: str, expr: str, parts: list[str], spared: list[str]
) -> None:
    text = statements(expr, wrt)
    for part in parts:
        assert part in text
    for part in spared:
        assert part not in text


def test_a_row_is_no_share_of_rows_that_it_is_not_in() -> None:
    # x stands in no row of X, so that exp(x - logsumexp(X)) is no softmax.
    expr = "sum(exp(x[None, :] - logsumexp(X, axis=1, keepdims=True)))"
    module = tensorgen.load(spec(expr))
    x, rows = np.array([1, 2.0]), np.array([[1, 2], [3, 5.0]])
    shares = np.exp(x) / np.exp(rows).sum(axis=1)[:, None]
    assert module.f(x, rows) == pytest.approx(shares.sum(), rel=1e-14)
    np.testing.assert_allclose(module.f_grad(x, rows), shares.sum(axis=0), 1e-14)


def test_shared_parts_of_a_numerator_are_looked_into_once() -> None:
    rows = [f"      r{k + 1} = r{k}*a + r{k}*b\n" for k in range(40)]
    text = (
        "tensorgen: 1\ninputs: {x: scalar, a: scalar, b: scalar}\nfunctions:\n"
        f"  f:\n    where: |\n      r0 = x\n{''.join(rows)}"
        "    expr: r40 * sigmoid(-x)\n"
    )
    assert "_sigmoid(" in tensorgen.generate(text)


@pytest.mark.parametrize("text", ["n**5000", "(n + 1)**5000", "3**(700*n)"])
def test_a_size_to_a_power_beyond_floats_is_infinite(text: str) -> None:
    module = tensorgen.load(
        f"tensorgen: 1\ninputs: {{x: [n]}}\nfunctions:\n  f: {{expr: {text}*sum(x)}}\n"
    )
    with np.errstate(over="ignore"):
        assert module.f(np.ones(3)) == np.inf


@pytest.mark.parametrize("power", [2, 3])
def test_a_positive_part_needs_no_mask_of_its_own(power: int) -> None:
    text = statements(f"sum(v * relu(x)**{power})")
    assert "np.maximum(x, 0)" in text and "where" not in text
    module = tensorgen.load(spec(f"sum(v * relu(x)**{power})"))
    x, v = np.array([-2.0, 0.0, 3.0]), np.array([5.0, 7.0, np.pi])
    found = module.f_grad(x, v)
    np.testing.assert_allclose(found, v * power * np.maximum(x, 0) ** (power - 1))


@pytest.mark.parametrize(
    ("expr", "slope", "curvature"),
    [
        ("sqrt(1 + x**2*exp(-y))", 0.0, np.exp(-0.3)),
        ("log(1 + x**4*exp(-y))", 0.0, 0.0),
        ("1 / (1 + x**2*exp(-y))", 0.0, -2 * np.exp(-0.3)),
    ],
)
def test_what_may_be_zero_is_no_exponential(
    expr: str, slope: float, curvature: float
) -> None:
    """log(x**2) has no slope at 0, where x**2 * exp(-y) has."""
    text = (
        "tensorgen: 1\ninputs: {x: scalar, y: scalar}\nfunctions:\n"
        f'  f: {{expr: "{expr}", wrt: x, emit: [gradient, hvp]}}\n'
    )
    module: Any = tensorgen.load(text)
    assert module.f_grad(0.0, 0.3) == slope
    np.testing.assert_allclose(module.f_hvp(0.0, 0.3, 1.0), curvature, rtol=1e-15)


def test_what_divides_by_entries_of_a_quotient_multiplies() -> None:
    # The diagonal is one factor, which is not the array that it is of.
    expr = "sum(1 / diagonal(1 / (2 + outer(x, x)**2)))"
    module = tensorgen.load(spec(expr))
    x = np.array([0.5, -1.5])
    assert module.f(x) == pytest.approx((2 + x**4).sum(), rel=1e-14)


def test_what_a_slice_is_scaled_by_cancels() -> None:
    text = statements("sum(log(2 * pi * x[1:]))")
    assert text.count("np.pi") == 1  # in the value
    assert "grad[1:] = 1 / x[1:]" in text


def test_an_entry_beside_its_power_goes_and_where_it_stands_stays() -> None:
    graph = Graph(StableForms())
    v = graph.input("v", (Dim.of(3),))
    entry = graph.product([], [(v, [0])], constraints=[delta({0: 1}, -2)])
    inverse = power(graph, Ref(entry, ()), -1)
    placed = graph.product(
        [0], [(v, [0]), (inverse.node, [])], constraints=[delta({0: 1}, -2)]
    )
    last = graph.product([0], [], constraints=[delta({0: 1}, -2)], sizes={0: Dim.of(3)})
    assert placed is last


def test_what_columns_are_scaled_by_is_no_level() -> None:
    inputs = "s: [n], Y: [m, n]"
    text = (
        f"tensorgen: 1\ninputs: {{{inputs}}}\nfunctions:\n"
        "  f: {expr: sum(log(1 + Y**2 * exp(s))), wrt: s, emit: [value, gradient]}\n"
    )
    code = code_of(tensorgen.load(text), "f_grad")
    assert "np.exp(s)" in code
    assert "maximum" not in code


def test_infinity_times_what_may_be_negative_has_its_sign() -> None:
    module = tensorgen.load("""
tensorgen: 1
inputs: {x: [n]}
functions:
  f: {expr: sum(inf * x), wrt: x, emit: [value]}
""")
    assert module.f(np.array([-1.0])) == -np.inf
    assert module.f(np.array([2.0])) == np.inf
