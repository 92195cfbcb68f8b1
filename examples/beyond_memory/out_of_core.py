"""Fit rows that stay in files: memory holds a block of them, and what it gives.

    python examples/beyond_memory/out_of_core.py
    python examples/beyond_memory/out_of_core.py --rows 5000000 --columns 100 \\
        --block 64 --limit 1

The second has 4 GB of rows under a limit of 1 GiB of addresses.
"""

import resource
import time
from typing import Any

import numpy as np
from rows_in_files import arguments, files, module, newton

from tensorgen.engines import npy_rows

SMALL = 1e-9  # norm of the gradient


def main(given: list[str] | None = None) -> Any:
    """Fit; return the coefficients."""
    parser = arguments(__doc__)
    parser.add_argument("--limit", type=float, help="GiB of addresses of the process")
    options = parser.parse_args(given)
    model = module(options.folder)
    paths = files(options.folder, options.rows, options.columns)
    if options.limit:
        bound = int(options.limit * 2**30)
        resource.setrlimit(resource.RLIMIT_AS, (bound, bound))
    blocks = npy_rows(paths, nbytes=int(options.block * 1e6))
    size = sum(path.stat().st_size for path in paths.values())
    print(f"{size / 1e9:.3f} GB of rows in {len(blocks)} blocks")
    passes = 0

    def counted(function: Any, blocks: Any) -> Any:
        nonlocal passes
        passes += 1
        return map(function, blocks)

    loss = model.LossProblem.over(blocks, map=counted)
    start = time.perf_counter()
    for iteration, value, norm, _v in newton(loss, np.zeros(options.columns), SMALL):
        seconds = time.perf_counter() - start
        print(f"{iteration:3d}   {value:.12f}   {norm:9.2e}   {seconds:8.2f} s")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"{passes} passes over the rows, at most {peak:.2f} GiB resident")
    return _v


if __name__ == "__main__":
    main()
