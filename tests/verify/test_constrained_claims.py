"""Classes of constrained problems are held against their spec, entry by entry."""

from __future__ import annotations

from functools import cache

import pytest

from tensorgen.errors import Source
from tensorgen.spec.read import read_spec
from tensorgen.verify import Verification, generated
from tests.constrained_specs import CHAIN, HS71, PORTFOLIO, STEERING
from tests.made import generate
from tests.test_stated_sizes import CONSTRAINED

SPECS = {
    "Hs71Problem": HS71,
    "SteeringProblem": STEERING,
    "Portfolio": PORTFOLIO,
    "HangingChainProblem": CHAIN.read_text("utf-8"),
    "P": CONSTRAINED,  # with a size that no argument tells
}


@cache
def verification(name: str) -> Verification:
    return Verification(read_spec(Source(name, SPECS[name])))


def worst(name: str, *changes: tuple[str, str]) -> dict[str, str]:
    """What is measured of a class, of which some text is replaced, and how it is."""
    text = generate(SPECS[name])
    start = text.index(f"class {name}:")
    for old, new in changes:
        assert old in text[start:], old
        text = text[:start] + text[start:].replace(old, new, 1)
    found = verification(name).verify(generated(text, name, "numpy"), name)
    assert {x.function for x in found} == {name}
    return {x.what: x.verdict for x in found}


@pytest.mark.parametrize("name", SPECS)
def test_a_class_is_what_its_spec_says(name: str) -> None:
    found = worst(name)
    assert {*found.values()} == {"ok"}
    assert {*found} >= {
        *("pack", "unpack", "lb", "ub", "cl", "cu", "objective", "gradient"),
        *("constraints", "coo of Jacobian", "Lagrangian", "coo of Hessian"),
        *("matvec", "diagonal", "coo", "multiple"),
    }
    assert ("refusals" in found) == (name != "Hs71Problem")  # which has no data


@pytest.mark.parametrize(
    ("what", "old", "new"),
    [
        ("lb", "_spread([0, -lowest]", "_spread([0, lowest]"),
        ("ub", "2 * cap, np.inf", "2 * cap, 1e9"),
        ("cl", "_spread([lowest, -np.inf]", "_spread([lowest, 0.0]"),
        ("cu", "_spread([1, limit]", "_spread([limit[0], limit]"),
        ("constraints", "[point.constraint_total, ", "[2 * point.constraint_total, "),
        ("coo of Jacobian", "places.rows.copy()", "places.rows[::-1]"),
        ("coo of Hessian", "filled(H._values())", "filled(H._values())[::-1]"),
        ("Lagrangian", "factor = _shaped", "factor = 2 * _shaped"),
        ("Lagrangian", "lagrange = np.zeros(self.m)", "lagrange = np.ones(self.m)"),
        ("unpack", "part.copy() for part in parts", "part + 1 for part in parts"),
    ],
)
def test_a_fault_in_a_part_of_it_is_found(what: str, old: str, new: str) -> None:
    found = worst("Portfolio", (old, new))
    assert "WRONG" in (found.get(what), found.get("call"))
