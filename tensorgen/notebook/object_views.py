"""A derivative object as a notebook shows it: its pattern, structure and size.

The pattern is a small picture of which entries there are. It has at most 64 cells a
side, and a cell a shade for how many of its entries there are. Small matrices tell by
their coordinates, which follow from the structure alone. A large one may have more
entries than fit into memory, as one of low rank has, so it is asked by products: with
random numbers in a few columns at a time and zeros elsewhere, a row is zero where all
of its entries are.
"""

from __future__ import annotations

from html import escape
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MOST_BLOCKS = 12
"""The most blocks of a joint derivative that are listed."""


def is_derivative(x: object) -> bool:
    """Whether an object is a derivative, of whatever generated module.

    Modules share no class, so it is told by what all of these offer.
    """
    return all(hasattr(type(x), name) for name in ("factors", "nbytes", "_scaled"))


def derivative_html(derivative: Any) -> str:
    """Return a derivative as HTML; none of its numbers are shown."""
    blocks = _blocks(derivative)
    rows = [("shape", escape(_shape(derivative)))]
    if blocks:
        rows += [(f"<code>{escape(x)}</code>", _structure(b)) for x, b in blocks]
        if len(blocks) > MOST_BLOCKS:
            rows[MOST_BLOCKS + 1 :] = [("", f"{len(blocks) - MOST_BLOCKS} more")]
    else:
        rows.append(("structure", _structure(derivative)))
        names = (f"{x} {f.shape}" for x, f in derivative.factors.items())
        rows.append(("factors", escape(", ".join(names))))
    rows.append(("bytes", escape(_sizes(derivative))))
    table = "".join(
        f'<tr><td style="text-align: left">{left}</td>'
        f'<td style="text-align: left">{right}</td></tr>'
        for left, right in rows
        if right
    )
    drawing = picture(derivative)
    return (
        '<div style="display: flex; gap: 1em; align-items: flex-start">'
        + (f"<div>{drawing}</div>" if drawing else "")
        + f"<div><b>{escape(type(derivative).__name__)}</b>"
        + f"<table>{table}</table></div></div>"
    )


def _blocks(derivative: Any) -> list[tuple[str, Any]]:
    """The parts of a derivative by several inputs, each once, by their names."""
    for name in ("pairs", "parts", "blocks"):
        found = getattr(derivative, name, None)
        if isinstance(found, dict):
            pairs = found.items()
            return [(x if isinstance(x, str) else ", ".join(x), b) for x, b in pairs]
    return []


def _shape(derivative: Any) -> str:
    tensor = getattr(derivative, "tensor_shape", None)
    if tensor is None:
        return ""
    text = f"{tensor}, {derivative.dtype}"
    if not is_matrix(derivative) or derivative.shape == tensor:
        return text
    return f"{text}; as a matrix {derivative.shape}"


def _structure(derivative: Any) -> str:
    """What it is in words, and the equation as code."""
    words, colon, formula = derivative.structure.partition(": ")
    if not colon and "=" in words:
        words, formula = "dense", words
    return escape(words) + (f"<br><code>{escape(formula)}</code>" if formula else "")


def _sizes(derivative: Any) -> str:
    """The memory that it takes, and that of the whole array."""
    text = f"{derivative.nbytes:,}"
    entries = 1
    for size in getattr(derivative, "tensor_shape", ()):
        entries *= size
    dtype = getattr(derivative, "dtype", None)
    if dtype is None or entries * dtype.itemsize == derivative.nbytes:
        return text
    return f"{text} of {entries * dtype.itemsize:,}"


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
