"""Fit on processes, or on the workers of Dask: the same bits as in one process.

python examples/beyond_memory/on_workers.py
python examples/beyond_memory/on_workers.py --engine dask --workers 4
"""

from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np
from rows_in_files import arguments, digest, files, module, newton
from threadpoolctl import threadpool_limits

from tensorgen.engines import dask_map, executor_map, npy_rows


@contextmanager
def workers(engine: str, count: int) -> Iterator[Any]:
    """Give a map over that many workers, and stop them."""
    if engine == "processes":
        with executor_map(partial(ProcessPoolExecutor, count)) as over_processes:
            yield over_processes
    else:
        from distributed import Client, LocalCluster

        with (
            LocalCluster(
                count, threads_per_worker=1, dashboard_address=":0"
            ) as cluster,
            Client(cluster) as client,
        ):
            yield dask_map(client)


def main(given: list[str] | None = None) -> tuple[str, str]:
    """Fit; return the digests at the minimum, of one process and of all workers."""
    parser = arguments(__doc__)
    parser.add_argument("--engine", choices=("processes", "dask"), default="processes")
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args(given)
    model = module(options.folder)
    paths = files(options.folder, options.rows, options.columns)
    blocks = npy_rows(paths, nbytes=int(options.block * 1e6))
    with workers(options.engine, options.workers) as over_workers:
        loss = model.LossProblem.over(blocks, map=over_workers)
        v = newton(loss, np.zeros(options.columns))
        theirs = digest(loss, v)
    with threadpool_limits(1):  # as each worker has
        ours = digest(model.LossProblem.over(blocks), v)
    print("the same bits" if ours == theirs else "other bits")
    return ours, theirs


if __name__ == "__main__":
    main()
