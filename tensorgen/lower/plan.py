"""What a function computes: which nodes, how often each is used, what is inlined.

A node that costs nothing (a view, a negation, a reciprocal that becomes a division,
an inverse that becomes a solve) is written where it is used, so its uses count for
its operand.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from math import gcd

from tensorgen.arrays.templates import template
from tensorgen.ir.constraints import looked_up
from tensorgen.ir.dims import Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import (
    Call,
    Constant,
    Input,
    Map,
    Node,
    Product,
    Ref,
    Size,
    children,
    constant_value,
    topological,
)
from tensorgen.ir.patterns import pattern_of
from tensorgen.lower.masked_triangles import is_triangle, triangle
from tensorgen.lower.solve_constraints import Solution, solve_constraints
from tensorgen.lower.solve_systems import solvable
from tensorgen.lower.sparse_products import matrix_product
from tensorgen.lower.taps import Tapped, tapped
from tensorgen.operators.calls import OPERATORS, expansion, exponentials
from tensorgen.operators.elementwise import ELEMENTWISE
from tensorgen.operators.matrices.definite import is_positive_definite
from tensorgen.operators.matrices.matrix_functions import (
    inverse_of_factor,
    logdet_of_factor,
)
from tensorgen.operators.matrices.systems import is_system
from tensorgen.operators.recurrences.recurrence import (
    Recurrence,
    everything,
    is_recurrence,
)
from tensorgen.operators.scalar import evaluate

# So many systems are solved one by one before the inverse is computed instead:
# an inverse costs about as much as three factorisations.
_MOST_SOLVES = 3
# What a Cholesky factor answers instead of the matrix. With NumPy alone an inverse and
# its factor take two thirds of the time from 150 rows on, half at 500, and 10 to 30
# microseconds more below 100.
BY_FACTOR = {"inv": inverse_of_factor, "logdet": logdet_of_factor}
# So many operations within each other never fit a line, however short they are.
_DEEPEST = 32


class Plan:
    """The nodes below some roots, in the order of their statements."""

    def __init__(
        self,
        graph: Graph,
        roots: Sequence[Node],
        facts: Sequence[Dim] = (),
        matrices: Mapping[str, str] | None = None,
        hints: Mapping[str, int] | None = None,
    ) -> None:
        """Expand calls that are written in terms of other nodes; count uses."""
        self.graph = graph
        self.roots = list(roots)
        self.facts = [*facts, *dict.fromkeys(map(_tightest, facts))]
        self.matrices = matrices or {}
        self.hints = hints or {}
        self.stated = {*topological(roots)}
        self.expansions: dict[Node, Node] = {}
        self.solved: dict[Node, None] = {}
        self.factors: dict[Node, Node] = {}
        self._solutions: dict[Product, Solution] = {}
        self._tapped: dict[Product, Tapped | None] = {}
        self.multiples: dict[Node, tuple[Fraction, Product]] = {}
        # What values became that numbers moved into, and what says what these are.
        self.scaled: dict[Node, Node] = {}
        self.described: dict[Node, Node] = {}
        self.order = self._ordered()
        self.multiples = self._find_multiples()
        self.order = self._ordered()
        self.solved = self._solved_inverses()
        self.factors = self._cholesky_factors()
        self.order = self._ordered()
        self.uses, self.users = self._count()

    def operands(self, node: Node) -> Iterable[Node]:
        """The nodes that the text of `node` mentions, once for each mention."""
        if node in self.multiples:
            return (self.multiples[node][1],)
        match node:
            case Call(operator="inv", args=(matrix,)) if node in self.solved:
                return (self.factors.get(matrix, matrix),)
            case Call() | Map() if self._is_expanded(node):
                return (self._expansion(node),)
            case Map(function=function, args=args) if function != "pow":
                counts = template(ELEMENTWISE[function].numpy).counts
                return [
                    ref.node for k, ref in enumerate(args) for _ in range(counts[k])
                ]
            case Product() if not node.inner:
                looked_up = children(node)[len(node.factors) :]
                return [*(ref.node for ref in dict.fromkeys(node.factors)), *looked_up]
            case _:
                return children(node)

    def solution(self, node: Product) -> Solution:
        """What the constraints of a product come to."""
        if node not in self._solutions:
            self._solutions[node] = solve_constraints(node, self.facts)
        return self._solutions[node]

    def tapped(self, node: Product) -> Tapped | None:
        """The taps of a product that sums over windows; None for all others."""
        if node not in self._tapped:
            found = node.constraints and tapped(node, self.solution(node), self.hints)
            self._tapped[node] = found or None
        return self._tapped[node]

    @cached_property
    def symbols(self) -> dict[str, None]:
        """The dim symbols that anything here mentions."""
        found: dict[str, None] = {}
        for node in everything(self.order):
            dims = list(node.dims)
            if isinstance(node, Product):
                dims += node.inner
                dims += [constraint.form.const for constraint in node.constraints]
            elif isinstance(node, Size):
                dims.append(node.value)
            elif is_recurrence(node):
                steps = Recurrence.of(node).steps
                dims.append(steps.count)
                if steps.runs is not None:
                    dims += [steps.runs.length, steps.runs.width]
            for dim in dims:
                found.update(dict.fromkeys(dim.symbols))
        return found

    @cached_property
    def inputs(self) -> dict[str, None]:
        """The names of the inputs."""
        return {node.name: None for node in self.order if isinstance(node, Input)}

    @cached_property
    def refusals(self) -> tuple[str, ...]:
        """What matrices must not be, else functions of them raise LinAlgError."""
        calls = (node for node in self.order if isinstance(node, Call))
        refused = (OPERATORS[node.operator].refuses for node in calls)
        return tuple(dict.fromkeys(text for text in refused if text))

    def is_write(self, node: Node) -> bool:
        """Whether a product is written into an array of zeros."""
        if not isinstance(node, Product) or not node.constraints:
            return False
        if matrix_product(node, self.matrices) is not None:
            return False
        return self.solution(node).axes(node.dims) is None

    def is_leaf(self, node: Node) -> bool:
        """Whether a node never needs a statement: an argument or a number."""
        if isinstance(node, Input | Constant | Size):
            return True
        return constant_value(node) is not None

    def is_transparent(self, node: Node) -> bool:
        """Whether a node is written anew wherever it is used, at no cost."""
        if node in self.solved:
            return True
        if node in self.multiples:
            return abs(self.multiples[node][0]) == 1
        match node:
            case Map(function="pow", args=(_, exponent)):
                return constant_value(exponent.node) == -1
            case Product(factors=((_, labels),)) if abs(node.coefficient) == 1:
                if node.constraints:
                    return not self.is_write(node) and self.solution(node).is_view()
                return not node.inner and len(set(labels)) == len(labels)
            case Call() | Map():
                return self._is_expanded(node)
            case _:
                return False

    @cached_property
    def bound(self) -> dict[Node, None]:
        """The nodes that have variables, whatever their values come to."""
        found: dict[Node, None] = {}
        depth: dict[Node, int] = {}
        for node in self.order:
            inside = [depth[x] for x in self.operands(node) if x not in found]
            depth[node] = 1 + max(inside, default=0)
            often = self.uses[node] > 1 or depth[node] > _DEEPEST
            if node in self.named or (often and not self.is_transparent(node)):
                found[node] = None
        return found

    @cached_property
    def origin(self) -> dict[Node, Node]:
        """The functions that nodes were expanded from, which tell what they are."""
        return {
            target: call
            for call, target in self.expansions.items()
            if not is_triangle(call)
        }

    @cached_property
    def named(self) -> dict[Node, str]:
        """The names that the user gave, passed on to what calls expand to."""
        names = {}
        for node in self.order:
            if node in self.graph.names and not self.is_leaf(node):
                names[node] = self.graph.names[node]
        for node in reversed(self.order):
            target = self.expansions.get(node)
            if target is not None and node in names:
                names.setdefault(target, names.pop(node))
        return names

    @cached_property
    def gathered(self) -> dict[Node, int]:
        """The axes along which index arrays say what is read, or where it is read.

        One of an array alone: what is read lies together where it is the first.
        """
        axes: dict[Node, set[int]] = {}
        for node in self.order:
            if not isinstance(node, Product) or not node.constraints:
                continue
            entries = looked_up(form for _, form in node.constraints)
            axes.setdefault(node, set()).update(entries & {*range(node.order)})
            pairs = zip(node.factors, self.solution(node).reads, strict=True)
            for ref, forms in pairs:
                found = {k for k, form in enumerate(forms) if looked_up([form])}
                axes.setdefault(ref.node, set()).update(found)
        return {node: min(own) for node, own in axes.items() if len(own) == 1}

    @cached_property
    def views(self) -> dict[Node, str]:
        """The names of entries of inputs that no node here is: the user's, tangents'.

        Products that such entries are a factor of read them of the input itself.
        """
        here = {*self.order}
        return {
            node: name
            for node, name in (self.graph.suggestions | self.graph.names).items()
            if isinstance(node, Product)
            and node not in self.named
            and node.constraints
            and all(isinstance(ref.node, Input) for ref in node.factors)
            and here.issuperset(children(node))
            and self.is_transparent(node)
        }

    def _squared(self, node: Node) -> Node | None:
        """The operand of a sum of squares, which becomes `x @ x`."""
        if not isinstance(node, Product) or node.order or node.constraints:
            return None
        if len(node.factors) != 1 or node in self.multiples:
            return None
        square = node.factors[0].node
        if isinstance(square, Map) and square.function == "pow":
            base, exponent = square.args
            if constant_value(exponent.node) == 2:
                return base.node
        return None

    def _is_expanded(self, node: Call | Map) -> bool:
        """Whether a function is written in terms of other nodes."""
        if isinstance(node, Map):
            return bool(ELEMENTWISE[node.function].expand) or is_triangle(node)
        if OPERATORS[node.operator].internal:
            return False  # an object does it
        factored = node.operator in BY_FACTOR and node.args[0] in self.factors
        row = OPERATORS[node.operator]
        if row.helped:  # unless others have its parts, or are made with it
            return exponentials(self.graph, node) in self.stated
        return factored or row.expand is not None

    def _expansion(self, node: Call | Map) -> Node:
        if node not in self.expansions:
            if is_triangle(node):
                self.expansions[node] = triangle(self.graph, node)
            elif isinstance(node, Map):
                text = ELEMENTWISE[node.function].expand
                found = evaluate(self.graph, text, node.args)
                self.expansions[node] = self.graph.product(range(node.order), [found])
            else:
                self.expansions[node] = self._expanded(node)
        return self.expansions[node]

    def _expanded(self, node: Call) -> Node:
        found = expansion(self.graph, node)
        if found is None:
            with self.graph.without_rewrites():
                found = BY_FACTOR[node.operator](self.graph, self.factors[node.args[0]])
        return found

    def _find_multiples(self) -> dict[Node, tuple[Fraction, Product]]:
        """Products that differ from another one by their coefficient alone."""
        alike: dict[object, list[Product]] = {}
        for node in self.order:
            if not isinstance(node, Product) or node.constraints:
                continue
            if node.inner or len(node.factors) > 1:
                alike.setdefault(pattern_of(node), []).append(node)
        found: dict[Node, tuple[Fraction, Product]] = {}
        for group in alike.values():
            best = min(group, key=self._rank)
            for node in group:
                if node is not best and node not in self.graph.names:
                    found[node] = (node.coefficient / best.coefficient, best)
        for node in self.order:
            scaled = _scaled(node)
            if not isinstance(node, Product) or node in self.graph.names:
                continue
            if scaled in found:
                ratio, best = found[scaled]
                found[node] = (ratio * node.coefficient, best)
        return found

    def _rank(self, node: Product) -> tuple[bool, bool]:
        """What others are multiples of: what has a name, else what has no number."""
        return node not in self.graph.names, node.coefficient != 1

    def _ordered(self) -> list[Node]:
        order: dict[Node, None] = {}
        stack = [(root, False) for root in reversed(self.roots)]
        while stack:
            node, expanded = stack.pop()
            if node in order:
                continue
            if expanded:
                order[node] = None
                continue
            stack.append((node, True))
            below = list(dict.fromkeys(self.operands(node)))
            stack.extend((n, False) for n in reversed(below) if n not in order)
        return list(order)

    def _solved_inverses(self) -> dict[Node, None]:
        """Inverses that are only ever applied to something, and not too often."""
        applied: dict[Node, int] = {}
        alone = dict.fromkeys([*self.roots, *self.graph.names])
        for node in self.order:
            if node in self.multiples:
                continue
            for k, operand in enumerate(children(node)):
                if isinstance(operand, Call) and operand.operator == "inv":
                    if is_system(operand.args[0]):
                        continue
                    if solve_partner(node, k) is None:
                        alone[operand] = None
                    applied[operand] = applied.get(operand, 0) + 1
        return {
            node: None
            for node, count in applied.items()
            if node not in alone and count <= _MOST_SOLVES
        }

    def _cholesky_factors(self) -> dict[Node, Node]:
        """The factors of definite matrices: one serves all that is asked of a matrix.

        A single system or inverse has one too: whether a broken promise is told must
        not depend on what else is asked.
        """
        asked: dict[Node, None] = {}
        for node in (*self.solved, *self.order):
            if isinstance(node, Call) and node.operator in ("cholesky", *BY_FACTOR):
                (matrix,) = node.args
                asked[matrix] = None
        return {
            matrix: self.graph.call("cholesky", [matrix], matrix.dims)
            for matrix in asked
            if is_positive_definite(matrix)
        }

    def _count(self) -> tuple[dict[Node, int], dict[Node, list[Node]]]:
        """How often nodes are mentioned, and by which, the first of them last."""
        uses = dict.fromkeys(self.order, 0)
        users: dict[Node, list[Node]] = {node: [] for node in self.order}
        for root in self.roots:
            uses[root] += 1
        for node in reversed(self.order):
            weight = uses[node] if self.is_transparent(node) else 1
            for operand in self.operands(node):
                uses[operand] += weight
                users.setdefault(operand, []).append(node)
            base = self._squared(node)
            if base is not None:
                # `x @ x` mentions x twice, so x shall be a variable.
                uses[base] += 1
        for factor in self.factors.values():
            uses[factor] += 1  # it has a name
        return uses, users


def _tightest(fact: Dim) -> Dim:
    """What is nonnegative of sizes that are whole: of `2*n - 7`, `n - 4`."""
    divisor = gcd(*(int(c) for monomial, c in fact.terms if monomial))
    if divisor < 2 or any(c.denominator > 1 for _, c in fact.terms):
        return fact
    return Dim((monomial, int(c) // divisor) for monomial, c in fact.terms)


def _scaled(node: Node) -> Node | None:
    """What a product merely scales."""
    if not isinstance(node, Product) or node.inner or node.constraints:
        return None
    if len(node.factors) != 1:
        return None
    inner, labels = node.factors[0]
    return inner if labels == tuple(range(node.order)) else None


def solve_partner(node: Node, position: int) -> Ref | None:
    """The factor that an inverse, factor `position` of a product, is applied to."""
    if (
        not isinstance(node, Product)
        or node.constraints
        or position >= len(node.factors)
    ):
        return None
    others = [
        ref
        for k, ref in enumerate(node.factors)
        if k != position and set(ref.labels) & set(node.factors[position].labels)
    ]
    rest = [ref for k, ref in enumerate(node.factors) if k != position]
    if len(others) != 1 or any(ref.labels for ref in rest if ref not in others):
        return None
    (other,) = others
    keep = range(node.order)
    if isinstance(other.node, Call) and other.node is node.factors[position].node:
        return None
    inverse = node.factors[position].labels
    return other if solvable(inverse, other.labels, keep) else None
