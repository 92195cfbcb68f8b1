"""Who dies when: hazards that differ by a factor, whatever the hazard itself is.

Each death is a choice among those still at risk, and the partial likelihood a
`logsumexp` over them. The data are 137 veterans with lung cancer, from Kalbfleisch and
Prentice (`survival::veteran`); Karnofsky's score says how well a patient can look after
himself.
"""

from typing import Any

import numpy as np

import tensorgen
from gallery.runs import FITTED, HERE, OTHER, SEEN, Array, Run, newton, packaged, table

TITLE = "Cox's proportional hazards"
SPEC = HERE / "cox.yaml"
SHOWN = "nll_grad"
CELLS = ["smallcell", "adeno", "large"]  # beside squamous ones


def veterans() -> tuple[list[str], Array, Array, Array]:
    """Return names of columns, `X[i, j]`, times, and who died."""
    rows = packaged("survival/veteran")
    own = {
        "treatment": [float(x) - 1 for x in rows["trt"]],
        **{cell: [float(x == cell) for x in rows["celltype"]] for cell in CELLS},
        "Karnofsky's score": [float(x) for x in rows["karno"]],
        "months since diagnosis": [float(x) for x in rows["diagtime"]],
        "age": [float(x) for x in rows["age"]],
        "prior therapy": [float(x) / 10 for x in rows["prior"]],
    }
    time, died = (np.array([*map(float, rows[x])]) for x in ("time", "status"))
    return [*own], np.array([*own.values()]).T, time, died


def run() -> Run:
    """Fit by Newton's method; draw survival by Breslow's hazard."""
    model: Any = tensorgen.load(SPEC)
    names, X, time, died = veterans()
    centre = X.mean(axis=0)
    problem = model.NllProblem(X=X - centre, time=time, died=died)
    beta = newton(problem, np.zeros(len(names)))

    def draw(axes: Any) -> None:
        risk = np.exp((X - centre) @ beta)
        days = np.unique(time[died == 1])
        steps = [sum(died[time == t]) / sum(risk[time >= t]) for t in days]
        hazard = np.concatenate([[0], np.cumsum(steps)])
        for score, color in ((30, FITTED), (60, SEEN), (90, OTHER)):
            ratio = np.exp((score - centre[4]) * beta[4])
            axes.step(
                np.concatenate([[0], days]),
                np.exp(-hazard * ratio),
                where="post",
                color=color,
                label=f"score {score}",
            )
        axes.set(xlabel="days", ylabel="alive", xlim=(0, 600))

    numbers = {"log partial likelihood": f"{-float(problem.value(beta)):.4f}"}
    return Run(numbers | table(names, beta, 4), draw, {"beta": beta})
