"""Calm and storm on the stock exchange, as two states that nobody sees.

The forward sums of a hidden Markov model are a recurrence in logarithms. What is called
smoothing elsewhere, the probability of each state given all data, is the gradient of
the log-likelihood by the log densities, and stands so in the spec. The returns are
those of the Standard & Poor's 500, 1981 to 1991 (`Ecdat::SP500`).
"""

from typing import Any

import garch
import numpy as np
from scipy import optimize

import tensorgen
from gallery.runs import FITTED, HERE, SEEN, Run

TITLE = "Hidden Markov model: calm and storm"
SPEC = HERE / "regimes.yaml"
SHOWN = "loss_grad"


def run() -> Run:
    """Fit by the BFGS method."""
    model: Any = tensorgen.load(SPEC)
    r = garch.returns()
    problem = model.LossProblem(r=r)
    start = problem.pack(mu=[0.05, -0.1], sigma=[0.7, 2.0], stay=[3.0, 2.0])
    v = optimize.minimize(
        problem.value_and_gradient,
        start,
        jac=True,
        method="BFGS",
        options={"gtol": 1e-5},
    ).x
    mu, sigma, stay = problem.unpack(v)
    loss, gradient = problem.value_and_gradient(v)
    state = model.filter(mu, sigma, stay, r).state

    def draw(axes: Any) -> None:
        years = np.linspace(1981, 1991.3, len(r))
        axes.plot(years, r, color=SEEN, linewidth=0.7, label="return")
        axes.set(ylabel="% a day", ylim=(-10, 10))
        right = axes.twinx()
        right.fill_between(years, state[:, 1], color=FITTED, alpha=0.4, linewidth=0)
        right.set(ylim=(0, 1), ylabel="probability of storm")

    stays = 1 / (1 + np.exp(-stay))
    numbers = {
        "log-likelihood": f"{-float(loss):.3f}",
        "mean, calm and storm": f"{mu[0]:.3f}%, {mu[1]:.3f}%",
        "standard deviation": f"{sigma[0]:.3f}%, {sigma[1]:.3f}%",
        "lasts for, days": f"{1 / (1 - stays[0]):.1f}, {1 / (1 - stays[1]):.1f}",
    }
    found = {"mu": mu, "sigma": sigma, "stays": stays, "state": state, "r": r}
    return Run(numbers, draw, found | {"loss": float(loss), "gradient": gradient})
