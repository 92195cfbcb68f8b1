"""One compressed derivative on its way to a class, and what its methods compute.

A compressed derivative is a sum of stored terms, itself a node over its arrays. So the
products with it, its diagonal and the whole tensor are nodes too, ordered and lowered
like any function.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from tensorgen.arrays.arrays import Array, array, variable
from tensorgen.arrays.code import Code
from tensorgen.arrays.needs import Needs
from tensorgen.arrays.object_operations import Attribute, Extent, Pack
from tensorgen.arrays.operations import Variable
from tensorgen.arrays.statements import Let, Return, Statement, Unpack, operands, reads
from tensorgen.ir.constraints import index_bound
from tensorgen.ir.dims import Dim, tuple_text
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Input, Node, Size, topological
from tensorgen.ir.views import Factor, Name
from tensorgen.lower import lower
from tensorgen.operators.index_notation import equation
from tensorgen.operators.matrices.symmetry import is_symmetric
from tensorgen.operators.reshape import reshape
from tensorgen.passes.context import Context
from tensorgen.passes.cost import CostModel
from tensorgen.passes.optimise import optimise
from tensorgen.spec.names import METHOD_NAMES, unused
from tensorgen.structure.gram import attribute, grams
from tensorgen.structure.multiples import SCALE, linear_arrays
from tensorgen.structure.stored import Compressed, StoredTerm, laid_out

VECTORS = ("d", "u", "v", "w")
ARRAYS = ("A", "B", "C", "D", "E", "F", "G", "P", "Q", "R", "S", "T")
SCALARS = ("alpha", "beta", "gamma", "delta")
INDICES = ("I", "J", "K", "L", "M", "N")


OPERAND = "operand"
"""What products multiply by."""


@dataclass(frozen=True, slots=True)
class Method:
    """A method, or an attribute that is `cached`; `body` ends with a return."""

    name: str
    parameters: str
    returns: str
    doc: str
    body: tuple[Statement, ...]
    cached: bool = False


class Structure:
    """One compressed derivative on its way to a class.

    The first `rows` axes of the tensor are those of f, or of the first input; for a
    derivative of higher order `inputs` has the axes of each input.
    """

    def __init__(
        self,
        graph: Graph,
        tensor: Compressed,
        rows: int,
        hints: Mapping[str, int],
        slow_at: bool,
        taken: Sequence[str],
    ) -> None:
        """Name the arrays, and make them inputs of the methods.

        A `derivative` that is not `linear` in some of them becomes a `tensor` times a
        number.
        """
        self.graph = graph
        self.tensor = self.derivative = tensor
        self.outer_rows, self.rows = rows, tensor.axes(rows)
        self.hints = hints
        self.slow_at = slow_at
        self.axes = len(tensor.dims)
        sizes = [*tensor.dims, *(dim for node in tensor.arrays for dim in node.dims)]
        for term in tensor.terms:
            sizes += [tie.offset for tie in term.ties]
            sizes += [x for link in term.links for x in (link.form.const, *link.dims)]
            for node in topological(term.scale):
                sizes += [node.value] if isinstance(node, Size) else node.dims
        symbols = {s for size in sizes for s in size.symbols}
        self.sizes = tuple(sorted(symbols))
        links = (link for term in tensor.terms for link in term.links)
        indices = [node for link in links for node in link.indices]
        indices += [x for label in grams(tensor.terms) for x in label.by[1:]]
        self.indices = tuple(dict.fromkeys(indices))
        self.width = unused("width", symbols)
        self.fields = self._field_names({*taken, *symbols})
        self.stored: dict[Node, Node] = {
            node: graph.input(
                name,
                node.dims,
                ["symmetric"] if is_symmetric(node) else [],
                index_bound(node),
            )
            for node, name in zip(tensor.arrays, self.fields, strict=True)
        }
        # Sparse matrices are themselves, with all that is known of their entries.
        self.stored |= {x: x for label in grams(tensor.terms) for x in label.by}
        own = METHOD_NAMES | symbols | {*self.fields}
        self.matrices = {x: unused(x.name, own) for x in grams(tensor.terms)}
        linear = linear_arrays(tensor.terms)
        named = dict(zip(tensor.arrays, self.fields, strict=True))
        self.linear = None if linear is None else tuple(named[x] for x in linear)
        others = {*symbols, *self.fields, *self.matrices.values()}
        self.scale = unused("scale", others)
        if linear is None:
            number = graph.input(self.scale, ())
            terms = (replace(x, scale=(*x.scale, number)) for x in tensor.terms)
            self.tensor = replace(tensor, terms=tuple(terms))

    def _field_names(self, taken: set[str]) -> tuple[str, ...]:
        names: list[str] = []
        for node in self.tensor.arrays:
            if isinstance(node, Input):
                own = node.name.rstrip("0123456789") in METHOD_NAMES
                names.append(unused(node.name + "_", taken) if own else node.name)
                continue
            choices: Sequence[str] = (SCALARS, VECTORS, ARRAYS)[min(node.order, 2)]
            if index_bound(node) is not None:
                choices = INDICES
            free = [x for x in choices if x not in taken and x not in names]
            more = f"{choices[0]}{len(names) + 1}"
            names.append(free[0] if free else unused(more, {*taken, *names}))
        return tuple(names)

    @property
    def integers(self) -> tuple[str, ...]:
        """The fields that are index arrays."""
        pairs = zip(self.tensor.arrays, self.fields, strict=True)
        return tuple(name for node, name in pairs if index_bound(node) is not None)

    # Pieces of code

    def code(
        self, node: Node, root: str, reserved: Sequence[str] = (), fresh: bool = False
    ) -> Code:
        """Lower a node over the stored arrays; one of these alone, unless `fresh`."""
        # Right-hand sides are few, whatever other dims without hints are.
        given = frozenset({*self.sizes, self.width})
        cost = CostModel({**self.hints, self.width: 1}, given)
        plan = optimise(Context(self.graph, cost), [[node]])
        return lower(
            self.graph,
            plan.roots,
            reserved=[
                *(*self.fields, *self.sizes, *self._by_values.values()),
                *(self.scale, *reserved),
            ],
            root_names=[root],
            fresh=fresh,
            slow_at=self.slow_at,
            matrices=self._by_values,
            hints=self.hints,
        )

    @property
    def _by_values(self) -> dict[str, str]:
        """What sparse matrices are called, by the names of their values."""
        return {f"{x.name}_values": name for x, name in self.matrices.items()}

    def bindings(self, statements: Sequence[Statement]) -> list[Statement]:
        """Bind what some statements use of the object: arrays, sizes, the dtype."""
        needs = Needs(statements)
        read = {*reads([one for line in statements for one in operands(line)])}
        found: list[Statement] = []
        held = {name: name for name in self.fields}
        held |= {name: attribute(name) for name in self._by_values.values()}
        held[self.scale] = SCALE
        used = [name for name in held if name in read]
        if used:
            values = [array(Attribute(held[name])) for name in used]
            found.append(
                Unpack(tuple(used), array(Pack(), *values))
                if len(used) > 1
                else Let(used[0], values[0])
            )
        names = tuple(s if s in needs.symbols else None for s in self.sizes)
        if any(names):
            found.append(Unpack(names, array(Attribute("sizes"))))
        if needs.dtype:
            found.append(Let("dtype", array(Attribute("dtype"))))
        if self.width in needs.symbols:
            operand = variable(OPERAND, ())
            found.append(Let(self.width, array(Extent(-1), operand)))
        return found

    def method(
        self,
        name: str,
        doc: str,
        out: Sequence[Name],
        others: Sequence[Factor] = (),
        *,
        rename: Mapping[int, Name] | None = None,
        parameters: str = "self",
    ) -> Method:
        """A method that returns the tensor contracted with `others`."""
        inside = [(self._parted(node, xs), xs) for node, xs in others]
        node = self.tensor.contracted(self.graph, self.stored, out, inside, rename)
        node = self._whole(node, out)
        names = [n.name for n, _ in others if isinstance(n, Input)]
        body = Body(self, [*names, self.width])
        value = body.value(node, "result", fresh=True)
        return Method(name, parameters, "Array", doc, body.returning(value))

    def whole_dims(self, labels: Sequence[Name]) -> list[Dim]:
        """The dims of an array along axes of the tensor, parts of one axis as one."""
        tensor, dims = self.tensor, list[Dim]()
        numbers = [k for k, part in enumerate(tensor.parts) for _ in part]
        before = None
        for x in labels:
            if not isinstance(x, int):
                dims.append(Dim.symbol(self.width))
            elif not tensor.parts:
                dims.append(tensor.dims[x])
            elif numbers[x] != before:
                before = numbers[x]
                dims.append(tensor.shape[before])
        return dims

    def _whole(self, node: Node, labels: Sequence[Name]) -> Node:
        """An array along axes of the tensor, with these as callers see them."""
        if not self.tensor.parts:
            return node
        return reshape(self.graph, node, self.whole_dims(labels))

    def _parted(self, node: Node, labels: Sequence[Name]) -> Node:
        """An array with axes as callers see them, along axes of the tensor."""
        if not self.tensor.parts:
            return node
        dims = self.tensor.dims
        last = node.dims[-1]
        return reshape(
            self.graph, node, [dims[x] if isinstance(x, int) else last for x in labels]
        )

    def factors(self, term: StoredTerm) -> list[Factor]:
        """The factors of a term over the inputs of the methods."""
        held = [(self.stored[n], xs) for n, xs in term.factors]
        return laid_out(self.graph, held, self.stored) + term.numbers

    def text(self, symbol: str) -> str:
        """The structure as an equation."""
        names: dict[Node, str] = dict(
            zip(self.stored.values(), self.fields, strict=True)
        )
        axes = range(self.axes)
        whole = self.derivative.contracted(self.graph, self.stored, axes, ())
        found = equation(symbol, whole, names)
        if not self.tensor.parts:
            return found
        sides = tuple_text(self.tensor.dims), tuple_text(self.tensor.shape)
        return f"{found}, of shape {sides[0]}, reshaped to {sides[1]}"


class Body:
    """The statements of a method under construction."""

    def __init__(self, structure: Structure, reserved: Sequence[str] = ()) -> None:
        self.structure = structure
        self.statements: list[Statement] = []
        self.taken = list(reserved)

    def value(self, node: Node, root: str, fresh: bool = False) -> Array:
        """Compute a node over the stored arrays; one of these alone, unless `fresh`."""
        code = self.structure.code(node, root, self.taken, fresh)
        self.statements += code.statements
        (value,) = code.returns
        # Nobody else shall bind these before the value is used.
        self.taken += reads([value])
        return value

    def let(self, name: str, value: Array) -> Array:
        """Name a value that is no variable yet."""
        if isinstance(value.op, Variable):
            return value
        own = (*self.structure.fields, *self.structure.sizes)
        name = unused(name, (*own, *self.taken))
        self.taken.append(name)
        self.statements.append(Let(name, value))
        return variable(name, value.dims, value.kind, name)

    def returning(self, *values: Array) -> tuple[Statement, ...]:
        """All statements, those that bind what they use first."""
        lines = [*self.statements, Return(values)]
        return (*self.structure.bindings(lines), *lines)
