"""Does a treatment help, where the answer is none, some or marked?

The categories are ordered, and a treatment moves the odds of all cuts by one factor.
The data are 84 patients of a double-blind trial by Koch and Edwards (`vcd::Arthritis`).
"""

from typing import Any

import numpy as np

import tensorgen
from gallery.runs import FITTED, HERE, OTHER, SEEN, Array, Run, newton, packaged, table

TITLE = "Ordinal regression: a trial against arthritis"
SPEC = HERE / "arthritis.yaml"
SHOWN = "nll_grad"
ANSWERS = ["None", "Some", "Marked"]
NAMES = ["treated", "female", "age, in decades"]


def patients() -> tuple[Array, Any]:
    """Return `X[i, j]` and the category of each patient's answer."""
    rows = packaged("vcd/Arthritis")
    X = [
        [float(x == "Treated") for x in rows["Treatment"]],
        [float(x == "Female") for x in rows["Sex"]],
        [float(x) / 10 for x in rows["Age"]],
    ]
    return np.array(X).T, np.array([ANSWERS.index(x) for x in rows["Improved"]])


def run() -> Run:
    """Fit by Newton's method."""
    model: Any = tensorgen.load(SPEC)
    X, answer = patients()
    problem = model.NllProblem(X=X, answer=answer)
    v = newton(problem, problem.pack(beta=np.zeros(3), cut=[0.0, 1.0]))
    beta, cut = problem.unpack(v)

    def draw(axes: Any) -> None:
        age = np.linspace(20, 75, 56)
        for treated, style in ((0.0, "--"), (1.0, "-")):
            ones = np.ones_like(age)
            rows = np.stack([treated * ones, ones, age / 10], axis=1)
            share = model.share(beta, cut, rows)
            for k, color in enumerate((SEEN, OTHER, FITTED)):
                label = ANSWERS[k].lower() if treated else None
                axes.plot(age, share[:, k], style, color=color, label=label)
        axes.set(xlabel="age of a woman (dashed: placebo)", ylabel="probability")

    numbers = {"log-likelihood": f"{-float(problem.value(v)):.4f}"}
    numbers |= table([*NAMES, "first cut", "second cut"], v, 4)
    return Run(numbers, draw, {"beta": beta, "cut": cut})
