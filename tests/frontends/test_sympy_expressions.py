"""SymPy's expressions become specs with their values, and functions its expressions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sympy as sp

import tensorgen
from tensorgen.frontends.sympy_expressions import read_sympy, to_sympy

n, m = sp.symbols("n m", integer=True, positive=True)
i, j = sp.symbols("i j", integer=True)
a, c, N = sp.symbols("a c N")
x, y = sp.IndexedBase("x"), sp.IndexedBase("y")
A, X = sp.MatrixSymbol("A", n, n), sp.MatrixSymbol("X", m, n)
v, b = sp.MatrixSymbol("v", n, 1), sp.MatrixSymbol("b", m, 1)
SIZES = {"n": 2, "m": 3, "N": 2}

EXPRESSIONS = {
    "scalars": sp.exp(a * c) * sp.sin(a) + a**2 / (1 + c**2) - sp.Rational(2, 3) * c,
    "roots": sp.sqrt(a) - 1 / sp.sqrt(c) + sp.Float(0.1) * a**-3 + sp.pi,
    "logarithms": sp.log(a, 2) + sp.Abs(-a) + sp.loggamma(c) + sp.atan2(a, c),
    "cases": sp.Piecewise((a, a > c), (-a / 3, (a > 0) & (c < 1)), (c, True)),
    "largest": sp.Max(a, c, sp.Rational(1, 2)) * sp.Min(a, c),
    "sum": sp.Sum((sp.exp(x[i]) - y[i]) ** 2, (i, 0, n - 1)),
    "mean": sp.Sum(x[i] / N, (i, 0, N - 1)),
    "neighbors": sp.Sum(100 * (x[i + 1] - x[i] ** 2) ** 2, (i, 0, n - 2)),
    "triangle": sp.Sum(x[i] * i * sp.Sum(y[j], (j, 0, i)), (i, 0, n - 1)),
    "delta": sp.Sum(
        sp.KroneckerDelta(i, j) * x[i] * y[j], (i, 0, n - 1), (j, 0, n - 1)
    ),
    "step": sp.Sum(x[i] * sp.Heaviside(i - 1, 1), (i, 0, n - 1)),
    "product": sp.Product(x[i], (i, 0, n - 1)),
    "quadratic": v.T * A * v,
    "one entry": (v.T * A * v)[0, 0] + c / 2,
    "squares": (X * v - b).T * (X * v - b),
    "trace": sp.Trace(X.T * X) - 2 * sp.Trace(A),
    "determinant": sp.log(sp.Determinant(A)),
    "inverse": v.T * A.inv() * v,
    "entries": sp.Sum(X[i, j] * v[j, 0], (i, 0, m - 1), (j, 0, n - 1)),
    "ones": sp.OneMatrix(1, n) * v,
    "by entry": sp.OneMatrix(1, n) * sp.HadamardProduct(v, A * v),
    "applied": sp.OneMatrix(1, m) * (X * v).applyfunc(sp.tanh),
}
NO_WAY_BACK = {"product"}


def arrays() -> dict[str, Any]:
    rng = np.random.default_rng(2)
    square = rng.uniform(0.1, 0.4, (2, 2)) + np.eye(2)
    vectors = {name: rng.uniform(0.2, 0.9, 2) for name in ("x", "y", "v")}
    matrix = rng.uniform(size=(3, 2))
    return {"a": 0.7, "c": 0.4, "A": square, "X": matrix, "b": np.ones(3), **vectors}


def value(expression: Any, given: dict[str, Any]) -> float:
    """Return the value of an expression, by SymPy."""
    found = sp.sympify(expression)
    sizes = {s: SIZES[s.name] for s in found.free_symbols if s.name in SIZES}
    found = found.subs(sizes)
    replaced = {}
    for symbol in found.free_symbols | found.atoms(sp.MatrixSymbol):
        if isinstance(symbol, sp.MatrixSymbol):
            array = np.asarray(given[symbol.name])
            replaced[symbol] = sp.Matrix(array.reshape(len(array), -1))
    # What is inside of a sum is spelled out when the index outside is.
    for _ in range(3):
        found = found.doit().subs(replaced)
    entries = {
        entry: given[str(entry.base.label)][tuple(map(int, entry.indices))]
        for entry in found.atoms(sp.Indexed)
    }
    entries |= {s: given[str(s)] for s in found.free_symbols if str(s) in "ac"}
    found = found.subs(entries).doit()
    found = found[0, 0] if getattr(found, "is_Matrix", False) else found
    return float(found.evalf())


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_an_expression_has_its_value_both_ways(name: str) -> None:
    spec = read_sympy(EXPRESSIONS[name], emit=["value"]).spec
    module: Any = tensorgen.load(spec)
    given = arrays()
    code = module.f.__code__
    own = {x: given[x] for x in code.co_varnames[: code.co_argcount]}
    wanted = value(EXPRESSIONS[name], given)
    assert np.isclose(module.f(**own), wanted, rtol=1e-12)
    if name not in NO_WAY_BACK:
        back = to_sympy(spec, "f")
        assert back.indices == back.shape == ()
        assert np.isclose(value(back.expression, given), wanted, rtol=1e-12)


def test_arrays_are_read_and_said_with_indices() -> None:
    found = read_sympy(A * v + v, wrt=v, module="affine")
    assert "expr: A @ v + v\n" in found.spec and "module: affine" in found.spec
    back = to_sympy(found.spec)
    (index,) = back.indices
    vector, matrix = sp.IndexedBase("v", shape=(n,)), sp.MatrixSymbol("A", n, n)
    inner = next(iter(back.expression.atoms(sp.Sum))).variables[0]
    product = sp.Sum(vector[inner] * matrix[index, inner], (inner, 0, n - 1))
    assert back.expression == product + vector[index] and back.shape == (n,)


def test_limits_of_inner_sums_stand_first_there() -> None:
    triangle = sp.Sum(x[i] * y[j], (j, 0, i), (i, 0, n - 1))
    assert "expr: sum(x[i] * y[j], i, j=range(i + 1))\n" in read_sympy(triangle).spec


def test_what_is_differentiated_by_is_a_symbol_or_a_name() -> None:
    for by in (c, "c", [c], ["c"]):
        assert "wrt: c\n" in read_sympy(a * c, wrt=by).spec
    assert "wrt: [a, c]\n" in read_sympy(a * c, wrt=[c, a]).spec


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        (sp.Integral(a, a), "'Integral' has no counterpart: Integral"),
        (sp.Matrix([a, c]), "DenseMatrix' has no counterpart"),
        (sp.zoo * a, "no counterpart"),
        (sp.I * a, "'ImaginaryUnit' has no counterpart"),
        (sp.Symbol("x y") + 1, "'x y' cannot be a name"),
        (sp.Symbol("\n") + 1, r"'\\n' cannot be a name"),
        (sp.Function("g")(a), "'g' has no counterpart"),
        (sp.Piecewise((a, a > 0)), "not defined everywhere"),
        (sp.Heaviside(a), "not 1 at 0"),
        (
            x[n**2] + sp.Sum(x[i], (i, 0, sp.sqrt(n))),
            "size or place has no counterpart",
        ),
        (x[0] + x[0, 1], "'x' is a vector and a matrix"),
        (A.inv()[0, 1], "an entry of a formula has no counterpart"),
        (A[0, 0] + x[0] + sp.Symbol("x"), "'x' is a scalar and a vector"),
    ],
)
def test_what_the_language_cannot_say_is_told(expression: Any, message: str) -> None:
    with pytest.raises(tensorgen.SpecError, match=message):
        read_sympy(expression)


def test_an_expression_that_is_nested_too_deeply_is_told() -> None:
    deep = a
    for _ in range(400):
        deep = sp.sin(deep, evaluate=False)
    with pytest.raises(tensorgen.SpecError, match="nested too deeply"):
        read_sympy(deep)


@pytest.mark.parametrize(
    ("expr", "message"),
    [("max(x)", "no word for 'max'"), ("sum(ndtr(x))", "no word for 'ndtr'")],
)
def test_what_sympy_cannot_say_is_told(expr: str, message: str) -> None:
    spec = f"tensorgen: 1\ninputs: {{x: [n]}}\nfunctions: {{f: {expr}}}\n"
    with pytest.raises(tensorgen.SpecError, match=message):
        to_sympy(spec)
    with pytest.raises(tensorgen.SpecError, match="no function 'g'"):
        to_sympy(spec, "g")


def test_entries_that_are_chosen_are_said() -> None:
    spec = """tensorgen: 1
inputs: {x: [n], c: scalar}
functions:
  last: x[n - 1] + sum(x[1:] * x[:n - 1]) + norm(x) + logsumexp(x)
  positive: where(c > 0, sigmoid(c), softplus(c)) + abs(c)
"""
    given = arrays()
    own, steps = given["x"], given["x"][1:] @ given["x"][:-1]
    wanted = own[-1] + steps + np.linalg.norm(own) + np.log(np.exp(own).sum())
    assert np.isclose(value(to_sympy(spec, "last").expression, given), wanted)
    positive = value(to_sympy(spec, "positive").expression, given)
    assert np.isclose(positive, 1 / (1 + np.exp(-0.4)) + 0.4)
