"""Every kind of derivative is compared, and what cannot be is said."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from tensorgen.calculus.kinds import KINDS, PROBLEM, STANDARD_ERRORS
from tensorgen.errors import Source
from tensorgen.lang import requested
from tensorgen.spec.read import read_spec
from tensorgen.verify import Finding, Verification, generated
from tests.device.library import stand_in
from tests.made import both, generate, load

SPEC = """\
tensorgen: 1
module: every
dims: {q: 4}
inputs:
  w: [n]
  X: [m, n]
  Y: [m]
  S: {shape: [n, n], symmetric: true}
  K: {shape: [n, n], spd: true}
  A: {shape: [m, n], sparse: true}
  U: [n, k]
  row: {shape: [E], index: m}
  lam: {shape: scalar, default: 0.5}
functions:
  fit:
    expr:
      pred: X @ w
      loss: sum((pred - Y)**2) + lam * sum(w**3)
    wrt: w
    emit: [value, gradient, jacobian, vjp, jvp, hvp, dense_hessian]
  cube:
    expr: sum(exp(w)*w) + sum(w)**4
    wrt: w
    emit: [value, 3, 4, 5, problem, dense_hessian, hessian]
  mix:
    expr: sum(tanh(X @ U)**2) + sum(w**2)*sum(U**3)
    wrt: [w, U]
    emit: [value, gradient, hessian, dense_hessian, hvp, [w, U, U], 3, problem]
  sub:
    expr: logdet(K) + sum(K**3)
    wrt: {K: symmetric}
    emit: [gradient, hessian, hvp, jvp, vjp]
  low:
    expr: sum(exp(S @ w / 4)**2)
    wrt: [{S: lower}, w]
    emit: [gradient, hvp, dense_hessian]
  inner:
    expr: sum(exp(w))
    wrt: {w: {metric: K}}
    emit: [gradient, hessian, hvp, vjp]
  spar:
    expr: sum(log(1 + exp(-Y * (A @ w))))
    wrt: w
    emit: [value, gradient, hessian, hvp, problem]
  entries: {expr: "sum((A @ w - Y)**2)", wrt: A, emit: [gradient, hvp]}
  gather[e]:
    expr: w[0]*Y[row[e]]**2
    wrt: Y
    emit: [value, jacobian, dense_jacobian, jvp, vjp, problem]
  stopped: {expr: "sum(stop_gradient(exp(w)) * w**2)", wrt: w, emit: [gradient, hvp]}
  sized: {expr: "full((q, n), 2) @ w", wrt: w, emit: [value, jacobian]}
  factor: {expr: "sum(cholesky(K) * S)", wrt: K, emit: [value, gradient, hvp]}
  kinks: {expr: "sum(maximum(w, 0.2)*w) + max(w)", wrt: w, emit: [value, hvp]}
"""


@cache
def verification() -> Verification:
    return Verification(read_spec(Source("every", SPEC)), points=3)


def findings(text: str, only: str | None = None) -> list[Finding]:
    return verification().verify(generated(text, "every", "numpy"), only)


def test_every_kind_is_compared_and_right() -> None:
    found = findings(both(SPEC)[0])
    assert [x for x in found if x.verdict == "WRONG"] == []
    told = [(x.function, x.reason) for x in found if x.verdict == "not verified"]
    assert told == [("cube_d5", "order 5 is compared with itself alone")]
    kinds = {
        kind.name
        for function in verification().program.functions
        for kind, _ in requested(function)
    }
    # Standard errors are methods of Hessians, which are compared.
    assert kinds | {PROBLEM.name, STANDARD_ERRORS.name} == {*KINDS}


@pytest.mark.parametrize(
    ("function", "old", "new"),
    [
        # What the functions of many modules share, and names that are no more there.
        ("fit_jac", "return self.matrix.T @ u", "return 2 * self.matrix.T @ u"),
        ("fit_jac", "return self.matrix @ v", "return self.matrix @ v + 1"),
        ("mix_d_w_U_U", "def contract(self", "def contracted(self"),
        ("CubeProblem", "def pack(self", "def packed(self"),
        ("fit_vjp", "def fit_vjp(", "def fit_pullback("),
        ("sized", "*, q: int", "*, p: int"),
    ],
)
def test_a_fault_in_what_is_shared_or_missing_is_found(
    function: str, old: str, new: str
) -> None:
    text = both(SPEC)[0]
    assert old in text
    found = findings(text.replace(old, new), function)
    assert "WRONG" in {x.verdict for x in found}


def test_what_a_module_raises_is_told() -> None:
    text = both(SPEC)[0].replace(
        "def cube(", "def cube(*given): raise KeyError\n\ndef c("
    )
    (found,) = findings(text, "cube")[:1]
    assert (found.verdict, found.what) == ("WRONG", "call")
    assert found.reason.startswith("it raises KeyError")
    assert found.sizes == {"n": 1}


def test_modules_of_two_modes_are_compared_with_each_other() -> None:
    text = both(SPEC)[0]
    first = generated(text, "first", "numpy")
    same = verification().agreed(first, generated(text, "same", "numpy"), "fit_grad")
    assert [(x.verdict, x.against, x.worst) for x in same] == [("ok", "first", 0)]
    other = text.replace("def fit_grad(", "def fit_gradient(")
    lost = verification().agreed(first, generated(other, "other", "numpy"), "fit_grad")
    assert lost == []


def test_modules_of_another_library_are_given_its_arrays() -> None:
    ours, theirs = both(SPEC)
    with stand_in():
        subject = generated(theirs, "theirs", "cupy")
        for function in ("cube", "mix", "spar", "gather"):
            found = verification().verify(subject, function)
            kinds = {x.verdict for x in found} - {"not verified"}
            assert kinds == {"ok"}, [x for x in found if x.verdict == "WRONG"]
        first = generated(ours, "ours", "numpy")
        found = verification().agreed(first, subject, "mix")
        assert {x.verdict for x in found} == {"ok"} and len(found) > 20


def test_what_is_too_large_for_the_reference_is_said() -> None:
    text = """\
tensorgen: 1
inputs: {A: [300, 200], B: [200, 100], w: [3000]}
functions:
  f: A @ B
  g: {expr: sum(w**2), wrt: w, emit: [gradient]}
"""
    subject = generated(generate(text), "large", "numpy")
    found = Verification(read_spec(Source("large", text))).verify(subject)
    assert [x.verdict for x in found] == ["not verified"] * 2
    assert found[0].reason.endswith("too many entries for the reference")
    assert found[1].reason.endswith("too many variables for the reference")


PROMISED = """\
tensorgen: 1
module: promised
dims: {n: 3}
inputs:
  K: {shape: [n, n], spd: true}
  B: [n, n]
functions:
  root: {expr: sum(sqrtm(K) * B), wrt: K, emit: [gradient, hessian, hvp, 3]}
  log: {expr: sum(logm(K) * B), wrt: K, emit: [gradient, hessian, hvp]}
  named:
    where:
      S: {spd: K + B.T @ B}
    expr: sqrtm(S) @ B
    wrt: [K, B]
    emit: [jacobian, jvp, vjp]
  factor: {expr: sum(cholesky(K) * B), wrt: K, emit: [gradient, hvp]}
  values: {expr: sum(eigvalsh(K)**3), wrt: K, emit: [gradient, hvp]}
"""


def test_functions_of_the_symmetric_part_are_so_where_matrices_are_promised() -> None:
    own = Verification(read_spec(Source("promised", PROMISED)), points=3)
    found = own.verify(generated(generate(PROMISED), "promised", "numpy"))
    assert [(x.function, x.what) for x in found if x.verdict != "ok"] == []
    assert {x.function for x in found} >= {
        "root_hess",
        "root_d3",
        "log_hvp",
        "named_jac",
    }


SERIES = """\
tensorgen: 1
inputs: {K: {shape: [n, n], spd: true}, V: [n, n]}
functions:
  series:
    expr: concatenate([taylor(sqrtm(K), K, V, 3), taylor(logm(K), K, V, 3)])
  even:
    where:
      W: (V + V.T) / 2
    expr: concatenate([taylor(sqrtm(K), K, W, 3), taylor(logm(K), K, W, 3)])
"""


def test_series_of_such_functions_are_those_along_the_symmetric_part() -> None:
    module = load(SERIES)
    V = np.random.default_rng(1).uniform(-1, 1, (3, 3))
    K = V @ V.T + 2 * np.eye(3)
    assert np.allclose(module.series(K, V), module.even(K, V), rtol=1e-12, atol=1e-12)
