"""Matrix notation: a normal form that means what was written."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from tensorgen.errors import Source
from tensorgen.lang import program_of
from tensorgen.operators.matrix_notation import matrix_notation
from tensorgen.spec.read import read_spec

SIZES = {"n": 4, "m": 3}
SHAPES = {
    **dict.fromkeys(("A", "B", "S"), "nn"),
    **dict.fromkeys(("X", "Y"), "nm"),
    **dict.fromkeys(("x", "y"), "n"),
    **dict.fromkeys(("u", "v"), "m"),
    **dict.fromkeys(("a", "b"), ""),
}
FUNCTIONS: dict[str, Any] = {
    **{x: getattr(np, x) for x in ("diag", "exp", "eye", "ones", "outer", "zeros")},
    **{x: getattr(np, x) for x in ("sqrt", "sum", "tanh", "trace")},
    **{x: getattr(np.linalg, x) for x in ("det", "inv", "norm")},
    "logdet": lambda x: np.linalg.slogdet(x).logabsdet,
    "log": np.log,
    "abs": np.abs,
}


def notations(*texts: str) -> list[str | None]:
    """The notation of expressions in inputs of `SHAPES`."""
    rows = ["tensorgen: 1", "dims: {n: 4, m: 3}", "inputs:"]
    for name, shape in SHAPES.items():
        listed = f"[{', '.join(shape)}]"
        promise = ", symmetric: true" * (name == "S")
        rows.append(f"  {name}: {{shape: {listed}{promise}}}")
    rows.append("functions:")
    rows += [f"  f{k}: {{expr: '{text}'}}" for k, text in enumerate(texts)]
    spec = read_spec(Source("spec.yaml", "\n".join(rows) + "\n"))
    _, program = program_of(spec)
    return [matrix_notation(x.node, {}) for x in program.generated]


@pytest.mark.parametrize(
    ("expr", "expected"),
    [
        ("(A @ B).T @ X", "B.T @ A.T @ X"),
        ("A @ (B @ x)", "A @ B @ x"),
        ("(2 * A) @ (a * X) / b", "2 * a * A @ X / b"),
        ("(A / 4) @ x", "A @ x / 4"),
        ("S.T @ x", "S @ x"),
        ("inv(S).T @ x", "inv(S) @ x"),
        ("inv(X.T @ S @ X).T @ u", "inv(X.T @ S @ X) @ u"),
        ("inv(A.T) @ x", "inv(A).T @ x"),
        ("inv(inv(A))", "A"),
        ("inv(2 * A)", "inv(A) / 2"),
        ("logdet(inv(A))", "-logdet(A)"),
        ("log(det(A))", "logdet(A)"),
        ("det(inv(A))", "1 / det(A)"),
        ("det(A.T)", "det(A)"),
        ("A @ inv(B @ A)", "inv(B)"),
        ("inv(A @ B) @ A @ x", "inv(B) @ x"),
        ("X @ inv(X.T @ X) @ u", "X @ inv(X.T @ X) @ u"),
        ("A @ x + A.T @ x", "(A + A.T) @ x"),
        ("A.T + A", "A + A.T"),
        ("A @ X + 2 * (A @ X)", "3 * A @ X"),
        ("A @ outer(x, u) @ X.T", "outer(A @ x, X @ u)"),
        ("(A - outer(x, x)) @ y", "A @ y - (x @ y) * x"),
        ("sum(A * (X @ Y.T))", "trace(Y @ X.T @ A)"),
        ("sum(A * B)", "sum(A * B)"),
        ("trace(A @ B.T @ S)", "trace(A @ B.T @ S)"),
        ("x @ A.T @ y", "y @ A @ x"),
        ("x / norm(x)**3", "x / norm(x)**3"),
        ("norm(x)**2", "x @ x"),
        ("sum((x - y)**2)", "sum((x - y)**2)"),
        ("(x - y) @ (x - y) * norm(x - y)", "norm(x - y)**3"),
        ("(A * (B - S)).T @ x", "(A * (B - S)).T @ x"),
        ("0 * X", "zeros((n, m))"),
    ],
)
def test_matrices_are_written_in_a_normal_form(expr: str, expected: str) -> None:
    assert notations(expr) == [expected]


class Grower:
    """Makes random expressions of a shape, as text."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)

    def leaf(self, shape: str) -> str:
        """A name, perhaps turned."""
        if shape == "mn":
            return f"{self.leaf('nm')}.T"
        if shape == "mm":
            return "(X.T @ Y)"
        return self.rng.choice([x for x, own in SHAPES.items() if own == shape])

    def grown(self, shape: str, depth: int) -> str:
        """An expression."""
        if depth == 0:
            return self.leaf(shape)
        pick = self.rng.choice
        inner, other = (pick("nm") for _ in range(2))

        def of(own: str) -> str:
            return self.grown(own, depth - 1)

        ways = [
            lambda: f"({of(shape)} {pick('+-')} {of(shape)})",
            lambda: f"({pick(['2', '-3', '0.5', 'a'])} * {of(shape)})",
            lambda: f"({of(shape)} * {of(shape)})",
            lambda: f"({of(shape)} / (1 + {of('')}**2))",
            lambda: f"tanh({of(shape)})",
        ]
        if len(shape) == 2:
            rows, columns = shape[0], shape[1]
            ways += [
                lambda: f"{of(columns + rows)}.T",
                lambda: f"({of(rows + inner)} @ {of(inner + columns)})",
                lambda: f"({of(rows + inner)} @ {of(inner + columns)})",
                lambda: f"outer({of(rows)}, {of(columns)})",
                lambda: f"({of(rows)}[:, None] + {of(shape)})",
                lambda: f"({of(columns)} * {of(shape)})",
            ]
            if rows == columns:
                ways += [
                    lambda: f"inv({of(shape)} + 9 * eye({rows}))",
                    lambda: f"inv({self.leaf(shape)} @ {self.leaf(shape)})",
                    lambda: f"inv(2 * {of(shape)} + 9 * eye({rows})).T",
                    lambda: f"({self.leaf(shape)} @ inv({self.leaf(shape)}))",
                    lambda: f"diag({of(rows)})",
                ]
        elif shape:
            ways += [
                lambda: f"({of(shape + inner)} @ {of(inner)})",
                lambda: f"({of(inner)} @ {of(inner + shape)})",
                lambda: f"diag({of(shape * 2)})",
                lambda: f"sum({of(inner + shape)}, axis=0)",
            ]
        else:
            ways += [
                lambda: f"({of(inner)} @ {of(inner + other)} @ {of(other)})",
                lambda: f"trace({of(inner * 2)})",
                lambda: f"sum({of(inner + other)})",
                lambda: f"norm({of(inner)} + 1)",
            ]
        return str(pick(ways)())


@pytest.mark.parametrize("seed", range(12))
def test_what_is_written_is_what_was_meant(seed: int) -> None:
    grower = Grower(seed)
    shapes = ["nn", "nm", "mn", "mm", "n", "m", "", ""]
    texts = [grower.grown(shape, 3) for shape in shapes for _ in range(4)]
    rng = np.random.default_rng(seed)
    known: dict[str, Any]
    known = {k: rng.standard_normal([SIZES[d] for d in s]) for k, s in SHAPES.items()}
    known["S"] = known["S"] + known["S"].T
    known |= {"a": 1.3, "b": -0.7}
    told = 0
    for text, found in zip(texts, notations(*texts), strict=True):
        if found is None:
            continue
        first, second = (
            np.asarray(eval(x, {**FUNCTIONS, **SIZES, **known})) for x in (text, found)
        )
        scale = np.max(np.abs(first), initial=1e-300)
        assert np.broadcast_to(second, first.shape) == pytest.approx(
            first, rel=1e-9, abs=1e-9 * scale
        ), f"{text}\n{found}"
        told += 1
    assert told >= 20
