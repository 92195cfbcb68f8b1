"""Faults put into emitted modules are found, all but those that change nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from tensorgen.errors import Source
from tensorgen.spec.read import read_spec
from tensorgen.verify import Verification, generated
from tests.constrained_specs import PORTFOLIO
from tests.made import generate
from tests.verify.planted import Planted, planted
from tests.verify.test_derivative_claims import SPEC as EVERY
from tests.verify.test_large import SPEC as WIDE

ROOT = Path(__file__).resolve().parents[2]
# Dense, in blocks, banded, by index arrays, in steps, over an optimum, on a mesh; with
# solvers, with constraints, of every kind; with code that is chosen by size.
MODULES = {
    "logistic_regression": 18,
    "matrix_factorization": 16,
    "total_variation": 16,
    "sparse_logistic": 18,
    "rollout": 16,
    "portfolio": 20,
    "wide": 18,
    "bilevel_ridge": 12,
    "softmax_regression": 12,
    "mesh_energy": 10,
    "garch": 10,
    "gaussian_process": 10,
    "recommender": 12,
    "optimal_control": 10,
    "kalman": 8,
    "nile": 8,
    "every": 20,
}
QUICK = ("logistic_regression", "portfolio")
OWN = {"portfolio": PORTFOLIO, "wide": WIDE, "every": EVERY}
SQUARE = "both sides are as long"
# What changes nothing, and why: by module and fault.
EQUAL = {
    ("recommender", "RowsHessianUU: 1 -> 2"): "any negative size is what is left",
    ("portfolio", "Portfolio: C @ w -> w @ C"): "C is symmetric",
    ("gaussian_process", "nll_grad: 0 -> 1"): SQUARE,
    ("gaussian_process", "nll_value_and_grad: 0 -> 1"): SQUARE,
    ("wide", "Derivative: -1 -> 1"): "all axes of the module are as many",
}
ELSEWHERE = ("_pseudorandom", "_small_inverses", "_elimination_work")
"""What may return any numbers, what inverts blocks of a side that few modules have, and
what is asked only where more than 1000 inputs are left to solve for."""
# What no point shows, and why.
ESCAPED = {
    ("bilevel_ridge", "_descended: 10.0 -> 15.0"): "how fast a shift is taken back",
    (
        "wide",
        "both_d3: y @ y * exp_Xt_t -> exp_Xt_t",
    ): "a form for sizes that no point has",
}


def missed(name: str) -> list[str]:
    """The faults of a module that are not found."""
    spec = OWN.get(name) or (ROOT / "examples" / f"{name}.yaml").read_text("utf-8")
    path = ROOT / "tests" / "golden" / f"{name}_numpy.py"
    text = generate(spec) if name in OWN else path.read_text("utf-8")
    verification = Verification(read_spec(Source(name, spec)))
    faults = planted(text, MODULES[name])
    assert len(faults) == MODULES[name]
    own = [fault for fault in faults if fault.name.split(":")[0] not in ELSEWHERE]
    return [fault.name for fault in own if not is_found(fault, name, verification)]


def is_found(fault: Planted, name: str, own: Verification) -> bool:
    """Whether anything that the fault can reach is told to be wrong."""
    subject = generated(fault.text, name, "numpy")
    names = [task.name for task in own.tasks()] if fault.shared else [fault.where]
    found = (x for only in names for x in own.verify(subject, only))
    return any(x.verdict == "WRONG" for x in found)


@pytest.mark.parametrize(
    "name",
    [x if x in QUICK else pytest.param(x, marks=pytest.mark.thorough) for x in MODULES],
)
def test_planted_faults_are_found(name: str) -> None:
    known = [what for module, what in (*EQUAL, *ESCAPED) if module == name]
    assert sorted(missed(name)) == sorted(known)


def test_few_escape() -> None:
    assert sum(MODULES.values()) >= 225 and len(ESCAPED) <= 5
