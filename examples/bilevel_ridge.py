"""Choose a penalty for every coefficient by what it does on data held out.

Thirty measurements of tumours tell malignant ones from benign ones (data/README.md). A
half of the samples is fitted, a quarter says how strongly each coefficient should be
held back, and the last quarter has no say: it judges. The coefficients are a minimum
inside of the function that is minimised, an unknown; how they follow the penalties is
known from the theorem of implicit functions.
"""

from pathlib import Path
from typing import Any

import breast_cancer
import numpy as np
from minimise import newton
from numpy.typing import NDArray

import tensorgen

HERE = Path(__file__).resolve().parent

Array = NDArray[np.float64]


def parts() -> list[tuple[Array, Array]]:
    """Return a half, a quarter and a quarter of the samples, with their labels."""
    X, y, _ = breast_cancer.load()
    turn = np.arange(len(y)) % 4
    return [(X[own], y[own]) for own in (turn < 2, turn == 2, turn == 3)]


def main() -> tuple[float, float]:
    """Fit; return the losses where nobody looked: of one penalty, and of many."""
    model: Any = tensorgen.load(HERE / "bilevel_ridge.yaml")
    (X, y), (Xv, yv), (Xt, yt) = parts()

    def judged(rho: Array) -> float:
        return float(model.error(rho=rho, X=X, y=y, Xv=Xt, yv=yt, tau=0.0))

    # One penalty for all, the best of some, is what there is to beat.
    equal = [np.full(X.shape[1], r) for r in np.linspace(-4, 4, 17)]
    start = min(equal, key=lambda rho: float(model.error(rho, X, y, Xv, yv, tau=0.0)))
    problem = model.ErrorProblem(X=X, y=y, Xv=Xv, yv=yv)
    rho = newton(problem.value_and_gradient, problem.hvp, start)
    before, after = judged(start), judged(rho)
    print(f"one penalty, exp({start[0]:.1f}): loss {before:.4f} where nobody looked")
    print(f"thirty-one penalties:   loss {after:.4f}")
    return before, after


if __name__ == "__main__":
    main()
