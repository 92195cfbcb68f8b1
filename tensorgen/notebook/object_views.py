"""A derivative object as a notebook shows it: its pattern, structure and size."""

from __future__ import annotations

from html import escape
from typing import Any

from tensorgen.notebook.pattern import is_matrix, picture

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
