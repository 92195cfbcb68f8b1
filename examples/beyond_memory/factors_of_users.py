"""Fit factors of users and items; each user's factors lie with the user's ratings.

    python examples/beyond_memory/factors_of_users.py

One flat vector has the factors of all users, in the order of the blocks, and of items.
A block is sent its slice of them, and gives the gradient there beside its totals. In
Newton steps it eliminates its users, of which a system of the items is left.
"""

from concurrent.futures import ProcessPoolExecutor
from functools import partial
from typing import Any

import numpy as np
from rows_in_files import arguments, module
from scipy.optimize import minimize

from tensorgen.engines import edges, executor_map


def ratings(users: int, items: int, rank: int) -> dict[str, Any]:
    """Return ratings of some items by each user, in no order."""
    rng = np.random.default_rng(0)
    U, V = rng.standard_normal((users, rank)), rng.standard_normal((items, rank))
    user, item = (rng.integers(0, size, 20 * users) for size in (users, items))
    rating = (U[user] * V[item]).sum(axis=1) + rng.standard_normal(len(user)) / 10
    return {"user": user, "item": item, "rating": rating}


def main(given: list[str] | None = None) -> tuple[Any, Any]:
    """Fit; return the function over blocks, and the vector."""
    parser = arguments(__doc__)
    parser.add_argument("--users", type=int, default=1000)
    parser.add_argument("--items", type=int, default=50)
    parser.add_argument("--rank", type=int, default=3)
    options = parser.parse_args(given)
    model = module(options.folder, "ratings_rows")
    data = ratings(options.users, options.items, options.rank)
    columns = {name: data[name] for name in ("item", "rating")}
    blocks = edges(
        {"user": data["user"]}, columns, count=options.users, size="users", rows=100
    )
    rng = np.random.default_rng(1)
    sizes = (options.users, options.rank), (options.items, options.rank)
    with executor_map(partial(ProcessPoolExecutor, 2)) as over_processes:
        loss = model.LossProblem.over(blocks, map=over_processes)
        start = loss.pack(*(rng.standard_normal(size) for size in sizes))
        found = minimize(loss.fun_and_grad, start, jac=True, method="L-BFGS-B")
        v, norms = found.x, [np.linalg.norm(found.jac)]
        for _ in range(3):
            # The shift is for rotations of all factors, which change nothing.
            v = v - loss.hess(v).solve(loss.grad(v), shift=1e-3)
            norms.append(np.linalg.norm(loss.grad(v)))
        error = np.sqrt(loss.fun(v) / len(data["user"]))
        print(f"{found.nit} iterations, {error:.4f} of error and penalty a rating")
        print("then gradients of norm", *(f"{norm:.0e}" for norm in norms))
        factors = loss.unpack(v)
    ours = model.LossProblem.over(blocks)
    return ours, ours.pack(*factors)


if __name__ == "__main__":
    main()
