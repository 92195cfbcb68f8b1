"""How high the sea will rise in a hundred years, from the highest of each year.

Maxima have a distribution of three parameters, whatever they are maxima of. The data
are the highest tides of Port Pirie, 1923 to 1987, from Coles' book on extreme values
(`texmex::portpirie`), which states the fit. Newton's method has the exact Hessian, and
the Jacobian of the levels carries its inverse over to their errors.
"""

from typing import Any

import numpy as np

import tensorgen
from gallery.runs import FITTED, HERE, SEEN, Array, Run, newton, packaged, table

TITLE = "Extreme values: tides of Port Pirie"
SPEC = HERE / "tides.yaml"
SHOWN = "nll_grad"


def highest() -> Array:
    """Return the highest tide of each year, in m."""
    return np.array([float(x) for x in packaged("texmex/portpirie")["SeaLevel"]])


def run() -> Run:
    """Fit; tell the level of a hundred years with its standard error."""
    model: Any = tensorgen.load(SPEC)
    z = highest()
    problem = model.NllProblem(z=z)
    start = problem.pack(mu=z.mean(), sigma=z.std(), xi=-0.1)
    v = newton(problem, start)
    covariance = np.linalg.inv(np.asarray(problem.hessian(v)))
    years = np.geomspace(1.1, 1000, 80)
    levels = model.level(*v, years)
    J = np.stack([block.dense() for block in model.level_jac(*v, years)], axis=1)
    errors = np.sqrt(np.sum(J @ covariance * J, axis=1))
    century = float(model.level(*v, [100.0])[0])

    def draw(axes: Any) -> None:
        n = len(z)
        axes.plot(1 / (1 - np.arange(1, n + 1) / (n + 1)), np.sort(z), ".", color=SEEN)
        axes.plot(years, levels, color=FITTED, label="fit")
        for sign in (-2, 2):
            axes.plot(years, levels + sign * errors, color=FITTED, linewidth=0.6)
        axes.set(xscale="log", xlabel="exceeded once in so many years", ylabel="m")

    numbers = {"log-likelihood": f"{-float(problem.value(v)):.4f}"}
    numbers |= table(["mu", "sigma", "xi"], v, 4)
    numbers["exceeded once in a century"] = f"{century:.2f} m"
    return Run(numbers, draw, {"parameters": v, "covariance": covariance})
