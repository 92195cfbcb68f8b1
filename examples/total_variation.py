"""Take the noise out of a picture of bright shapes on a dark ground.

The Hessian joins each pixel with its neighbours alone; a product with it costs a few
passes over the image, and Newton's method with conjugate gradients never forms it.
"""

from pathlib import Path
from typing import Any

import numpy as np
from minimise import newton

import tensorgen

HERE = Path(__file__).resolve().parent
SIZE = 64


def picture() -> np.ndarray:
    """Return a disc, a bar and a frame, of different brightness."""
    y, x = np.mgrid[:SIZE, :SIZE] / SIZE
    u: np.ndarray = 1.0 * ((x - 0.35) ** 2 + (y - 0.4) ** 2 < 0.04)
    u[(np.abs(x - 0.75) < 0.08) & (np.abs(y - 0.5) < 0.3)] = 0.6
    u[(np.abs(x - 0.3) < 0.2) & (np.abs(y - 0.8) < 0.06)] = 0.8
    return u


def restore(model: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the picture, the noisy one, and what is restored of it."""
    clean = picture()
    noisy = clean + 0.15 * np.random.default_rng(1).standard_normal(clean.shape)

    def value_and_gradient(v: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = model.loss_value_and_grad(v.reshape(clean.shape), noisy)
        return float(value), gradient.ravel()

    def hvp(v: np.ndarray, d: np.ndarray) -> np.ndarray:
        shape = clean.shape
        Hd = model.loss_hvp(v.reshape(shape), noisy, d.reshape(shape))
        return np.asarray(Hd).ravel()

    u = newton(value_and_gradient, hvp, noisy.ravel(), small=1e-6)
    return clean, noisy, u.reshape(clean.shape)


def main() -> tuple[float, float]:
    """Restore; return the root mean square errors before and after."""
    clean, *images = restore(tensorgen.load(HERE / "total_variation.yaml"))
    before, after = (float(np.sqrt(np.mean((u - clean) ** 2))) for u in images)
    print(f"root mean square error {before:.4f} before, {after:.4f} after")
    return before, after


if __name__ == "__main__":
    main()
