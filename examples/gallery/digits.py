"""Handwritten digits, told apart by one linear score each.

Softmax regression on 1797 pictures of 8 by 8 pixels (scikit-learn's `digits`). The
Hessian of 640 coefficients is what a truncated Newton method multiplies by without ever
forming it; the coefficients of each digit are a picture themselves.
"""

from typing import Any

import numpy as np
from minimise import newton
from sklearn.datasets import load_digits

import tensorgen
from gallery.runs import EXAMPLES, Array, Run

TITLE = "Softmax regression: handwritten digits"
SPEC = EXAMPLES / "softmax_regression.yaml"
SHOWN = "loss_hvp"
LAM = 1e-3


def pictures() -> tuple[Array, Array]:
    """Return pixels between 0 and 1, a picture a row, and labels, one-hot."""
    X, labels = load_digits(return_X_y=True)
    return X / 16, np.eye(10)[labels]


def run() -> Run:
    """Fit two pictures in three, and look at the others."""
    model: Any = tensorgen.load(SPEC)
    X, Y = pictures()
    fresh = np.arange(len(X)) % 3 == 2

    def value_and_gradient(v: Array) -> tuple[float, Array]:
        W = v.reshape(64, 10)
        value, gradient = model.loss_value_and_grad(W, X[~fresh], Y[~fresh], lam=LAM)
        return float(value), gradient.ravel()

    def hvp(v: Array, d: Array) -> Array:
        W, dW = v.reshape(64, 10), d.reshape(64, 10)
        found = model.loss_hvp(W, X[~fresh], Y[~fresh], dW, lam=LAM)
        return np.asarray(found).ravel()

    W = newton(value_and_gradient, hvp, np.zeros(640)).reshape(64, 10)
    told = np.argmax(model.predict(W, X[fresh]), axis=1)
    right = float(np.mean(told == np.argmax(Y[fresh], axis=1)))

    def draw(axes: Any) -> None:
        images = W.T.reshape(2, 5, 8, 8).transpose(0, 2, 1, 3).reshape(16, 40)
        axes.imshow(images, cmap="RdBu_r", vmin=-3, vmax=3)
        axes.set_axis_off()

    loss, _ = value_and_gradient(W.ravel())
    numbers = {
        "mean cross-entropy and penalty": f"{loss:.5f}",
        "pictures told right that were not seen": f"{right:.1%}",
    }
    return Run(numbers, draw, {"W": W, "fresh": fresh, "right": right})
