"""Index expressions as text: `x[i + 1]`, `delta[p, row[e]]`, `[i < j]`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from tensorgen.ir.affine_forms import AffineForm
from tensorgen.ir.constraints import Ranges, looked_up, solvable, solved, within
from tensorgen.ir.dims import Coefficient, Dim
from tensorgen.ir.nodes import (
    Affine,
    Constant,
    Constraint,
    Input,
    Label,
    Lookup,
    Node,
    Product,
    Size,
)

LETTERS = "ijklmnpqrstuvwabcdefgh"


class Index(AffineForm[str]):
    """An affine form of letters, which may stand where one index stands."""

    __slots__ = ()

    def __str__(self) -> str:
        return _signed_text([*self.terms, *_dim_terms(self.const)])

    @property
    def is_atom(self) -> bool:
        """Whether the text needs no parentheses anywhere."""
        return len(self.terms) + len(self.const.terms) <= 1 and " " not in str(self)


def letters(taken: Iterable[str]) -> Iterator[str]:
    """Yield index names that are not taken: i, j, k, ..., then i1, j1, ..."""
    avoid = set(taken)
    number = 0
    while True:
        for letter in LETTERS:
            name = letter + (str(number) if number else "")
            if name not in avoid:
                yield name
        number += 1


def letters_in(at: Iterable[Index]) -> list[str]:
    """The letters that indices mention, inside of index arrays as well."""
    atoms = (name for index in at for name, _ in index.terms)
    return [letter for atom in atoms for letter in re.findall(r"\w+", atom)]


def names_in(nodes: Iterable[Node]) -> list[str]:
    """The names of inputs, constants and sizes, which no letter may be."""
    found = [name for node in nodes for dim in node.dims for name in dim.symbols]
    for node in nodes:
        if isinstance(node, Input | Constant):
            found.append(node.name)
        elif isinstance(node, Size):
            found += node.value.symbols
    return found


Spell = Callable[[Node, Sequence[Index]], str]
"""How the entry of an array is written at some indices."""


def unspelled(node: Node, at: Sequence[Index]) -> str:
    """Write the entry of an index array that is computed, of which nothing is known."""
    return subscript("?", at)


def combine(form: Affine, at: Mapping[Label, Index], spell: Spell = unspelled) -> Index:
    """Write a form of labels in the letters of `at`."""
    total = Index.constant(form.const)
    for atom, scale in form.terms:
        if isinstance(atom, Lookup):
            index = Index.atom(_entry(atom.node, [at[x] for x in atom.labels], spell))
        else:
            index = at[atom]
        total += index.scaled(scale)
    return total


def _entry(node: Node, at: Sequence[Index], spell: Spell) -> str:
    """The entry of an index array, or of a part of one: `tri[i, j + 1]`."""
    if isinstance(node, Input):
        return subscript(node.name, at)
    if isinstance(node, Product) and len(node.factors) == 1:
        fixed, constraints = solved_labels(node)
        place = dict(enumerate(at))
        for label, form in reversed(fixed.items()):
            place[label] = combine(form, place, spell)
        part, labels = node.factors[0]
        if not constraints and all(label in place for label in labels):
            return _entry(part, [place[label] for label in labels], spell)
    return spell(node, at)


def subscript(name: str, indices: Sequence[object]) -> str:
    """Return `name[i, j]`, or the name alone for a scalar; of a row `name[0, j]`."""
    if not indices:
        return name
    start = f"{name[:-1]}, " if name.endswith("]") else f"{name}["
    return f"{start}{', '.join(map(str, indices))}]"


def constraint_text(kind: str, index: Index) -> str:
    """Return `delta[i, j]` for `i - j == 0` and `[j <= i]` for `i - j >= 0`."""
    less, sign, more = _sides(kind, index)
    return f"delta[{more}, {less}]" if kind == "eq" else f"[{less} {sign} {more}]"


def condition(kind: str, index: Index, letters: Iterable[str]) -> str:
    """Return `row[l] == i` or `j < i`; of equals, first what has summed `letters`."""
    less, sign, more = _sides(kind, index)
    own = re.compile(rf"\b({'|'.join(letters)})\b")
    if kind == "eq" and not own.search(less):
        less, more = more, less
    return f"{less} {sign} {more}"


def _sides(kind: str, index: Index) -> tuple[str, str, str]:
    """What is less or equal, the sign between, and what is more."""
    terms = [*index.terms, *_dim_terms(index.const)]
    strict = kind == "ge" and terms[-1:] == [("", -1)] and len(terms) > 1
    if strict:
        del terms[-1]
    less = [(name, -c) for name, c in terms if c < 0]
    more = [(name, c) for name, c in terms if c > 0]
    # Between an index and sizes alone a number stands beside these: `i <= n - 2`.
    alone = more and not any(c > 0 for _, c in index.terms)
    if kind == "ge" and alone and len(less) > 1 and not less[-1][0]:
        more.append(("", -less.pop()[1]))
    sign = "==" if kind == "eq" else "<" if strict else "<="
    return _signed_text(less), sign, _signed_text(more)


def _dim_terms(dim: Dim) -> list[tuple[str, Coefficient]]:
    return [("*".join(monomial), c) for monomial, c in dim.terms]


def _signed_text(terms: Sequence[tuple[str, Coefficient]]) -> str:
    """Add terms up as text, one with a positive coefficient first."""
    text = ""
    for name, c in sorted(terms, key=lambda term: term[1] < 0 or not term[0]):
        size = str(abs(c)) if not name else name if abs(c) == 1 else f"{abs(c)}*{name}"
        sign = "-" if c < 0 else "+"
        text += f" {sign} {size}" if text else ("-" if c < 0 else "") + size
    return text or "0"


def solved_labels(node: Product) -> tuple[dict[Label, Affine], list[Constraint]]:
    """Find the summed labels that deltas fix inside their range.

    Return what fixes them, in terms of other labels, and the constraints that remain.
    A form may mention labels that a later entry fixes.
    """
    ranges = Ranges.of(dict(enumerate(node.sizes)))
    found: dict[Label, Affine] = {}
    rest: list[Constraint] = []
    for constraint in node.constraints:
        form = constraint.form
        for label, value in found.items():
            form = form.substituted(label, value)
        # A label in the place of an index array's entry is not substituted there, and
        # its own form may rest on the one that would be fixed here.
        inside = looked_up([form])
        for label in solvable(Constraint(constraint.kind, form)):
            value = solved(form, label)
            if label < node.order or label in inside or inside & found.keys():
                continue
            if ranges.contain(value, ranges.intervals[label]):
                found[label] = value
                break
        else:
            rest.append(constraint)
    return found, rest


def one_points(
    node: Product, found: dict[Label, Affine], constraints: Sequence[Constraint]
) -> tuple[list[Constraint], list[Constraint]]:
    """Fix the summed labels of which at most one value counts, beside those `found`.

    Return what says that these are in range, and the constraints that remain.
    """
    ranges = Ranges.of(dict(enumerate(node.sizes)))
    deltas = [
        form
        for kind, form in constraints
        if kind == "eq"
        and max([*form.labels, *looked_up([form])], default=0) < node.order
    ]
    checks: list[Constraint] = []
    rest: list[Constraint] = []
    for one in constraints:
        kind, form = one
        for label, value in found.items():
            form = form.substituted(label, value)
        inside = looked_up([form])
        read = inside | looked_up(found.values())
        for label in solvable(Constraint(kind, form)):
            if label < node.order or label in read or inside & found.keys():
                continue
            value, own = solved(form, label), ranges.intervals[label]
            # Best what is in range by itself, or is at least no sum.
            same = sorted(_alike(value, deltas), key=lambda x: x.const != 0)
            found[label] = value = next(
                (x for x in same if ranges.contain(x, own)), same[0]
            )
            for check in within(value, own):
                forms = _alike(check.form, deltas)
                if not any(ranges.keep_nonnegative(x) for x in forms):
                    checks.append(check)
            break
        else:
            rest.append(one)
    return checks, rest


def _alike(value: Affine, deltas: Iterable[Affine]) -> Iterator[Affine]:
    """A form, then the same by what deltas say of labels that it mentions."""
    yield value
    for form in deltas:
        for label in solvable(Constraint("eq", form)):
            if value.coefficient(label):
                yield value.substituted(label, solved(form, label))
