"""Faults put into emitted modules are found, all but those that change nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from tensorgen.errors import Source
from tensorgen.spec.read import read_spec
from tensorgen.verify import Verification, generated
from tests.verify.planted import planted

ROOT = Path(__file__).resolve().parents[2]
# Dense, in blocks, banded, by index arrays, in steps, over an optimum, on a mesh.
MODULES = {
    "logistic_regression": 14,
    "matrix_factorization": 12,
    "total_variation": 12,
    "sparse_logistic": 14,
    "rollout": 12,
    "bilevel_ridge": 12,
    "softmax_regression": 10,
    "mesh_energy": 6,
}
SYMMETRIC = "the function is symmetric in its arguments"
# What changes nothing, and why: by module and fault.
EQUAL = {
    (
        "logistic_regression",
        "loss: np.logaddexp(0, t) -> np.logaddexp(t, 0)",
    ): SYMMETRIC,
    (
        "matrix_factorization",
        "loss_hess: 1 -> 2",
    ): "NumPy takes any negative length in reshape for the one that fits",
    ("rollout", "loss_grad: 0 -> 1"): "A is square: both sides are as long",
    (
        "softmax_regression",
        "loss_grad: X_W - np.max(X_W, axis=1)[:, None]"
        " -> X_W + np.max(X_W, axis=1)[:, None]",
    ): "a softmax does not change by what is added to a row",
    ("mesh_energy", "energy: np.vdot(x, load) -> np.vdot(load, x)"): SYMMETRIC,
}

pytestmark = pytest.mark.thorough


@pytest.mark.parametrize("name", MODULES)
def test_planted_faults_are_found(name: str) -> None:
    spec = ROOT / "examples" / f"{name}.yaml"
    text = (ROOT / "tests" / "golden" / f"{name}_numpy.py").read_text("utf-8")
    verification = Verification(read_spec(Source(name, spec.read_text("utf-8"))))
    faults = planted(text, MODULES[name])
    assert len(faults) == MODULES[name]
    missed = [
        fault.name
        for fault in faults
        if all(
            finding.verdict != "WRONG"
            for finding in verification.verify(
                generated(fault.text, name, "numpy"), fault.where
            )
        )
    ]
    assert missed == [what for module, what in EQUAL if module == name]
