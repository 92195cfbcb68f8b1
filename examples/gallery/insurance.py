"""How often car insurance is claimed, by district, size of car and age of the holder.

A Poisson regression of counts whose logarithm of exposure, the number of holders, is
known. The data are 64 groups of policies of 1973, from Baxter, Coutts and Ross, as
`MASS::Insurance` has them.
"""

from typing import Any

import numpy as np

import tensorgen
from gallery.runs import EXAMPLES, FITTED, Array, Run, packaged, table

TITLE = "Poisson regression with exposures"
SPEC = EXAMPLES / "poisson_regression.yaml"
SHOWN = "nll_hess"
LEVELS = {
    "District": ["1", "2", "3", "4"],
    "Group": ["<1l", "1-1.5l", "1.5-2l", ">2l"],
    "Age": ["<25", "25-29", "30-35", ">35"],
}


def policies() -> tuple[list[str], Array, Array, Array]:
    """Return names of columns, `X[i, j]` of zeros and ones, claims and holders."""
    rows = packaged("MASS/Insurance")
    names, parts = ["intercept"], [np.ones(len(rows["Claims"]))]
    for factor, levels in LEVELS.items():
        for level in levels[1:]:
            names.append(f"{factor} {level}")
            parts.append(np.array([float(x == level) for x in rows[factor]]))
    y, exposure = (np.array([*map(float, rows[x])]) for x in ("Claims", "Holders"))
    return names, np.column_stack(parts), y, exposure


def run() -> Run:
    """Fit by Newton's method; the Hessian is Fisher's information."""
    model: Any = tensorgen.load(SPEC)
    names, X, y, exposure = policies()
    w = np.zeros(X.shape[1])
    w[0] = np.log(np.sum(y) / np.sum(exposure))
    for _ in range(30):
        _, gradient, hessian = model.nll_value_grad_hess(w, X, y, exposure)
        if np.max(np.abs(gradient)) < 1e-10:
            break
        w = w - hessian.solve(gradient)
    error = np.sqrt(np.diag(np.linalg.inv(np.asarray(hessian))))

    def draw(axes: Any) -> None:
        place = np.arange(len(names) - 1)
        axes.errorbar(w[1:], place, xerr=2 * error[1:], fmt="o", color=FITTED)
        axes.axvline(0, color="black", linewidth=0.5)
        axes.set(yticks=place, yticklabels=names[1:], xlabel="log rate ratio")
        axes.invert_yaxis()

    return Run(table(names, w, 4), draw, {"w": w, "error": error})
