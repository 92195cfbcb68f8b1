"""A soap film in a frame: of all surfaces with this edge, the one of the least area.

Each height meets six neighbours, and the Hessian stores a number for each pair instead
of 2.3 million; Newton's method eliminates in the sparse matrix. The frame is that of
Scherk's surface, `log(cos y / cos x)`, which is known since 1834 to be minimal.
"""

from typing import Any

import numpy as np

import tensorgen
from gallery.runs import HERE, Array, Run, newton

TITLE = "Minimal surface: a soap film"
SPEC = HERE / "soap_film.yaml"
SHOWN = "area_hess"
CELLS, SIDE = 40, 2.4


def scherk() -> Array:
    """Return Scherk's surface on the grid, its edge included."""
    x = np.linspace(-SIDE / 2, SIDE / 2, CELLS + 1)
    return np.log(np.cos(x) / np.cos(x[:, None]))


def run() -> Run:
    """Find the film by Newton's method, from a flat one."""
    model: Any = tensorgen.load(SPEC)
    exact = scherk()
    rim = exact.copy()
    rim[1:-1, 1:-1] = 0
    problem = model.AreaProblem(rim=rim, h=SIDE / CELLS)
    v = newton(problem, np.zeros((CELLS - 1) ** 2), small=1e-10)
    u = problem.unpack(v)
    error = float(np.max(np.abs(u - exact[1:-1, 1:-1])))
    held = problem.hessian(v).nbytes

    def draw(axes: Any) -> None:
        whole = rim.copy()
        whole[1:-1, 1:-1] = u
        x = np.linspace(-SIDE / 2, SIDE / 2, CELLS + 1)
        axes.contourf(x, x, whole, 24, cmap="RdBu_r")
        axes.contour(x, x, whole, 24, colors="black", linewidths=0.3)
        axes.set(aspect="equal")

    numbers = {
        "heights": str(u.size),
        "area": f"{float(problem.value(v)):.5f}",
        "largest distance from Scherk's surface": f"{error:.5f}",
        "bytes that the Hessian stores, of a dense one": f"{held / 8 / u.size**2:.2%}",
    }
    return Run(numbers, draw, {"u": u, "error": error, "problem": problem, "v": v})
