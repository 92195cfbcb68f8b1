"""Series of functions of matrices, by the equations that these satisfy."""

from __future__ import annotations

from fractions import Fraction

from tensorgen.calculus.series_rules import At, Known, summed
from tensorgen.ir.nodes import Call, Node, is_zero
from tensorgen.operators.matrix_functions import expm_coefficient


class Inverse:
    """C = inv(A), of which A_0 C_j = -sum_i A_i C_(j - i)."""

    def __init__(self, series: Known, node: Call):
        """Note the matrix."""
        self.series = series
        self.node = node

    def needs(self, j: int) -> list[At]:
        """Return those of the matrix, and the lower ones."""
        lower = [(self.node, i) for i in range(j)]
        return [*((self.node.args[0], i) for i in range(1, j + 1)), *lower]

    def at(self, j: int) -> Node:
        """Return the sum over lower orders, solved with the matrix."""
        graph, node, known = self.series.graph, self.node, self.series.known
        *batch, row, column = range(node.order)
        left, right = (*batch, row, "k"), (*batch, "k", column)
        out = range(node.order)
        terms: list[tuple[int | Fraction, Node]] = []
        for i in range(1, j + 1):
            pair = known(node.args[0], i), known(node, j - i)
            if not any(map(is_zero, pair)):
                factors = zip(pair, (left, right), strict=True)
                terms.append((1, graph.product(out, factors)))
        total = summed(graph, node.dims, terms)
        last = [(known(node, 0), left), (total, right)]
        return graph.product(out, last, coefficient=-1)


class Exponential:
    """The exponential of matrices: see `expm_coefficient`."""

    def __init__(self, series: Known, node: Call):
        """Note the matrix."""
        self.series = series
        self.node = node

    def needs(self, j: int) -> list[At]:
        """Return those of the matrix."""
        return [(self.node.args[0], i) for i in range(j + 1)]

    def at(self, j: int) -> Node:
        """Return a block of the exponential of a matrix of blocks."""
        (x,) = self.node.args
        every = [self.series.known(x, i) for i in range(j + 1)]
        return expm_coefficient(self.series.graph, every)


class Logarithm:
    """L = logm(A), of which the exponential has the series of A."""

    def __init__(self, series: Known, node: Call):
        """Note the matrix."""
        self.series = series
        self.node = node

    def needs(self, j: int) -> list[At]:
        """Return the one of the matrix, and the lower ones."""
        return [(self.node.args[0], j), *((self.node, i) for i in range(j))]

    def at(self, j: int) -> Node:
        """Return what is left of the matrix, by the slope of the logarithm."""
        graph, known = self.series.graph, self.series.known
        lower = [known(self.node, i) for i in range(j)]
        lower.append(graph.zeros(self.node.dims))
        left = [(1, known(self.node.args[0], j))]
        if j > 1:
            left.append((-1, expm_coefficient(graph, lower)))
        total = summed(graph, self.node.dims, left)
        return graph.call("log_slope", [lower[0], total], self.node.dims)


class SquareRoot:
    """S = sqrtm(A), of which S_0 S_j + S_j S_0 = A_j - sum_i S_i S_(j - i)."""

    def __init__(self, series: Known, node: Call):
        """Note the matrix."""
        self.series = series
        self.node = node

    def needs(self, j: int) -> list[At]:
        """Return the one of the matrix, and the lower ones."""
        return [(self.node.args[0], j), *((self.node, i) for i in range(j))]

    def at(self, j: int) -> Node:
        """Return the solution of the Lyapunov equation."""
        graph, known = self.series.graph, self.series.known
        lower = [known(self.node, i) for i in range(j)]
        *batch, row, column = out = tuple(range(self.node.order))
        left, right = (*batch, row, "k"), (*batch, "k", column)
        terms: list[tuple[int, Node]] = [(1, known(self.node.args[0], j))]
        for i in range(1, j):
            factors = [(lower[i], left), (lower[j - i], right)]
            terms.append((-1, graph.product(out, factors)))
        total = summed(graph, self.node.dims, terms)
        return graph.call("lyapunov", [lower[0], total], self.node.dims)
