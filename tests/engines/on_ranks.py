"""What each rank of MPI does in tests: `on_ranks.py FOLDER [NUMBER]` prints a digest.

With a number, that block has lost its file, and what each rank hears of it is printed.
"""

from __future__ import annotations

import sys
from pathlib import Path

from mpi4py import MPI

from tensorgen.engines import mpi_map, npy_rows
from tests.engines import logistic


def main(folder: Path, lost: str | None = None) -> None:
    """Print what a rank has found, one line a rank."""
    module = logistic.imported(folder)
    files = {name: folder / f"{name}.npy" for name in ("X", "y")}
    blocks = list(npy_rows(files, rows=logistic.AT_ONCE))
    if lost is not None:
        k = int(lost)
        blocks[k] = logistic.OfBlock(blocks[k], logistic.spoil, None)  # type: ignore[call-overload]
    try:
        found = logistic.digest(module, blocks, mpi_map(MPI.COMM_WORLD))
    except FileNotFoundError as error:
        found = f"{error} {' '.join(error.__notes__)}"
    for line in MPI.COMM_WORLD.gather(found) or []:
        print(line)


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
