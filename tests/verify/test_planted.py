"""Faults put into emitted modules are found, all but those that change nothing."""

from __future__ import annotations

import ast
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
    "logistic_regression": 12,
    "matrix_factorization": 8,
    "total_variation": 35,
    "sparse_logistic": 10,
    "rollout": 12,
    "portfolio": 8,
    "wide": 35,
    "bilevel_ridge": 50,
    "softmax_regression": 13,
    "mesh_energy": 50,
    "garch": 24,
    "gaussian_process": 6,
    "recommender": 50,
    "optimal_control": 45,
    "kalman": 20,
    "nile": 50,
    "every": 80,
}
"""Of how many faults of a module one is planted."""
QUICK = ("logistic_regression", "sparse_logistic", "rollout")
OWN = {"portfolio": PORTFOLIO, "wide": WIDE, "every": EVERY}
SQUARE = "both sides are as long"
SYMMETRIC = "the matrix is symmetric"
DOT = "a dot product of two vectors"
# What changes nothing, and why: by module and fault.
EQUAL = {
    (
        "portfolio",
        "_PortfolioPoint._for_objective: C_w = C @ w -> C_w = w @ C",
    ): SYMMETRIC,
    (
        "portfolio",
        "RiskJacobianW._apply: width = operand.shape[-1] -> width = operand.shape[1]",
    ): "a matrix has two axes",
    (
        "wide",
        "scores_jac: alpha = np.asarray(1, dtype=dtype)[()] -> "
        "alpha = np.asarray(2, dtype=dtype)[()]",
    ): "what is zero is as many times zero",
    (
        "wide",
        "both: _, sum_exp_Xt_t, y_dot_y = _both_parts(t, X, y) -> "
        "_, sum_exp_Xt_t, y_dot_y = _both_parts(X, t, y)",
    ): "t @ X is X.T @ t",
    (
        "softmax_regression",
        "LossHessian._factorized: weight1 = -u / s -> weight1 = s / -u",
    ): "the residual shows it, and the matrix is factorised whole",
    (
        "gaussian_process",
        "nll: inv_S_y_dot_y = y @ np.linalg.solve(S, y) -> "
        "inv_S_y_dot_y = np.linalg.solve(S, y) @ y",
    ): DOT,
    (
        "gaussian_process",
        "nll_value_and_grad: y_dot_inv_S_y = y @ parts.inv_S_y -> "
        "y_dot_inv_S_y = parts.inv_S_y @ y",
    ): DOT,
    (
        "every",
        "_unpacked: size, order = (shape[-1], len(shape) - a.ndim + 1) -> "
        "size, order = (shape[-2], len(shape) - a.ndim + 1)",
    ): SQUARE,
}
ELSEWHERE = ("_pseudorandom", "_small_inverses", "_elimination_work")
"""What may return any numbers, what inverts blocks of a side that few modules have, and
what is asked only where more than 1000 inputs are left to solve for."""
# What no point shows, and why.
ESCAPED = {
    (
        "portfolio",
        "RiskJacobianW._apply: return _sum_rows_by_key(2 * d[:, None] * operand, "
        "sector, k, width) -> return _sum_rows_by_key(operand, sector, k, width)",
    ): "nothing that can be called multiplies by one constraint's Jacobian",
    (
        "wide",
        "both_d3: exp_Xt_t = np.exp(X.T @ t) -> exp_Xt_t = np.exp(t @ X.T)",
    ): "a form for sizes of which only a point of one entry is",
}


def text_of(name: str) -> str:
    """The text of a module."""
    path = ROOT / "tests" / "golden" / f"{name}_numpy.py"
    return generate(OWN[name]) if name in OWN else path.read_text("utf-8")


def missed(name: str) -> list[str]:
    """The faults of a module that are not found."""
    spec = OWN.get(name) or (ROOT / "examples" / f"{name}.yaml").read_text("utf-8")
    verification = Verification(read_spec(Source(name, spec)))
    faults = planted(text_of(name), name, MODULES[name])
    own = [fault for fault in faults if fault.where not in ELSEWHERE]
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


@pytest.mark.thorough
def test_few_escape() -> None:
    count = sum(len(planted(text_of(x), x, every)) for x, every in MODULES.items())
    assert count >= 220 and len(ESCAPED) <= 5


def test_which_faults_are_drawn_depends_on_nothing_but_themselves() -> None:
    before = text_of("portfolio")
    # A function more, a statement more in each, and all functions the other way round.
    tree = ast.parse(
        before + "\n\ndef more(x: Array) -> Array:\n    return 2 * x + 1\n"
    )
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name[0] != "_":
            node.body.insert(-1, ast.parse("other = 3 * other - 4").body[0])
    tree.body.reverse()
    after = ast.unparse(tree)
    old, new = (
        {fault.name for fault in planted(text, "portfolio", 2)}
        for text in (before, after)
    )
    assert len(old) > 50 and all("other" in x or "more" in x for x in new - old)
    assert old <= new
