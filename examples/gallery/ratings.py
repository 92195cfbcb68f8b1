"""Ratings of lectures, predicted from those that others gave.

Each student and each lecturer has a few numbers and an intercept. Given those of the
lecturers the loss is quadratic in the students', and couples no two of them: the
Hessian stores a small block a student, and one Newton step solves all. The data are
73421 ratings of lectures at ETH Zurich (`lme4::InstEval`).
"""

from typing import Any

import recommender

import tensorgen
from gallery.runs import EXAMPLES, FITTED, SEEN, Run

TITLE = "Recommender: factors of students and lecturers"
SPEC = EXAMPLES / "recommender.yaml"
SHOWN = "rows_hess"


def run() -> Run:
    """Fit nine ratings in ten by alternating Newton steps."""
    model: Any = tensorgen.load(SPEC)
    errors, baseline = recommender.fit(model)

    def draw(axes: Any) -> None:
        axes.plot(errors, color=FITTED, marker="o", label="factors")
        axes.axhline(baseline, color=SEEN, label="mean of each lecturer")
        axes.set(xlabel="sweep", ylabel="error of ratings held out")

    numbers = {
        "error of ratings held out, root mean square": f"{errors[-1]:.3f}",
        "error of each lecturer's mean": f"{baseline:.3f}",
    }
    return Run(numbers, draw, {"errors": errors, "baseline": baseline})
