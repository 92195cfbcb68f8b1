"""A level that drifts, seen through noise: a century of the Nile's flow at Aswan.

The likelihood is that of a Kalman filter, two recurrences of the spec; its gradient
runs back over the same steps. Durbin and Koopman (2012) state the variances. The level
falls about 1899, when the dam of Aswan was begun.
"""

from typing import Any

import nile

import tensorgen
from gallery.runs import EXAMPLES, FITTED, SEEN, Run

TITLE = "Kalman filter: the level of the Nile"
SPEC = EXAMPLES / "nile.yaml"
SHOWN = "loss_grad"


def run() -> Run:
    """Fit the two standard deviations by Newton's method."""
    model: Any = tensorgen.load(SPEC)
    years, y = nile.flows()
    deviations = nile.fit(model, y)
    noise, drift = deviations**2
    level = model.level(*deviations, y)

    def draw(axes: Any) -> None:
        axes.plot(years, y, color=SEEN, marker=".", label="flow")
        axes.plot(years, level, color=FITTED, label="level, filtered")
        axes.set(ylabel="10⁸ m³ a year")

    numbers = {
        "log-likelihood": f"{-float(model.loss(*deviations, y)):.3f}",
        "variance of the noise": f"{noise:.0f}",
        "variance of a step of the level": f"{drift:.0f}",
    }
    return Run(numbers, draw, {"variances": deviations**2, "level": level, "y": y})
