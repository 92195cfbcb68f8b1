"""An influenza in a boarding school: 763 boys, and one of them was ill.

The equations of Kermack and McKendrick, followed by steps of the midpoint rule as a
recurrence; the gradient runs back over all of them. The data are those of the British
Medical Journal of 4 March 1978.
"""

from typing import Any

import numpy as np
from scipy import optimize

import tensorgen
from gallery.runs import FITTED, HERE, SEEN, Run

TITLE = "SIR: an influenza in a boarding school"
SPEC = HERE / "influenza.yaml"
SHOWN = "loss_grad"
BOYS = 763.0
ILL = np.array([3.0, 8, 28, 75, 221, 291, 255, 235, 190, 126, 70, 28, 12, 5])


def run() -> Run:
    """Fit both rates by the BFGS method."""
    model: Any = tensorgen.load(SPEC)
    problem = model.LossProblem(boys=BOYS, ill=ILL)
    with np.errstate(all="ignore"):  # the first step goes far out
        v = optimize.minimize(
            problem.value_and_gradient,
            np.array([1.7, 0.5]),
            jac=True,
            method="BFGS",
            options={"gtol": 1e-3},
        ).x
    beta, gamma = v
    course = model.course(beta, gamma, BOYS, days=len(ILL))

    def draw(axes: Any) -> None:
        days = np.arange(len(course)) / 20
        axes.plot(days, course[:, 1], color=FITTED, label="ill, by the model")
        axes.plot(1 + np.arange(len(ILL)), ILL, "o", color=SEEN, label="ill")
        axes.set(xlabel="day", ylabel="boys")

    numbers = {
        "one boy infects, in a day": f"{beta:.4f}",
        "share that recovers in a day": f"{gamma:.4f}",
        "one boy infects, in all": f"{beta / gamma:.3f}",
        "boys that escape": f"{course[-1, 0]:.0f}",
    }
    return Run(numbers, draw, {"v": v, "loss": float(problem.value(v))})
