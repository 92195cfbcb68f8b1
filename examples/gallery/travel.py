"""By air, train, bus or car: how travellers between Sydney and Melbourne choose.

McFadden's conditional logit. The data are 210 travellers of Hensher and Greene, as
statsmodels has them (`modechoice`); Greene's *Econometric Analysis* states the fit.
"""

from typing import Any

import numpy as np
from statsmodels.datasets import modechoice

import tensorgen
from gallery.runs import FITTED, HERE, OTHER, Array, Run, newton, table

TITLE = "Discrete choice: how to travel"
SPEC = HERE / "travel.yaml"
SHOWN = "nll_hess"
NAMES = ["air", "train", "bus", "generalised cost", "waiting time", "income, by air"]


def travellers() -> tuple[Array, Any]:
    """Return `X[i, offer, j]`, and the offer that each traveller took."""
    frame = modechoice.load_pandas().data
    offer = np.eye(4)[np.tile(np.arange(4), len(frame) // 4)][:, :3]
    income = frame["hinc"].to_numpy() * offer[:, 0]
    parts = [offer, frame[["gc", "ttme"]].to_numpy(), income[:, None]]
    X = np.concatenate(parts, axis=1).reshape(-1, 4, 6)
    return X, np.argmax(frame["choice"].to_numpy().reshape(-1, 4), axis=1)


def run() -> Run:
    """Fit by Newton's method."""
    model: Any = tensorgen.load(SPEC)
    X, taken = travellers()
    problem = model.NllProblem(X=X, taken=taken)
    beta = newton(problem, np.zeros(6))

    def draw(axes: Any) -> None:
        place = np.arange(4.0)
        expected = model.share(beta, X).mean(axis=0)
        dearer = X.copy()
        dearer[:, 0, 3] *= 1.25
        axes.bar(place - 0.2, expected, 0.4, color=OTHER, label="as it is")
        after = model.share(beta, dearer).mean(axis=0)
        axes.bar(place + 0.2, after, 0.4, color=FITTED, label="flights cost 25% more")
        axes.set(xticks=place, xticklabels=["air", "train", "bus", "car"])
        axes.set(ylabel="share of travellers")

    numbers = {"log-likelihood": f"{-float(problem.value(beta)):.4f}"}
    return Run(
        numbers | table(NAMES, beta, 4), draw, {"beta": beta, "problem": problem}
    )
