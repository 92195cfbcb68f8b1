"""Random formulas mean, as specs, what MATLAB's operators make of columns."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tensorgen.errors import Source, SpecError
from tensorgen.frontends.matrixcalculus import read_matrixcalculus
from tensorgen.frontends.write_spec import Asked
from tensorgen.lang.program import program_of
from tensorgen.operators.references.rows import FUNCTIONS, OPERATORS
from tensorgen.spec.read import read_spec
from tensorgen.verify.interpret import evaluate

N = 4
ORDERS = {**dict.fromkeys("ABX", 2), **dict.fromkeys("xyvw", 1), "a": 0, "c": 0}


def numbers() -> dict[str, Any]:
    """Return an array for each letter."""
    rng = np.random.default_rng(4)
    return {name: rng.uniform(0.2, 0.8, (N,) * order) for name, order in ORDERS.items()}


class Matrix:
    """A matrix as MATLAB has it, with `%` for .*, `//` for ./; no shapes broadcast."""

    def __init__(self, value: Any) -> None:
        self.value = np.atleast_2d(np.asarray(value, dtype=float))

    def entrywise(self, other: Matrix, do: Callable[[Any, Any], Any]) -> Matrix:
        a, b = self.value, other.value
        if a.shape != b.shape and 1 not in (a.size, b.size):
            raise ValueError("shapes do not fit")
        return Matrix(do(a, b))

    @property
    def T(self) -> Matrix:
        return Matrix(self.value.T)

    def __neg__(self) -> Matrix:
        return Matrix(-self.value)

    def __add__(self, other: Matrix) -> Matrix:
        return self.entrywise(other, np.add)

    def __sub__(self, other: Matrix) -> Matrix:
        return self.entrywise(other, np.subtract)

    def __mod__(self, other: Matrix) -> Matrix:
        return self.entrywise(other, np.multiply)

    def __floordiv__(self, other: Matrix) -> Matrix:
        return self.entrywise(other, np.divide)

    def __pow__(self, other: Matrix) -> Matrix:
        return self.entrywise(other, np.power)

    def __mul__(self, other: Matrix) -> Matrix:
        if 1 in (self.value.size, other.value.size):
            return self.entrywise(other, np.multiply)
        return Matrix(self.value @ other.value)

    def __truediv__(self, other: Matrix) -> Matrix:
        if other.value.size > 1:
            raise ValueError("the divisor is no scalar")
        return self // other


def lifted(function: Callable[[Any], Any]) -> Callable[[Matrix], Matrix]:
    return lambda x: Matrix(function(x.value))


def diag(x: Any) -> Any:
    """Return the diagonal of a matrix as a column, or the matrix of a column."""
    if 1 not in x.shape:
        return np.diag(x)[:, None]
    if x.size == 1:
        raise ValueError("a scalar has no diagonal")
    return np.diag(x.ravel())


WORDS: dict[str, Any] = {
    **{name: lifted(getattr(np, name)) for name in ("sum", "sin", "tanh", "exp")},
    **{"tr": lifted(np.trace), "inv": lifted(np.linalg.inv), "diag": lifted(diag)},
    **{"norm1": lifted(lambda x: abs(x).sum()), "norm2": lifted(np.linalg.norm)},
    **{"vector": lambda x: Matrix(np.full((N, 1), x.value)), "eye": Matrix(np.eye(N))},
    "number": Matrix,
}


def there(text: str) -> Any:
    """Return what a formula means to those who write columns.

    Raises `ValueError` where shapes do not fit.
    """
    text = re.sub(r"(?<![\w.])\d+(\.\d+)?", r"number(\g<0>)", text)
    for old, new in ((".*", "%"), ("./", "//"), (".^", "**"), ("^", "**"), ("'", ".T")):
        text = text.replace(old, new)
    given = {
        name: Matrix(x[:, None] if x.ndim == 1 else x) for name, x in numbers().items()
    }
    return eval(text, {"__builtins__": {}}, {**WORDS, **given}).value


# What a value of each sort may be made of; letters stand for sorts, in brackets.
RULES = {
    "s": [
        *("a", "c", "2", "0.5", "[r]*[c]", "tr([m])", "sum([c])", "sum([m])"),
        *("norm2([c])", "norm1([m])", "[s]+[s]", "[s]-[s]", "[s]*[s]", "[s]/(3+[s]^2)"),
        *("-[s]", "([s])", "tanh([s])", "([s])^2", "[s].*[s]", "tr([s])"),
    ],
    "c": [
        *("x", "y", "v", "w", "[m]*[c]", "[s]*[c]", "[c]*[s]", "[c]+[c]", "[c]-[c]"),
        *("[c].*[c]", "tanh([c])", "[r]'", "[c]/2", "([c]).^2", "-[c]", "([c])"),
        *("vector([s])", "diag([m])", "[s].*[c]", "[c]./(vector(3)+([c]).^2)"),
        *("[c]+vector(1)", "vector(2)-[c]", "[m]*vector(1)", "exp(-([c]).^2)"),
    ],
    "r": [
        "x'",
        "y'",
        "([c])'",
        "[r]*[m]",
        "vector(1)'",
        "[s]*[r]",
        "-[r]",
        "([r]+[r])",
    ],
    "m": [
        *(
            "A",
            "B",
            "X",
            "[m]*[m]",
            "[c]*[r]",
            "([m])'",
            "[m]+[m]",
            "[m]-[m]",
            "[s]*[m]",
        ),
        *("[m].*[m]", "diag([c])", "[s]*eye", "-[m]", "([m])", "sin([m])", "[m]/2"),
        *("inv([m]+9*eye)", "A'", "B'*[m]"),
    ],
}
LEAVES = {
    sort: rules[: {"s": 4, "c": 4, "r": 2, "m": 3}[sort]]
    for sort, rules in RULES.items()
}


def formula(rng: random.Random, sort: str, depth: int) -> str:
    """Return a random formula of a sort, without the parentheses that it needs."""
    text = rng.choice(RULES[sort] if depth else LEAVES[sort])
    parts = text.replace("]", "[").split("[")
    for k in range(1, len(parts), 2):
        inner = formula(rng, parts[k], depth - 1)
        # A sum within a product, or a power of a product, would be another formula.
        parts[k] = inner if rng.random() < 0.3 else f"({inner})"
    return "".join(parts)


def here(text: str) -> Any:
    """Return what the spec of a formula evaluates to."""
    source = Source("<text>", f"{text}\nscalar a, scalar c")
    spec = read_matrixcalculus(source, Asked(emit=("value",))).spec
    _, program = program_of(read_spec(Source("<spec>", spec)))
    node = program.functions[0].node
    sizes = dict.fromkeys(("m", "n", "k", "p", "q", "r", "l"), N)
    (value,) = evaluate([node], numbers(), FUNCTIONS, OPERATORS, sizes)
    return np.asarray(value)


@pytest.mark.parametrize("seed", range(8))
def test_a_random_formula_has_its_value(seed: int) -> None:
    rng = random.Random(seed)
    compared = 0
    for _ in range(40):
        text = formula(rng, rng.choice("sscm"), 3)
        try:
            wanted = there(text)
        except ValueError:
            continue  # without parentheses, its shapes do not fit
        try:
            found = here(text)
        except SpecError as error:
            # `there` reads ^ as .^, which is of vectors too.
            assert "column has no power" in str(error), text
            continue
        np.testing.assert_allclose(
            np.ravel(found), np.ravel(wanted), rtol=1e-9, atol=1e-9, err_msg=text
        )
        compared += 1
    assert compared > 20
