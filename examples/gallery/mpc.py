"""A mass is pushed home with a force that has a bound, planned anew at every step.

Each plan is a quadratic program, solved by an interior point method: Newton's method on
the conditions of optimality, whose matrix is a band, so that a step takes time in
proportion to the horizon. Once the bound is out of reach, the plan is that of Riccati's
equation.
"""

from typing import Any

import numpy as np
from scipy.linalg import solve_discrete_are

import tensorgen
from gallery.runs import FITTED, HERE, OTHER, Array, Run

TITLE = "Model predictive control: a bounded force"
SPEC = HERE / "mpc.yaml"
SHOWN = "lagrangian_hess"
STEP, HORIZON, BOUND, PRICE, ROUNDS = 0.1, 30, 1.0, 0.1, 60
A = np.array([[1, STEP], [0, 1]])
B = np.array([[STEP**2 / 2], [STEP]])


def riccati() -> tuple[Array, Array]:
    """Return the price of a state without bounds, and the feedback that pays it."""
    S = solve_discrete_are(A, B, STEP * np.eye(2), np.array([[STEP * PRICE]]))
    feedback = np.linalg.solve(STEP * PRICE + B.T @ S @ B, B.T @ S @ A)
    return S, feedback


def plan(model: Any, now: Array, S: Array) -> Array:
    """Return states, forces and multipliers of the best plan from here."""
    Z = np.zeros((HORIZON, 5))
    barrier = 1.0
    while barrier > 1e-10:
        barrier /= 8
        given = {"now": now, "S": S, "barrier": barrier}
        for _ in range(20):
            residual = model.lagrangian_grad(Z, **given)
            if np.max(np.abs(residual)) < 1e-9:
                break
            d = -model.lagrangian_hess(Z, **given).solve(residual)
            # Forces may come close to their bound, not to it.
            room = np.where(d[:, 2] > 0, BOUND - Z[:, 2], BOUND + Z[:, 2])
            longest = np.min(room / np.maximum(np.abs(d[:, 2]), 1e-300))
            Z = Z + min(1.0, 0.95 * float(longest)) * d
    return Z


def run() -> Run:
    """Push the mass for six seconds, a plan a step."""
    model: Any = tensorgen.load(SPEC)
    S, feedback = riccati()
    now = np.array([3.0, 0.0])
    states, forces, plans = [now], [], []
    for _ in range(ROUNDS):
        plans.append(plan(model, now, S))
        force = plans[-1][0, 2]
        now = A @ now + B[:, 0] * force
        states.append(now)
        forces.append(float(force))
    path = np.array(states)

    paid = np.sum(path[:-1] ** 2) + PRICE * np.sum(np.square(forces))
    cost = STEP / 2 * float(paid)

    def draw(axes: Any) -> None:
        time = STEP * np.arange(ROUNDS + 1)
        axes.plot(time, path[:, 0], color=OTHER, label="position")
        axes.plot(time, path[:, 1], "--", color=OTHER, label="velocity")
        axes.step(time[:-1], forces, where="post", color=FITTED, label="force")
        axes.set(xlabel="time")

    numbers = {
        "steps with the force at its bound": f"{np.sum(np.abs(forces) > 0.999)}",
        "cost on the way": f"{cost:.4f}",
        "distance at the end": f"{np.linalg.norm(path[-1]):.4f}",
    }
    found = {"plans": plans, "path": path, "forces": np.array(forces)}
    return Run(numbers, draw, found | {"S": S, "feedback": feedback, "model": model})
