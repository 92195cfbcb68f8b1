"""Swing a pendulum up by Newton's method on the optimality conditions.

The Lagrangian's gradient is zero at the solution; its Hessian, the KKT matrix, is
indefinite, and a band in the order of the unknowns that the spec has chosen.
"""

from pathlib import Path

import numpy as np

import tensorgen

HERE = Path(__file__).resolve().parent
TIME, POINTS = 3.0, 200
START, GOAL = np.array([0.0, 0.0]), np.array([np.pi, 0.0])


def main() -> np.ndarray:
    """Solve; return angle, velocity, torque and multipliers at each time."""
    model = tensorgen.load(HERE / "optimal_control.yaml")
    arguments = {"start": START, "goal": GOAL, "h": TIME / (POINTS - 1)}
    Z = np.zeros((POINTS, 5))
    Z[:, 0] = np.linspace(START[0], GOAL[0], POINTS)
    print("iteration       residual   step")
    for iteration in range(100):
        _, residual, kkt = model.lagrangian_value_grad_hess(Z, **arguments)
        norm = float(np.linalg.norm(residual))
        if norm <= 1e-9:
            print(f"{iteration:9d} {norm:14.3e}")
            break
        d = -kkt.solve(residual)
        step = 1.0
        while step > 1e-4:
            trial = np.linalg.norm(model.lagrangian_grad(Z + step * d, **arguments))
            if trial <= (1 - step / 4) * norm:
                break
            step /= 2
        print(f"{iteration:9d} {norm:14.3e} {step:6.3f}")
        Z = Z + step * d
    print(f"the last angle is {Z[-1, 0]:.4f}, the largest torque {Z[:, 2].max():.4f}")
    return Z


if __name__ == "__main__":
    main()
