"""No name says what is not so."""

from __future__ import annotations

import pytest

from tests import goldens
from tests.name_claims import false_claims

EXAMPLES = goldens.FOLDER.parents[1] / "examples"


@pytest.mark.parametrize("name", [x for x in goldens.names() if "_numpy" in x])
def test_names_claim_what_is_done(name: str) -> None:
    spec = (EXAMPLES / f"{name.removesuffix('_numpy.py')}.yaml").read_text("utf-8")
    assert not [*false_claims(goldens.text(name), spec)]


@pytest.mark.parametrize(
    ("line", "claims"),
    [
        ("gathered = np.zeros(n); gathered[:-1] = x / y", True),
        ("x_squared = x + y", True),
        ("inv_x = x @ y", True),
        ("inv_x_squared = inv_x**2", False),
        ("x_minus_y = x - y", False),
        ("neg_jac_z = x * y", False),
        ("sum_x = x @ y", True),
        ("sum_x_squared = x @ x", False),
    ],
)
def test_a_false_claim_is_seen(line: str, claims: bool) -> None:
    text = f"def f(x, y, n, inv_x):\n    {line}\n"
    assert bool([*false_claims(text, "x y n")]) == claims
