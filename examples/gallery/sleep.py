"""How reaction slows down without sleep: a line for each subject, drawn to that of all.

What subjects have of their own is integrated out, and all subjects share one
covariance. The data are 18 drivers over ten days, from Belenky and others
(`lme4::sleepstudy`), the first example of lme4, whose manual has the same numbers.
"""

from typing import Any

import numpy as np

import tensorgen
from gallery.runs import FITTED, HERE, SEEN, Array, Run, newton, packaged

TITLE = "Linear mixed model: reaction without sleep"
SPEC = HERE / "sleep.yaml"
SHOWN = "nll_grad"


def drivers() -> tuple[Array, Array]:
    """Return `Z[t, j]`, ones and days, and reaction times `Y[i, t]` in ms."""
    reaction = np.array([float(x) for x in packaged("lme4/sleepstudy")["Reaction"]])
    days = np.arange(10.0)
    return np.stack([np.ones(10), days], axis=1), reaction.reshape(-1, 10)


def run() -> Run:
    """Fit by maximum likelihood, with Newton's method."""
    model: Any = tensorgen.load(SPEC)
    Z, Y = drivers()
    problem = model.NllProblem(Z=Z, Y=Y)
    start = problem.pack(
        beta=np.linalg.lstsq(Z, Y.mean(axis=0), rcond=None)[0],
        factor=[1.0, 0.0, 0.2],
        log_noise=np.log(30.0),
    )
    v = newton(problem, start)
    beta, factor, log_noise = problem.unpack(v)
    noise = float(np.exp(log_noise))
    L = noise * np.array([[factor[0], 0], [factor[1], factor[2]]])
    cov = L @ L.T
    own = model.own(beta=beta, factor=factor, Z=Z, Y=Y)

    def draw(axes: Any) -> None:
        for y, b in zip(Y[:6], own[:6], strict=True):
            axes.plot(Z[:, 1], y, ".", color=SEEN)
            axes.plot(Z[:, 1], Z @ (beta + b), color=SEEN, linewidth=0.8)
        axes.plot(Z[:, 1], Z @ beta, color=FITTED, linewidth=2, label="all")
        axes.set(xlabel="days without sleep", ylabel="reaction [ms]")

    deviations = np.sqrt(np.diag(cov))
    numbers = {
        "log-likelihood": f"{-float(problem.value(v)):.4f}",
        "intercept and slope": f"{beta[0]:.3f}, {beta[1]:.3f}",
        "their standard deviations": f"{deviations[0]:.3f}, {deviations[1]:.3f}",
        "correlation": f"{cov[0, 1] / np.prod(deviations):.3f}",
        "noise": f"{noise:.3f}",
    }
    return Run(numbers, draw, {"beta": beta, "cov": cov, "noise": noise})
