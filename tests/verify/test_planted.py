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
HELD = "solutions are held against the matrix, and the dense factorization solves then"
# What changes nothing, and why: by module and fault.
EQUAL = {
    (
        "bilevel_ridge",
        "ErrorProblem: -np.abs(y_X_w) -> np.abs(y_X_w)",
    ): "e / (1 + e)**2 is the same of 1 / e",
    ("softmax_regression", "LossHessian: -u -> u"): HELD,
    ("gaussian_process", "nll_grad: 0 -> 1"): SQUARE,
    ("gaussian_process", "nll_value_and_grad: 0 -> 1"): SQUARE,
    ("every", "_packed: 1 -> 2"): SQUARE,
    (
        "recommender",
        "_elimination_work: pattern @ np.sin(np.arange(1.0, size + 1)) -> "
        "np.sin(np.arange(1.0, size + 1)) @ pattern",
    ): "the pattern is symmetric",
    (
        "recommender",
        "columns: min(step, E - start) -> min(E - start, step)",
    ): "the least of two is that of the other two",
    (
        "wide",
        "both_value_and_grad: _both_parts(t, X, y) -> _both_parts(X, t, y)",
    ): "t @ X is X.T @ t",
    ("wide", "_sech2: -2 -> 2"): "e / (1 + e)**2 is the same of 1 / e",
    (
        "portfolio",
        "RiskJacobianW: 2 * d[:, None] -> d[:, None]",
    ): "nothing that can be called multiplies by one constraint's Jacobian",
    ("portfolio", "Portfolio: 1 -> 2"): "a block of zeros is that whatever it holds",
    (
        "portfolio",
        "PortfolioLagrangianHessianWW: _DiagonalFactorization(d, self.columns, shift) "
        "-> _DiagonalFactorization(self.columns, d, shift)",
    ): "nothing that can be called solves with one block of a joint Hessian",
}
# What no point shows, and why.
ESCAPED = {
    (
        "bilevel_ridge",
        "_descended: 0.0001 -> 0.00015000000000000001",
    ): "what a line search takes for enough",
    ("bilevel_ridge", "_descended: 1.0 -> 1.5"): "the first step of a line search",
    (
        "every",
        "_elimination_work: np.arange(1.0, size + 1) -> np.arange(size + 1, 1.0)",
    ): "asked only where more than 1000 inputs are left to solve for",
}


def missed(name: str) -> list[str]:
    """The faults of a module that are not found."""
    spec = OWN.get(name) or (ROOT / "examples" / f"{name}.yaml").read_text("utf-8")
    path = ROOT / "tests" / "golden" / f"{name}_numpy.py"
    text = generate(spec) if name in OWN else path.read_text("utf-8")
    verification = Verification(read_spec(Source(name, spec)))
    faults = planted(text, MODULES[name])
    assert len(faults) == MODULES[name]
    return [fault.name for fault in faults if not is_found(fault, name, verification)]


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
