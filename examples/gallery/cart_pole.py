"""A pole that hangs from a cart is swung up, with the least effort, in two seconds.

States and forces at all times are variables, and what leads from one time to the next
are constraints. SciPy's SLSQP comes near, and Newton's method on the conditions of
optimality, whose sparse matrix the module has, does the rest. No force is at its bound.
The numbers are those of Kelly's tutorial on direct collocation (SIAM Review, 2017).
"""

from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import lsqr, splu

import tensorgen
from gallery.runs import FITTED, HERE, OTHER, SEEN, Array, Run, constrained

TITLE = "Cart-pole: the swing-up"
SPEC = HERE / "cart_pole.yaml"
SHOWN = "steps"
TIMES, LONG = 31, 2.0
GOAL = np.array([1.0, np.pi, 0.0, 0.0])


def polished(p: Any, v: Array) -> tuple[Array, Array]:
    """Return variables and multipliers after Newton's steps on the KKT system."""
    rows, columns = p.jacobianstructure()
    lagrange = np.zeros(p.m)
    for step in range(20):
        J = sparse.csc_array((p.jacobian(v), (rows, columns)), shape=(p.m, p.n))
        if step == 0:
            lagrange = -lsqr(J.T, p.gradient(v), atol=1e-12, btol=1e-12)[0]
        residual = np.concatenate([p.gradient(v) + J.T @ lagrange, p.constraints(v)])
        if np.max(np.abs(residual)) < 1e-9:
            break
        H = p.lagrangian_hessian(v, lagrange, 1.0).tocsc()
        kkt = sparse.block_array([[H, J.T], [J, None]], format="csc")
        d = splu(kkt).solve(residual)
        v, lagrange = v - d[: p.n], lagrange - d[p.n :]
    return v, lagrange


def run() -> Run:
    """Swing up, from a straight line in time as the first guess."""
    model: Any = tensorgen.load(SPEC)
    p = model.CartPoleProblem(goal=GOAL, h=LONG / (TIMES - 1), N=TIMES)
    share = np.linspace(0, 1, TIMES)[:, None]
    start = p.pack(x=share * GOAL, u=np.zeros(TIMES))
    v, lagrange = polished(p, constrained(p, start, 1e-6))
    x, u = p.unpack(v)

    def draw(axes: Any) -> None:
        bob = x[:, :1] + 0.5 * np.stack([np.sin(x[:, 1]), -np.cos(x[:, 1])], 1)
        bob[:, 0] = x[:, 0] + 0.5 * np.sin(x[:, 1])
        for k in range(0, TIMES, 2):
            place = np.array([[x[k, 0], 0], bob[k]])
            axes.plot(*place.T, color=SEEN, linewidth=0.8)
        axes.plot(*bob.T, ".-", color=FITTED, label="bob")
        axes.plot(x[:, 0], 0 * u, "s", color=OTHER, markersize=4, label="cart")
        axes.set(aspect="equal")

    numbers = {
        "variables and constraints": f"{p.n}, {p.m}",
        "effort": f"{float(p.objective(v)):.3f}",
        "largest force": f"{np.max(np.abs(u)):.2f}",
    }
    return Run(numbers, draw, {"v": v, "lagrange": lagrange, "problem": p})
