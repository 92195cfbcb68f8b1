"""The coordinate form of a compressed derivative, as statements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain, count

from tensorgen.ir.dims import Dim
from tensorgen.ir.nodes import index_bound
from tensorgen.passes.stored import StoredTerm
from tensorgen.passes.views import Name, Triple
from tensorgen.structure.methods import Structure
from tensorgen.structure.mirror_terms import mirrored
from tensorgen.structure.text import mentions

LETTERS = "ijkabcefghopqrstxyz"


def coordinate_lines(
    structure: Structure, rows: Sequence[int], columns: Sequence[int]
) -> list[str]:
    """Return statements that give rows, columns and values, of a triangle if asked."""
    return [
        *entry_lines(structure, structure.tensor.terms, rows, columns),
        "if lower:",
        "    kept = rows >= columns",
        "    rows, columns, values = rows[kept], columns[kept], values[kept]",
        "return rows, columns, values",
    ]


def entry_lines(
    structure: Structure,
    terms: Sequence[StoredTerm],
    rows: Sequence[int],
    columns: Sequence[int],
) -> list[str]:
    """Return statements that give the rows, columns and values of some terms.

    A term has an entry for each value of its free axes; tied axes follow, and entries
    whose tied axes leave the tensor are dropped. Entries of index arrays give axes too,
    one a value of their labels. Nothing depends on the values of the derivative.
    """
    parts: list[list[str]] = []
    before: StoredTerm | None = None
    for term in terms:
        if before is not None and _is_transpose(term, before, rows, columns):
            parts.append([])
            before = None
        else:
            parts.append(_term(structure, term, rows, columns, len(terms) == 1))
            before = term
    several = len(parts) > 1
    lines = _bindings(structure, [line for part in parts for line in part])
    if several:
        lines.append("parts = []")
    for part in parts:
        lines += part
        if several:
            both = "rows, columns" if part else "columns, rows"
            lines.append(f"parts.append(({both}, values))")
    if several:
        joined = (
            f"{structure.alias}.concatenate(part) for part in zip(*parts, strict=True)"
        )
        lines.append(f"rows, columns, values = ({joined})")
    return lines


def _is_transpose(
    term: StoredTerm, other: StoredTerm, rows: Sequence[int], columns: Sequence[int]
) -> bool:
    """Whether a term is another one with rows and columns exchanged."""
    if len(rows) != len(columns):
        return False
    to = dict(zip((*rows, *columns), (*columns, *rows), strict=True))
    return term == mirrored(other, tuple(to[axis] for axis in sorted(to)))


def _bindings(structure: Structure, lines: list[str]) -> list[str]:
    text = "\n".join(lines)
    found = []
    used = [f for f in structure.fields if mentions(text, f)]
    if used:
        values = ", ".join(f"self.{name}" for name in used)
        found.append(f"{', '.join(used)} = {values}")
    found += structure.unpacked(text)
    if mentions(text, "dtype"):
        found.append("dtype = self.dtype")
    return found


def _term(
    structure: Structure,
    term: StoredTerm,
    rows: Sequence[int],
    columns: Sequence[int],
    alone: bool,
) -> list[str]:
    """The statements for one term; what is returned `alone` is new."""
    graph, tensor, np = structure.graph, structure.tensor, structure.alias
    given = {tie.second for tie in term.ties} | {link.axis for link in term.links}
    sizes: dict[Name, Dim] = {
        axis: dim for axis, dim in enumerate(tensor.dims) if axis not in given
    }
    # The entries of an element stand side by side, as its arrays have them.
    asked = {x for link in term.links for x in link.labels}
    sizes = {
        **{x: dim for x, dim in sizes.items() if x in asked},
        **term.elements,
        **sizes,
    }
    free = list(sizes)
    gathered = _gathered(structure, term)
    between = {x for _, atoms, _ in gathered for x in atoms if isinstance(x, int)}
    node = graph.product(
        free,
        structure.factors(term),
        coefficient=term.coefficient,
        constraints=gathered,
        sizes={**{axis: tensor.dims[axis] for axis in between}, **sizes},
    )
    taken = {*structure.sizes, *structure.fields}
    numbered = (f"i{k}" for k in count(1))
    letters = (x for x in chain(LETTERS, numbered) if x not in taken)
    names: dict[Name, str] = {
        x: next(letters) for x in (*range(structure.axes), *term.elements)
    }
    code = structure.code(
        node,
        "values",
        [*names.values(), "rows", "columns", "parts", "lower", "kept", "shift"],
        fresh=alone,
    )
    lines = list(code.lines)
    value = code.returns[0]
    own = ", ".join(names[x] for x in free)
    if not free:
        lines.append(f"values = {np}.reshape({value}, 1)")
        zero = f"{np}.zeros(1, dtype=int)"
        return [*lines, f"rows = {zero}", f"columns = {zero}"]
    lines.append(f"values = {_flat(np, value, len(free), alone)}")
    if len(free) == 1:
        lines.append(f"{own} = {np}.arange({sizes[free[0]]})")
    else:
        shape = f"({', '.join(str(sizes[x]) for x in free)})"
        lines.append(f"{own} = {np}.indices({shape}).reshape({len(free)}, -1)")
    kept = []
    for link in term.links:
        index = structure.fields[tensor.arrays.index(link.index)]
        # Places may be too large for the integers of an index array.
        entry = f"{index}[{', '.join(names[x] for x in link.labels)}].astype(int)"
        lines.append(f"{names[link.axis]} = {_shifted(entry, link.offset)}")
        bound = index_bound(link.index) or tensor.dims[link.axis]
        reach = (link.offset, bound - 1 + link.offset)
        kept += _limits(names[link.axis], reach, tensor.dims[link.axis])
    for tie in term.ties:
        first, name = names[tie.first], names[tie.second]
        if tie.offset == 0:
            names[tie.second] = name = first
        else:
            lines.append(f"{name} = {_shifted(first, tie.offset)}")
        reach = (tie.offset, tensor.dims[tie.first] - 1 + tie.offset)
        kept += _limits(name, reach, tensor.dims[tie.second])
    row = _raveled(np, names, rows, tensor.dims, own)
    column = _raveled(np, names, columns, tensor.dims, own)
    # Whoever sorts one of them in place does not mean the other.
    same = alone and row == column and row.isidentifier() and not kept
    lines += [f"rows = {row}", f"columns = {column}{'.copy()' * same}"]
    if kept:
        lines.append(f"kept = {' & '.join(kept)}")
        lines.append("rows, columns, values = rows[kept], columns[kept], values[kept]")
    return lines


def _flat(np: str, value: str, order: int, alone: bool) -> str:
    """A vector of the entries of an array, which is new where it stands `alone`."""
    if not alone:
        return f"{np}.ravel({value})"
    if order == 1:
        return value
    view = value.removesuffix(".copy()")
    return f"{np}.ravel({value})" if view == value else f"{view}.flatten()"


def _gathered(structure: Structure, term: StoredTerm) -> list[Triple]:
    """The deltas that give the axes of factors which others, or index arrays, give."""
    used = {x for _, labels in term.factors for x in labels}
    found: list[Triple] = []
    for tie in reversed(term.ties):
        if tie.second in used:
            used.add(tie.first)
            found.append(("eq", {tie.first: 1, tie.second: -1}, tie.offset))
    return found + [
        link.constraint(structure.stored) for link in term.links if link.axis in used
    ]


def _limits(name: str, reach: tuple[Dim, Dim], dim: Dim) -> list[str]:
    """The conditions that a position is inside an axis, where it might not be."""
    least, most = reach
    found = [] if least.is_nonnegative() else [f"({name} >= 0)"]
    return found if (dim - 1 - most).is_nonnegative() else [*found, f"({name} < {dim})"]


def _shifted(name: str, offset: Dim) -> str:
    text = str(offset)
    if offset == 0:
        return name
    return f"{name} - {text[1:]}" if text[0] == "-" else f"{name} + {text}"


def _raveled(
    np: str,
    names: Mapping[Name, str],
    axes: Sequence[int],
    dims: Sequence[Dim],
    own: str,
) -> str:
    """The position in C order: `(i * n + j) * m + k`."""
    if not axes:
        return f"{np}.zeros_like({own.split(',')[0]})"
    text = names[axes[0]]
    for axis in axes[1:]:
        size = str(dims[axis])
        size = size if size.isidentifier() or size.isdigit() else f"({size})"
        text = f"({text})" if " " in text and "+" in text else text
        text = f"{text} * {size} + {names[axis]}"
    return text
