import fits
import numpy as np


def test_coefficients_are_found():
    X = np.random.default_rng(0).normal(size=(50, 3))
    w = np.array([1.0, -2.0, 3.0])
    assert np.allclose(fits.fit(X, X @ w, lam=1e-9), w)
