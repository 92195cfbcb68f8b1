"""Formulas in matrix notation, as one would write them in NumPy.

`X.T @ (y * sigmoid(t))`: a product of vectors and matrices is taken apart into matrix
products, inner and outer products, diagonals and what is elementwise, by its labels
alone. What has more than two axes, or has none of these forms, has no matrix notation.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

from tensorgen.ir.aliases import Aliases
from tensorgen.ir.dims import Dim
from tensorgen.ir.formula_text import is_call, number, spell
from tensorgen.ir.index_text import solved_labels
from tensorgen.ir.nodes import (
    Affine,
    Call,
    Constant,
    Constraint,
    Input,
    Iota,
    Label,
    Lookup,
    Map,
    Node,
    Product,
    Ref,
    Size,
    Sum,
    affine,
    constant_value,
    topological,
)
from tensorgen.operators.calls import OPERATORS
from tensorgen.operators.elementwise import ELEMENTWISE
from tensorgen.operators.matrices.capacitance import is_capacitance
from tensorgen.operators.matrix_products import (
    ATOM,
    MATMUL,
    POWER,
    SUM,
    TIMES,
    NoMatrixError,
    Part,
    Parts,
    enclosed,
)
from tensorgen.operators.promise_calls import is_promise

LONGEST = 240
"""The most characters of a formula; a longer one is read better with indices."""
_MOST_STEPS = 400


def matrix_notation(
    node: Node, names: Mapping[Node, str], defined: Collection[str] = ()
) -> str | None:
    """Return a node in matrix notation, other values by name; None where it has none.

    Names that are being `defined` do not explain themselves.
    """
    known = {x: name for x, name in names.items() if name not in defined}
    writer = _Writer(known, [x for x in topological([node]) if x in known])
    try:
        text = writer.spelled(node).text
    except NoMatrixError:
        return None
    return text if len(text) <= LONGEST else None


class _Writer:
    """Writes nodes; the labels of what it returns are the axes of the node."""

    def __init__(self, names: Mapping[Node, str], among: Sequence[Node]) -> None:
        self.names = names
        self.aliases = Aliases(names, among)
        self.steps = 0

    def value(self, node: Node) -> Part:
        """A node by name, or spelled out."""
        if node.order > 2:
            raise NoMatrixError
        axes = tuple(range(node.order))
        if node in self.names:
            return Part(axes, self.names[node], ATOM)
        if alias := self.aliases.find(node):
            part = Part(alias.axes, alias.name, ATOM).turned(axes)
            return part if alias.factor == 1 else _scaled(alias.factor, part)
        return self.spelled(node)

    def spelled(self, node: Node) -> Part:
        """A node by what it is."""
        self.steps += 1
        if self.steps > _MOST_STEPS or node.order > 2:
            raise NoMatrixError
        axes = tuple(range(node.order))
        match node:
            case Input(name=name) | Constant(name=name):
                return Part(axes, name, ATOM)
            case Size(value=value):
                text = str(value)
                return Part((), text, ATOM if text.isidentifier() else SUM)
            case Iota():
                return Part(axes, f"arange({node.dims[0]})", ATOM)
            case Product():
                return self.product(node)
            case Sum():
                return self.sum(node)
            case Map():
                return self.map(node)
            case Call():
                return self.call(node)

    # Products

    def product(self, node: Product) -> Part:
        solved, constraints = solved_labels(node)
        same = _diagonal(node, constraints)
        parts = [self.factor(ref, solved, node.sizes) for ref in node.factors]
        if same is not None:
            first, second = same
            parts = [part.renamed({second: first}) for part in parts]
            out: tuple[Label, ...] = (first,)
        else:
            out = tuple(range(node.order))
        work = Parts(parts, node.coefficient, dict(enumerate(node.sizes)))
        work.contract(
            [x for x in range(node.order, len(node.sizes)) if x not in solved]
        )
        if same is None:
            return work.laid_out(out)
        return work.diagonal(out[0])

    def factor(
        self, ref: Ref, solved: Mapping[Label, Affine], sizes: Sequence[Dim]
    ) -> Part:
        """A factor by the labels of the product; slices stand in brackets."""
        part = self.divisor(ref) or self.value(ref.node)
        labels: list[Label] = []
        cuts: list[str] = []
        for axis, label in enumerate(ref.labels):
            form = solved.get(label)
            if form is None:
                labels.append(label)
                cuts.append(":")
                continue
            place, cut = _cut(form, ref.node.dims[axis], sizes)
            labels += [place] if place is not None else []
            cuts.append(cut)
        if any(cut != ":" for cut in cuts):
            self.within(ref, solved)
            text = f"{enclosed(part.text, part.level, ATOM)}[{', '.join(cuts)}]"
            part = Part((), text, ATOM, part.under)
        part = replace(part, labels=tuple(labels))
        if len(labels) == 2 and labels[0] == labels[1]:
            return part.on_diagonal(labels[0])
        return part

    def within(self, ref: Ref, solved: Mapping[Label, Affine]) -> None:
        """What is cut must not rest on labels that are cut again."""
        for label in ref.labels:
            if label in solved and any(x in solved for x in solved[label].labels):
                raise NoMatrixError

    def divisor(self, ref: Ref) -> Part | None:
        """What a factor is one over, if it is that."""
        node = ref.node
        if node in self.names or not isinstance(node, Map) or node.function != "pow":
            return None
        base, exponent = node.args
        power = constant_value(exponent.node)
        if power is None or power >= 0 or base.labels != (*range(node.order),):
            return None
        return replace(_power(self.value(base.node), -power), under=True)

    # Sums, maps and calls

    def sum(self, node: Sum) -> Part:
        text = ""
        for coefficient, term, labels in sorted(
            node.terms, key=lambda term: term.coefficient < 0
        ):
            part = self.aligned(Ref(term, labels), node.order)
            negative, size = coefficient < 0, abs(coefficient)
            if size != 1:
                part = part if part.text == "1" else _scaled(size, part)
                part = part if part.text != "1" else Part((), number(size), ATOM)
            body = enclosed(part.text, part.level, TIMES)
            if part.text.startswith("-"):
                body = f"({part.text})"
            sign = "-" if negative else "+"
            text += f" {sign} {body}" if text else "-" * negative + body
        return Part(tuple(range(node.order)), text, SUM)

    def aligned(self, ref: Ref, order: int) -> Part:
        """An operand, so that NumPy broadcasts it along the axes that it lacks."""
        part = replace(self.value(ref.node), labels=ref.labels)
        if ref.labels == (1, 0):
            return part.turned((0, 1))
        if order == 2 and ref.labels == (0,):
            text = f"{enclosed(part.text, part.level, ATOM)}[:, None]"
            return Part((0,), text, ATOM)
        return part

    def map(self, node: Map) -> Part:
        axes = tuple(range(node.order))
        row = ELEMENTWISE[node.function]
        if node.function == "pow":
            power = constant_value(node.args[1].node)
            base = self.aligned(node.args[0], node.order)
            if power is None:
                other = self.aligned(node.args[1], node.order)
                base_text = enclosed(base.text, base.level, ATOM)
                text = f"{base_text}**{enclosed(other.text, other.level, ATOM)}"
                return Part(axes, text, POWER)
            if power < 0:
                below = _power(base, -power)
                return Part(
                    axes, f"1 / {enclosed(below.text, below.level, POWER)}", TIMES
                )
            return replace(_power(base, power), labels=axes)
        parts = [self.aligned(ref, node.order) for ref in node.args]
        if row.spelled == "{0}":  # what guards a value is not said of it
            return replace(parts[0], labels=axes)
        if row.spelled or (row.boolean and row.arity == 2):
            tight = [enclosed(part.text, part.level, ATOM) for part in parts]
            spelled = row.spelled or row.numpy
            text = spell(spelled, [part.text for part in parts], tight)
            return Part(axes, text, ATOM if is_call(spelled) else SUM)
        texts = [part.text for part in parts]
        return Part(axes, f"{node.function}({', '.join(texts)})", ATOM)

    def call(self, node: Call) -> Part:
        axes = tuple(range(node.order))
        if is_promise(node) or is_capacitance(node):
            return self.value(node.args[0])
        own = dict(node.params)
        over = own.pop("axes", None)
        if own or OPERATORS[node.operator].internal or node.operator == "external":
            raise NoMatrixError
        whole = (*range(node.args[0].order),)
        if over is not None and (len(node.args) > 1 or over != whole):
            raise NoMatrixError
        args = [self.value(arg) for arg in node.args]
        inside = ", ".join(part.text for part in args)
        if node.operator == "rnorm":
            return Part(axes, f"1 / norm({inside})", TIMES)
        if node.operator == "unit":
            text = enclosed(args[0].text, args[0].level, TIMES)
            return Part(axes, f"{text} / norm({inside})", TIMES)
        return Part(axes, f"{node.operator}({inside})", ATOM)


def _scaled(factor: Fraction, part: Part) -> Part:
    """A number times a part."""
    sign = "-" if factor < 0 else ""
    size = abs(factor)
    body = enclosed(part.text, part.level, POWER if part.level == MATMUL else TIMES)
    if body.startswith("-"):
        body = f"({body})"
    text = body if size == 1 else f"{number(size)} * {body}"
    return Part(part.labels, sign + text, TIMES)


def _power(base: Part, power: Fraction) -> Part:
    if power == 1:
        return base
    text = number(power)
    exponent = text if text.isdigit() else f"({text})"
    return Part(
        base.labels, f"{enclosed(base.text, base.level, ATOM)}**{exponent}", POWER
    )


def _diagonal(
    node: Product, constraints: Sequence[Constraint]
) -> tuple[Label, Label] | None:
    """The axes of a result that a delta makes equal, if there is one such delta."""
    if not constraints:
        return None
    axes = (0, 1)
    straight = [affine([(0, 1), (1, -1)]), affine([(1, 1), (0, -1)])]
    only, *others = constraints
    if node.order != 2 or others or only.kind != "eq" or only.form not in straight:
        raise NoMatrixError
    if node.dims[0] != node.dims[1]:
        raise NoMatrixError
    return axes


def _cut(form: Affine, dim: Dim, sizes: Sequence[Dim]) -> tuple[Label | None, str]:
    """The label that numbers the entries of a slice, and the slice of an axis."""
    if not form.terms:
        return None, str(form.const)
    (atom, scale), *others = form.terms
    if others or isinstance(atom, Lookup):
        raise NoMatrixError
    count = sizes[atom]
    if scale == -1 and form.const == dim - 1 and count == dim:
        return atom, "::-1"
    if scale != 1:
        raise NoMatrixError
    start, left = form.const, dim - form.const - count
    first = "" if start == 0 else str(start)
    last = "" if left == 0 else f"-{left}" if left.constant else str(start + count)
    return atom, f"{first}:{last}"
