"""Formulas in matrix notation, as one would write them in NumPy.

`X.T @ (y * sigmoid(t))`: a product of vectors and matrices is taken apart into matrix
products, inner and outer products, diagonals and what is elementwise, by its labels
alone. What has more than two axes, or has none of these forms, has no matrix notation.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from fractions import Fraction

from tensorgen.ir.aliases import Aliases
from tensorgen.ir.dims import Dim
from tensorgen.ir.formula_text import is_call, spell
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
from tensorgen.operators.matrices.symmetry import Symmetry
from tensorgen.operators.matrix_chains import added, inverse
from tensorgen.operators.matrix_products import NoMatrixError, Part, Parts
from tensorgen.operators.matrix_terms import (
    ATOM,
    POWER,
    SUM,
    Applied,
    Dims,
    Expression,
    Spread,
    Symbol,
    multiplied,
    raised,
    scaled,
    turned,
    upright,
)
from tensorgen.operators.matrix_text import tight, written
from tensorgen.operators.named_norms import NamedNorms
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
    found = matrix_form(node, names, defined)
    return None if found is None else written(found)[0]


def matrix_form(
    node: Node,
    names: Mapping[Node, str],
    defined: Collection[str] = (),
    multiply_out: bool = False,
) -> Expression | None:
    """Return the same as an expression.

    Where asked to `multiply_out` it looks into values of three axes: products of what
    is in them may have two. That takes a longer text than telling them by themselves.
    """
    known = {x: name for x, name in names.items() if name not in defined}
    among = [x for x in topological([node]) if x in known]
    writer = _Writer(known, among, multiply_out)
    try:
        found = writer.spelled(node)
    except NoMatrixError:
        return None
    return found if len(written(found)[0]) <= LONGEST else None


class _Writer:
    """Writes nodes as expressions, whose axes are those of the node."""

    def __init__(
        self, names: Mapping[Node, str], among: Sequence[Node], multiply_out: bool
    ) -> None:
        self.names = names
        self.multiply_out = multiply_out
        self.aliases = Aliases(names, among)
        self.symmetry = Symmetry(promised=True)
        self.norms = NamedNorms(names)
        self.steps = 0

    def value(self, node: Node) -> Expression:
        """A node by name, or spelled out."""
        if node.order > 2:
            raise NoMatrixError
        if node in self.names:
            return self.symbol(node, self.names[node])
        if alias := self.aliases.find(node):
            dims = tuple(node.dims[alias.axes.index(k)] for k in range(node.order))
            named = Symbol(alias.name, dims, is_symmetric=self.is_symmetric(node))
            whole = named if alias.axes == (*range(node.order),) else turned(named)
            return scaled(alias.factor, whole)
        return self.spelled(node)

    def symbol(self, node: Node, text: str, level: int = ATOM) -> Symbol:
        """A node by a text."""
        return Symbol(text, node.dims, level, self.is_symmetric(node))

    def is_symmetric(self, node: Node) -> bool:
        """Whether a node is known to equal its transpose."""
        return node.order == 2 and self.symmetry.parity(node, (0, 1)) == 1

    def spelled(self, node: Node) -> Expression:
        """A node by what it is."""
        self.steps += 1
        if self.steps > _MOST_STEPS or node.order > 2:
            raise NoMatrixError
        match node:
            case Input(name=name) | Constant(name=name):
                return self.symbol(node, name)
            case Size(value=value):
                text = str(value)
                return Symbol(text, (), ATOM if text.isidentifier() else SUM)
            case Iota():
                return Symbol(f"arange({node.dims[0]})", node.dims)
            case Product():
                return self.product(node)
            case Sum():
                return self.sum(node)
            case Map():
                return self.map(node)
            case Call():
                return self.call(node)

    # Products

    def product(self, node: Product) -> Expression:
        solved, constraints = solved_labels(node)
        same = _diagonal(node, constraints)
        out = range(node.order)
        rows = []
        for scale, factors, sizes in self.apart(
            node.coefficient, node.factors, node.sizes
        ):
            parts = [self.factor(ref, solved, sizes) for ref in factors]
            if same is not None:
                first, second = same
                parts = [part.renamed({second: first}) for part in parts]
            work = Parts(parts, scale, dict(enumerate(sizes)))
            work.contract([x for x in range(node.order, len(sizes)) if x not in solved])
            rows.append(work.laid_out(out) if same is None else work.diagonal(same[0]))
        return added(rows, node.dims)

    def apart(
        self, scale: Fraction, factors: tuple[Ref, ...], sizes: tuple[Dim, ...]
    ) -> Iterator[tuple[Fraction, tuple[Ref, ...], tuple[Dim, ...]]]:
        """Multiply out what has three axes: products of what is left may have two."""
        self.steps += 1
        if self.steps > _MOST_STEPS:
            raise NoMatrixError
        for k, use in enumerate(factors):
            if use.node.order < 3 or self.is_named(use.node):
                continue
            if not self.multiply_out:
                raise NoMatrixError
            rest = (*factors[:k], *factors[k + 1 :])
            match use.node:
                case Sum(terms=terms):
                    for one in terms:
                        own = (*rest, one.ref.under(use))
                        yield from self.apart(scale * one.coefficient, own, sizes)
                    return
                case Product(factors=inside, constraints=(), inner=inner):
                    fresh = range(len(sizes), len(sizes) + len(inner))
                    whole = Ref(use.node, (*use.labels, *fresh))
                    own = (*rest, *(ref.under(whole) for ref in inside))
                    more = scale * use.node.coefficient
                    yield from self.apart(more, own, (*sizes, *inner))
                    return
        yield scale, factors, sizes

    def is_named(self, node: Node) -> bool:
        """Whether a value has a name, in another form perhaps."""
        return node in self.names or self.aliases.find(node) is not None

    def factor(
        self, ref: Ref, solved: Mapping[Label, Affine], sizes: Sequence[Dim]
    ) -> Part:
        """A factor by the labels of the product; slices stand in brackets."""
        body = self.value(ref.node)
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
            text = f"{tight(body, ATOM)}[{', '.join(cuts)}]"
            body = Symbol(text, tuple(sizes[x] for x in labels))
        return Part(tuple(labels), body).renamed({})

    def within(self, ref: Ref, solved: Mapping[Label, Affine]) -> None:
        """What is cut must not rest on labels that are cut again."""
        for label in ref.labels:
            if label in solved and any(x in solved for x in solved[label].labels):
                raise NoMatrixError

    # Sums, maps and calls

    def sum(self, node: Sum) -> Expression:
        rows = [
            scaled(coefficient, self.aligned(Ref(term, labels), node.dims))
            for coefficient, term, labels in node.terms
        ]
        return added(rows, node.dims)

    def aligned(self, ref: Ref, dims: Dims) -> Expression:
        """An operand, so that NumPy broadcasts it along the axes that it lacks."""
        body = self.value(ref.node)
        if ref.labels == (1, 0):
            return turned(body)
        if len(dims) == 2 and len(ref.labels) == 1:
            return Spread(body, ref.labels[0], dims)
        return body

    def map(self, node: Map) -> Expression:
        row = ELEMENTWISE[node.function]
        parts = [self.aligned(ref, node.dims) for ref in node.args]
        if node.function == "pow":
            base, exponent = parts
            power = constant_value(node.args[1].node)
            if power is not None:
                return raised(base, power)
            text = f"{tight(base, ATOM)}**{tight(exponent, ATOM)}"
            return self.symbol(node, text, POWER)
        if row.spelled == "{0}":  # what guards a value is not said of it
            return parts[0]
        if row.spelled or (row.boolean and row.arity == 2):
            bare = [written(part)[0] for part in parts]
            spelled = row.spelled or row.numpy
            text = spell(spelled, bare, [tight(part, ATOM) for part in parts])
            return self.symbol(node, text, ATOM if is_call(spelled) else SUM)
        return self.applied(node, node.function, parts)

    def call(self, node: Call) -> Expression:
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
        if node.operator in ("rnorm", "unit"):
            named = self.norms.below(node)
            norm = self.value(named) if named else Applied("norm", tuple(args), ())
            below = raised(norm, Fraction(-1))
            return multiplied(below, args[0]) if node.operator == "unit" else below
        return self.applied(node, node.operator, args)

    def applied(
        self, node: Node, function: str, args: Sequence[Expression]
    ) -> Expression:
        """A function of expressions, by what it is of inverses and determinants."""
        match function, args:
            case "inv", [x]:
                return inverse(x)
            case "log", [Applied(function="det", args=inner)]:
                return Applied("logdet", inner, ())
            case "log", [Applied(function="abs", args=(Applied("det", inner),))]:
                return Applied("logdet", inner, ())
            case ("det" | "logdet"), [Applied("inv", (x,))]:
                one = self.applied(node, function, [x])
                return (
                    scaled(Fraction(-1), one)
                    if function == "logdet"
                    else raised(one, Fraction(-1))
                )
            case ("det" | "logdet" | "trace"), [x]:
                return Applied(function, upright(x)[:1], ())
        return Applied(function, tuple(args), node.dims, self.is_symmetric(node))


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
