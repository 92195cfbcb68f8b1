"""Guards: what a condition or a range excludes never reaches values or derivatives.

The derivative of `where(c, a, b)` multiplies that of `a` by a condition, and a sum over
a range by an indicator: 0 times infinity is no number. So whatever could be infinite or
NaN where it is not read becomes a harmless number there, before anything is derived:
the arguments of functions that are infinite somewhere, and data that meet the mask.
Then zeros multiply finite numbers only, in derivatives of every order, in whatever
order passes multiply.

Masks say so through slices as well: where `q[i, j + 1]` is read if `i <= j`, the
entry of `q` at i and p is if `i < p`. What slices and ranges leave of a value by
themselves is kept from its own function alone: of data beside, a slice asks nothing.

A variable is a finite number, for a derivative is taken there; data may be anything
where they are not read. What no mask multiplies stays as it is. An entry that stands
for a whole row, as `y[i]` beside `Y[i, j]`, is read where the mask holds anywhere in
that row; the factors of a matrix product are not asked for, and count as finite.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from fractions import Fraction
from typing import NamedTuple, assert_never, cast

from tensorgen.ir.constraints import is_light
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import (
    Call,
    Constant,
    Input,
    Iota,
    Map,
    Node,
    Product,
    Ref,
    Size,
    Sum,
    children,
    constant_value,
    topological,
)
from tensorgen.ir.rebuild import sizes_of, with_parts
from tensorgen.operators.calls import OPERATORS
from tensorgen.operators.conditions.bounds import is_polynomial, is_unsafe, value_of
from tensorgen.operators.conditions.masks import (
    Clause,
    Context,
    alike,
    axes_of_argument,
    beyond,
    clauses,
    covers,
    entries,
    excludes,
    of_factor,
    of_operand,
    projected,
    ranges,
    together,
    with_views,
)
from tensorgen.operators.conditions.read_places import read_places
from tensorgen.operators.elementwise import ELEMENTWISE
from tensorgen.operators.scalar import apply, ref


class Guarded(NamedTuple):
    """What agrees with a node where that is read, and what is known of it elsewhere.

    `finite` says that it is finite there; `value` is the number that it is, if known.
    All its derivatives are finite there anyway.
    """

    node: Node
    finite: bool = True
    value: int | None = None


class Wanted(NamedTuple):
    """A node to be guarded: from some masks, and itself `finite` if that is possible.

    Without, it need not be finite as long as its derivatives are.
    """

    node: Node
    context: Context = ()
    finite: bool = False


Axes = tuple[int, ...]
Visit = Generator[Wanted, Guarded, Guarded]


def guard(graph: Graph, root: Node, variables: Iterable[Node]) -> dict[Node, Node]:
    """Return what to read in place of `root` and of nodes below it.

    Nodes that stay, and those that are read under several masks, are left out.
    """
    return _Guard(graph, root, variables).run(root)


class _Guard:
    def __init__(self, graph: Graph, root: Node, variables: Iterable[Node]) -> None:
        self.graph = graph
        self.done: dict[Wanted, Guarded] = {}
        self.varying = set(variables)
        self.masked: set[Node] = set()
        self.data: dict[Node, frozenset[Node]] = {}
        order = topological([root])
        self.read = read_places(order)
        for node in order:
            self._note(node)
        self.sloped = {root}
        bare = {root}
        for node in reversed(order):
            if node in self.sloped:
                self.sloped.update(_sloped(node))
            if node in bare and _reads_all(node):
                bare.update(children(node))
        self.bare = frozenset(bare)

    def _note(self, node: Node) -> None:
        """Note what stands below a node, whose operands are noted."""
        below = children(node)
        if any(child in self.varying for child in below):
            self.varying.add(node)
        hides = excludes(node) or (node in self.read and self._may_be_unsafe(node))
        if hides or any(child in self.masked for child in below):
            self.masked.add(node)
        own = isinstance(node, Input) and node.index is None
        mine = [node] if own and node not in self.varying else []
        self.data[node] = frozenset(mine).union(*(self.data[c] for c in below))

    def _may_be_unsafe(self, node: Node) -> bool:
        """Whether a function has a pole: a slice asks nothing of what overflows."""
        return (
            isinstance(node, Map)
            and not ELEMENTWISE[node.function].has("overflows")
            and is_unsafe(node, None, node in self.varying)
        )

    def run(self, root: Node) -> dict[Node, Node]:
        """Visit all nodes, without recursion."""
        if root not in self.masked:
            return {}
        stack = [(Wanted(root), self._visit(Wanted(root)))]
        answer: Guarded | None = None
        while stack:
            wanted, visit = stack[-1]
            try:
                wanted = next(visit) if answer is None else visit.send(answer)
            except StopIteration as stop:
                answer = self.done[wanted] = cast(Guarded, stop.value)
                self._carry_name(wanted.node, answer.node)
                stack.pop()
                continue
            answer = self.done.get(wanted)
            if answer is None:
                stack.append((wanted, self._visit(wanted)))
        found: dict[Node, set[Node]] = {}
        for wanted, new in self.done.items():
            found.setdefault(wanted.node, set()).add(new.node)
        return {
            old: min(new, key=lambda node: node.serial)
            for old, new in found.items()
            if len(new) == 1 and old not in new
        }

    def _carry_name(self, old: Node, new: Node) -> None:
        if old in self.graph.names:
            self.graph.names.setdefault(new, self.graph.names[old])

    def _visit(self, wanted: Wanted) -> Visit:
        node, context, _ = wanted
        context = tuple(c for c in context if (node, c.axes) not in c.shared)
        if not context and node not in self.masked:
            return Guarded(node)
        match node:
            case Input():
                return Guarded(node, self._is_read(node, context))
            case Sum():
                return (yield from self._sum(node, context))
            case Product() if self._is_view(node):
                return (yield from self._view(node, context))
            case Product():
                return (yield from self._product(node, context, wanted.finite))
            case Map(function="where"):
                return (yield from self._where(node, context, wanted.finite))
            case Map():
                return (yield from self._map(node, context))
            case Call():
                return (yield from self._call(node, context))
            case Constant() | Size() | Iota():
                return Guarded(node)
            case _:
                assert_never(node)

    def _is_read(self, node: Node, context: Context) -> bool:
        """Whether the masks exclude none of the data of a node."""
        return all(self.data[node] <= clause.spared for clause in context)

    def _is_view(self, node: Product) -> bool:
        """Whether a product merely reads entries of data."""
        return node not in self.varying and is_light(node) and _has_delta(node)

    def _view(self, node: Product, context: Context) -> Visit:
        """What is read is guarded at its places; who reads it selects as well."""
        factors = []
        for inner, labels in node.factors:
            own = of_factor(self.graph, node, node.constraints, context, labels)
            found = yield Wanted(inner, () if isinstance(inner, Input) else own)
            factors.append((found.node, labels))
        new = with_parts(self.graph, node, factors, node.constraints)
        return Guarded(new, self._is_read(node, context))

    def _selected(
        self, node: Node, context: Context, other: Ref | int | Fraction = 0
    ) -> Guarded:
        """`node` where all masks hold, and something else where one does not."""
        condition = together(self.graph, context)
        value = other if isinstance(other, int) else None
        if isinstance(other, int | Fraction):
            other = Ref(self.graph.constant(other), ())
        args = [condition, ref(node), other]
        sizes = dict(enumerate(node.dims))
        chosen = self.graph.map("where", range(node.order), args, sizes)
        return Guarded(chosen, True, value)

    def _operand(
        self, context: Context, operand: Ref, multiplied: bool, wanted: bool = False
    ) -> Generator[Wanted, Guarded, tuple[Guarded, Context]]:
        """Visit an operand, and return the masks that it is guarded from besides.

        Where masks of more axes hide an entry, it is kept from what multiplies it.
        """
        node, labels = operand
        own, finite = of_operand(context, labels), True
        if more := beyond(context, labels):
            data = self.data[node] - self.bare
            finite = multiplied or all(data <= clause.spared for clause in more)
            if multiplied:
                own = projected(self.graph, context, labels, self.bare)
        inner = yield Wanted(node, own, wanted)
        return inner._replace(finite=inner.finite and finite), own

    # One kind of node each

    def _sum(self, node: Sum, context: Context) -> Visit:
        finite, zero = True, True
        terms = []
        for term in node.terms:
            varies = term.node in self.varying
            inner, _ = yield from self._operand(context, term.ref, varies)
            finite &= inner.finite
            zero &= inner.value == 0 and covers(context, term.labels)
            terms.append((term.coefficient, inner.node, term.labels))
        sizes = dict(enumerate(node.dims))
        new = self.graph.sum(range(node.order), terms, sizes)
        return Guarded(new, finite, 0 if zero else None)

    def _where(self, node: Map, context: Context, wanted: bool) -> Visit:
        condition, *sides = node.args
        holds = tuple(clauses(self.graph, condition))
        fails = tuple(clauses(self.graph, apply(self.graph, "logical_not", condition)))
        branches: list[Guarded] = []
        both = set(entries(sides[0])).intersection(entries(sides[1]))
        for k, masks in enumerate((holds, fails)):
            spared = self.data[sides[1 - k].node]
            masks = tuple(
                mask._replace(spared=spared, shared=_seen_by(mask, both))
                for mask in masks
            )
            if node not in self.sloped:
                masks = ()  # it selects, and no derivative multiplies
            whole = tuple(dict.fromkeys((*context, *masks)))
            varies = sides[k].node in self.varying
            inner, _ = yield from self._operand(whole, sides[k], varies, wanted)
            value = inner.value if covers(whole, sides[k].labels) else None
            branches.append(inner._replace(value=value))
        first, second = branches
        other = constant_value(second.node)
        args = [
            condition,
            Ref(first.node, sides[0].labels),
            Ref(second.node, sides[1].labels),
        ]
        out, sizes = range(node.order), dict(enumerate(node.dims))
        if first.value == 0 and other == 0:  # it is 0 there already
            return Guarded(self.graph.product(out, [args[1]], sizes=sizes), True, 0)
        value = None
        if other is not None and other.denominator == 1 and alike(holds, context):
            value = int(other)
        new = self.graph.map("where", out, args, sizes)
        finite = first.finite and second.finite
        return Guarded(new, finite and not any(map(_is_infinite, branches)), value)

    def _map(self, node: Map, context: Context) -> Visit:
        varies = node in self.varying
        place, number = ELEMENTWISE[node.function].safe or (0, 0)
        finite, value, bare = True, None, False
        args = []
        for k, arg in enumerate(node.args):
            x, own = yield from self._operand(context, arg, varies, varies)
            unsafe = k == place and is_unsafe(node, x.value, varies)
            if unsafe and self._may_be_unsafe(node):
                own = tuple(dict.fromkeys((*own, *self._of_readers(node, arg.labels))))
            # A base without the axes of the masks stays: its power 1 is finite.
            unsafe |= bare and node.function == "pow"
            bare |= unsafe and not own
            if own and (unsafe or (varies and not x.finite)):
                at = unsafe or k == place
                safe = number if at and not is_polynomial(node) else 0
                x = self._selected(x.node, own, safe)
            finite &= x.finite
            if not k and covers(context, arg.labels):
                value = x.value
            args.append((x.node, arg.labels))
        sizes = dict(enumerate(node.dims))
        new = self.graph.map(node.function, range(node.order), args, sizes)
        return Guarded(new, finite, value_of(node, value))

    def _of_readers(self, node: Node, labels: Axes) -> Context:
        """The masks of an operand by what ranges of all readers leave of a node."""
        sizes = dict(enumerate(node.dims))
        masks = ranges(self.graph, sizes, self.read.get(node, ()))
        return of_operand(tuple(Clause(*mask) for mask in masks.values()), labels)

    def _product(self, node: Product, context: Context, wanted: bool) -> Visit:
        views, constraints = with_views(self.graph, node)
        indicators = [c for c in constraints if c.kind == "ge"]
        bounds = ranges(self.graph, sizes_of(node), indicators).items()
        masks = {constraint: Clause(*mask) for constraint, mask in bounds}
        whole = (*context, *masks.values())
        for view in views:
            self._note(view.node)  # it may be new
        varying = [view.node in self.varying for view in views]
        factors: list[_Factor] = []
        for k, view in enumerate(views):
            others = any(varying[:k] + varying[k + 1 :])
            multiplied = wanted or bool(masks) or others
            if node.inner:
                own = of_factor(self.graph, node, constraints, whole, view.labels)
                inner = yield Wanted(view.node, own, multiplied)
                if context and is_light(node) and not isinstance(view.node, Input):
                    # Masks of what is read elsewhere say nothing of what is computed.
                    inner = inner._replace(finite=bool(own) and inner.finite)
            else:
                found = self._operand(whole, view, multiplied, multiplied)
                inner, own = yield from found
            if own and multiplied and not inner.finite:
                inner = self._selected(inner.node, own)
            factors.append(_Factor(view, inner, own))
        finite = all(factor.inner.finite for factor in factors)
        zero = [factor.context for factor in factors if factor.inner.value == 0]
        gone = [c for c, mask in masks.items() if any(mask in own for own in zero)]
        kept = [c for c in constraints if c not in gone]
        parts = [(factor.inner.node, factor.ref.labels) for factor in factors]
        new = with_parts(self.graph, node, parts, kept)
        vanishes = finite and any(
            factor.inner.value == 0 and covers(whole, factor.ref.labels)
            for factor in factors
        )
        return Guarded(new, finite, 0 if vanishes else None)

    def _call(self, node: Call, context: Context) -> Visit:
        axes = axes_of_argument(node)
        finite = True
        args = []
        for arg in node.args:
            own = of_operand(context, axes)
            x = yield Wanted(arg, own, node in self.varying)
            if own and OPERATORS[node.operator].regular:
                x = self._selected(x.node, own, self._unit(arg))
            elif own and node in self.varying and not x.finite:
                x = self._selected(x.node, own)
            finite &= x.finite and (bool(own) or not context)
            args.append(x.node)
        params = dict(node.params)
        new = self.graph.call(node.operator, args, node.dims, **params)
        return Guarded(new, finite)

    def _unit(self, matrices: Node) -> Ref:
        row, column = matrices.order - 2, matrices.order - 1
        return Ref(self.graph.unit(matrices.dims[-1:]), (row, column))


def _seen_by(mask: Clause, refs: Iterable[Ref]) -> frozenset[tuple[Node, Axes]]:
    """Nodes that are read for each entry, with the axes of a mask there."""
    return frozenset(
        (node, tuple(map(labels.index, mask.axes)))
        for node, labels in refs
        if set(mask.axes) <= set(labels)
    )


class _Factor(NamedTuple):
    ref: Ref
    inner: Guarded
    context: Context


def _sloped(node: Node) -> Iterator[Node]:
    """The operands through which a node has a derivative."""
    if not isinstance(node, Map):
        yield from children(node)
        return
    slopes = ELEMENTWISE[node.function].partials
    for arg, slope in zip(node.args, slopes, strict=True):
        if slope != "0":
            yield arg.node


def _reads_all(node: Node) -> bool:
    """Whether a node is no number where any entry of an operand is none."""
    whole = isinstance(node, Product | Sum)
    return whole and not (excludes(node) or _has_delta(node))


def _is_infinite(x: Guarded) -> bool:
    """Whether what is written there is `inf` or `-inf`."""
    parts = [x.node, *children(x.node)]
    return any(isinstance(part, Constant) and part.name == "inf" for part in parts)


def _has_delta(node: Node) -> bool:
    return isinstance(node, Product) and any(c.kind == "eq" for c in node.constraints)
