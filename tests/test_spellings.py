"""One function in several spellings becomes one text: that of its stable form."""

from __future__ import annotations

import re

import pytest

import tensorgen

INPUTS = """
tensorgen: 1
inputs: {x: [n], v: [n], Q: [n, d], K: [m, d], V: [m, d], s: [], w: [n], e: [n]}
functions:
  f: {expr: "%s", wrt: %s, emit: [value, gradient, hessian]}
"""


def statements(expr: str, wrt: str) -> list[str]:
    """What the functions compute, without what documents and remarks on them."""
    source = tensorgen.generate(INPUTS % (expr, wrt))
    source = source[source.index("def f(") :]
    source = re.sub(r'"""[\s\S]*?"""', "", source)
    # Formulas that objects bear keep the user's order of factors.
    source = re.sub(r'"[^"]*(?:hess|where)[\s\S]*?",?\n\s*\)', ")", source)
    lines = (line.strip() for line in source.splitlines())
    return [line for line in lines if line and not line.startswith("#")]


@pytest.mark.parametrize(
    ("wrt", "spellings"),
    [
        (
            "x",
            (
                "softmax(x) @ v",
                "exp(x) @ v / sum(exp(x))",
                "sum(exp(x) * v) / sum(exp(x))",
                "v @ (exp(x) / sum(exp(x)))",
                "sum(v * exp(x - logsumexp(x)))",
                "v @ exp(log_softmax(x))",
            ),
        ),
        (
            "x",
            (
                "sum(exp(v[i] * x[j]) * delta(i, j), i, j)",
                "sum(exp(v[i] * x[j]) * (i == j), i, j)",
                "sum(where(i == j, exp(v[i] * x[j]), 0), i, j)",
                "sum(exp(v[i] * x[j]), i, j, i == j)",
            ),
        ),
        (
            "x",
            (
                "sum(exp(v[i] * x[j]), i, j, i < j)",
                "sum((i < j) * exp(v[i] * x[j]), i, j)",
                "sum(where(i < j, exp(v[i] * x[j]), 0), i, j)",
            ),
        ),
        ("x", ("logsumexp(x)", "log(sum(exp(x)))", "-log(1 / sum(exp(x)))")),
        (
            "x",
            ("norm(x)", "sqrt(sum(x**2))", "sqrt(x @ x)", "sum(x * x)**(1/2)"),
        ),
        (
            "x",
            ("var(x)", "mean(x**2) - mean(x)**2", "(sum(x**2) - sum(x)**2 / n) / n"),
        ),
        ("x", ("norm(x)**3", "sum(x**2)**(3/2)", "(x @ x)**1.5")),
        (
            "s",
            (
                "log(1 + exp(s))",
                "log1p(exp(s))",
                "softplus(s)",
                "log(2 + 2 * exp(s)) - log(2)",
            ),
        ),
        (
            "s",
            (
                "tanh(s)",
                "sinh(s) / cosh(s)",
                "(exp(s) - exp(-s)) / (exp(s) + exp(-s))",
                "sigmoid(2 * s) - sigmoid(-2 * s)",
            ),
        ),
        (
            "Q",
            (
                "sum(softmax(Q @ K.T, axis=1) @ V)",
                "sum(exp(Q @ K.T) @ V / sum(exp(Q @ K.T), axis=1, keepdims=True))",
                "sum((exp(Q @ K.T) / sum(exp(Q @ K.T), axis=1, keepdims=True)) @ V)",
            ),
        ),
    ],
    ids=(
        "mean",
        "diagonal",
        "triangle",
        "log-sum-exp",
        "norm",
        "variance",
        "cubed norm",
        "softplus",
        "tanh",
        "attention",
    ),
)
def test_spellings_are_one_text(wrt: str, spellings: tuple[str, ...]) -> None:
    first, *others = (statements(text, wrt) for text in spellings)
    for text, other in zip(spellings[1:], others, strict=True):
        assert other == first, text
