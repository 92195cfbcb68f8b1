"""A map over the ranks of MPI, all of which run the same program."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tensorgen.engines.shares import Function, Share, answer, trees
from tensorgen.engines.trees import whole


def mpi_map(
    comm: Any, *, blas_threads: int | None = 1
) -> Callable[[Function, Sequence[Any]], list[Any]]:
    """Return a map over the ranks of a communicator of `mpi4py`.

    Each rank goes through its share of the blocks, and all of them get the results of
    all blocks, in order, or their one total. Ranks have to call it alike. The subtrees
    of a share are joined by its rank, so that few of them travel, and bits are the same
    for any number of ranks. If a block fails, all ranks raise its error.
    """

    def mapped(function: Function, blocks: Sequence[Any]) -> list[Any]:
        rank, ranks = comm.Get_rank(), comm.Get_size()
        start, stop = (len(blocks) * k // ranks for k in (rank, rank + 1))
        own = answer(function, blas_threads, Share(start, blocks[start:stop]))
        return whole(trees(comm.allgather(own)))

    return mapped
