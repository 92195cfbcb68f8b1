"""What `tensorgen explain` shows of the Matrix Cookbook's derivatives.

Of 148 rows, 130 are shown as the Cookbook has them, up to what `alike.py` says, and 146
where both sides are multiplied out.
"""

from __future__ import annotations

import re

import numpy as np
import pytest

from tensorgen.errors import Source
from tensorgen.explanation.report import matrix_rows
from tensorgen.explanation.subjects import explained
from tests.cookbook.alike import same
from tests.cookbook.gradients import GRADIENTS, Row, known
from tests.sampled import sampled

MULTIPLIED_OUT = (
    # outer(M @ u, v) for M u v', and (B + B.T) @ X for B X + B' X
    *("54", "61", "82", "82 D", "91", "91 2", "92", "108", "109", "110"),
    *("111", "112", "113", "116", "122", "123"),
)
"""Rows that are the Cookbook's once both sides are multiplied out."""
OTHERS = ("55", "56")
"""Rows that are something else: pseudo-inverses are not recognised."""

ENDINGS = {
    "gradient": "grad",
    "jacobian": "jac",
    "dense_hessian": "hess_dense",
    "jvp": "jvp",
}
ROOT = re.compile(r"(?:grad|tangent|hess|jac) = ")


def shown(row: Row) -> str:
    """The derivative in matrix notation."""
    function = f"f_{ENDINGS[row.identity.gives]}"
    source = Source("spec.yaml", row.identity.spec())
    (subject,) = explained(source, function, in_all_modes=False).subjects
    lines = re.sub(r"\n +", " ", "\n".join(matrix_rows(subject))).split("\n")
    (text,) = (ROOT.sub("", x) for x in lines if ROOT.match(x))
    return text


@pytest.mark.parametrize(
    "row", sampled(GRADIENTS, 2), ids=lambda row: row.identity.number
)
def test_a_derivative_reads_as_in_the_matrix_cookbook(row: Row) -> None:
    text, identity = shown(row), row.identity
    rng = np.random.default_rng(5)
    directions = identity.directions(rng) if identity.gives == "jvp" else {}
    values = known(identity, identity.draw(rng) | directions)
    found, expected = (np.asarray(eval(x, values)) for x in (text, row.right))
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-10)
    orders = {name: np.ndim(x) for name, x in values.items() if not callable(x)}
    kinds = {name: kind for name, (_, kind) in identity.declared.items()}
    symmetric = [name for name, kind in kinds.items() if kind in ("symmetric", "spd")]
    stands, is_out = (
        same(text, row.right, orders, symmetric, out) for out in (False, True)
    )
    assert stands == (identity.number not in (*MULTIPLIED_OUT, *OTHERS)), text
    assert is_out == (identity.number not in OTHERS), text


def test_130_of_148_derivatives_read_as_in_the_matrix_cookbook() -> None:
    numbers = [row.identity.number for row in GRADIENTS]
    assert {*MULTIPLIED_OUT, *OTHERS} <= {*numbers}
    assert len(numbers) == 148
    assert len({*MULTIPLIED_OUT, *OTHERS}) == 18


@pytest.mark.parametrize(
    ("one", "other", "stands", "is_out"),
    [
        ("A @ (B @ x)", "A @ B @ x", True, True),
        ("(A @ B).T", "B.T @ A.T", True, True),
        ("f * A.T @ x / 2", "0.5 * A.T @ x * f", True, True),
        ("x @ A @ y", "y @ A.T @ x", True, True),
        ("A @ x + B @ x", "(A + B) @ x", False, True),
        ("outer(A @ x, y)", "A @ outer(x, y)", False, True),
        ("inv(A.T) @ x", "inv(A).T @ x", True, True),
        ("A @ B @ x", "B @ A @ x", False, False),
        ("A @ x", "A.T @ x", False, False),
        ("A @ x - y", "A @ x + y", False, False),
        ("outer(x, y)", "outer(y, x)", False, False),
        ("S.T @ x", "S @ x", True, True),
        ("2 * A @ x", "A @ x", False, False),
    ],
)
def test_texts_are_alike_up_to_order_and_brackets(
    one: str, other: str, stands: bool, is_out: bool
) -> None:
    orders = {"A": 2, "B": 2, "S": 2, "x": 1, "y": 1, "f": 0}
    assert same(one, other, orders, ["S"], out=False) == stands
    assert same(one, other, orders, ["S"], out=True) == is_out
