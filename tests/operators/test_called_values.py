"""Values are called what they are in the field, by what is computed."""

from __future__ import annotations

import ast
import re

import pytest

from tensorgen import generate

INPUTS = """
tensorgen: 1
inputs: {w: [d], X: [n, d], Y: [n, d], y: [n], z: [n], C: [d, d], log_s: scalar}
"""


def bound(where: str, expr: str, wrt: str = "w", emit: str = "value, gradient") -> str:
    """The statements of a module, by line."""
    lines = "".join(f"      {line}\n" for line in where.splitlines())
    where = f"    where: |\n{lines}" if where else ""
    text = f"{INPUTS}functions:\n  f:\n{where}    expr: {expr}\n    wrt: {wrt}\n"
    return generate(f"{text}    emit: [{emit}]\n")


def names(text: str) -> dict[str, str]:
    """What the names of a module are made of."""
    return {
        one.targets[0].id: ast.unparse(one.value)
        for one in ast.walk(ast.parse(text))
        if isinstance(one, ast.Assign) and isinstance(one.targets[0], ast.Name)
    }


@pytest.mark.parametrize(
    ("expr", "name", "made"),
    [
        ("sum(tanh((X - mean(X, axis=0)) @ w)**2)", "X_centred", r"X - X\.sum"),
        ("sum(tanh(w*(X - mean(X, axis=0))))", "X_centred", r"X - X\.sum"),
        ("sum((w - mean(w))**4)", "w_centred", r"w - w\.sum"),
        ("sum(sin(w*sqrt(var(X, axis=0))))", "std_X", "sqrt"),
        (
            "sum(w**2/sqrt(var(X, axis=0) + 1e-5)*cos(w/sqrt(var(X, axis=0) + 1e-5)))",
            "std_X",
            "sqrt",
        ),
        ("sum(cos(sqrt(w**2 + 1e-8)))", "smooth_abs_w", r"sqrt\(w \*\* 2"),
        ("sum(cos(log(w + 1e-6)) / (w + 1e-6))", "w_plus_eps", r"w \+ 1e-06"),
        (
            "exp(-2*log_s)*sum(w**2) + sin(exp(-2*log_s))",
            "inv_s_squared",
            r"exp\(-2 \* log_s\)",
        ),
        (
            "sum(expm(sin(w[0])*(C - diag(diag(C)))) @ (C - diag(diag(C))))",
            "offdiag_C",
            r"C",
        ),
        (
            "sum(w*roll(w, 1)*sin(roll(w, 1)))",
            "rolled_w",
            r"concatenate|roll",
        ),
        (
            "(w @ w)/(sum(exp(w)) + sin(sum(w**3))*w[0])**2",
            "denominator",
            r"\+",
        ),
        ("sum(softplus(y*sin(X @ w)*z*cos(X @ w)*exp(-z*y)))", "logits", r"\*"),
    ],
)
def test_what_the_field_has_a_word_for_is_called_so(
    expr: str, name: str, made: str
) -> None:
    found = names(bound("", expr))
    assert name in found
    assert re.search(made, found[name])


def test_what_is_less_its_own_mean_alone_is_centred() -> None:
    others = "sum(tanh(X - mean(Y, axis=0)) @ w) + sum(tanh(X - sum(X, axis=0)) @ w)"
    assert "centred" not in bound("", others)
    by_rows = "sum(cos(w[0]*mean((X - mean(X, axis=0))**2, axis=1)))"
    assert "var_X" not in bound("", by_rows)


def test_data_less_its_mean_is_no_residual() -> None:
    text = bound("", "sum(tanh((X - mean(X, axis=0)) @ w)) + sum((y - X @ w)**2)")
    assert names(text)["residual"] == "y - X @ w"
    assert names(text)["X_centred"]


def test_several_residuals_are_told_by_what_is_given() -> None:
    found = names(bound("", "sum((y - X @ w)**2) + sum(cosh(z - sin(X @ w)))"))
    assert "residual_y" in found
    assert "residual_z" in found


def test_parameters_that_are_looked_up_for_data_are_no_prediction() -> None:
    text = INPUTS.replace("log_s:", "k: {shape: [n], index: d}, log_s:")
    expr = "sum(tanh(y[i] - w[k[i]])*cosh(y[i] - w[k[i]]), i)"
    text = generate(f"{text}functions:\n  f: {{expr: '{expr}', wrt: w}}\n")
    assert "y_minus_w_k" in names(text)


def test_values_of_definitions_bear_their_names() -> None:
    text = INPUTS + (
        "definitions: |\n  reach(a) = sin(a)**2 + a*cos(a)\nfunctions:\n"
        "  f: {expr: 'sum(exp(reach(X @ w))*reach(X @ w))', wrt: w}\n"
    )
    assert "reach" in names(generate(text))


def test_the_next_state_is_called_after_the_state() -> None:
    text = (
        "tensorgen: 1\ninputs: {v0: scalar, q0: scalar, u: [T], k: scalar}\n"
        "functions:\n  f:\n    where: |\n      q[0] = q0\n      v[0] = v0\n"
        "      v[t + 1] = v[t] - k*sin(q[t]) + u[t]\n"
        "      q[t + 1] = q[t] + v[t + 1]*cos(v[t + 1])\n"
        "    expr: q[T]\n    wrt: k\n    emit: [value]\n"
    )
    found = names(generate(text))
    assert "v_next" in found
    assert found["v"] == "v_next"


def test_a_multiple_of_a_derivative_by_a_size_says_so() -> None:
    expr = "mean(exp(sin(t))*cos(t) + t**3)"
    assert "n_d_t" in names(bound("t = X @ w*(1 + z)", expr))


def test_the_sum_of_a_product_is_not_called_the_sum_of_a_factor() -> None:
    expr = "sin((X @ w) @ (y*exp(z)*cosh(y)))*cos((X @ w) @ (y*exp(z)*cosh(y)))"
    assert not [x for x in names(bound("", expr)) if x.startswith("sum_")]


CELL = """
tensorgen: 1
inputs: {W: [d, k], U: [d, d], C: [d, d], h0: [d], x: [T, k]}
functions:
  loss:
    where: |
      h[0] = h0
      z[t] = sigmoid(W @ x[t] + U @ h[t])
      c[t] = tanh(W @ x[t] + C @ h[t])
      h[t + 1] = (1 - z[t]) * h[t] + z[t] * c[t]
    expr: sum(h**2)
    wrt: [W, U, C]
    emit: [value, gradient]
"""


def test_arguments_are_called_after_the_values_of_functions() -> None:
    text = generate(CELL)
    assert "z_logits = " in text and "c_arg_t = " in text
    assert re.search(r"z(_t)?, one_minus_z(_t)? = _sigmoid_and_complement\(z_", text)
    grad = text.split("def _loss_grad(")[1].split("\ndef ")[0]
    assert "d_z_logits = " in grad and "d_c_arg = " in grad


def test_an_argument_that_has_a_word_keeps_it() -> None:
    expr = "sum(p*sinh(X @ w)) + sum(cosh(X @ w))"
    own = {"p = tanh(X @ w)": "X_w = ", "p = tanh(X @ w - 2*sinh(X @ w))": "p_arg = "}
    for line, made in own.items():
        body = f"\n    where: {line}\n    expr: {expr}\n    wrt: w\n"
        assert made in generate(INPUTS + "functions:\n  f:" + body)


@pytest.mark.parametrize(
    ("text", "name"),
    [("sigmoid(-(X @ w - 2*sinh(X @ w)))", "p_logits"), ("expm1(X @ w*z)", "log_p")],
)
def test_what_is_no_argument_is_not_called_so(text: str, name: str) -> None:
    body = f"where: p = {text}\n    expr: sum(p*sin(p))\n    wrt: w\n"
    found = generate(INPUTS + "functions:\n  f:\n    " + body)
    assert not re.search(rf"\b{name} = (?!-)", found)
