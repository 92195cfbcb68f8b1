"""The fastest slide from here to there, Bernoulli's problem of 1696.

Each corner of the polygon meets its two neighbours: the Hessian is a band of three
diagonals, of which two are held, and a Newton step takes time in proportion to the
corners. The answer is known, a cycloid.
"""

from typing import Any

import numpy as np
from scipy import optimize

import tensorgen
from gallery.runs import FITTED, HERE, SEEN, Array, Run, newton

TITLE = "Brachistochrone: the fastest slide"
SPEC = HERE / "slide.yaml"
SHOWN = "time_hess"
CORNERS, LONG, DEPTH, GRAVITY = 200, 2.0, 1.0, 9.81


def cycloid() -> tuple[float, float]:
    """Return the radius, and the angle of the wheel at the end."""

    def miss(a: float) -> float:
        return float((a - np.sin(a)) / (1 - np.cos(a)) - LONG / DEPTH)

    angle = float(optimize.brentq(miss, 0.1, 6.2))
    return DEPTH / (1 - float(np.cos(angle))), angle


def run() -> Run:
    """Find the slide by Newton's method, from a straight one."""
    model: Any = tensorgen.load(SPEC)
    # Corners are close where the slide is steep.
    x = LONG * np.linspace(0, 1, CORNERS + 1) ** 2
    problem = model.TimeProblem(x=x, depth=DEPTH, g=GRAVITY)
    y = newton(problem, x[1:-1] / LONG * DEPTH, small=1e-9)
    radius, angle = cycloid()
    best = angle * float(np.sqrt(radius / GRAVITY))
    straight = float(problem.value(x[1:-1] / LONG * DEPTH))
    turn = np.linspace(0, angle, 200)
    wheel: Array = radius * np.array([turn - np.sin(turn), 1 - np.cos(turn)])

    def draw(axes: Any) -> None:
        axes.plot(*wheel, color=SEEN, linewidth=4, label="cycloid")
        axes.plot(x, [0, *y, DEPTH], color=FITTED, label="polygon")
        axes.set(aspect="equal")
        axes.invert_yaxis()

    numbers = {
        "time": f"{float(problem.value(y)):.5f} s",
        "time along the cycloid": f"{best:.5f} s",
        "time along a straight slide": f"{straight:.5f} s",
    }
    found = {"time": float(problem.value(y)), "best": best, "y": y, "x": x}
    return Run(numbers, draw, found | {"wheel": wheel, "hessian": problem.hessian(y)})
