"""The reference interpreter: what nodes mean, slowly and obviously.

`tensorgen verify` holds modules against it, and tests every rewrite, so it takes no
shortcut: a product is spelled out over all values of all its labels before anything
is summed. Complex arguments pass through, so that a complex step differentiates.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple, assert_never

from tensorgen.errors import InternalError
from tensorgen.ir.dims import Dim
from tensorgen.ir.nodes import (
    Affine,
    Call,
    Constant,
    Input,
    Iota,
    Lookup,
    Map,
    Node,
    Product,
    Size,
    Sum,
    topological,
)
from tensorgen.operators.unknowns import Equation

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

Array = Any  # NumPy is imported when it is needed: the command line never is.
Grid = Sequence[Array]


class Numbers(NamedTuple):
    """Which numbers are computed with: what becomes of rational ones, and of `pi`."""

    ratio: Callable[[Fraction], Any]
    constant: Callable[[str], Any]


def _constant(name: str) -> Any:
    import numpy as np

    return np.float64(getattr(np, name))


DOUBLES = Numbers(float, _constant)


def evaluate(
    nodes: Iterable[Node],
    arguments: Mapping[str, ArrayLike],
    functions: Mapping[str, Callable[..., Array]],
    operators: Mapping[str, Callable[..., Array]],
    sizes: Mapping[str, int] | None = None,
    numbers: Numbers = DOUBLES,
) -> list[Array]:
    """Return the values of `nodes` for the named `arguments`.

    `functions` gives the elementwise functions of maps, `operators` those of calls.
    The dims follow from the shapes of the inputs below `nodes`; `sizes` gives those
    that no such input bears. Raises `InternalError` where a dim stays unknown or a
    value has not the shape that its node promises.
    """
    import numpy as np

    roots = list(nodes)
    order = topological(roots)
    inputs = [node for node in order if isinstance(node, Input)]
    given = {name: np.asarray(value) for name, value in arguments.items()}
    known = dict(sizes or {})
    known.update(bind(((node.dims, given[node.name].shape) for node in inputs), known))
    machine = _Machine(np, given, functions, operators, known, numbers)
    with np.errstate(all="ignore"):
        for node in order:
            machine.run(node)
    return [machine.values[root] for root in roots]


def bind(
    shapes: Iterable[tuple[Sequence[Dim], Sequence[int]]],
    known: Mapping[str, int] | None = None,
) -> dict[str, int]:
    """Return the dim symbols that make each pair of dims and lengths equal.

    Solves one linear equation at a time, those with one unknown symbol first.
    Raises `InternalError` where two lengths contradict each other.
    """
    sizes = dict(known or {})
    open_ = [pair for dims, shape in shapes for pair in zip(dims, shape, strict=True)]
    progress = True
    while open_ and progress:
        progress, later = False, []
        for dim, length in open_:
            unknown = [s for s in dim.symbols if s not in sizes]
            if not unknown:
                if dim.value(sizes) != length:
                    raise InternalError(f"{dim} is {dim.value(sizes)}, not {length}")
            elif len(unknown) == 1 and _is_linear(dim, unknown[0]):
                sizes[unknown[0]] = _solve(dim, unknown[0], sizes, length)
                later.append((dim, length))
                progress = True
            else:
                later.append((dim, length))
        progress = progress or len(later) < len(open_)
        open_ = later
    return sizes


def _is_linear(dim: Dim, symbol: str) -> bool:
    return all(monomial.count(symbol) <= 1 for monomial, _ in dim.terms)


def _solve(dim: Dim, symbol: str, sizes: Mapping[str, int], length: int) -> int:
    rest = dim.value({**sizes, symbol: 0})
    slope = dim.value({**sizes, symbol: 1}) - rest
    return (length - rest) // slope if slope else 0


class _Machine:
    """The values of the nodes seen so far."""

    def __init__(
        self,
        np: Any,
        arguments: Mapping[str, Array],
        functions: Mapping[str, Callable[..., Array]],
        operators: Mapping[str, Callable[..., Array]],
        sizes: Mapping[str, int],
        numbers: Numbers,
    ) -> None:
        self.np = np
        self.number = numbers
        self.arguments = arguments
        self.functions = functions
        self.operators = operators
        self.sizes = sizes
        self.values: dict[Node, Array] = {}

    def run(self, node: Node) -> None:
        """Evaluate a node whose operands have values."""
        value = self.np.asarray(self.value(node))
        shape = self.lengths(node.dims)
        if value.shape != shape:
            what = type(node).__name__
            raise InternalError(f"a {what} of shape {shape} has value {value.shape}")
        self.values[node] = value

    def inside(self, given: Mapping[str, Array], sizes: Mapping[str, int]) -> _Machine:
        """A machine for the nodes of a step, or of an equation."""
        own = self.functions, self.operators
        return _Machine(self.np, given, *own, sizes, self.number)

    def numbers(self, parameter: object) -> object:
        """A parameter of a call, with numbers for the dims in it."""
        if isinstance(parameter, tuple):
            return tuple(map(self.numbers, parameter))
        return self.lengths([parameter])[0] if isinstance(parameter, Dim) else parameter

    def lengths(self, dims: Sequence[Dim]) -> tuple[int, ...]:
        for symbol in (symbol for dim in dims for symbol in dim.sources):
            if symbol not in self.sizes:
                raise InternalError(f"no argument gives the dim {symbol}")
        return tuple(dim.value(self.sizes) for dim in dims)

    def value(self, node: Node) -> Array:
        match node:
            case Input():
                value = self.arguments[node.name]
                return value if node.index is not None else value * 1.0
            case Constant():
                return self.number.constant(node.name)
            case Size():
                return self.np.float64(self.lengths([node.value])[0])
            case Iota():
                return self.np.arange(*self.lengths(node.dims)) * 1.0
            case Product():
                return self.product(node)
            case Sum():
                return self.sum(node)
            case Map():
                return self.map(node)
            case Call(operator="recurrence"):
                return self.recurrence(node)
            case Call(operator="unknown"):
                return self.unknown(node)
            case Call():
                args = [self.values[arg] for arg in node.args]
                params = {name: self.numbers(value) for name, value in node.params}
                return self.operators[node.operator](*args, **params)
            case _:
                assert_never(node)

    def recurrence(self, node: Call) -> Array:
        """A result of steps, each of which is run for itself."""
        steps: Any = node.param("steps")
        args = [self.values[arg] for arg in node.args]
        first, second = len(steps.states), len(steps.states) + len(steps.items)
        count = self.lengths([steps.count])[0]
        states = args[:first]
        histories, made = [states], []
        order = reversed(range(count)) if steps.backwards else range(count)
        for step in order:
            sizes, part = self.sizes, slice(step, step + 1)
            if steps.runs is not None:
                length, total = self.lengths([steps.runs.length, steps.runs.total])
                part = slice(step * length, min(step * length + length, total))
                width = {str(steps.runs.width): part.stop - part.start}
                sizes = {**sizes, **width}
            parts = [rows[part] for rows in args[first:second]]
            pairs = zip(steps.items, parts, strict=True)
            rows = [
                part if steps.is_part(x) else args[first + k][step]
                for k, (x, part) in enumerate(pairs)
            ]
            given = [*states, *rows, *args[second:]]
            names = [place.name for place in steps.places]
            arguments = dict(zip(names, given, strict=True))
            machine = self.inside(arguments, sizes)
            for one in topological(steps.roots):
                machine.run(one)
            states = [machine.values[new] for new in steps.new]
            histories.append(states)
            made.append([machine.values[one] for one in steps.made])
        result, whole = node.param("result"), node.param("whole")
        assert isinstance(result, int)
        if not whole:
            return states[result]
        lists = histories if result < first else made
        found = [row[result - (result >= first) * first] for row in lists]
        if steps.backwards:
            found.reverse()
        if result >= first and steps.is_part(steps.made[result - first]):
            return self.np.concatenate(found)
        return self.np.reshape(self.np.array(found), self.lengths(node.dims))

    def unknown(self, node: Call) -> Array:
        """What solves an equation, by Newton's steps; small parts may be complex."""
        np, equation = self.np, node.param("equation")
        assert isinstance(equation, Equation)
        args = {
            place.name: self.values[arg]
            for place, arg in zip(equation.places, node.args, strict=True)
        }
        order = topological([equation.residual])

        def residual(y: Array, args: Mapping[str, Array]) -> Array:
            given = {**args, equation.unknown.name: y}
            machine = self.inside(given, self.sizes)
            for one in order:
                machine.run(one)
            return machine.values[equation.residual]

        y = np.zeros(self.lengths(node.dims))
        real = {name: np.real(value) for name, value in args.items()}
        for _ in range(99):
            unit = 1e-30j * np.eye(y.size).reshape(y.size, *y.shape)
            rows = [np.imag(residual(np.real(y) + e, real)) / 1e-30 for e in unit]
            slope = np.array(rows).reshape(y.size, y.size).T
            step = np.linalg.solve(slope, np.ravel(residual(y, args)))
            # Far steps lead anywhere.
            step = step / max(1.0, np.max(np.abs(np.real(step)), initial=0.0))
            y = y - step.reshape(y.shape)
            pairs = [(np.real(step), np.real(y)), (np.imag(step), np.imag(y))]
            largest = [[np.max(np.abs(x), initial=0.0) for x in pair] for pair in pairs]
            if all(moved <= 1e-12 * size for moved, size in largest):
                return y
        raise InternalError("Newton's steps lead nowhere")

    def grid(self, lengths: Sequence[int]) -> Grid:
        """For each label the array of its values, along an axis of its own."""
        return [
            self.np.arange(n).reshape(
                [-1 if b == a else 1 for b in range(len(lengths))]
            )
            for a, n in enumerate(lengths)
        ]

    def aligned(self, node: Node, labels: Sequence[int], grid: Grid) -> Array:
        """The entries of a node at the labels, broadcastable over the grid."""
        return self.values[node][tuple(grid[label] for label in labels)]

    def product(self, node: Product) -> Array:
        np, lengths = self.np, self.lengths(node.sizes)
        grid = self.grid(lengths)
        total: Array = self.number.ratio(node.coefficient)
        for factor, labels in node.factors:
            total = total * self.aligned(factor, labels, grid)
        for kind, form in node.constraints:
            at = self.affine(form, grid)
            # Selected, not multiplied: what is excluded may be infinite.
            total = np.where(at == 0 if kind == "eq" else at >= 0, total, 0.0)
        summed = tuple(range(node.order, len(lengths)))
        return np.broadcast_to(total, lengths).sum(axis=summed)

    def affine(self, form: Affine, grid: Grid) -> Array:
        total = self.np.asarray(form.const.value(self.sizes))
        for atom, coefficient in form.terms:
            if isinstance(atom, Lookup):
                total = total + coefficient * self.aligned(*atom, grid)
            else:
                total = total + coefficient * grid[atom]
        return total

    def sum(self, node: Sum) -> Array:
        lengths = self.lengths(node.dims)
        grid = self.grid(lengths)
        total = self.np.zeros(lengths)
        for coefficient, term, labels in node.terms:
            scale = self.number.ratio(coefficient)
            total = total + scale * self.aligned(term, labels, grid)
        return total

    def map(self, node: Map) -> Array:
        lengths = self.lengths(node.dims)
        grid = self.grid(lengths)
        args = [self.aligned(arg, labels, grid) for arg, labels in node.args]
        value = self.functions[node.function](*args)
        return self.np.broadcast_to(value, lengths)
