"""Three industries and the market as a whole: how much of each, and who bears the risk?

Markowitz's efficient frontier without short sales is a constrained problem, which SciPy
takes as it stands; risk parity, where each asset contributes the same, is the minimum
of a convex function that Newton's method finds. The data are monthly returns of
American stocks above that of bills, 1960 to 2002, from Verbeek's *Modern Econometrics*
(`Ecdat::Capm`).
"""

from typing import Any

import numpy as np

import tensorgen
from gallery.runs import (
    FITTED,
    HERE,
    OTHER,
    SEEN,
    Array,
    Run,
    constrained,
    newton,
    packaged,
)

TITLE = "Portfolio: Markowitz and risk parity"
SPEC = HERE / "portfolio.yaml"
SHOWN = "parity_hess"


NAMES = {"rfood": "food", "rdur": "durables", "rcon": "building", "rmrf": "market"}


def returns() -> Array:
    """Return monthly returns above that of bills, in percent, a month a row."""
    rows = packaged("Ecdat/Capm")
    return np.array([[float(x) for x in rows[name]] for name in NAMES]).T


def run() -> Run:
    """Follow the frontier, and balance the risks; all numbers are those of a year."""
    model: Any = tensorgen.load(SPEC)
    names, monthly = [*NAMES.values()], returns()
    mean, S = 12 * monthly.mean(axis=0), 12 * np.cov(monthly.T)
    problem = model.PortfolioProblem(mean=mean, S=S)
    shares, n = [], len(names)
    for wanted in np.linspace(float(mean.min()), float(mean.max()) - 1e-6, 25):
        problem.update(wanted=wanted)
        shares.append(constrained(problem, np.full(n, 1 / n), 1e-12))
    frontier = np.array(shares)
    v = newton(model.ParityProblem(S=S), np.full(n, 0.05), small=1e-11)
    even = v / np.sum(v)
    risk = model.risk(even, S)

    def draw(axes: Any) -> None:
        spread = np.sqrt(np.diag(S))
        deviation = np.sqrt([w @ S @ w for w in frontier])
        axes.plot(deviation, frontier @ mean, color=FITTED, label="efficient")
        axes.plot(spread, mean, "o", color=SEEN)
        for name, place in zip(names, np.stack([spread, mean], 1), strict=True):
            axes.annotate(name, place, xytext=(4, -3), textcoords="offset points")
        axes.plot(risk.sum(), even @ mean, "D", color=OTHER, label="risk parity")
        axes.set(xlabel="standard deviation, % a year", ylabel="return, % a year")

    least = frontier[0]
    numbers = {
        "least risk": ", ".join(
            f"{name} {x:.1%}" for name, x in zip(names, least, strict=True)
        ),
        "its standard deviation": f"{np.sqrt(least @ S @ least):.2f}%",
        "risk parity": ", ".join(
            f"{name} {x:.1%}" for name, x in zip(names, even, strict=True)
        ),
        "each bears": f"{risk.mean():.3f}%",
    }
    found_all = {"frontier": frontier, "even": even, "risk": risk, "mean": mean, "S": S}
    return Run(numbers, draw, found_all)
