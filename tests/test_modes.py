"""`--mode` selects: the statements differ between the modes, the values do not."""

import ast
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tensorgen.calculus.requests import MODES
from tests import made

CHAIN = """
tensorgen: 1
dims: {p: 1000, q: 1000, n: 1000}
inputs: {x: [n], A: [q, n], B: [p, q]}
functions:
  f:
    expr: B @ tanh(sin(A @ x))
    wrt: x
    emit: [value, jacobian, dense_jacobian]
"""

NETWORK = """
tensorgen: 1
dims: {d: 50, h: 100, c: 10}
inputs: {x: [d], W1: [h, d], W2: [h, h], W3: [c, h], y: [c]}
functions:
  loss:
    where: |
      h1 = tanh(W1 @ x)
      h2 = tanh(W2 @ h1)
      z = W3 @ h2
    expr: logsumexp(z) - y @ z
    wrt: x
    emit: [value, gradient, hessian, dense_hessian, hvp]
"""

SIZES = {"p": 3, "q": 4, "n": 5, "d": 5, "h": 4, "c": 3}
DERIVATIVES = [(CHAIN, "f_jac_dense"), (NETWORK, "loss_hess_dense")]


def arguments(text: str) -> dict[str, NDArray[np.float64]]:
    """Return random arguments of a spec's functions."""
    rng = np.random.default_rng(0)
    shapes = {"x": "n", "A": "qn", "B": "pq"}
    if text is NETWORK:
        shapes = {"x": "d", "W1": "hd", "W2": "hh", "W3": "ch", "y": "c"}
    return {
        name: rng.normal(size=[SIZES[dim] for dim in shape])
        for name, shape in shapes.items()
    }


def statements(source: str, name: str) -> list[str]:
    """Return the statements of a function and of what it shares, no docstrings."""
    functions = ast.parse(made.source(source, name)).body
    return [
        ast.unparse(node)
        for function in functions
        if isinstance(function, ast.FunctionDef)
        for node in function.body[1:]
    ]


def outer_products(source: str, name: str) -> int:
    """Return how many axes the statements insert, as scaling of rows needs them."""
    return sum(line.count("None") for line in statements(source, name))


@pytest.mark.parametrize(("text", "name"), DERIVATIVES)
def test_the_statements_differ_between_all_modes(text: str, name: str) -> None:
    found = {mode: statements(made.generate(text, mode=mode), name) for mode in MODES}
    for first, second in combinations(MODES, 2):
        assert found[first] != found[second], f"{first} and {second} are alike"


@pytest.mark.parametrize(("text", "name"), DERIVATIVES)
def test_the_values_agree_between_all_modes(text: str, name: str) -> None:
    inputs = arguments(text)
    found: dict[str, Any] = {
        mode: getattr(made.load(text, mode=mode), name)(**inputs) for mode in MODES
    }
    for mode in MODES:
        np.testing.assert_allclose(found[mode], found["reverse"], rtol=0, atol=1e-13)
    assert np.linalg.norm(found["reverse"]) > 0.1


def test_the_gradient_of_a_network_takes_matrices_in_forward_mode_only() -> None:
    # Reverse mode multiplies vectors from the left; forward mode carries a column
    # for each entry of x, whose rows it scales.
    axes = {
        mode: outer_products(made.generate(NETWORK, mode=mode), "loss_grad")
        for mode in MODES
    }
    assert axes["reverse"] == axes["cross-country"] == 0 < axes["forward"]


def test_the_value_does_not_depend_on_the_mode() -> None:
    sources = [made.generate(CHAIN, mode=mode) for mode in MODES]
    first, second, third = (statements(source, "f") for source in sources)
    assert first == second == third


def test_the_default_is_cross_country() -> None:
    assert made.generate(CHAIN) == made.generate(CHAIN, mode="cross-country")


def test_a_mode_that_does_not_exist_is_refused() -> None:
    with pytest.raises(ValueError, match="sideways"):
        made.generate(CHAIN, mode="sideways")
