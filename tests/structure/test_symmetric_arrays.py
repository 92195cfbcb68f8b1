"""What an object holds of a symmetric array is symmetric for its methods too."""

from pathlib import Path

import numpy as np

import tensorgen

SPEC = """tensorgen: 1
module: held
inputs:
  A: {shape: [n, n], symmetric: true}
  S: {shape: [n, n]}
functions:
  f: {expr: "sum(tanh(A @ S)**2)", wrt: S, emit: [hessian]}
"""


def test_methods_do_not_transpose_what_is_symmetric(tmp_path: Path) -> None:
    assert "A.T" not in tensorgen.generate(SPEC)
    path = tmp_path / "held.yaml"
    path.write_text(SPEC, encoding="utf-8")
    rng = np.random.default_rng(0)
    A, S, v = rng.standard_normal((3, 4, 4))
    found = tensorgen.load(path).f_hess(A + A.T, S)
    t = np.tanh((A + A.T) @ S)
    slope = 1 - t**2
    curve = 2 * slope**2 - 4 * t**2 * slope
    expected = np.einsum("mi,mk,mj,jl->ijkl", A + A.T, A + A.T, curve, np.eye(4))
    np.testing.assert_allclose(found.dense(), expected, rtol=1e-12)
    product = np.tensordot(expected, v, 2)
    np.testing.assert_allclose(found.matvec(v), product, rtol=1e-12)
