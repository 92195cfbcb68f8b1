"""Derivatives that stand in expressions: what the language calls while it builds."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from tensorgen.calculus.derive import Direction, hvp, jacobian, jvp, vjp
from tensorgen.calculus.forward import pushforward
from tensorgen.calculus.gaussian_means import gaussian_mean
from tensorgen.calculus.implicit_derivatives import newton_step
from tensorgen.calculus.series import taylor
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Call, Input, Node, topological
from tensorgen.operators.conditions.guards import guard


class Differentiate:
    """Derivatives of a node by one input; the result may be differentiated again."""

    def __init__(self, graph: Graph, variables: Collection[str] = ()) -> None:
        """Work in `graph`; the inputs named `variables` are finite numbers."""
        self.graph = graph
        self.variables = variables

    def _guarded(self, node: Node, wrt: Node) -> Node:
        """What excludes entries, so that they do not reach the derivatives either."""
        inputs = [x for x in topological([node]) if isinstance(x, Input)]
        variables = [x for x in inputs if x.name in self.variables]
        return guard(self.graph, node, [wrt, *variables]).get(node, node)

    def gradient(self, node: Node, wrt: Node) -> Node:
        """Return the gradient of a scalar, of the shape of `wrt`."""
        node = self._guarded(node, wrt)
        return vjp(self.graph, node, self.graph.constant(1), [wrt])[0]

    def jacobian(self, node: Node, wrt: Node) -> Node:
        """Return the derivative, of dims `node.dims + wrt.dims`."""
        node = self._guarded(node, wrt)
        direction: Direction = "forward" if node.order else "reverse"
        return jacobian(self.graph, node, [wrt], direction)[0]

    def hessian(self, node: Node, wrt: Node) -> Node:
        """Return the second derivative, of dims `node.dims + wrt.dims + wrt.dims`."""
        return jacobian(self.graph, self.jacobian(node, wrt), [wrt], "forward")[0]

    def hvp(self, node: Node, wrt: Node, direction: Node) -> Node:
        """Return the Hessian of a scalar times a direction."""
        node = self._guarded(node, wrt)
        return hvp(self.graph, node, [wrt], {wrt: direction})[0]

    def jvp(self, node: Node, wrt: Node, direction: Node) -> Node:
        """Return the tangent, of the shape of `node`."""
        node = self._guarded(node, wrt)
        return jvp(self.graph, node, {wrt: direction})

    def vjp(self, node: Node, wrt: Node, cotangent: Node) -> Node:
        """Return the cotangent of `wrt` for one of `node`."""
        node = self._guarded(node, wrt)
        return vjp(self.graph, node, cotangent, [wrt])[0]

    def taylor(
        self, node: Node, wrt: Node, curve: Sequence[Node], order: int
    ) -> list[Node]:
        """Return the coefficients along a curve, from 0 to an order."""
        return [node, *taylor(self.graph, self._guarded(node, wrt), wrt, curve, order)]

    def gaussian_mean(self, node: Node, wrt: Node, covariance: Node) -> Node:
        """Return the mean of a polynomial in `wrt`, normal about its value."""
        return gaussian_mean(self.graph, self._guarded(node, wrt), wrt, covariance)

    def newton_step(self, call: Call) -> Node:
        """Return the step from an unknown to where its equation's tangent is zero."""
        return newton_step(self.graph, call, pushforward)
