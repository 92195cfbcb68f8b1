"""Write data/expected_coefficients.txt: scikit-learn's fit of the demo's data.

Run it as `python examples/expected_coefficients.py`; it needs scikit-learn. The demo
compares its own coefficients with that file, so that it needs NumPy alone.
"""

import numpy as np
import sklearn
from breast_cancer import DATA, load
from sklearn.linear_model import LogisticRegression

EXPECTED = DATA / "expected_coefficients.txt"
LAM = 0.1  # weight of the penalty, as in the demo


def main() -> None:
    """Fit tightly and write one line a coefficient, the intercept last."""
    X, y, names = load()
    # scikit-learn minimises C * sum(log(1 + exp(-y * X @ w))) + norm(w)**2 / 2, which
    # has the demo's minimiser for C = 1 / (2 * lam). The intercept is a column of X
    # here, so it is penalised like the others.
    model = LogisticRegression(
        C=1 / (2 * LAM),
        fit_intercept=False,
        solver="newton-cholesky",
        tol=1e-14,
        max_iter=1000,
    )
    w = model.fit(X, y).coef_[0]
    slope = X.T @ (-y / (1 + np.exp(y * (X @ w)))) + 2 * LAM * w
    with EXPECTED.open("w", encoding="utf-8") as file:
        print("# Written by examples/expected_coefficients.py:", file=file)
        print(f"# scikit-learn {sklearn.__version__}, lam = {LAM},", file=file)
        print(f"# norm of the gradient {np.linalg.norm(slope):.1e}", file=file)
        for name, value in zip(names, w, strict=True):
            print(f"{value: .12f}  {name}", file=file)


if __name__ == "__main__":
    main()
