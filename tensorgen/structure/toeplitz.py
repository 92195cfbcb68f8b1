"""Entries that depend on their distance from the diagonal alone: a Toeplitz matrix.

The Hessian of a sum of squares of a convolution is one, or of a quadratic form whose
kernel knows distances only. Its first column is all that is kept.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from tensorgen.arrays.arrays import Array, array, variable
from tensorgen.arrays.object_operations import Made
from tensorgen.ir.at import At
from tensorgen.ir.constraints import Ranges
from tensorgen.ir.dims import ZERO, Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import (
    Affine,
    Atom,
    Iota,
    Lookup,
    Map,
    Node,
    Product,
    Ref,
    Sum,
    affine,
    delta,
    indicator,
)
from tensorgen.ir.rebuild import refs_of, terms_of
from tensorgen.ir.views import Name
from tensorgen.structure.methods import OPERAND, Body, Structure
from tensorgen.structure.stored import LaidOut, StoredTerm
from tensorgen.structure.take_apart import deep
from tensorgen.structure.ways import LOCAL, SELF, SHIFT, Solver


@dataclass(frozen=True)
class Distance(LaidOut):
    """The distance of two axes: an array along it is a symmetric Toeplitz matrix."""

    axes: tuple[Name, ...] = (0, 1)

    def laid_out(self, graph: Graph, node: Node, by: Sequence[Node] = ()) -> Node:
        """`t[i, j] = c[|i - j|]`, from all entries of a row one after the other."""
        (n,) = node.dims
        sides: list[Node] = []
        for sign in (1, -1):  # c[k - n + 1], and c[n - 1 - k] before
            given = [delta({"s": -sign, "k": 1}, 1 - n)]
            if sign < 0:
                given.append(indicator({"k": -1}, n - 2))
            sizes = {"k": 2 * n - 1, "s": n}
            factors = [(node, ("s",))]
            sides.append(graph.product("k", factors, constraints=given, sizes=sizes))
        whole = graph.sum("k", [(1, side, "k") for side in sides])
        return graph.product(
            "ij",
            [(whole, "k")],
            constraints=[delta({"k": 1, "i": -1, "j": 1}, 1 - n)],
            sizes={"i": n, "j": n, "k": 2 * n - 1},
        )


def keep_toeplitz(graph: Graph, node: Node) -> list[StoredTerm] | None:
    """The first column of a symmetric matrix, if it is a Toeplitz matrix."""
    if node.order != 2 or node.dims[0] != node.dims[1]:
        return None
    sizes = dict(enumerate(node.dims))
    terms = [deep(term).product(graph, (0, 1)) for term in terms_of(graph, node)]
    if any(drift(term, (1, 1)) != 0 for term in terms):
        return None
    parts = [(1, first(graph, term, 1), (0,)) for term in terms]
    column = graph.sum((0,), parts, {0: sizes[0]})
    return [StoredTerm(Fraction(1), ((column, (Distance(),)),), ())]


def toeplitz(structure: Structure) -> Solver | None:
    """How to solve: by Levinson's recursion."""
    name = _column(structure)
    if name is None:
        return None
    column = variable(name, structure.tensor.dims[:1])
    made = array(Made("_ToeplitzFactorization"), SELF, column, SHIFT)
    return Solver(Body(structure, LOCAL).returning(made))


def toeplitz_product(structure: Structure) -> Array:
    """The product with columns: by Fourier transforms, where it is long."""
    rows = structure.tensor.dims[0]
    column = variable(structure.fields[0], (rows,))
    operand = variable(OPERAND, (rows, Dim.symbol(structure.width)))
    return array(Made("_toeplitz_times"), column, operand)


def _column(structure: Structure) -> str | None:
    """What the first column is called, if it is all that is held."""
    match structure.tensor.terms:
        case (StoredTerm(factors=((_, (Distance(),)),)),):
            return structure.fields[0]
        case _:
            return None


# Arrays whose axes are moved


def drift(node: Node, shifts: Sequence[int]) -> Fraction | None:
    """By how much entries change if each axis is moved by a constant; None if unknown.

    Of entries that would be moved out of the array nothing is said.
    """
    if not any(shifts):
        return Fraction(0)
    match node:
        case Iota():
            return Fraction(shifts[0])
        case Sum(terms=terms):
            total = Fraction(0)
            for term in terms:
                own = drift(term.node, [shifts[x] for x in term.labels])
                if own is None:
                    return None
                total += term.coefficient * own
            return total
        case Map(args=args):
            return Fraction(0) if _all_rest(args, dict(enumerate(shifts))) else None
        case Product():
            moved = _moved(node, shifts)
            if moved is not None and _all_rest(node.factors, moved):
                return Fraction(0)
            if node.constraints or node.inner or len(node.factors) != 1:
                return None
            (ref,) = node.factors
            own = drift(ref.node, [shifts[x] for x in ref.labels])
            return None if own is None else node.coefficient * own
        case _:
            return None


def _all_rest(refs: Sequence[Ref], moved: Mapping[int, int]) -> bool:
    """Whether nothing changes where labels are moved."""
    return all(drift(node, [moved[x] for x in labels]) == 0 for node, labels in refs)


def _moved(node: Product, shifts: Sequence[int]) -> dict[int, int] | None:
    """By how much summed labels move with the axes, so that all constraints stay.

    None where they do not, or where a label might leave its range: other terms would
    come after the last.
    """
    sizes = dict(enumerate(node.sizes))
    moved = dict(enumerate(shifts))
    moved |= {
        x: 0
        for inner, labels in node.factors
        for axis, x in enumerate(labels)
        if x >= node.order and _is_given(inner, axis)
    }
    forms = [c.form for c in node.constraints]
    equations = [c.form for c in node.constraints if c.kind == "eq"]
    while True:
        solved = next(filter(None, (_solved(form, moved) for form in equations)), None)
        if solved is None:
            break
        label, inverse = solved
        moved[label] = sum(c * _shift(atom, moved) for atom, c in inverse.terms)
        whole = (ZERO, sizes[label])
        if moved[label] and not Ranges.of(sizes).contain(inverse, whole):
            return None
    moved = {**dict.fromkeys(sizes, 0), **moved}
    for form in forms:
        looked = (
            x for atom, _ in form.terms if isinstance(atom, Lookup) for x in atom.labels
        )
        if any(moved[x] for x in looked):
            return None
        if sum(c * _shift(atom, moved) for atom, c in form.terms):
            return None
    return moved


def _shift(atom: Atom, moved: Mapping[int, int]) -> int:
    return 0 if isinstance(atom, Lookup) else moved[atom]


def _solved(form: Affine, moved: Mapping[int, int]) -> tuple[int, Affine] | None:
    """The only label of which nothing is known yet, as a form of the others."""
    free = [(x, c) for x, c in form.terms if isinstance(x, int) and x not in moved]
    if len(free) != 1 or abs(free[0][1]) != 1:
        return None
    ((label, sign),) = free
    rest = [(atom, -c * sign) for atom, c in form.terms if atom != label]
    return label, affine(rest, form.const * -sign)


def _is_given(node: Node, axis: int) -> bool:
    """Whether an axis is one of an argument, or of what is no product, sum or map."""
    if not isinstance(node, Product | Map | Sum):
        return not isinstance(node, Iota)
    return any(
        _is_given(inner, k)
        for inner, labels in refs_of(node)
        for k, x in enumerate(labels)
        if x == axis
    )


def first(graph: Graph, node: Node, axis: int) -> Node:
    """The entries at the beginning of an axis."""
    place = [affine([]) if a == axis else None for a in range(node.order)]
    return At(graph, {}).of(node, tuple(place))
