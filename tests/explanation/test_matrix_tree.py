"""Matrix formulas as they are typeset."""

import pytest

from tensorgen.explanation.latex import latex
from tests.explanation.told import told_of

SHAPES = {"A": "n, n", "X": "n, m", "x": "n", "u": "m", "a": ""}


def typeset(expr: str) -> str:
    inputs = "".join(f"  {name}: {{shape: [{s}]}}\n" for name, s in SHAPES.items())
    spec = f"tensorgen: 1\nmodule: a\ninputs:\n{inputs}functions:\n"
    text = latex(told_of(f"{spec}  f: {{expr: '{expr}'}}", "f"), in_matrices=True)
    (line,) = (x for x in text.splitlines() if x.startswith("f &= "))
    return line.removeprefix("f &= ")


@pytest.mark.parametrize(
    ("expr", "expected"),
    [
        ("A.T @ x", r"{A}^{\top} \, x"),
        ("inv(A).T @ x", r"{A}^{-\top} \, x"),
        ("inv(A @ A.T) @ x", r"{\left(A \, {A}^{\top}\right)}^{-1} \, x"),
        ("outer(x, u)", r"x \, {u}^{\top}"),
        ("x @ A @ x / a", r"\frac{{x}^{\top} \, A \, x}{a}"),
        ("X.T @ (x * x)", r"{X}^{\top} \, {x}^{\odot2}"),
        ("-x * (A @ x)", r"-x \odot \left(A \, x\right)"),
        ("x / (A @ x)", r"x \oslash \left(A \, x\right)"),
        ("A + eye(n)", r"A + {I}_{n}"),
        ("X + x[:, None]", r"X + x \, {{1}_{m}}^{\top}"),
        (
            "trace(A) * norm(x)",
            r"\left\lVert x\right\rVert \, \operatorname{tr}\left(A\right)",
        ),
        ("x - 2 * A @ x", r"x - 2 \, A \, x"),
        ("(A + tanh(A)).T @ x", r"{\left(A + \tanh\left(A\right)\right)}^{\top} \, x"),
    ],
)
def test_matrices_are_typeset_as_in_books(expr: str, expected: str) -> None:
    assert typeset(expr) == expected
