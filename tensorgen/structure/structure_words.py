"""What a structure is called, for who does not read formulas first."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod
from typing import Any

from tensorgen.ir.dims import ONE, ZERO, Dim
from tensorgen.ir.groups import connected
from tensorgen.ir.index_text import Index, combine, letters, subscript
from tensorgen.ir.nodes import Input, Node, topological
from tensorgen.structure.gram import gram
from tensorgen.structure.methods import Structure
from tensorgen.structure.stored import LaidOut, StoredTerm, is_axis
from tensorgen.structure.strides import common_stride
from tensorgen.structure.ways import aligned, ties_rows

_LAST = ("rank", "dense")
"""What is said after all else."""
_AT = " at "
LONGEST = 160
"""The most characters of places that say more than that there are some."""


def words(structure: Structure) -> str:
    """Name the structure of a matrix, term by term: `diagonal plus rank 2`."""
    if structure.tensor.vanishes:
        return "zero"
    if (stride := common_stride(structure)) is not None:
        blocks = _counted(stride.blocks, "block")
        return f"block diagonal, {blocks} of {stride.step} neighbours"
    named = [(_word(structure, term), term) for term in structure.tensor.terms]
    found = _joined(sorted((word for word, _ in named), key=_LAST.__contains__))
    if any(word.startswith(("band", "block diagonal", "sparse")) for word in found):
        found.pop("diagonal", None)  # the others have one
    ties = {tie for word, t in named if word in ("band", "diagonal") for tie in t.ties}
    ranks = (_rank(term) for word, term in named if word == "rank")
    products = sum(word == "Kronecker product" for word, _ in named)
    names = {
        "band": f"band of {_counted(Dim.of(len(ties)), 'diagonal')}",
        "rank": f"rank {sum(ranks, ZERO)}",
        "Kronecker product": "Kronecker product" + "s" * (products > 1),
    }
    parts = [names.get(word, word) for word in found]
    return ("; plus " if any("," in part for part in parts) else " plus ").join(parts)


def higher_words(structure: Structure) -> str:
    """Name the structure of a derivative of higher order."""
    if structure.tensor.vanishes:
        return "zero"
    axes = set(range(structure.axes))
    terms = structure.tensor.terms
    tied = [connected([{t.first, t.second} for t in term.ties]) for term in terms]
    if all([group for group, _ in groups] == [axes] for groups in tied):
        offsets = {tie.offset for term in terms for tie in term.ties}
        return "diagonal" if offsets == {ZERO} else "band"
    if any(term.links for term in terms):
        return _by_links(*terms)
    return "sparse" if all(tied) else "products of smaller arrays"


def _word(structure: Structure, term: StoredTerm) -> str:
    """What one term is called; `band` and `rank` are to be counted."""
    if term.links:
        return _places(structure, term) or _by_links(term)
    if not term.ties:
        return _loose(structure, term)
    r, dims = structure.rows, structure.tensor.dims
    tied = aligned(structure, term)
    rows = [dims[a] for a in range(r) if tied is None or a not in tied]
    columns = [
        dims[a] for a in range(r, structure.axes) if tied is None or a - r not in tied
    ]
    if tied and not rows and not columns:
        return "diagonal"
    if tied:
        high, wide = (prod(part, start=ONE) for part in (rows, columns))
        count = prod((dims[a] for a in sorted(tied)), start=ONE)
        own = any(a in tied for _, labels in term.factors for a in labels)
        blocks = _counted(count, "block") if own else f"{count} times one block"
        return f"block diagonal, {blocks} of {high} by {wide}"
    if (r, structure.axes) == (1, 2) and term.ties[0].offset.constant is not None:
        return "band"
    if not ties_rows(structure, term):
        return "products of smaller arrays"
    return _places(structure, term) or "sparse"


def _places(structure: Structure, term: StoredTerm) -> str:
    """Where a term has entries or blocks: `blocks of 2 by 2 at (s[m], t[m])`.

    Nothing where an index array is computed that the structure does not store, or one
    tells which entries of another are meant.
    """
    fields = dict(zip(structure.tensor.arrays, structure.fields, strict=True))
    names = {x.name for x in topological([*fields]) if isinstance(x, Input)}
    pool = letters({*names, *fields.values(), *structure.sizes})
    given = {tie.second for tie in term.ties} | {link.axis for link in term.links}
    led: set[Any] = {*given, *(tie.first for tie in term.ties)}
    led |= {x for link in term.links for x in link.labels if is_axis(x)}
    free = [axis for axis in range(structure.axes) if axis in led - given]
    at: dict[Any, Index] = {x: Index.atom(next(pool)) for x in (*free, *term.elements)}

    def entry(node: Node, place: Sequence[Index]) -> str:
        return subscript(fields.get(node, "?"), place)

    for link in term.links:
        at[link.axis] = combine(link.form, at, entry)
    for tie in term.ties:
        at[tie.second] = at[tie.first] + Index.constant(tie.offset)
    sides, sizes = [], []
    for side in (range(structure.rows), range(structure.rows, structure.axes)):
        told = [str(at[axis]) for axis in side if axis in led]
        sides.append(told[0] if len(told) == 1 else f"({', '.join(told)})")
        dims = (structure.tensor.dims[axis] for axis in side if axis not in led)
        sizes.append(prod(dims, start=ONE))
    text = ", ".join(sides)
    if "?" in text or "()" in sides or _is_nested(text):
        return ""
    what = "entries" if sizes == [ONE, ONE] else f"blocks of {sizes[0]} by {sizes[1]}"
    return f"{what}{_AT}({text})"


def _is_nested(text: str) -> bool:
    """Whether an entry of an index array is at a place that another one gives."""
    return any(part.count("[") > 1 for part in text.split("]"))


def _joined(words: Iterable[str]) -> dict[str, None]:
    """The words of terms, each once; the places of blocks of one size together."""
    places: dict[str, dict[str, None]] = {}
    for word in words:
        kind, _, place = word.partition(_AT)
        own = places.setdefault(kind, {})
        own |= dict.fromkeys([place] * bool(place))
    found: dict[str, None] = {}
    for kind, own in places.items():
        *others, last = own or [""]
        told = f"{', '.join(others)} and {last}" if others else last
        if len(told) > LONGEST:
            by = "index arrays" if "[" in told else "rule"
            kind, told = f"sparse, by {by}", ""
        found[kind + _AT * bool(told) + told] = None
    return found


def _by_links(*terms: StoredTerm) -> str:
    """What terms are called whose places others give."""
    by = any(link.indices for term in terms for link in term.links)
    return f"sparse, by {'index arrays' if by else 'rule'}"


def _loose(structure: Structure, term: StoredTerm) -> str:
    if (label := gram(term)) is not None:
        ((weights, _),) = term.factors
        weight = structure.fields[structure.tensor.arrays.index(weights)]
        sides = (label.name, f"{label.name}.T")
        first, last = sides if label.transposed else sides[::-1]
        return f"{first} @ diag({weight}) @ {last}"
    if any(isinstance(x, LaidOut) for _, labels in term.factors for x in labels):
        return "Toeplitz"
    groups = [group for group, _ in connected(labels for _, labels in term.factors)]
    both = sum(_joins(structure, [a for a in g if isinstance(a, int)]) for g in groups)
    if both == 0:
        return "rank"
    if both > 1:
        return "Kronecker product"
    if any(_joins(structure, filter(is_axis, xs)) for _, xs in term.factors):
        return "products of smaller arrays" if len(term.factors) > 1 else "dense"
    return "rank"


def _joins(structure: Structure, axes: Iterable[object]) -> bool:
    """Whether some of the axes are those of rows, and others those of columns."""
    sides = {isinstance(a, int) and a < structure.rows for a in axes}
    return len(sides) == 2


def _rank(term: StoredTerm) -> Dim:
    """The number of outer products that a term is the sum of: of one sum at most."""
    sizes = [
        {x: dim for x, dim in zip(xs, node.dims, strict=True) if not is_axis(x)}
        for node, xs in term.factors
        if any(map(is_axis, xs))
    ]
    return prod(sizes[0].values(), start=ONE) if sizes else ONE


def _counted(count: Dim, thing: str) -> str:
    return f"{count} {thing}{'s' * (count != 1)}"
