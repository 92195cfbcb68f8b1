"""Bend a rubber beam that is held at one end, by Newton's method on its mesh."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np

import tensorgen

HERE = Path(__file__).resolve().parent
LONG, HIGH = 11, 3  # nodes along and across
LOAD = 5e-3  # weight of the whole beam


def beam() -> SimpleNamespace:
    """Return the rest positions and the data of the spec for a beam of squares."""
    grid = np.stack(np.meshgrid(np.arange(LONG), np.arange(HIGH), indexing="ij"), -1)
    rest = 0.1 * grid.reshape(-1, 2)
    number = np.arange(LONG * HIGH).reshape(LONG, HIGH)
    a, b = number[:-1, :-1].ravel(), number[1:, :-1].ravel()
    c, d = number[1:, 1:].ravel(), number[:-1, 1:].ravel()
    tri = np.concatenate([np.stack([a, b, c], 1), np.stack([a, c, d], 1)])
    edges = rest[tri[:, 1:]] - rest[tri[:, :1]]
    area = np.linalg.det(edges) / 2
    load = np.zeros_like(rest)
    np.add.at(load[:, 1], tri, -LOAD * (area / np.sum(area))[:, None] / 3)
    pin = number[0]
    return SimpleNamespace(
        rest=rest,
        arguments={
            "tri": tri,
            "B": np.linalg.inv(edges).transpose(0, 2, 1),
            "area": area,
            "load": load,
            "pin": pin,
            "anchor": rest[pin],
        },
    )


def main() -> tuple[np.ndarray, np.ndarray]:
    """Find the equilibrium; return positions at rest and under load."""
    model = tensorgen.load(HERE / "mesh_energy.yaml")
    mesh = beam()
    x = mesh.rest.copy()
    print("iteration         energy   largest force   step")
    for iteration in range(50):
        energy, gradient, hessian = model.energy_value_grad_hess(x, **mesh.arguments)
        force = float(np.max(np.abs(gradient)))
        if force <= 1e-12:
            print(f"{iteration:9d} {energy:14.10f} {force:15.2e}")
            break
        d = -hessian.solve(gradient)
        step = 1.0
        while True:
            # The energy of a triangle that is turned inside out is NaN: no descent.
            with np.errstate(invalid="ignore", divide="ignore"):
                trial = model.energy(x + step * d, **mesh.arguments)
            if trial <= energy + 1e-4 * step * np.vdot(gradient, d) + 1e-15:
                break
            step /= 2
        print(f"{iteration:9d} {energy:14.10f} {force:15.2e} {step:6.3f}")
        x = x + step * d
    tip = x[-1] - mesh.rest[-1]
    print(f"the free end moved by ({tip[0]:.4f}, {tip[1]:.4f})")
    return mesh.rest, x


if __name__ == "__main__":
    main()
