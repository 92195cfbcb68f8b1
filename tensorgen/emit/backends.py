"""The backends as data: what a generated module for each of them says differently.

CuPy is NumPy with a few rows swapped. A new backend is one row here and one folder of
templates, in which every piece replaces the one of the same name.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from tensorgen.operators.helpers.helper_table import EXPM, SUPREMUM
from tensorgen.operators.helpers.kernels import KERNELS
from tensorgen.operators.helpers.keys import (
    ADDED_BY_KEY,
    PROD_BY_KEY,
    PROD_OTHERS_BY_KEY,
)
from tensorgen.operators.helpers.running import (
    FILTERED,
    FILTERED_BY,
    RUNNING_IN_SWEEPS,
    SUMS_BY_TIE,
    WINDOWS,
)
from tensorgen.operators.helpers.special import ON_A_DEVICE
from tensorgen.operators.helpers.systems import CUPY_BANDED, CUPY_SPARSE, CUPY_TOEPLITZ
from tensorgen.operators.matrices.distances import CUPY_DISTANCES


@dataclass(frozen=True, slots=True)
class Backend:
    """One array library.

    `folder` holds its templates and ends the names of its files; `any_array` is the
    type of arrays of whatever dtype, `optional` that of arguments that may be left out;
    `sparse` makes sparse matrices, `library` imports what modules name of it; `renamed`
    are the packages that bear another name; `lacking` has the source of functions that
    modules hold themselves instead of importing them, and `helpers` that of helpers
    that are written otherwise.
    Matrices that cannot be factorised raise where the library `refuses` them; else they
    give NaN. Where `slow_at`, `add.at` is fast for vectors alone: NumPy takes 7 to
    10 ns an entry of a matrix, and 0.7 ns of a vector. What is large is computed
    `in_blocks` that fit into a cache; a device would have too little to do. Those that
    are `banded` have LAPACK, which eliminates in bands. Where each operation is a
    launch, kernels make several of them one: it `fuses`.
    """

    name: str
    title: str
    alias: str
    folder: str
    any_array: str
    optional: str
    sparse: str
    library: Mapping[str, str]
    renamed: Mapping[str, str] = field(default_factory=dict)
    lacking: Mapping[str, str] = field(default_factory=dict)
    helpers: Mapping[str, str] = field(default_factory=dict)
    refuses: bool = True
    slow_at: bool = True
    in_blocks: bool = True
    banded: bool = True
    fuses: bool = False

    def file_name(self, module: str) -> str:
        """Return the name of a module's file."""
        return f"{module}_{self.folder}.py"

    def spell(self, module: str) -> str:
        """Return this backend's name of a module: cupyx.scipy.special."""
        package, dot, rest = module.partition(".")
        return self.renamed.get(package, package) + dot + rest

    def imported(self, modules: Iterable[str]) -> tuple[str, ...]:
        """Return those modules that are imported."""
        return tuple(m for m in modules if m not in self.lacking)

    def written(self, modules: Iterable[str]) -> tuple[str, ...]:
        """Return the names of the functions that stand in for the others."""
        return tuple(m.rpartition(".")[2] for m in modules if m in self.lacking)

    def import_line(self, module: str) -> str:
        """Return the statement that binds a module to its last component."""
        package, _, name = self.spell(module).rpartition(".")
        return f"from {package} import {name}" if package else f"import {name}"


BACKENDS: dict[str, Backend] = {
    backend.name: backend
    for backend in (
        Backend(
            name="numpy",
            title="NumPy",
            alias="np",
            folder="numpy",
            any_array="NDArray[Any]",
            optional="ArrayLike | None",
            sparse="scipy.sparse.csr_array",
            library={
                "np": "import numpy as np",
                "ArrayLike": "from numpy.typing import ArrayLike",
                "NDArray": "from numpy.typing import NDArray",
            },
        ),
        Backend(
            name="cupy",
            title="CuPy",
            alias="cp",
            folder="cupy",
            any_array="Array",
            optional="Any",  # which type checkers narrow to anything
            sparse="cupyx.scipy.sparse.csr_matrix",
            library={"cp": "import cupy as cp", "cupyx": "import cupyx"},
            renamed={"numpy": "cupy", "scipy": "cupyx.scipy"},
            # CuPy's takes single matrices of double precision, and loses digits.
            lacking={"scipy.linalg.expm": EXPM},
            # CuPy accumulates sums and products alone, has no extremum of nothing, and
            # reads the sizes of windows on the device. To look whether squares
            # overflowed, the host would wait for it.
            helpers={
                **KERNELS,
                **ON_A_DEVICE,
                "_supremum": SUPREMUM,
                **RUNNING_IN_SWEEPS,
                "_sums_by_tie": SUMS_BY_TIE,
                "_distances": CUPY_DISTANCES,
                "_windows": WINDOWS,
                "_filtered": FILTERED,
                "_filtered_by": FILTERED_BY,
                **ADDED_BY_KEY,
                "_prod_by_key": PROD_BY_KEY,
                "_prod_others_by_key": PROD_OTHERS_BY_KEY,
                "_Sparse": CUPY_SPARSE,
                "_Banded": CUPY_BANDED,
                "_Toeplitz": CUPY_TOEPLITZ,
            },
            refuses=False,
            slow_at=False,
            in_blocks=False,
            banded=False,
            fuses=True,
        ),
    )
}
