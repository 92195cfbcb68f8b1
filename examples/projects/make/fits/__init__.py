"""Ridge regression, by one step of Newton's method."""

import numpy as np

from fits.ridge_numpy import loss_value_grad_hess


def fit(X, y, lam=1e-3):
    """Return the coefficients that explain y best."""
    start = np.zeros(X.shape[1])
    _, gradient, hessian = loss_value_grad_hess(start, X, y, lam=lam)
    return start - hessian.solve(gradient)
