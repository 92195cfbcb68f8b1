"""Both columns of docs/from-matrixcalculus.md mean the same numbers."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import linalg

import tensorgen
from tests.documents import blocks
from tests.lang.speak import program

PAGE = Path(__file__).resolve().parent.parent / "docs" / "from-matrixcalculus.md"
N = 4

Array = Any


class Matlab:
    """A matrix, a column or a number with MATLAB's operators.

    Elementwise ones bear the signs of Python's that bind alike: % for .*, // for ./.
    """

    def __init__(self, value: Array) -> None:
        self.value = np.asarray(value, dtype=float)

    @property
    def T(self) -> Matlab:
        return Matlab(self.value.T)

    def __add__(self, other: Any) -> Matlab:
        return Matlab(self.value + plain(other))

    def __sub__(self, other: Any) -> Matlab:
        return Matlab(self.value - plain(other))

    def __neg__(self) -> Matlab:
        return Matlab(-self.value)

    def __mul__(self, other: Any) -> Matlab:
        a, b = self.value, plain(other)
        scalar = 1 in (a.size, b.size) and a.shape[-1:] != b.shape[:1]
        return Matlab(a * b if scalar or 0 in (a.ndim, b.ndim) else a @ b)

    def __rmul__(self, other: Any) -> Matlab:
        return Matlab(other * self.value)

    def __mod__(self, other: Matlab) -> Matlab:
        return Matlab(self.value * other.value)

    def __floordiv__(self, other: Matlab) -> Matlab:
        return Matlab(self.value / other.value)

    def __pow__(self, other: Any) -> Matlab:
        return Matlab(self.value ** plain(other))


def plain(x: Any) -> Array:
    return x.value if isinstance(x, Matlab) else np.asarray(x)


def lifted(function: Any) -> Any:
    return lambda x: Matlab(function(x.value))


SAME = ("sin", "cos", "tan", "exp", "log", "tanh", "abs", "sign", "sum")
FUNCTIONS = {
    name: lifted(getattr(np, name)) for name in (*SAME, "arcsin", "arccos", "arctan")
} | {
    "relu": lifted(lambda x: np.maximum(x, 0)),
    "norm1": lifted(lambda x: np.abs(x).sum()),
    "norm2": lifted(linalg.norm),
    "tr": lifted(np.trace),
    "det": lifted(linalg.det),
    "logdet": lifted(lambda x: np.log(abs(linalg.det(x)))),
    "inv": lifted(linalg.inv),
    "adj": lifted(lambda x: linalg.det(x) * linalg.inv(x)),
    "diag": lifted(lambda x: np.diag(x[:, 0])),
    "vector": lambda x: Matlab(np.full((N, 1), x)),
    "eye": Matlab(np.eye(N)),
}

# All dims are equal, so that every formula of the page fits.
SHAPES = {name: 2 for name in "ABCXK"} | {name: 1 for name in "xyvwtb"}
SHAPES |= {name: 0 for name in "ac"}


def numbers() -> dict[str, Array]:
    rng = np.random.default_rng(4)
    found = {}
    for name, order in SHAPES.items():
        found[name] = rng.uniform(0.2, 0.8, (N,) * order)
        if order == 2:
            found[name] = found[name] + np.eye(N)
    return found


def there(text: str, given: dict[str, Array]) -> Array:
    """What a formula means to those who write columns."""
    for old, new in ((".*", "%"), ("./", "//"), (".^", "**"), ("^", "**"), ("'", ".T")):
        text = text.replace(old, new)
    columns = {
        name: Matlab(value[:, None] if np.ndim(value) == 1 else value)
        for name, value in given.items()
    }
    return eval(text, {"__builtins__": {}}, {**FUNCTIONS, **columns}).value


def here(texts: list[str]) -> list[Array]:
    """What expressions of the language mean."""
    inputs = "".join(
        f"  {name}: [{', '.join('n' * order)}]\n" for name, order in SHAPES.items()
    )
    lines = [f"  f{k}: 0 * sum(x) + ({text})\n" for k, text in enumerate(texts)]
    head = f"tensorgen: 1\ninputs:\n{inputs}functions:\n"
    module = tensorgen.load(head + "".join(lines))
    given = numbers()
    functions = [getattr(module, f"f{k}") for k in range(len(texts))]
    return [
        f(*(given[name] for name in f.__code__.co_varnames[: f.__code__.co_argcount]))
        for f in functions
    ]


def rows(section: str) -> list[list[list[str]]]:
    """The quoted pieces of each cell of the tables below a heading."""
    text = PAGE.read_text(encoding="utf-8")
    text = text.partition(f"\n## {section}\n")[2].partition("\n## ")[0]
    lines = re.findall(r"^\|( .+)\|$", text, re.MULTILINE)
    return [
        [re.findall(r"`([^`]+)`", cell) for cell in line.split(" | ")] for line in lines
    ]


def pairs() -> list[tuple[str, str]]:
    """The formulas that the page sets side by side."""
    # The signs that are the same in both.
    found = [("-x", "-x"), ("x+y", "x + y"), ("x-y", "x - y")]
    for section in (
        "The one difference to know",
        "Operators",
        "Functions",
        "A formula from the page",
    ):
        for cells in rows(section):
            left, right = cells[0], cells[1]
            if left and " " in left[0]:  # names of functions
                names = left[0].split()
                others = right[0].split() if right else names
                found += [
                    (f"{a}(x)", f"{b}(x)") for a, b in zip(names, others, strict=True)
                ]
            elif left and right and not left[0].startswith(("vector", "matrix")):
                found += zip(left, right, strict=False)
    return found


def test_formulas_side_by_side_have_one_value() -> None:
    given, found = numbers(), pairs()
    assert len(found) > 40
    for (left, right), value in zip(found, here([b for _, b in found]), strict=True):
        wanted = there(left, given)
        # A row and a column are both a vector here.
        assert np.size(value) == wanted.size, f"{left} and {right}"
        np.testing.assert_allclose(
            np.ravel(value), wanted.ravel(), rtol=1e-10, err_msg=f"{left} and {right}"
        )


@pytest.mark.parametrize(
    ("title", "name", "vectors"),
    [("0.5*w'*w", "loss", "wy"), ("0.5*(a.*y)'", "dual", "ay")],
)
def test_the_problems_side_by_side_have_one_value(
    title: str, name: str, vectors: str
) -> None:
    found = list(blocks(PAGE))
    (at,) = (k for k, b in enumerate(found) if b.language == "text" and title in b.text)
    formula = next(x for x in found[at].text.splitlines() if title in x).strip()
    module = tensorgen.load(found[at + 1].text)
    given = numbers() | {"a": np.array(0.4)}
    given |= {x: np.linspace(0.1 + k, 0.7, N) for k, x in enumerate(vectors)}
    function = getattr(module, name)
    names = function.__code__.co_varnames[: function.__code__.co_argcount]
    value = function(**{x: given[x] for x in names})
    np.testing.assert_allclose(value, there(formula, given).squeeze())


def test_every_declaration_is_one() -> None:
    declared = [cells[1] for cells in rows("Declarations") if cells[1]]
    assert len(declared) >= 6
    for lines in declared:
        spec = "tensorgen: 1\ninputs:\n" + "".join(f"  {line}\n" for line in lines)
        program(spec + "functions: {f: 1 + 1}\n")


# The function and the emission that each row of the table of layouts is about.
LAYOUTS = {
    "(n,)": ("x @ x", "x", "gradient", "grad"),
    "(m, n)": ("A @ x", "x", "dense_jacobian", "jac_dense"),
    "(m, n, m, n)": ("X", "X", "dense_jacobian", "jac_dense"),
    "(m, n) of X": ("sum(X**2)", "X", "gradient", "grad"),
    "(m, n, m, n) of X": ("sum(X**2)", "X", "dense_hessian", "hess_dense"),
}


def test_derivatives_have_the_layouts_of_the_page() -> None:
    shapes = [cells[2][0] for cells in rows("Layout of derivatives") if cells[2]]
    assert sorted(shapes) == sorted(key.partition(" of")[0] for key in LAYOUTS)
    sizes = {"m": 2, "n": 3}
    arrays = {"x": np.ones(3), "A": np.ones((2, 3)), "X": np.ones((2, 3))}
    for key, (expr, x, emit, suffix) in LAYOUTS.items():
        module = tensorgen.load(
            "tensorgen: 1\ninputs: {x: [n], A: [m, n], X: [m, n]}\nfunctions:\n"
            f"  f: {{expr: {expr}, wrt: {x}, emit: [{emit}]}}\n"
        )
        function = getattr(module, f"f_{suffix}")
        names = function.__code__.co_varnames[: function.__code__.co_argcount]
        found = function(*(arrays[name] for name in names))
        assert found.shape == eval(key.partition(" of")[0], {}, sizes)
