"""Calm and stormy times of a stock index: a variance that follows what happened.

Both the value and the gradient of the GARCH(1, 1) likelihood are linear filters: what
is generated has no loop. The returns are ten years of the Standard & Poor's 500; the
crash of October 1987, a fall of 23%, is far below the picture.
"""

from typing import Any

import garch
import numpy as np

import tensorgen
from gallery.runs import EXAMPLES, FITTED, SEEN, Run, table

TITLE = "GARCH: volatility of a stock index"
SPEC = EXAMPLES / "garch.yaml"
SHOWN = "loss_grad"


def run() -> Run:
    """Fit mean, constant and both shares by Newton's method."""
    model: Any = tensorgen.load(SPEC)
    r = garch.returns()
    found = garch.fit(model, r)
    volatility = np.sqrt(model.variance(found, r)[:-1])

    def draw(axes: Any) -> None:
        # The days have no dates: from January 1981 to April 1991, spread evenly.
        years = np.linspace(1981, 1991.3, len(r))
        axes.plot(years, r, color=SEEN, linewidth=0.5, label="return")
        for sign, label in ((2, "twice the volatility"), (-2, None)):
            axes.plot(years, sign * volatility, color=FITTED, label=label)
        axes.set(ylabel="% a day", ylim=(-12, 12))

    numbers = {"log-likelihood": f"{-float(model.loss(found, r)):.2f}"}
    numbers |= table(["mu", "omega", "alpha", "beta"], found)
    return Run(numbers, draw, {"theta": found, "r": r})
