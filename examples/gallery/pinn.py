"""A network that satisfies a differential equation, `u'' + 2 d u' + w**2 u = 0`.

The residuals have derivatives by time, written with `grad` in the spec; the Jacobian
differentiates them once more, by the parameters. Levenberg and Marquardt's method takes
the sum of squares below 1e-9.
"""

from typing import Any

import numpy as np
import oscillator_pinn

import tensorgen
from gallery.runs import EXAMPLES, FITTED, SEEN, Run

TITLE = "PINN: a network that solves the damped oscillator"
SPEC = EXAMPLES / "oscillator_pinn.yaml"
SHOWN = "residual"


def run() -> Run:
    """Train; compare with the solution between the points too."""
    model: Any = tensorgen.load(SPEC)
    P = oscillator_pinn.train(model)
    t = np.linspace(0, oscillator_pinn.END, 1001)
    exact, found = oscillator_pinn.exact(t), model.u(P, t)
    error = float(np.max(np.abs(found - exact)))

    def draw(axes: Any) -> None:
        axes.plot(t[::5], exact[::5], color=SEEN, linewidth=4, label="solution")
        axes.plot(t[::5], found[::5], color=FITTED, label="network")
        axes.set(xlabel="time", ylabel="u")

    numbers = {"largest error": "below 0.001" if error < 1e-3 else f"{error:.1e}"}
    return Run(numbers, draw, {"error": error})
