"""What runs functions over blocks of rows: readers of data, and maps over processes.

A spec with `blocks: m` has functions that take their data in blocks, which need NumPy
alone and any `map` that keeps the order. This package has both for what people keep
data in and run programs on; emitted code never asks for it. Readers give a sequence of
blocks, which are read where they are needed, and maps are called as Python's own:

    blocks = npy_rows({"X": "X.npy", "y": "y.npy"})
    with executor_map(partial(ProcessPoolExecutor, 4)) as over_processes:
        loss = LossProblem.over(blocks, map=over_processes)

`row_blocks.py` cuts rows that can be read by ranges, which `npy_rows.py`,
`stored_rows.py`, `sparse_rows.py` and `entry_blocks.py` describe. `trees.py` says how
totals are joined, and `shares.py` what one task does; `pools.py`, `clusters.py` and
`ranks.py` have tasks done. `device_blocks.py` has blocks copied to a device of CuPy.
`saved_totals.py` keeps totals in files.
"""

from tensorgen.engines.clusters import dask_map, ray_map, spark_map
from tensorgen.engines.device_blocks import device_blocks
from tensorgen.engines.entry_blocks import edges
from tensorgen.engines.npy_rows import npy_rows
from tensorgen.engines.pools import BrokenPoolError, executor_map
from tensorgen.engines.ranks import mpi_map
from tensorgen.engines.row_blocks import RowBlock
from tensorgen.engines.saved_totals import load_totals, save_totals
from tensorgen.engines.sparse_rows import csr_rows, save_csr
from tensorgen.engines.stored_rows import dask_rows, parquet_rows, zarr_rows
from tensorgen.engines.trees import joined

__all__ = [
    "BrokenPoolError",
    "RowBlock",
    "csr_rows",
    "dask_map",
    "dask_rows",
    "device_blocks",
    "edges",
    "executor_map",
    "joined",
    "load_totals",
    "mpi_map",
    "npy_rows",
    "parquet_rows",
    "ray_map",
    "save_csr",
    "save_totals",
    "spark_map",
    "zarr_rows",
]
