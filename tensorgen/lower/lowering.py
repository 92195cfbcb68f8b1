"""From nodes to arrays: one pass in reading order.

A node is computed once for all of its uses if the user named it or if it is used more
than once; else it stands where it is used. Names and lines are a later matter.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import partial
from typing import NamedTuple, assert_never

from tensorgen.arrays import arrays, operations
from tensorgen.arrays.code import Code
from tensorgen.arrays.needs import Needs
from tensorgen.arrays.object_operations import Count, Member, Whole
from tensorgen.arrays.operations import Kind
from tensorgen.arrays.reading import transposes
from tensorgen.arrays.rewrites import Scene, rewritten
from tensorgen.arrays.statements import Let
from tensorgen.ir.constraints import index_bound, looked_up
from tensorgen.ir.dims import COMPUTED, ZERO, Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import (
    Call,
    Constant,
    Input,
    Iota,
    Map,
    Node,
    Product,
    Size,
    Sum,
    children,
    constant_value,
)
from tensorgen.lower.axes import ordered
from tensorgen.lower.defined_functions import DefinedFunctions, unpacked
from tensorgen.lower.draft import Draft, Result
from tensorgen.lower.maps import lower_call, lower_map
from tensorgen.lower.naming import Naming
from tensorgen.lower.operands import Operand, made, number, size
from tensorgen.lower.plan import Plan
from tensorgen.lower.products import ProductLowering, spreads
from tensorgen.lower.remarks import remarks
from tensorgen.lower.rescale import rescaled
from tensorgen.lower.results import is_view, result
from tensorgen.lower.scatter import Write, is_plain
from tensorgen.lower.slices import slice_alike
from tensorgen.lower.step_loops import repeat
from tensorgen.lower.sums import lower_sum, spread_sum
from tensorgen.lower.value_names import Names
from tensorgen.lower.values import Values
from tensorgen.operators.calls import OPERATORS
from tensorgen.operators.defined_calls import defined_of, is_defined, result_of
from tensorgen.operators.elementwise import ELEMENTWISE
from tensorgen.operators.matrices.systems import is_system
from tensorgen.operators.recurrences.recurrence import Recurrence, is_recurrence

# What modules imported where they are used are called.
_REQUIRED = [
    *(row.requires for row in ELEMENTWISE.values()),
    *(row.requires for row in OPERATORS.values()),
]
LAZY = tuple(dict.fromkeys(name.rpartition(".")[2] for name in _REQUIRED if name))


def lower(
    graph: Graph,
    roots: Sequence[Node],
    *,
    reserved: Collection[str] = (),
    root_names: Sequence[str | None] = (),
    fresh: bool | Sequence[bool] = True,
    variables: Collection[str] = (),
    facts: Sequence[Dim] = (),
    slow_at: bool = True,
    counted: Mapping[str, Sequence[str]] | None = None,
    matrices: Mapping[str, str] | None = None,
    hints: Mapping[str, int] | None = None,
    in_blocks: bool = False,
    along: Collection[Dim] = (),
    functions: DefinedFunctions | None = None,
) -> Code:
    """Return statements that compute `roots`, one expression for each.

    Inputs are variables under their own names. `reserved` are further names not to
    use, `root_names` suggestions for the roots that get a statement. Roots that are
    `fresh` share no memory with inputs or with each other, others none with the inputs
    that are `variables`. `facts` are polynomials in dims that the caller has checked to
    be nonnegative. `slow_at` tells that the library's `add.at` is fast for vectors
    alone. Sizes that are `counted` are one more than the largest entry of the inputs
    that these index arrays are. Sparse `matrices`, by the names of their values, are at
    hand. Sizes are expected to be as `hints` say; with `in_blocks`, large arrays are
    made a block at a time where that pays at these sizes; other functions that this one
    is to be like go `along` some of them so.
    """
    known, matrices = hints or {}, matrices or {}
    flags = [fresh] * len(roots) if isinstance(fresh, bool) else list(fresh)

    def drafted() -> _Drafted:
        plan = Plan(graph, roots, facts, matrices, hints)
        names = Names([*reserved, *plan.inputs, *plan.symbols, *LAZY])
        draft = Draft(slow_at, names, in_blocks, functions)
        return _drafted(plan, draft, flags, variables, root_names)

    what = (
        *map(tuple, (roots, root_names, flags, facts, matrices.items(), known.items())),
        *map(frozenset, (reserved, variables)),
    )
    made = _for_any_library(roots, what, (slow_at, in_blocks), drafted)
    sizes = known if in_blocks else {}
    where = tuple(sizes.items()), tuple(along)
    if where not in made.rewritten:
        naming = copy(made.naming)
        naming.names = naming.names.copy()
        named = naming.name, naming.again, sorted(naming.kept)
        scene = Scene(known, sizes, *named, along=along)
        made.rewritten[where] = rewritten(made.code, scene)
    code = _counting(_computing(made.rewritten[where]), counted or {})
    return replace(code, called=made.naming.called(made.straight))


class _Drafted(NamedTuple):
    """Code before it is `rewritten` for sizes, its names, and the nodes whose values
    are `straight`; what it was `asked` of the library that it is for."""

    code: Code
    naming: Naming
    straight: set[Node]
    asked: set[str]
    rewritten: dict[Hashable, Code]


def _drafted(
    plan: Plan,
    draft: Draft,
    fresh: Sequence[bool],
    variables: Collection[str],
    root_names: Sequence[str | None],
) -> _Drafted:
    lowering = Lowering(plan, draft)
    results = lowering.run(fresh, variables)
    results = rescaled(plan, draft, slice_alike(draft, results, plan))
    naming = Naming(plan, draft.names, root_names)
    statements, returns = naming.run(draft, results)
    statements = unpacked(statements)
    named_results = zip(naming.root_names, returns, strict=False)
    told = remarks(plan, naming.values, statements, named_results)
    code = Code(tuple(statements), tuple(returns), plan.refusals, remarks=told)
    return _Drafted(code, naming, lowering.straight, draft.asked, {})


def _for_any_library(
    roots: Sequence[Node],
    what: Hashable,
    library: tuple[bool, bool],
    make: Callable[[], _Drafted],
) -> _Drafted:
    """What is drafted of roots, which most libraries have in common: it is made once.

    Not where functions of the module are called.
    """
    known: dict[Hashable, _Drafted] = {}
    if roots:
        known = roots[0].known.setdefault(lower, known)
    for key in (what, (what, library)):
        if key in known:
            return known[key]
    made = make()
    if "functions" not in made.asked:
        known[(what, library) if made.asked else what] = made
    return made


def _computing(code: Code) -> Code:
    """The same, where sizes that are computed of others come first."""
    found: dict[str, Let] = {}

    def see(symbols: Iterable[str]) -> None:
        for symbol in symbols:
            if symbol in COMPUTED and symbol not in found:
                own = COMPUTED[symbol]
                see((*own.of.symbols, *own.by.symbols))
                found[symbol] = Let(symbol, arrays.array(Whole(own)))

    see(sorted(Needs(code.statements, code.returns).symbols))
    return replace(code, statements=(*found.values(), *code.statements))


def _counting(code: Code, counted: Mapping[str, Sequence[str]]) -> Code:
    """The same, where the keys that index arrays tell apart are counted first."""

    def keys(names: Sequence[str]) -> arrays.Array:
        return arrays.array(Count(), *(arrays.variable(x, (), "int") for x in names))

    symbols = sorted(Needs(code.statements, code.returns).symbols)
    counts = [
        Let(symbol, keys(counted[symbol])) for symbol in symbols if symbol in counted
    ]
    return replace(code, statements=(*counts, *code.statements))


class Lowering:
    """The function under construction, node by node."""

    def __init__(self, plan: Plan, draft: Draft, stored: bool = False) -> None:
        """Start the function that computes the roots of `plan`.

        Where the roots are `stored` in arrays they need no names.
        """
        self.plan = plan
        self.stored = stored
        self.roots = plan.roots
        self.draft = draft
        self.known = Values(plan, draft)
        self.values, self.writes = self.known.values, self.known.writes
        self._turned: dict[tuple[Node, tuple[int, ...]], Operand] = {}

    def run(self, fresh: Sequence[bool], variables: Collection[str]) -> list[Result]:
        """Draft all values and return those of the roots."""
        for node in self.plan.order:
            self._visit(node)
        for node in self.plan.views:
            self.draft.value(node, self._expression(node, None).array)
        shared = dict.fromkeys(self.plan.inputs)
        results: list[Result] = []
        for root, own in zip(self.roots, fresh, strict=True):
            expr = self.values[root]
            if is_system(root):
                results.append(Result(root, expr.array, own))
                continue
            if own or index_bound(root) is None:
                copied = own or is_view(root, expr, variables)
                expr = result(expr, root.dims, shared, copied)
            if expr.base is not None:
                shared[expr.base] = None
            results.append(Result(root, expr.array, own))
        return results

    @property
    def straight(self) -> set[Node]:
        """The nodes whose values have all of their axes, in their order."""
        values = self.values.items()
        found = {x for x, own in values if own.labels == (*range(x.order),)}
        return found.difference(node for node, _ in self._turned)

    # One node

    def _recur(self, node: Call) -> None:
        """Draft a recurrence with all of its results that are asked for."""
        whole = Recurrence.of(node)
        found = (x for x in self.plan.order if is_recurrence(x))
        results = [x for x in found if Recurrence.of(x) == whole]
        repeat(self.known, whole, results, self._body)

    def _body(self, roots: Sequence[Node]) -> tuple[Plan, Draft, list[Result]]:
        """Draft a step, of which nothing else is known."""
        plan = Plan(self.plan.graph, roots, self.plan.facts, hints=self.plan.hints)
        own = self.draft
        draft = own.inner()
        results = Lowering(plan, draft, stored=True).run([False] * len(roots), ())
        results = slice_alike(draft, results, plan)
        return plan, draft, results

    def _call(self, node: Call) -> Operand:
        """What the function of a definition makes of the arguments."""
        plan, own = self.plan, self.draft

        def lowered(
            roots: Sequence[Node], words: Sequence[str], outputs: Sequence[str]
        ) -> Code:
            return lower(
                plan.graph,
                roots,
                reserved=words,
                root_names=outputs,
                facts=plan.facts,
                slow_at=own.slow_at,
                hints=plan.hints,
                functions=own.functions,
            )

        op = own.functions.of(plan.graph, defined_of(node), LAZY, lowered)
        args = [self.known.whole(x).array for x in node.args]
        found = arrays.array(op, *args)
        if len(op.shapes) > 1:
            place = result_of(node)
            found = arrays.array(Member(place, op.shapes[place]), found)
        return Operand(found, tuple(range(node.order)))

    def _visit(self, node: Node) -> None:
        plan = self.plan
        if is_recurrence(node):
            if node not in self.values:
                self._recur(node)
            return
        if writes := self._passed_on(node):
            self.writes[node] = writes
            return
        one_of_several = is_defined(node) and len(defined_of(node).results) > 1
        own = (self._is_bound(node) or one_of_several) and not plan.is_leaf(node)
        expr = self.values[node] = self._plainest(node)
        last = plan.uses[node] == 1 and node in self.roots
        later = last and self._is_unfinished(node)
        if own and not (expr.is_name or expr.weak or later):
            if set(expr.labels) == set(range(node.order)):
                free = self._is_free(node, expr)
                expr = expr if free else ordered(expr, range(node.order))
            variable = self.draft.variable(node, expr.array)
            self.values[node] = Operand(variable, expr.labels)
        else:
            self.draft.value(node, expr.array)

    def _passed_on(self, node: Node) -> tuple[Write, ...]:
        """Entries that are written by the one who uses the node, if it is so."""
        plan, users = self.plan, self.plan.users[node]
        if node in plan.named or not users:
            return ()
        if plan.uses[node] != 1:
            return self._placed(node)
        user = users[-1]
        again = isinstance(user, Product) and spreads(plan, user)
        if isinstance(node, Product) and ProductLowering(self.known, node).tapped():
            return ()
        if isinstance(node, Sum):
            return spread_sum(self.known, node) if again else ()
        if not isinstance(node, Product) or not plan.is_write(node):
            return ()
        again = again and is_plain(plan.solution(node).writes)
        if not (again or isinstance(user, Sum)):
            return ()
        return ProductLowering(self.known, node).writes()

    def _placed(self, node: Node) -> tuple[Write, ...]:
        """One number at one place, which each of several sums writes for itself."""
        plan = self.plan
        if not isinstance(node, Product) or node in self.roots:
            return ()
        if not plan.is_write(node) or node.inner or plan.solution(node).masks:
            return ()
        if not all(isinstance(user, Sum) for user in plan.users[node]):
            return ()
        if any(form.terms for form in plan.solution(node).writes):
            return ()
        (write,) = ProductLowering(self.known, node).writes()
        if write.core.is_name or write.core.weak:
            return (write,)
        core = Operand(self.draft.variable(node, write.core.array), ())
        return (replace(write, core=core),)

    def _is_bound(self, node: Node) -> bool:
        """What is returned alone stands behind `return`; several have names."""
        call, wanted = self.plan.origin.get(node), node in self.plan.bound
        if call is not None and self.plan.uses[node] == 1:
            node = call
        if node not in self.roots or self.plan.uses[node] > 1:
            return wanted
        return len(self.roots) > 1 and not self.stored

    def _plainest(self, node: Node) -> Operand:
        """The value of a node, its axes in order or as takes fewer transposes."""
        axes = tuple(range(node.order))
        expr = self._expression(node, axes)
        if node.order < 2 or not self._is_pure(node, expr):
            return expr
        free = self._is_free(node, expr)
        if free and (axis := self.plan.gathered.get(node)):
            rows = self._expression(node, (axis, *axes[:axis], *axes[axis + 1 :]))
            expr = rows if rows.labels[:1] == (axis,) else expr
        elif free and transposes(expr.array):
            natural = self._expression(node, None)
            if transposes(natural.array) < transposes(expr.array):
                expr = natural
        return replace(expr, turned=partial(self._turn, node))

    def _turn(self, node: Node, axes: tuple[int, ...]) -> Operand:
        """The text of a node with its axes in another order.

        Kept, for every way to write a user asks for it, and each asks its operands.
        """
        key = (node, axes)
        if key not in self._turned:
            found = self._turned[key] = self._expression(node, axes)
            self.draft.value(node, found.array)
        return self._turned[key]

    def _is_pure(self, node: Node, expr: Operand) -> bool:
        """Whether writing a node anew, which came to `expr`, repeats no statement."""
        match node:
            case Product(constraints=constraints):
                keyed = looked_up(form for _, form in constraints)
                return not (expr.is_name if keyed else constraints)
            case Sum(terms=terms):
                filled = any(term.node in self.writes for term in terms)
                return not (filled and expr.is_name)
            case _:
                return isinstance(node, Map)

    def _expression(self, node: Node, want: tuple[int, ...] | None) -> Operand:
        self.plan.graph.effort.spend(5 + 3 * len(children(node)))
        value = constant_value(node)
        if value is not None:
            return number(value)
        match node:
            case Input():
                kind: Kind = "float" if node.index is None else "int"
                labels = tuple(range(node.order))
                name, boxed = node.name, not node.dims
                own = arrays.variable(name, node.dims, kind, name, boxed)
                return Operand(own, labels)
            case Constant():
                return made(operations.Constant(node.name), ())
            case Size():
                return size(node.value)
            case Iota():
                return made(operations.Range(ZERO, node.dims[0], real=True), (0,))
            case Product():
                return ProductLowering(self.known, node).expression(want)
            case Sum():
                return lower_sum(self.known, node, want)
            case Map() | Call() if node in self.plan.expansions:
                return self.values[self.plan.expansions[node]]
            case Map():
                return lower_map(self.known, node, want)
            case Call() if is_defined(node):
                return self._call(node)
            case Call():
                return lower_call(self.known, node)
            case _:
                assert_never(node)

    def _is_free(self, node: Node, expr: Operand) -> bool:
        """Whether nobody sees in which order a variable has its axes."""
        seen = node in self.plan.named or node in self.roots
        return node.order > 1 and not seen and self._is_pure(node, expr)

    def _is_unfinished(self, node: Node) -> bool:
        """Whether a root must still be spread, converted or copied when returned."""
        expr = self.values[node]
        whole = expr.kind == "float" and len(expr.labels) == node.order
        return expr.base is not None or not whole
