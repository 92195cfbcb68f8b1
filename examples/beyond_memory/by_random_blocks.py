"""Fit by gradients of random blocks, whose error one pass in a while takes away.

    python examples/beyond_memory/by_random_blocks.py

A block gives an unbiased gradient; what it gives more at a point than at an anchor,
where all blocks are known, has little variance near there (Johnson and Zhang 2013).
"""

from typing import Any

import numpy as np
from rows_in_files import arguments, files, module

from tensorgen.engines import npy_rows


def main(given: list[str] | None = None) -> tuple[Any, float]:
    """Fit; return the coefficients, and the norm of the gradient there."""
    parser = arguments(__doc__)
    parser.add_argument("--epochs", type=int, default=12)
    parser.add_argument("--step", type=float, default=1.0)
    options = parser.parse_args(given)
    model = module(options.folder)
    paths = files(options.folder, options.rows, options.columns)
    blocks = npy_rows(paths, nbytes=int(options.block * 1e6))
    loss = model.LossProblem.over(blocks)
    rng = np.random.default_rng(1)
    v = np.zeros(options.columns)
    for epoch in range(options.epochs):
        anchor, (value, whole) = v, loss.fun_and_grad(v)
        norm = float(np.linalg.norm(whole))
        print(f"{epoch:3d}   {value:.12f}   {norm:9.2e}")
        for _ in blocks:
            some = loss.sample(rng, blocks=1)
            v = v - options.step * (some.grad(v) - some.grad(anchor) + whole)
    norm = float(np.linalg.norm(loss.grad(v)))
    print(f"      a gradient of norm {norm:.2e}")
    return v, norm


if __name__ == "__main__":
    main()
