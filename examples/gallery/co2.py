"""Carbon dioxide in the air above Mauna Loa, and where it is going.

A sum of kernels has one hyperparameter for each thing that one sees in the curve, nine
in all, and L-BFGS follows the gradient of the marginal likelihood. The data are the
weekly means of 1958 to 2001 by Keeling and Whorf, every thirteenth of them, as
statsmodels has them (`co2`).
"""

from typing import Any

import numpy as np
from scipy import optimize
from statsmodels.datasets import co2

import tensorgen
from gallery.runs import FITTED, HERE, SEEN, Array, Run, table

TITLE = "Gaussian process: the air above Mauna Loa"
SPEC = HERE / "co2.yaml"
SHOWN = "nll_grad"
NAMES = [
    *("variance of the trend", "its length", "variance of the seasons"),
    *("length of their drift", "their shape", "variance of irregularities"),
    *("their length", "their mixture", "noise"),
]
# Rasmussen and Williams, section 5.4.3, rounded.
START = [66.0**2, 67, 2.4**2, 90, 1.3, 0.66**2, 1.2, 0.78, 0.19**2]


def air() -> tuple[Array, Array]:
    """Return times in years, and parts per million."""
    frame = co2.load_pandas().data.resample("W").mean().dropna().iloc[::13]
    days = (frame.index - np.datetime64("1958-01-01")) / np.timedelta64(1, "D")
    return 1958 + np.asarray(days) / 365.25, frame["co2"].to_numpy()


def run() -> Run:
    """Fit the hyperparameters, and look twenty years ahead."""
    model: Any = tensorgen.load(SPEC)
    t, y = air()
    centred = y - y.mean()
    problem = model.NllProblem(t=t, y=centred)
    h = optimize.minimize(
        problem.value_and_gradient,
        np.log(START),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": 300, "ftol": 1e-14, "gtol": 1e-5},
    ).x

    def draw(axes: Any) -> None:
        later = np.arange(2001, 2021, 1 / 12)
        ahead = y.mean() + model.mean(h=h, t=t, y=centred, later=later)
        axes.plot(t, y, color=SEEN, label="measured until 2001")
        axes.plot(later, ahead, color=FITTED, label="expected")
        axes.set(ylabel="ppm")

    numbers = {"log marginal likelihood": f"{-float(problem.value(h)):.2f}"}
    return Run(numbers | table(NAMES, np.exp(h), 2), draw, {"h": h, "problem": problem})
