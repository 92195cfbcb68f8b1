"""The formulas in docstrings mean the functions: they are read back as specs."""

from __future__ import annotations

import inspect
import re
import sys
from typing import Any

import numpy as np
import pytest

import tensorgen
from tests.formulas import equations

HEAD = """
tensorgen: 1
inputs:
  x: {shape: [n], positive: true}
  y: {shape: [n], positive: true}
  A: [n, n]
definitions:
  heaviside(t): where(t > 0, 1, where(t < 0, 0, 1 / 2))
  sech2(t): 1 - tanh(t)**2
functions:
"""

EXPRESSIONS = """
sum((x**2 + y**2)**(1/4))
sum(x**-0.75 * y)
sum(1/(x*y))
sum(x**y)
sum((x + y)**(-2/3))
-sum(x)**3
sum(2**x)
sum(3**-x)
sum(x/(y*x + 1))
sum((A @ x)**2)**(1/3)
logsumexp(A @ x)
sum(softmax(x)*y)
sum(where(x > y, x**2, y))
sum(maximum(x, y))
x @ inv(A) @ y
sum(sqrt(x)/y**(1/4))
sum(A[i, j]*x[i]*y[j]/(1 + x[i]**2), i, j)
sum(x[1:]*y[:-1]**2*x[:-1])
norm(x)**3
norm(x)
sum(norm(A, axis=1) * y)
sqrt(sum((x - y)**2) / n)
norm(x - y, 1)
sum(cumsum(x)**2)
sum(abs(x - y)**1.5)
exp(-x@x/2)/sqrt(2*pi)
sum(exp(-(x - y)**2/2))
(x @ y)**(1/4)
sum((x @ y)**-0.25 * x)
sum(x)**(-1/3)
sum(x**(1/3))**(1/4)
(-(x @ y))**2
sum(x[i]**i, i)
sum(1/sqrt(x))
sum(abs(x)**-0.5)
sum((x/y)**2*exp(-x))**2
sum(tanh(A @ x)*y)
sum(log(1 + exp(A @ x)))
x @ A @ x/(1 + y @ y)
sum(x**3/(x + y)**(3/2)) - sum(x)/sum(y)**(5/2)
sum(x[i]*x[j]*exp(-(y[i] - y[j])**2), i, j)
""".strip().splitlines()


# By name: the lines of where, the expression, and what is emitted.
Functions = dict[str, tuple[list[str], str, str]]


def spec(functions: Functions) -> str:
    """A spec of functions."""
    rows = []
    for left, (where, expr, emit) in functions.items():
        rows.append(f"  {left}:")
        if where:
            rows += ["    where: |", *(f"      {line}" for line in where)]
        rows += [f'    expr: "{expr}"', f"    emit: [{emit}]"]
        if emit != "value":
            rows.append("    wrt: x")
    return HEAD + "\n".join(rows) + "\n"


def test_what_docstrings_print_computes_what_functions_return() -> None:
    rng = np.random.default_rng(0)
    A = rng.normal(size=(4, 4)) + 4 * np.eye(4)
    given: dict[str, Any] = {"x": rng.uniform(0.5, 2, 4), "y": rng.uniform(0.5, 2, 4)}
    given |= {"A": A, "n": 4}
    own: Functions = {
        f"f{k}": ([], text, "gradient, dense_hessian")
        for k, text in enumerate(EXPRESSIONS)
    }
    module = tensorgen.load(spec(own))
    read: Functions = {name: ([], text, "value") for name, (_, text, _) in own.items()}
    wanted = {}
    untold = 0
    for name in own:
        for suffix in ("grad", "hess_dense"):
            function = vars(module)[f"{name}_{suffix}"]
            if re.search(r"Formulas: |\bwhere \w+ = ", function.__doc__):
                untold += 1  # or by values of the code, which a spec does not have
                continue
            # Beside it stands the text of other functions it names.
            found = equations(function.__doc__)
            ((left, right),) = (e for e in found if e[0][0] != "f")
            printed = f"{name}_{suffix}_read"
            indices = left.partition("[")[1] + left.partition("[")[2]
            read[printed + indices] = [], right, "value"
            wanted[printed] = _called(function, given)
    assert untold < len(own) / 4
    again = tensorgen.load(spec(read))
    for name, value in wanted.items():
        np.testing.assert_allclose(
            _called(vars(again)[name], given), value, 1e-9, 1e-12, err_msg=name
        )


def _called(function: Any, given: dict[str, Any]) -> Any:
    return function(**{x: given[x] for x in inspect.signature(function).parameters})


def test_functions_that_formulas_name_are_defined_beside() -> None:
    module = tensorgen.load("""
tensorgen: 1
inputs: {A: [n, n], B: [n, n], W: [n, n], x: [n]}
functions:
  lin: A @ x
  long: {where: {b: B @ x}, expr: b}
  quad: {expr: x @ A @ x, wrt: x, emit: [value, gradient, hessian]}
  riesz: {expr: "solve(W, grad(quad, x))", wrt: x}
  other: {expr: x @ B @ x, wrt: x}
  square: {expr: sum(lin**2), wrt: x}
  root: {expr: sqrt(square), wrt: x}
""")
    lines = f"{module.quad.__doc__}\n{module.quad_grad.__doc__}".split("\n")
    assert "        lin = A @ x" in lines
    assert any("lin" in line for line in lines if " = A @ x" not in line)
    # It is told once of a function.
    assert "lin" not in str(module.quad_value_grad_hess.__doc__)
    # What takes more than a line is written out.
    text = str(module.other_grad.__doc__)
    assert "long" not in text and "grad = (B + B.T) @ x" in text
    # What the function's own text leads to needs no line.
    for function in (module.square_grad, module.root_grad):
        text = str(function.__doc__)
        assert "lin" in text and "lin = A @ x" not in text


def test_what_guards_a_value_has_no_parentheses_of_its_own() -> None:
    text = tensorgen.generate("""tensorgen: 1
inputs: {b: [p], s: scalar, X: [m, p], y: [m]}
functions:
  loss:
    where: |
      mu = X @ b
      r = (y - mu)*exp(-s)
    expr: sum(where(y > 0, r**2/2 + s, -log_ndtr(r)))
    wrt: [b, s]
    emit: [value, gradient, hessian]
""")
    assert "@ (y - mu)" in text
    assert "((y - mu))" not in text


def test_one_input_that_is_not_listed_is_one_other() -> None:
    text = tensorgen.generate("""tensorgen: 1
inputs: {slope: [p], log_sigma_of_errors: scalar, X: [m, p], y: [m]}
functions:
  negative_log_likelihood:
    expr: sum((y - X @ slope)**2)*exp(-log_sigma_of_errors)
    wrt: [slope, log_sigma_of_errors]
    emit: [value, gradient, hessian]
""")
    assert "`slope` and 1 other." in text and "1 others" not in text


def told(spec: str, function: str) -> str:
    """What the docstring of a function says that it is, on one line."""
    text = str(getattr(tensorgen.load(spec), function).__doc__)
    return " ".join(text.partition("Arguments:")[0].split())


SUMS = """
tensorgen: 1
inputs:
  x: [n]
  V: [m, k]
  row: {shape: [e], index: n}
  col: {shape: [e], index: m}
functions:
  total: {expr: "sum(x[row[l]]**2 * V[col[l], 0], l)", wrt: x, emit: [gradient]}
  steps: {expr: "sum(exp(x[i + 1] * x[i]), i)", wrt: x, emit: [gradient]}
  blocks: {expr: "sum(cosh(V[i, a]) * V[i, b], i, a, b)", wrt: V, emit: [dense_hessian]}
"""


def test_sums_say_which_entries_they_are_over() -> None:
    found = told(SUMS, "total_grad")
    assert "grad[i] = 2 * sum_{j: row[j] == i} V[col[j], 0] * x[i]" in found
    assert "delta" not in found


def test_sums_over_one_point_are_entries() -> None:
    found = told(SUMS, "steps_grad")
    assert "x[i + 1] * exp(x[i] * x[i + 1])" in found
    assert "x[i - 1] * exp(x[i - 1] * x[i])" in found
    assert found.endswith(", terms out of range 0")


def test_blocks_are_told_of_the_places_where_they_are() -> None:
    found = told(SUMS, "blocks_hess_dense")
    assert "hess[i, j, i, n] = " in found and found.endswith(", else 0")
    assert "delta[i, " not in found


LAYERS = """
tensorgen: 1
inputs: {W: [h, d], U: [h, h], v: [h], X: [s, d], y: [s]}
functions:
  loss:
    where: |
      first = tanh(X @ W.T)
      second = tanh(first @ U.T)
      error = second @ v - y
    expr: sum(error**2) / 2
    wrt: [W, U, v]
    emit: [value, gradient, hvp]
"""


def test_long_results_are_told_by_values_that_the_code_names() -> None:
    module = tensorgen.load(LAYERS)
    text = str(module.loss_hvp.__doc__)
    assert "Formulas: " not in text
    defined = re.findall(r"where (\w+) = ", text)
    assert "second_dot" in defined and "d_first_U_dot" in defined
    source = inspect.getsource(module)
    assert all(re.search(rf"^ +{word} = ", source, re.MULTILINE) for word in defined)
    assert not re.search(r"\bT\d\b", text)


STANDARDISED = """
tensorgen: 1
inputs:
  X: [n, p]
  Y: [n, q]
  W: [p, k]
  U: [q, k]
  lam: {shape: scalar, default: 0.1}
  eps: {shape: scalar, default: 0.001}
definitions: |
  standardise(A) = (A - mean(A, axis=0)) / sqrt(var(A, axis=0) + eps)
functions:
  loss:
    where: |
      Z = standardise(X @ W)
      V = standardise(Y @ U)
      C = Z.T @ V / n
    expr: sum((diag(C) - 1)**2) + lam * (sum(C**2) - sum(diag(C)**2))
    wrt: W
    emit: [value, gradient, hvp]
"""

POOLED = """
tensorgen: 1
inputs: {W: [h, d], v: [h], b: [h], X: [s, d], y: [s], lam: scalar}
functions:
  loss:
    where: |
      hidden = log(1 + exp(X @ W.T + b))
      weight = softmax(hidden @ v)
      pooled = weight @ hidden
      error = pooled @ v - y @ weight
    expr: error**2 + lam * sum(W**2)
    wrt: [W, b, v]
    emit: [value, gradient, hvp]
"""

MATRICES: dict[str, Any] = {
    "diag": np.diag,
    "eye": np.eye,
    "outer": np.outer,
    "sum": np.sum,
    "norm": np.linalg.norm,
    "exp": np.exp,
    "sqrt": np.sqrt,
    "tanh": np.tanh,
    "trace": np.trace,
    "sech2": lambda x: 1 / np.cosh(x) ** 2,
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "softmax": lambda x: np.exp(x) / np.exp(x).sum(),
    "softplus": lambda x: np.log1p(np.exp(x)),
}


@pytest.mark.parametrize("text", [LAYERS, STANDARDISED, POOLED])
@pytest.mark.parametrize("kind", ["grad", "hvp"])
def test_what_docstrings_say_of_values_of_the_code_is_so(text: str, kind: str) -> None:
    module = tensorgen.load(text)
    function = vars(module)[f"loss_{kind}"]
    rng = np.random.default_rng(0)
    sizes = dict(zip("nspqkdh", (7, 6, 5, 4, 2, 3, 4), strict=True))
    inputs = re.search(r"Arguments:(.*?)Returns", function.__doc__, re.DOTALL)
    assert inputs is not None
    given = {
        name: rng.normal(size=[sizes[x] for x in re.findall(r"\w", dims)])
        for name, dims in re.findall(r"(\w+) \(([^)]*)\)", inputs[1])
    }
    given = {name: np.abs(x) if not x.ndim else x for name, x in given.items()}
    values, result = _with_values(function, given)
    fields = getattr(result, "_fields", ())
    parts = {f"{kind}_{x}": getattr(result, x) for x in fields} or {kind: result}
    head = re.sub(r"\n {12,}", " ", function.__doc__.partition("Arguments:")[0])
    rows = re.findall(r"^ {8}(?:where )?(\w+) = (.*)$", head, re.MULTILINE)
    told = parts.keys() & {name for name, _ in rows}
    assert ("Formulas:" in function.__doc__) == (told != parts.keys())
    assert told or kind == "hvp"
    values |= parts
    for name, right in rows:
        found = eval(right, {**values, **MATRICES})
        np.testing.assert_allclose(found, values[name], 1e-8, 1e-10, err_msg=name)


def _with_values(function: Any, given: dict[str, Any]) -> tuple[dict[str, Any], Any]:
    """The values that a function and what it calls bind, and what it returns."""
    values: dict[str, Any] = {}
    own = function.__code__.co_filename

    def see(frame: Any, event: str, arg: Any) -> Any:
        if frame.f_code.co_filename != own or frame.f_code.co_name == "<genexpr>":
            return None
        if event == "return":
            for name, value in frame.f_locals.items():
                values.setdefault(name, value)
        return see

    sys.settrace(see)
    try:
        result = function(**given)
    finally:
        sys.settrace(None)
    return values, result


THETA = """
tensorgen: 1
inputs: {theta: [3], x: [n], y: [n]}
functions:
  loss:
    where: |
      a = theta[0]
      b = theta[1]
      scale = exp(theta[2])
    expr: sum((y - a - b*x)**2) / (2*scale) + n*theta[2]/2
    wrt: theta
    emit: [value, gradient]
"""


def test_a_vector_of_parameters_is_told_one_by_one() -> None:
    text = str(tensorgen.load(THETA).loss_grad.__doc__)
    assert re.findall(r"^ {8}grad\[(\w)\] = ", text, re.MULTILINE) == ["0", "1", "2"]
    assert "delta" not in text and "else 0" not in text


def test_what_is_stored_of_a_hessian_is_told() -> None:
    module = tensorgen.load("""tensorgen: 1
inputs: {x: [n, 2], s: {shape: [e], index: n}, t: {shape: [e], index: n}, k: [e]}
functions:
  energy:
    where: |
      side[m, i] = x[s[m], i] - x[t[m], i]
    expr: sum(k[m] * sum(side[m, i]**2, i)**2, m)
    wrt: x
    emit: [hessian]
""")
    text = str(module.energy_hess.__doc__)
    assert "Formulas:" not in text and "where A[i, j, l] = " in text
