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

    def tell(line: str) -> None:
        print(f"{line}   {time.perf_counter() - start:8.2f} s", flush=True)

    v = newton(loss, np.zeros(options.columns), tell)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"{passes} passes over the rows, at most {peak:.2f} GiB resident")
    return v


if __name__ == "__main__":
    main()
