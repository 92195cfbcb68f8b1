"""Thirteen atoms of argon, and how they sit together best.

Pairs are summed over `i < j`; what the condition leaves out, the infinite energy of an
atom with itself, reaches neither values nor derivatives. Newton's method goes from a
disturbed icosahedron to the lowest minimum that is known. Six directions, motions as a
whole, cost nothing: a small shift of the Hessian takes care of them.
"""

from typing import Any

import numpy as np

import tensorgen
from gallery.runs import FITTED, HERE, SEEN, Array, Run, newton

TITLE = "Lennard-Jones cluster: thirteen atoms"
SPEC = HERE / "cluster.yaml"
SHOWN = "energy_grad"


def icosahedron() -> Array:
    """Return a centre and twelve corners, about as far apart as they like to be."""
    golden = (1 + 5**0.5) / 2
    corners = [
        np.roll([0, a, b * golden], k)
        for k in range(3)
        for a in (-1, 1)
        for b in (-1, 1)
    ]
    return np.array([np.zeros(3), *corners]) * 0.55


def run() -> Run:
    """Find the minimum by Newton's method."""
    model: Any = tensorgen.load(SPEC)
    start = icosahedron() + 0.1 * np.random.default_rng(0).standard_normal((13, 3))
    problem = model.EnergyProblem()
    v = newton(problem, problem.pack(x=start), small=1e-9)
    x = problem.unpack(v)
    distances = np.linalg.norm(x[:, None] - x, axis=-1)
    curvature = np.linalg.eigvalsh(np.asarray(problem.hessian(v)))

    def draw(axes: Any) -> None:
        rows = x - x.mean(axis=0)
        turn = np.linalg.svd(rows, full_matrices=False)[2]
        flat = rows @ turn.T @ np.array([[1.0, 0.15], [0.2, 1.0], [0.45, 0.3]])
        for i, j in zip(*np.nonzero((distances > 0) & (distances < 1.3)), strict=True):
            axes.plot(*flat[[i, j]].T, color=SEEN, linewidth=0.7)
        axes.scatter(*flat.T, s=120, color=FITTED, zorder=3)
        axes.set(aspect="equal")
        axes.set_axis_off()

    nearest = float(np.min(distances[distances > 0]))
    numbers = {
        "energy": f"{float(problem.value(v)):.6f}",
        "from the centre to the others": f"{nearest:.5f}",
        "curvatures that are not zero": f"{np.sum(curvature > 1e-6)} of 39",
    }
    return Run(numbers, draw, {"energy": float(problem.value(v)), "curv": curvature})
