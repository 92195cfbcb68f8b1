"""The lightest truss of ten bars, the touchstone of structural optimisation.

Displacements are an unknown of the spec, the minimum of the elastic energy, and
derivatives by the areas follow from the theorem of implicit functions: nobody writes
the adjoint. SciPy's SLSQP chooses the areas. The best weight that is known is 5060.85
pounds.
"""

from typing import Any

import numpy as np
from scipy import optimize

import tensorgen
from gallery.runs import FITTED, HERE, OTHER, Run

TITLE = "Ten-bar truss: the lightest structure"
SPEC = HERE / "truss.yaml"
SHOWN = "response_jac"
# Nodes 1 to 6, of which 5 and 6 are held, and bars in the order of the literature.
PLACE = 360.0 * np.array([[2, 1], [2, 0], [1, 1], [1, 0], [0, 1], [0, 0]])
BARS = [(5, 3), (3, 1), (6, 4), (4, 2), (3, 4), (1, 2), (5, 4), (6, 3), (3, 2), (4, 1)]
LOAD = np.array([[0.0, 0], [0, -100], [0, 0], [0, -100]])


def run() -> Run:
    """Choose the areas by SciPy's SLSQP."""
    model: Any = tensorgen.load(SPEC)
    s, t = np.array(BARS).T - 1
    weight = model.WeightProblem(s=s, t=t, place=PLACE)
    response = model.ResponseProblem(s=s, t=t, place=PLACE, load=LOAD)
    limits = {
        "type": "ineq",
        "fun": lambda v: np.concatenate([1 - response.value(v), 1 + response.value(v)]),
        "jac": lambda v: np.concatenate(
            [sign * response.jacobian(v).dense() for sign in (-1, 1)]
        ),
    }
    found = optimize.minimize(
        weight.value_and_gradient,
        np.full(10, 15.0),
        jac=True,
        bounds=[(0.1, None)] * 10,
        constraints=limits,
        method="SLSQP",
        options={"maxiter": 500, "ftol": 1e-10},
    )
    area = found.x

    def draw(axes: Any) -> None:
        sides = response.value(area)[:10]
        for e, (i, j) in enumerate(np.stack([s, t], axis=1)):
            color = FITTED if sides[e] < 0 else OTHER
            axes.plot(*PLACE[[i, j]].T, color=color, linewidth=0.5 + area[e] / 4)
        axes.plot(*PLACE.T, "o", color="black")
        axes.set(aspect="equal")
        axes.set_axis_off()

    numbers = {"weight": f"{found.fun:.2f} pounds"}
    numbers |= {f"bar {k + 1}": f"{x:.2f} square inches" for k, x in enumerate(area)}
    return Run(
        numbers,
        draw,
        {"area": area, "response": response.value(area), "weight": found.fun},
    )
