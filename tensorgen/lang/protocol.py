"""What the language asks of the calculus, for derivatives in expressions."""

from __future__ import annotations

from typing import Protocol

from tensorgen.ir.nodes import Node


class Differentiator(Protocol):
    """Derivatives of nodes by an input; `node` may have any number of axes."""

    def gradient(self, node: Node, wrt: Node) -> Node:
        """Return the gradient of a scalar, of the shape of `wrt`."""

    def jacobian(self, node: Node, wrt: Node) -> Node:
        """Return the derivative, of dims `node.dims + wrt.dims`."""

    def hessian(self, node: Node, wrt: Node) -> Node:
        """Return the second derivative, of dims `node.dims + wrt.dims + wrt.dims`."""

    def hvp(self, node: Node, wrt: Node, direction: Node) -> Node:
        """Return the Hessian of a scalar times a direction."""

    def jvp(self, node: Node, wrt: Node, direction: Node) -> Node:
        """Return the tangent, of the shape of `node`."""

    def vjp(self, node: Node, wrt: Node, cotangent: Node) -> Node:
        """Return the cotangent of `wrt` for one of `node`."""
