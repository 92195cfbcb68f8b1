"""Which entries of a derivative there are, as a small picture.

A picture has at most 64 cells a side, and a cell a shade for how many of its entries
there are. Small matrices tell by their coordinates, which follow from the structure
alone. A large one may have more entries than fit into memory, as one of low rank has,
so it is asked by products: with random numbers in a few columns at a time and zeros
elsewhere, a row is zero where all of its entries are.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

CELLS, CELLS_BY_PRODUCTS = 64, 32
MOST_BY_COORDINATES = 2**20
"""The most entries that a matrix may have whose coordinates are asked for."""
LARGEST = 2**26
"""The most bytes of an object whose products are computed."""
SIDE, LEAST_SIDE = 160, 12
SHADES = ((0.0, 0.35), (0.1, 0.6), (0.9, 0.9))
"""From which share of its entries on a cell is how dark."""


def picture(derivative: Any) -> str:
    """Return the pattern of a derivative's matrix as an SVG element.

    The text is empty where there is no matrix, and where to look would take too long.
    """
    if not is_matrix(derivative) or 0 in derivative.shape:
        return ""
    shape = derivative.shape
    if shape[0] * shape[1] <= MOST_BY_COORDINATES:
        return drawn(by_coordinates(derivative), shape)
    if derivative.nbytes <= LARGEST:
        return drawn(by_products(derivative), shape)
    return ""


def is_matrix(derivative: Any) -> bool:
    """Whether a derivative is a matrix; those of higher order are contracted."""
    found = type(derivative)
    return hasattr(found, "matvec") and not hasattr(found, "contract")


def drawn(shares: NDArray[np.float64], shape: tuple[int, int]) -> str:
    """Return cells as an SVG element with the sides of a matrix of that shape."""
    rows, columns = shares.shape
    largest = max(shape)
    high, wide = (max(round(SIDE * n / largest), LEAST_SIDE) for n in shape)
    found = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {columns} {rows}"'
        f' width="{wide}" height="{high}" preserveAspectRatio="none"'
        ' shape-rendering="crispEdges" role="img" aria-label="which entries there are"'
        ' style="outline: 1px solid currentColor">'
    ]
    ends = [*(low for low, _ in SHADES[1:]), float("inf")]
    for (low, shade), end in zip(SHADES, ends, strict=True):
        if path := _runs((shares > 0) & (low <= shares) & (shares < end)):
            found.append(f'<path fill="currentColor" opacity="{shade}" d="{path}"/>')
    return "".join([*found, "</svg>"])


def _runs(cells: NDArray[np.bool_]) -> str:
    """The cells as a path: of each row, those that follow each other at once."""
    import numpy as np

    path = []
    for row, line in enumerate(cells):
        edges = np.flatnonzero(np.diff(line, prepend=False, append=False))
        for start, end in zip(edges[::2], edges[1::2], strict=True):
            path.append(f"M{start} {row}h{end - start}v1h{start - end}z")
    return "".join(path)


def _cells(size: int, most: int) -> NDArray[np.intp]:
    """The cell of each row, or of each column."""
    import numpy as np

    return np.arange(size) * min(size, most) // size


def by_coordinates(derivative: Any) -> NDArray[np.float64]:
    """The share of its entries that each cell has."""
    import numpy as np

    m, n = derivative.shape
    rows, columns, _ = (_on_host(x) for x in derivative.coo())
    there = np.zeros(m * n, dtype=bool)  # entries of one place count once
    there[rows * n + columns] = True
    down, across = _cells(m, CELLS), _cells(n, CELLS)
    cells = (down[:, None] * (across[-1] + 1) + across).ravel()
    counts = np.bincount(cells[there], minlength=(down[-1] + 1) * (across[-1] + 1))
    areas = np.outer(np.bincount(down), np.bincount(across))
    return counts.reshape(areas.shape) / areas


def by_products(derivative: Any) -> NDArray[np.float64]:
    """The cells with entries that are not zero; half of them, for all that we know."""
    import numpy as np

    m, n = derivative.shape
    factor = next(iter(derivative.factors.values()))
    library = import_module(type(factor).__module__.partition(".")[0])
    rng = np.random.default_rng(0)
    down, across = _cells(m, CELLS_BY_PRODUCTS), _cells(n, CELLS_BY_PRODUCTS)
    starts = np.searchsorted(down, np.arange(down[-1] + 1))
    shares = np.zeros((down[-1] + 1, across[-1] + 1))
    for cell in range(across[-1] + 1):
        v = np.where(across == cell, rng.uniform(1, 2, n), 0.0).astype(derivative.dtype)
        there = _on_host(derivative.matvec(library.asarray(v))) != 0
        shares[:, cell] = np.logical_or.reduceat(there, starts)
    return shares / 2


def _on_host(x: Any) -> Any:
    """An array of NumPy's."""
    return x.get() if hasattr(x, "get") else x
