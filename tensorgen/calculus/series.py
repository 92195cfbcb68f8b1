"""Truncated power series through nodes: Taylor coefficients along a curve.

Where inputs move along curves x(s) = x_0 + x_1 s + x_2 s**2 + ..., every node y has a
series too, and its coefficients follow from those of its operands, each from those of
lower order (Griewank and Walther, Evaluating Derivatives, 2008, chapter 13). One rule
serves every row of the tables: of the tangent y' that forward mode states, in which u'
is a series like any other,

    j * y_j = (y')_(j - 1)        and        (u')_j = (j + 1) * u_(j + 1)

So exp, whose tangent is y * u', has j * y_j = sum_i i * u_i * y_(j - i), and functions
whose derivatives state each other, such as tanh and sech2, follow each other. An order
costs a sum of so many terms as it has orders below, the whole series the square.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

from tensorgen.calculus.forward import tangent_of
from tensorgen.calculus.series_of_calls import (
    Coefficients,
    Implicit,
    Moving,
    Multiplied,
    Stepping,
)
from tensorgen.calculus.series_products import (
    Convolution,
    Parts,
    Solution,
    by_pairs,
    with_solutions,
)
from tensorgen.calculus.series_rules import At, ByRow, Power, Rule, divided
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import (
    Call,
    Input,
    Map,
    Node,
    Product,
    Ref,
    children,
    constant_value,
    is_zero,
    topological,
)
from tensorgen.ir.rebuild import substituted, with_operands
from tensorgen.operators.calls import OPERATORS
from tensorgen.operators.conditions.masks import with_views
from tensorgen.operators.elementwise import ELEMENTWISE
from tensorgen.operators.promise_calls import STOPPED
from tensorgen.operators.recurrences.recurrence import Recurrence, is_recurrence
from tensorgen.operators.scalar import apply, times
from tensorgen.operators.solved_arrays import is_unknown


class Series:
    """The series of nodes, where `curves` has the coefficients of some from 1 on.

    Nodes have coefficients of all orders; `order` is the highest that is asked for.
    """

    def __init__(
        self, graph: Graph, curves: Mapping[Node, Sequence[Node]], order: int
    ) -> None:
        self.graph = graph
        self.curves = curves
        self.order = order
        self._varies: dict[Node, bool] = dict.fromkeys(curves, True)
        self._dots: dict[Node, Input] = {}
        self._moving: dict[Node, Node] = {}
        self._dotted: dict[Node, bool] = {}
        self._rules: dict[Node, Rule] = {}
        self._known: dict[At, Node] = {}
        self._steps: dict[Recurrence, Moving] = {}

    def coefficient(self, node: Node, j: int) -> Node:
        """Return the coefficient of order `j`, of the shape of the node."""
        waiting = [(node, j)]
        while waiting:
            at = waiting[-1]
            if self._found(at) is None:
                missing = [x for x in self._needs(at) if self._found(x) is None]
                if missing:
                    waiting += reversed(missing)
                    continue
                self._known[at] = self._made(at)
            waiting.pop()
        return self.known(node, j)

    def known(self, node: Node, j: int) -> Node:
        """Return a coefficient that has been found."""
        found = self._found((node, j))
        assert found is not None
        return found

    def varies(self, node: Node) -> bool:
        """Whether a node has coefficients above the first."""
        for one in topological([node], self._varies):
            self._varies[one] = any(self._varies[x] for x in _sloped(one))
        return self._varies[node]

    def dot(self, node: Node) -> Input:
        """What stands for the derivative of a node along its curve."""
        if node not in self._dots:
            self._dots[node] = dot = self.graph.fresh(node.dims, (), None)
            self._varies[dot] = self._dotted[dot] = True
            self._moving[dot] = node
        return self._dots[node]

    # Coefficients

    def _found(self, at: At) -> Node | None:
        node, j = at
        if not self.varies(node):
            return self.graph.zeros(node.dims) if j else node
        if not j and not self._has_dots(node):
            return node
        return self._known.get(at)

    def _needs(self, at: At) -> list[At]:
        node, j = at
        if node in self._moving:
            return [(self._moving[node], j + 1)]
        if node in self.curves:
            return []
        if not j:
            return [(x, 0) for x in children(node)]
        return self._rule(node).needs(j)

    def _made(self, at: At) -> Node:
        node, j = at
        graph = self.graph
        if node in self._moving:
            return graph.scale(self.known(self._moving[node], j + 1), j + 1)
        if node in self.curves:
            given = self.curves[node]
            return given[j - 1] if j <= len(given) else graph.zeros(node.dims)
        if not j:
            first = {x: self.known(x, 0) for x in children(node)}
            return with_operands(graph, node, first)
        found = self._rule(node).at(j)
        name = graph.names.get(node)
        if name is not None and not is_zero(found):
            graph.suggest(found, f"{name}_{j}")
        return found

    # Rules

    def _rule(self, node: Node) -> Rule:
        if node not in self._rules:
            self._rules[node] = self._made_rule(node)
        return self._rules[node]

    def _made_rule(self, node: Node) -> Rule:
        match node:
            case Product():
                varying = [ref for ref in node.factors if self.varies(ref.node)]
                if len(varying) > 1:
                    return self._product(node)
            case Map(function="pow"):
                rule = self._power(node, *node.args)
                if rule is not None:
                    return rule
            case Call(operator="prod") if self.order > 1:
                return Multiplied(self, node)
            case Call() if (row := OPERATORS[node.operator].coefficient) is not None:
                return ByRow(self, node, row)
            case Call() if is_recurrence(node):
                return Stepping(self, node, self._steps, _started)
            case Call() if is_unknown(node):
                return Implicit(self, node, _started)
        return self._by_tangent(node)

    def _product(self, node: Product) -> Rule:
        solution = Solution.of(self, node)
        if solution is not None:
            return solution
        parts = Parts.of(node)
        if sum(self.varies(ref.node) for ref in node.factors) > 2:
            views, constraints = with_views(self.graph, node)
            parts = replace(parts, factors=tuple(views), constraints=constraints)
        parts = with_solutions(self.graph, parts, self.varies)
        return Convolution(self, by_pairs(self.graph, parts, self.varies))

    def _power(self, node: Map, base: Ref, by: Ref) -> Rule | None:
        if self.varies(by.node):
            # y = exp(w), whose slopes do not lead to ever other functions.
            w = times(self.graph, by, apply(self.graph, "log", base))
            axes = tuple(range(node.order))
            factors = [Ref(node, axes), Ref(self.dot(w.node), w.labels)]
            return _ByTangent(self, self.graph.product(axes, factors))
        exponent = constant_value(by.node)
        if exponent is None:
            return None
        if exponent.denominator == 1 and exponent > 1:
            # What is zero has powers all the same.
            half = exponent // 2
            lower = half if exponent % 2 == 0 else exponent - 1
            other = base if lower > half else self._raised(node, base, half)
            halves = self._raised(node, base, lower), other
            return Convolution(self, Parts(node.dims, halves))
        return Power(self, node, base, exponent) if exponent < 1 else None

    def _raised(self, node: Map, base: Ref, exponent: Fraction | int) -> Ref:
        if exponent == 1:
            return base
        number = Ref(self.graph.constant(exponent), ())
        axes = tuple(range(node.order))
        sizes = dict(enumerate(node.dims))
        return Ref(self.graph.map("pow", axes, [base, number], sizes), axes)

    def _by_tangent(self, node: Node) -> Rule:
        """The rule of the tangent, or of a function that is linear along the curve."""
        dots = {x: self.dot(x) for x in _sloped(node) if self.varies(x)}
        tangent = tangent_of(self.graph, node, dots, (), {})
        if tangent is None or is_zero(tangent):
            return _Linear(self, self.graph.zeros(node.dims), {})
        self._has_dots(tangent)
        linear = self._is_linear(tangent)
        return _Linear(self, tangent, dots) if linear else _ByTangent(self, tangent)

    def _has_dots(self, node: Node) -> bool:
        for one in topological([node], self._dotted):
            self._dotted[one] = any(self._dotted[x] for x in children(one))
        return self._dotted[node]

    def _is_linear(self, tangent: Node) -> bool:
        """Whether nothing but derivatives along the curve varies in a tangent."""
        waiting, seen = [tangent], {tangent}
        while waiting:
            node = waiting.pop()
            for x in children(node):
                if x in seen:
                    continue
                seen.add(x)
                if self._has_dots(x):
                    waiting.append(x)
                elif self.varies(x):
                    return False
        return True


class _Linear:
    """What has the coefficients that a tangent makes of those of its operands."""

    def __init__(self, series: Series, tangent: Node, dots: Mapping[Node, Node]):
        self.series = series
        self.tangent = tangent
        self.dots = dots

    def needs(self, j: int) -> list[At]:
        return [(x, j) for x in self.dots]

    def at(self, j: int) -> Node:
        known = {dot: self.series.known(x, j) for x, dot in self.dots.items()}
        return substituted(self.series.graph, [self.tangent], known)[0]


class _ByTangent:
    """What has the coefficients of its tangent, each over its order."""

    def __init__(self, series: Series, tangent: Node):
        self.series = series
        self.tangent = tangent

    def needs(self, j: int) -> list[At]:
        return [(self.tangent, j - 1)]

    def at(self, j: int) -> Node:
        return divided(self.series.graph, self.series.known(self.tangent, j - 1), j)


def _sloped(node: Node) -> list[Node]:
    """The operands through which a node may vary."""
    match node:
        case Map():
            slopes = ELEMENTWISE[node.function].partials
            pairs = zip(node.args, slopes, strict=True)
            return [ref.node for ref, slope in pairs if slope != "0"]
        case Product():
            return [ref.node for ref in node.factors]
        case Call(operator=operator) if operator == STOPPED:
            return []
        case _:
            return list(children(node))


def _started(
    graph: Graph, curves: Mapping[Node, Sequence[Node]], order: int
) -> Coefficients:
    return Series(graph, curves, order).coefficient


def taylor(
    graph: Graph, node: Node, wrt: Node, curve: Sequence[Node], order: int
) -> list[Node]:
    """Return the coefficients of `node` from 1 to `order`.

    `curve` has those of `wrt` from 1 on; what is left out is zero.
    """
    series = Series(graph, {wrt: curve}, order)
    return [series.coefficient(node, j) for j in range(1, order + 1)]
