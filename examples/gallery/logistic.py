"""The odds that a tumour is malignant, from thirty measurements of its cells.

The log-likelihood of labels is a sum of `log(1 + exp(t))`, which becomes
`np.logaddexp`; Newton's method takes a dozen steps. The data are the 569 tumours of
Wisconsin, and scikit-learn's coefficients stand beside ours.
"""

from typing import Any

import breast_cancer
import numpy as np

import tensorgen
from gallery.runs import EXAMPLES, FITTED, OTHER, Run

TITLE = "Logistic regression"
SPEC = EXAMPLES / "logistic_regression.yaml"
SHOWN = "loss_hess"
LAM = 0.1


def run() -> Run:
    """Fit the tumours by full Newton steps."""
    model: Any = tensorgen.load(SPEC)
    X, y, _ = breast_cancer.load()
    w = np.zeros(X.shape[1])
    for _ in range(30):
        loss, gradient, hessian = model.loss_value_grad_hess(w, X, y, lam=LAM)
        if np.max(np.abs(gradient)) < 1e-9:
            break
        w = w - hessian.solve(gradient)
    score = X @ w

    def draw(axes: Any) -> None:
        bins = np.linspace(-20, 20, 41)
        for label, name, color in ((-1, "benign", OTHER), (1, "malignant", FITTED)):
            scores = np.clip(score[y == label], -20, 20)
            axes.hist(scores, bins, color=color, alpha=0.7, label=name)
        axes.set(xlabel="log odds of malignancy", ylabel="tumours")

    numbers = {
        "negative log-likelihood and penalty": f"{loss:.4f}",
        "tumours told right": f"{np.mean(np.sign(score) == y):.1%}",
    }
    return Run(numbers, draw, {"w": w})
