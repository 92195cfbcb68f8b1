"""One compressed derivative on its way to a class, and what its methods compute.

A compressed derivative is a sum of stored terms, itself a node over its arrays. So the
products with it, its diagonal and the whole tensor are nodes too, ordered and lowered
like any function.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tensorgen.arrays.written import Written, written
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Input, Node, Size, index_bound, topological
from tensorgen.ir.printer import equation
from tensorgen.lower import lower
from tensorgen.operators.helpers import HELPERS
from tensorgen.passes.optimise import optimise
from tensorgen.passes.stored import Compressed, StoredTerm
from tensorgen.passes.views import Factor, Name
from tensorgen.spec.names import METHOD_NAMES
from tensorgen.structure.text import mentions

VECTORS = ("d", "u", "v", "w")
ARRAYS = ("A", "B", "C", "D", "E", "F", "G", "P", "Q", "R", "S", "T")
SCALARS = ("alpha", "beta", "gamma", "delta")
INDICES = ("I", "J", "K", "L", "M", "N")


@dataclass(frozen=True, slots=True)
class Method:
    """A method as text; `lines` end with a return."""

    name: str
    parameters: str
    returns: str
    doc: str
    lines: tuple[str, ...]


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
        alias: str,
        taken: Sequence[str],
    ) -> None:
        """Name the arrays, and make them inputs of the methods."""
        self.graph = graph
        self.tensor = tensor
        self.rows = rows
        self.hints = hints
        self.alias = alias
        self.axes = len(tensor.dims)
        symbols = {s for dim in tensor.dims for s in dim.symbols}
        for node in tensor.arrays:
            symbols |= {s for dim in node.dims for s in dim.symbols}
        for term in tensor.terms:
            offsets = [tie.offset for tie in term.ties]
            offsets += [link.offset for link in term.links]
            symbols |= {s for offset in offsets for s in offset.symbols}
            for node in topological(term.scale):
                sizes = [node.value] if isinstance(node, Size) else node.dims
                symbols |= {s for dim in sizes for s in dim.symbols}
        self.sizes = tuple(sorted(symbols))
        links = (link for term in tensor.terms for link in term.links)
        self.indices = tuple(dict.fromkeys(link.index for link in links))
        self.width = "width"
        while self.width in symbols:
            self.width += "_"
        self.fields = self._field_names({*taken, *symbols})
        self.stored: dict[Node, Node] = {
            node: graph.input(name, node.dims, index=index_bound(node))
            for node, name in zip(tensor.arrays, self.fields, strict=True)
        }

    def _field_names(self, taken: set[str]) -> tuple[str, ...]:
        names: list[str] = []
        for node in self.tensor.arrays:
            if isinstance(node, Input):
                own = node.name.rstrip("0123456789") in METHOD_NAMES
                name = node.name + "_" * own
                while own and name in taken:
                    name += "_"
                names.append(name)
                continue
            choices: Sequence[str] = (SCALARS, VECTORS, ARRAYS)[min(node.order, 2)]
            if index_bound(node) is not None:
                choices = INDICES
            free = [x for x in choices if x not in taken and x not in names]
            k = len(names) + 1
            names.append(free[0] if free else f"{choices[0]}{k}_")
        return tuple(names)

    # Pieces of code

    def code(
        self,
        node: Node,
        root: str,
        reserved: Sequence[str] = (),
        fresh: bool = False,
    ) -> Written:
        """Lower a node over the stored arrays; one of these alone, unless `fresh`."""
        # Right-hand sides are few, whatever other dims without hints are.
        hints = {**self.hints, self.width: 1}
        plan = optimise(self.graph, [[node]], hints, True)
        code = lower(
            self.graph,
            plan.roots,
            reserved=[*self.fields, *self.sizes, *reserved],
            root_names=[root],
            fresh=fresh,
            alias=self.alias,
        )
        return written(code, self.alias)

    def lines(
        self, code: Written, ending: str, own: Sequence[str] = ()
    ) -> tuple[str, ...]:
        """Statements that bind what the code uses, the code, and its return."""
        text = "\n".join((*code.lines, *code.returns, ending))
        used = [f for f in self.fields if mentions(text, f)]
        lines = []
        if used:
            values = ", ".join(f"self.{name}" for name in used)
            lines.append(f"{', '.join(used)} = {values}")
        lines += self.unpacked(text)
        if code.needs_dtype:
            lines.append("dtype = self.dtype")
        lines += own
        return (*lines, *code.lines, ending)

    def unpacked(self, text: str) -> list[str]:
        """The statement that binds the sizes that some code uses."""
        names = [s if mentions(text, s) else "_" for s in self.sizes]
        if all(name == "_" for name in names):
            return []
        return [f"{', '.join(names)}{',' * (len(names) == 1)} = self.sizes"]

    def method(
        self,
        name: str,
        doc: str,
        out: Sequence[Name],
        others: Sequence[Factor] = (),
        *,
        rename: Mapping[int, Name] | None = None,
        parameters: str = "self",
        own: Sequence[str] = (),
    ) -> Method:
        """A method that returns the tensor contracted with `others`."""
        node = self.tensor.contracted(self.graph, self.stored, out, others, rename)
        reserved = [n.name for n, _ in others if isinstance(n, Input)]
        code = self.code(node, "result", reserved, fresh=True)
        return Method(
            name,
            parameters,
            "Array",
            doc,
            self.lines(code, f"return {code.returns[0]}", own),
        )

    def factors(self, term: StoredTerm) -> list[Factor]:
        """The factors of a term over the inputs of the methods."""
        factors: list[Factor] = [(self.stored[n], xs) for n, xs in term.factors]
        return factors + [(node, ()) for node in term.scale]

    def helpers(self, methods: Sequence[Method]) -> tuple[str, ...]:
        """The module-level helpers that the methods call."""
        text = "\n".join(line for m in methods for line in m.lines)
        return tuple(name for name in HELPERS if mentions(text, name))

    def text(self, symbol: str) -> str:
        """The structure as an equation."""
        names: dict[Node, str] = dict(
            zip(self.stored.values(), self.fields, strict=True)
        )
        whole = self.tensor.node(self.graph, self.stored)
        return equation(symbol, whole, names)
