"""What specs of formulas say: shapes that follow, expressions, problems, remarks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import yaml

import tensorgen
from tensorgen.errors import Source
from tensorgen.frontends.notations import NOTATIONS, guess_notation, module_name
from tensorgen.frontends.translation import Translation
from tensorgen.frontends.write_spec import Asked
from tests.frontends.published import GENO


def read(notation: str, text: str, **asked: Any) -> Translation:
    return NOTATIONS[notation].read(Source("in", text), Asked(**asked))


def first(notation: str, text: str) -> tuple[dict[str, Any], str]:
    """Return the inputs and the first expression of a spec."""
    found = yaml.safe_load(read(notation, text).spec)
    return found.get("inputs", {}), next(iter(found["functions"].values()))["expr"]


@pytest.mark.parametrize(
    ("text", "expression"),
    [
        ("x'*A*x", "x @ A @ x"),
        ("a*(b*x)'*A*(x/c)/2", "a * ((b * x) @ A @ x) / (c * 2)"),
        ("x*y'", "outer(x, y)"),
        ("A*x*y'*z", "outer(A @ x, y) @ z"),
        ("A*(B*x)", "A @ (B @ x)"),
        ("(A*B)'*x", "(A @ B).T @ x"),
        ("x'*y*z", "(x @ y) * z"),
        ("-y.*(X*w)", "-y * (X @ w)"),
        ("x - (y - z)", "x - (y - z)"),
        ("x + -y", "x - y"),
        ("-(x + y)", "-(x + y)"),
        ("c^-2 + 2^c", "c**-2 + 2**c"),
        ("(x + y).^2", "(x + y)**2"),
        ("(-c)^2", "(-c)**2"),
        ("1/2*x'*x", "x @ x / 2"),
        ("a/b/c", "a / (b * c)"),
        ("tr(x'*A*x)", "x @ A @ x"),
        ("inv(c)*x", "(1 / c) * x"),
        ("vector(1)'*x", "sum(x)"),
        ("vector(2)'*x", "2 * sum(x)"),
        ("exp(x) + 2*vector(1)", "exp(x) + 2"),
        ("vector(1) - vector(2)", "ones(n) - 2"),
        ("X + c*eye", "X + c * eye(n)"),
        ("X'*X + matrix(1)", "X.T @ X + 1"),
        ("A^2*x", "matrix_power(A, 2) @ x"),
        ("A^(-2)*x", "matrix_power(inv(A), 2) @ x"),
        ("adj(A)*x", "(det(A) * inv(A)) @ x"),
        ("lambda*x", "lambda_ * x"),
        ("007*c", "7 * c"),
    ],
)
def test_a_formula_is_written_as_one_would(text: str, expression: str) -> None:
    assert first("matrixcalculus", text)[1] == expression


@pytest.mark.parametrize(
    ("notation", "text", "shapes"),
    [
        ("matrixcalculus", "norm2(A*x - y)", {"x": "n", "A": "m n", "y": "m"}),
        ("matrixcalculus", "tr(A*X'*B*X*C)", dict(X="k n", A="m n", B="k k", C="n m")),
        ("matrixcalculus", "sum(A*x - b)", {"x": "n", "A": "m n", "b": "m"}),
        ("matrixcalculus", "X - c", {"X": "m n", "c": "m n"}),
        ("matrixcalculus", "diag(X)'*A", {"X": "m m", "A": "m n"}),
        ("matrixcalculus", "x1'*x_2", {"x1": "n", "x_2": "n"}),
        ("latex", r"\sum_i a_{i} b_i", {"a": "n", "b": "n"}),
        ("latex", r"\sum_{i=1}^{n-1} x_{i+1} x_i", {"x": "n"}),
        ("latex", r"\sum_{i=1}^{m} x_i y_{m - i + 1}", {"x": "m", "y": "m"}),
        ("latex", r"\sum_{i,j} a_{ij} x_i y_j", {"a": "m n", "x": "m", "y": "n"}),
        ("latex", r"\sum_i (w^\top x_i - y_i)^2", {"x": "m n", "w": "n", "y": "m"}),
        ("latex", r"\sum_t u^\top (x_{t} - A x_t)", {"x": "m n", "A": "n n"}),
        ("latex", r"\sum_{i=1}^N (y_i / N + N x_i)", {"x": "N", "y": "N"}),
        ("latex", r"\sum_i \lVert x_i - \mu \rVert^2", {"x": "m n", "mu": "n"}),
        ("latex", r"\mathbf{a}^T \mathbf{B} \mathbf{c}", dict(a="m", B="m n", c="n")),
        ("latex", r"c^\top x, c, x \in \mathbb{R}^{p+1}", {"c": "p + 1"}),
        ("latex", "% vector a, matrix b\n a^T b a", {"a": "n", "b": "n n"}),
        ("latex", r"\lambda_1 \hat{x}^\top x_1", {"x_hat": "n", "lam_1": ""}),
    ],
)
def test_shapes_follow(notation: str, text: str, shapes: dict[str, str]) -> None:
    inputs, _ = first(notation, text)
    found = {
        name: " ".join(map(str, shape)) if isinstance(shape, list) else ""
        for name, shape in inputs.items()
        if name in shapes
    }
    assert found == shapes


@pytest.mark.parametrize(
    ("text", "expression"),
    [
        (r"\sum_{i=1}^n x_i", "sum(x[i], i)"),
        (r"\sum_{i=2}^n x_i", "sum(x[i], i=range(1, n))"),
        (r"\sum_{i=0}^{n-1} i x_i", "sum(i * x[i], i)"),
        (r"\sum_{i=1}^n i x_i", "sum((i + 1) * x[i], i)"),
        (r"\frac1n \sum_{i=1}^{n} x_i", "sum(x[i], i) / n"),
        (r"\max_i x_i - \min_i x_i", "max(x[i], i) - min(x[i], i)"),
        (r"\prod_{i=1}^{n} x_i", "prod(x[i], i)"),
        (r"\sum_{i=1}^{n} x_{2i}", "sum(x[2*i + 1], i=range(n))"),
        (r"e^{-c^2/2}", "exp(-c**2 / 2)"),
        (r"\log c d", "log(c * d)"),
        (r"\log(c) d", "log(c) * d"),
        (r"\sin^2 c \cos c", "sin(c)**2 * cos(c)"),
        (r"x^{\odot 2}", "x**2"),
        (r"x \cdot y + \langle A, B \rangle", "x @ y + sum(A * B)"),
        (r"|c| + \left| d \right| + \lvert x \rvert_1", "abs(c) + abs(d) + norm(x, 1)"),
        (r"A^{-\top} x", "inv(A).T @ x"),
        (r"x'A x", "x @ A @ x"),
        (r"\operatorname{tr}\left(A^T B\right)", "tr(A.T @ B)"),
        (r"\sigma(w^\top x)", "sigmoid(w @ x)"),
        (r"\max(0, c, d)", "maximum(maximum(0, c), d)"),
        (r"x^\top (A + \lambda I) x", "x @ (A + lam * eye(n)) @ x"),
        (r"2 \pi c", "2 * pi * c"),
        (r"1/2 c d", "c * d / 2"),
        (r"c / d \cdot b", "c * b / d"),
        (r"g \cdot (c + d)", "g * (c + d)"),
    ],
)
def test_latex_is_read_as_papers_mean_it(text: str, expression: str) -> None:
    assert first("latex", text)[1] == expression


def test_bounds_and_constraints_of_a_model_are_a_problem() -> None:
    spec = read("geno", GENO["support vectors"][0]).spec
    assert yaml.safe_load(spec)["problem"] == {
        "minimize": "objective",
        "variables": {"a": {"lower": 0, "upper": "c"}},
        "constraints": {"constraint1": {"equal": 0}},
    }
    module: Any = tensorgen.load(spec)
    K, y = np.eye(3), np.array([1.0, -1.0, 1.0])
    problem = module.FormulaProblem(K=K, y=y, c=2.0)
    assert problem.lb.tolist() == [0, 0, 0] and problem.ub.tolist() == [2, 2, 2]
    assert problem.constraints(np.array([1.0, 2.0, 4.0])).tolist() == [3]
    assert problem.cl.tolist() == problem.cu.tolist() == [0]


@pytest.mark.parametrize(
    ("constraint", "wanted"),
    [
        ("A*x <= b", {"constraints": {"constraint1": {"upper": "b"}}}),
        ("x <= A*x", {"constraints": {"constraint1": {"upper": 0}}}),
        ("vector(1) >= x", {"variables": {"x": {"upper": 1}}}),
        ("-1 <= x <= 1", {"variables": {"x": {"lower": -1, "upper": 1}}}),
        ("sum(x) == b", {"constraints": {"constraint1": {"equal": 0}}}),
        ("x >= 0\nx >= b", {"constraints": {"constraint1": {"lower": "b"}}}),
    ],
)
def test_a_constraint_is_a_bound_or_a_function(
    constraint: str, wanted: dict[str, Any]
) -> None:
    head = "parameters\n Matrix A\n Vector b\nvariables\n Vector x\nmax\n sum(x)\nst\n"
    found = yaml.safe_load(read("geno", head + constraint).spec)["problem"]
    assert found["maximize"] == "objective"
    assert {key: found[key] for key in wanted} == wanted


def test_a_model_without_constraints_is_bound_to_data() -> None:
    spec = read("geno", GENO["l1 logistic"][0]).spec
    functions = yaml.safe_load(spec)["functions"]
    assert functions["objective"]["emit"] == ["value", "gradient", "problem"]
    assert "problem" not in yaml.safe_load(spec)


def test_what_was_assumed_is_told() -> None:
    found = read("matrixcalculus", "A*x - b\nvector z")
    assert found.remarks == (
        "'z' is declared, but no formula mentions it.",
        "Assumed: x and b are vectors; A is a matrix.",
        "Differentiated by x: nothing says by what.",
    )
    for remark in found.remarks:
        assert f"# {remark}\n" in found.spec
    assert "#   A*x - b\n#   vector z\n" in found.spec
    declared = read("matrixcalculus", "x'*A*x; symmetric matrix A; wrt A; vector x")
    assert declared.remarks == (
        "Entries of A count as independent; wrt: {A: symmetric} asks for symmetric"
        " derivatives.",
    )


def test_a_function_has_a_name_of_its_own() -> None:
    spec = read("latex", r"\sum_{i=1}^{f} x_i").spec
    assert [*yaml.safe_load(spec)["functions"]] == ["f_"]
    assert tensorgen.load(spec) is not None
    spec = read("matrixcalculus", "x'*f\nvector f").spec
    assert [*yaml.safe_load(spec)["functions"]] == ["f_"]
    named = read("latex", r"\ell(w) = w^\top x")
    assert "  ell:\n" in named.spec and "wrt: w\n" in named.spec


def test_how_symbols_were_read_is_told() -> None:
    remarks = read(
        "latex", r"\sum_{i=0}^{n-1} \sigma(x_i) + \operatorname{tr}(A - I)"
    ).remarks
    assert "sigma with parentheses is the logistic function." in remarks
    assert "I is the identity." in remarks
    assert "Sums begin at 0, so entries are counted from 0." in remarks


def test_what_is_asked_for_is_emitted() -> None:
    asked = {"by": ("A", "x"), "emit": ("value", "hessian"), "module": "quadratic"}
    found = yaml.safe_load(read("matrixcalculus", "x'*A*x", **asked).spec)
    assert found["module"] == "quadratic"
    assert found["functions"]["f"]["wrt"] == ["x", "A"]
    assert found["functions"]["f"]["emit"] == ["value", "hessian"]
    with pytest.raises(tensorgen.SpecError, match="no variable 'X'"):
        read("matrixcalculus", "x'*A*x", by=("X",))
    with pytest.raises(tensorgen.SpecError, match="hessian is of a scalar"):
        read("matrixcalculus", "A*x", emit=("hessian",))


def test_names_and_notations_follow_from_files() -> None:
    assert guess_notation(Source("a.tex", "x'*x")) == "latex"
    assert guess_notation(Source("a.geno", "x'*x")) == "geno"
    assert guess_notation(Source("a.txt", "variables\n vector x\nmin\n x'*x")) == "geno"
    assert guess_notation(Source("a.txt", "min*x")) == "matrixcalculus"
    assert module_name("models/ridge-1.geno") == "ridge_1"
    assert module_name("<stdin>") == module_name("1.tex") == "formula"


def test_what_a_text_says_cannot_leave_its_comment() -> None:
    text = "x'*x\n# evil\rfunctions: {g: 1}\u2028inputs: {y: [n]}\x85module: z"
    found = yaml.safe_load(read("matrixcalculus", text).spec)
    assert [*found["functions"]] == ["f"] and [*found["inputs"]] == ["x"]
    assert found["module"] == "formula"
