"""Fit on the ranks of MPI, each of which has its share of the blocks.

    mpiexec -n 3 python examples/beyond_memory/on_ranks.py

All ranks run the same method on the same totals, and so take the same steps. The digest
that is printed does not depend on how many ranks there are.
"""

from collections.abc import Callable

import numpy as np
from mpi4py import MPI
from rows_in_files import arguments, digest, files, module, newton

from tensorgen.engines import mpi_map, npy_rows


def main() -> str:
    """Fit; return the digest at the minimum."""
    options = arguments(__doc__).parse_args()
    comm = MPI.COMM_WORLD
    first = comm.Get_rank() == 0
    if first:  # the others find what it has written
        module(options.folder)
        files(options.folder, options.rows, options.columns)
    comm.Barrier()
    model = module(options.folder)
    paths = files(options.folder, options.rows, options.columns)
    blocks = npy_rows(paths, nbytes=int(options.block * 1e6))
    loss = model.LossProblem.over(blocks, map=mpi_map(comm))
    tell: Callable[[str], object] = print if first else str  # one rank speaks for all
    found = digest(loss, newton(loss, np.zeros(options.columns), tell))
    tell(found)
    return found


if __name__ == "__main__":
    main()
